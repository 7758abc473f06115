package advice

import (
	_ "embed"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// An offer is a change that is named where no remedy is proven, and what has to hold of the code: names of asks.
type offer struct {
	asks []string
	text string
}

// instead has the offers by the plain name of a function, or by "@" and the kind of an allocation.
var instead = readInstead(insteadText)

//go:embed assets/instead.txt
var insteadText string

func readInstead(text string) map[string][]offer {
	of := map[string][]offer{}
	for line := range strings.Lines(text) {
		if names, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			names, asks, _ := strings.Cut(strings.TrimSuffix(names, "]"), " [")
			for name := range strings.FieldsSeq(names) {
				of[plainName(name)] = append(of[plainName(name)], offer{strings.Fields(asks), text})
			}
		}
	}
	return of
}

// plainName is a function's name, as profiles or as types have it, without pointers and brackets.
func plainName(function string) string {
	return strings.NewReplacer("(", "", "*", "", ")", "").Replace(untyped(function))
}

// asks are the conditions of all offers: each reports whether it holds of the code, and what the text says of it. One
// that the code does not decide does not hold.
var asks map[string]func(*subject) (says string, holds bool)

func init() { // its functions use the offers
	is := func(holds func(*subject) bool) func(*subject) (string, bool) {
		return func(k *subject) (string, bool) { return "", holds(k) }
	}
	says := func(find func(*subject) string) func(*subject) (string, bool) {
		return func(k *subject) (string, bool) { says := find(k); return says, says != "" }
	}
	asks = map[string]func(*subject) (string, bool){
		// of the memory
		"dies": (*subject).dead, "room": says((*subject).buffer), "sure": is((*subject).certain),
		"round": is(func(k *subject) bool { return k.life.round }),
		"straight": is(func(k *subject) bool {
			return k.s.Func.Parent() == nil && k.p.Loop(k.s.Instr.Block()) == nil
		}),
		"worth":   is(func(k *subject) bool { return k.e.Size >= leastPooled }),
		"small":   is(func(k *subject) bool { return k.largest() <= mostFrame }),
		"untried": is(func(k *subject) bool { return !k.e.Fix && len(k.e.fixes) == 0 }),
		"given":   says((*subject).dropped), "uncapped": is(func(k *subject) bool { return !k.capped() }),

		// of what it is
		"list": is((*subject).list), "single": is(func(k *subject) bool { return !k.list() }),
		"unlocked": is(func(k *subject) bool { return !locks(k.s.Type) }), "begun": is((*subject).begun),
		"joins": says((*subject).joins), "reader": says((*subject).reader),
		"tobytes": is(func(k *subject) bool { return k.converts(check.IsString, check.IsBytes) }),
		"ofbytes": is(func(k *subject) bool { return k.converts(check.IsBytes, check.IsString) }),
		"lookup":  says((*subject).lookedUp), "key": is(func(k *subject) bool { return isKey(k.s.Value) }),

		// of who takes it
		"rune": says((*subject).runeWriter), "variant": says((*subject).variant), "writer": is((*subject).writes),
		"logger": says((*subject).logger), "plain": is((*subject).plainArgs),
		"boxed": is((*subject).boxes), "either": is(func(*subject) bool { return true }),
		"slice": is(func(k *subject) bool { _, is := k.s.Type.Underlying().(*types.Slice); return is }),

		// of the call that makes it
		"constant": is((*subject).constant), "copies": is((*subject).copies),
		"compared": is(func(k *subject) bool { return k.made() && life.Only(k.s.Value, compares) }),
		"folds":    is((*subject).folds), "own": is((*subject).ownBuffer),
		"inorder": is(func(k *subject) bool { return k.made() && elements(k.s.Value) && inOrder(k.s.Value) }),
		"loop":    is(func(k *subject) bool { return k.s != nil && k.p.Loop(k.s.Instr.Block()) != nil }),
		"brief": is(func(k *subject) bool {
			beyond := func(v ssa.Value) bool { return k.p.Fate(v).Beyond }
			return k.made() && !slices.ContainsFunc(life.Results(k.s.Value), beyond)
		}),
	}
}

// offer returns the first text of which all conditions hold, or "". Of a box only what is about boxes is said.
func (k *subject) offer(name string) string {
	for _, o := range instead[name] {
		if k.boxes() && name[0] != '@' && !slices.Contains(o.asks, "boxed") && !slices.Contains(o.asks, "either") {
			continue
		}
		text, holds := o.text, true
		for _, name := range o.asks {
			var says string
			if says, holds = asks[name](k); !holds {
				break
			}
			if name == "dies" {
				text = says + text
			}
			text = strings.ReplaceAll(text, "{"+name+"}", says)
		}
		if holds {
			return text
		}
	}
	return ""
}

// leastPooled is the size in bytes from which a sync.Pool is worth its calls.
const leastPooled = 64

// made reports whether the value of the expression is known.
func (k *subject) made() bool { return k.s != nil && k.s.Value != nil }

func (k *subject) boxes() bool { return k.s != nil && k.s.Kind == life.Box }

// certain reports whether the memory dies with the call, as seen and on all paths, and no goroutine gets it.
func (k *subject) certain() bool { return k.sure() && !k.x.fate(k.p, k.s).Started }

// dead reports whether nobody keeps what a call makes, and the condition which that has at one place in the code.
func (k *subject) dead() (unless string, dies bool) {
	if k.life.mixed || k.life.kind > unproved {
		return "", false
	}
	if !k.made() {
		return "", k.life.kind == died
	}
	texts, memory := true, false
	for _, v := range life.Results(k.s.Value) {
		fate := k.p.Fate(v)
		switch l := k.x.local(k.p, fate, ""); {
		case l.kind > unproved || fate.Started || l.kind == unproved && (len(fate.Holders) > 1 || unless != ""):
			return "", false
		case l.kind == unproved && l.where == "":
			return "", false
		case l.kind == unproved:
			unless = "if nobody keeps it (" + l.where + "): "
		}
		texts = texts && (check.IsString(v.Type()) || check.IsBytes(v.Type()))
		memory = memory || check.HasPointers(v.Type())
	}
	if k.life.kind == unproved && !memory { // something else got it
		return "", false
	}
	if k.life.kind == unproved && !texts { // what an object leads to was not seen
		if unless != "" {
			return "", false
		}
		unless = "if nothing that it leads to is used after " + shortName(k.s.Func.String()) + " returns: "
	}
	return unless, true
}

// largest is the size of the largest object that was seen.
func (k *subject) largest() (size int64) {
	size = int64(k.e.Size)
	for n := range k.t.sizes {
		size = max(size, n)
	}
	return size
}

// buffer says which memory spares the callee's: that of the function for what is short, or "" where neither pays.
func (k *subject) buffer() string {
	const short = 256
	switch {
	case len(k.t.sizes) > 0 && k.largest() <= short:
		return "in an array of the function"
	case k.e.Size >= leastPooled:
		return "from a sync.Pool"
	}
	return ""
}

// dropped is a place, not in a test, at which the package calls the function and keeps nothing of what it returns.
func (k *subject) dropped() string {
	if !k.handed() || k.growth.Field != "" || k.s.Kind == life.Append && !k.begun() {
		return ""
	}
	for _, c := range k.p.Callers(k.s.Func) {
		at := k.p.Fset.Position(c.Pos())
		if strings.HasSuffix(at.Filename, "_test.go") || c.Value() == nil {
			continue
		}
		results := life.Results(c.Value())
		if len(results) > 0 && !slices.ContainsFunc(results, func(v ssa.Value) bool {
			fate := k.p.Fate(v)
			return !fate.Dies() || fate.Started
		}) {
			return k.x.position(k.p, c.Pos())
		}
	}
	return ""
}

// capped reports whether the package asks for the capacity of such a list: that of another one may differ.
func (k *subject) capped() bool {
	for _, f := range k.p.Files {
		for n := range ast.Preorder(f) {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				continue
			}
			fun, _ := ast.Unparen(call.Fun).(*ast.Ident)
			if k.p.Info.Uses[fun] == types.Universe.Lookup("cap") && k.made() &&
				types.Identical(k.p.Info.TypeOf(call.Args[0]).Underlying(), k.s.Value.Type().Underlying()) {
				return true
			}
		}
	}
	return false
}

// begun reports whether what append grows begins in the function, and no field has it.
func (k *subject) begun() bool {
	return k.growth.Field == "" && k.p.Origin(k.s.Instr.(*ssa.Call).Call.Args[0]).Params == 0
}

// converts reports whether the expression converts one type to another one, and not for what the compiler spares.
func (k *subject) converts(from, to func(types.Type) bool) bool {
	made, ok := k.s.Value.(*ssa.Convert)
	return ok && from(made.X.Type()) && to(made.Type()) && !life.Only(made, looks)
}

// constant reports whether a call has arguments, which are always the same.
func (k *subject) constant() bool {
	given := k.given()
	return len(given) > 0 && k.s.Func.Name() != "init" && !slices.ContainsFunc(given, func(e ast.Expr) bool {
		_, is := k.p.Value(e).(*ssa.Const)
		return !is && k.p.Info.Types[e].Value == nil && !k.settled(e)
	})
}

// plainArgs reports whether what becomes a part of a text is numbers, texts and errors: a box, or a call's last
// arguments.
func (k *subject) plainArgs() bool {
	plain := func(t types.Type) bool {
		_, basic := t.Underlying().(*types.Basic)
		return basic && types.NewMethodSet(t).Len() == 0 || check.IsError(t) // methods may say another text
	}
	if k.boxes() {
		return plain(k.s.Type)
	}
	call, ok := k.s.Instr.(ssa.CallInstruction)
	if k.s == nil || !ok {
		return false
	}
	fn, given := called(call.Common()), k.given()
	if fn == nil || !fn.Signature().Variadic() || len(given) < fn.Signature().Params().Len() {
		return false
	}
	last := given[fn.Signature().Params().Len()-1:]
	return !slices.ContainsFunc(last, func(e ast.Expr) bool { return !plain(k.p.Info.TypeOf(e)) })
}

// folds reports whether a text in one case is only compared with texts that are in the same case.
func (k *subject) folds() bool {
	call, ok := k.s.Instr.(*ssa.Call)
	if k.s == nil || !ok {
		return false
	}
	name := fullName(call.Common())
	fold := strings.ToLower
	if name == "strings.ToUpper" {
		fold = strings.ToUpper
	}
	return life.Only(call, func(use ssa.Instruction) bool {
		if !compares(use) {
			return false
		}
		other := use.(*ssa.BinOp).X
		if other == call {
			other = use.(*ssa.BinOp).Y
		}
		switch other := other.(type) {
		case *ssa.Const:
			return other.Value != nil && fold(constant.StringVal(other.Value)) == constant.StringVal(other.Value)
		case *ssa.Call:
			return fullName(other.Common()) == name
		}
		return false
	})
}

// ownBuffer reports whether a Buffer is a variable of the function which nobody asks for its bytes.
func (k *subject) ownBuffer() bool {
	if k.s == nil {
		return false
	}
	call, ok := k.s.Instr.(ssa.CallInstruction)
	if !ok || call.Common().StaticCallee() == nil || len(call.Common().Args) == 0 {
		return false
	}
	buffer, ok := call.Common().Args[0].(*ssa.Alloc)
	if !ok || !k.p.Fate(buffer).Dies() || k.p.Fate(buffer).Started {
		return false
	}
	lends := []string{"Bytes", "AvailableBuffer", "Next", "Cap", "Available"}
	return life.Only(buffer, func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.MakeInterface:
			of := i.Type().Underlying().(*types.Interface)
			return of.NumMethods() > 0 && !slices.ContainsFunc(slices.Collect(of.Methods()), func(fn *types.Func) bool {
				return slices.Contains(lends, fn.Name())
			})
		case ssa.CallInstruction:
			fn := called(i.Common())
			return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "bytes" && !slices.Contains(lends, fn.Name())
		}
		return false
	})
}
