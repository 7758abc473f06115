package advice

import (
	_ "embed"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// An offer is what the standard library has instead of a function, and when that fits a call: a name of suits.
type offer struct{ when, text string }

// instead has the offers for a function, by its plain name.
var instead = readInstead(insteadText)

// plainName is a function's name, as profiles or as types have it, without pointers and brackets.
func plainName(function string) string {
	return strings.NewReplacer("(", "", "*", "", ")", "").Replace(untyped(function))
}

//go:embed assets/instead.txt
var insteadText string

func readInstead(text string) map[string][]offer {
	of := map[string][]offer{}
	for line := range strings.Lines(text) {
		if names, offers, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			names, when, _ := strings.Cut(strings.TrimSuffix(names, "]"), " [")
			for name := range strings.FieldsSeq(names) {
				of[plainName(name)] = append(of[plainName(name)], offer{when, offers})
			}
		}
	}
	return of
}

// suits says when an offer fits the call, as far as that is known.
var suits = map[string]func(*subject) bool{
	"":      func(*subject) bool { return true },
	"dies":  func(k *subject) bool { return k.ends() <= unproved },
	"grows": func(k *subject) bool { return k.t.outgrown() },
	"constant": func(k *subject) bool {
		return k.s != nil && k.s.Func.Name() != "init" && !slices.ContainsFunc(k.given(), func(e ast.Expr) bool {
			_, is := k.p.Value(e).(*ssa.Const)
			return !is && k.p.Info.Types[e].Value == nil && !k.settled(e)
		})
	},
	"any": func(k *subject) bool {
		given := k.given()
		return len(given) > 0 && ofAny.MatchString(k.p.Info.TypeOf(given[len(given)-1]).String())
	},
	"compared": func(k *subject) bool { return k.s != nil && k.s.Value != nil && life.Only(k.s.Value, compares) },
	"copies":   (*subject).copies,
	"fills":    func(k *subject) bool { return k.has(0, "Reset") && k.has(0, "ReadFrom") },
	"boxed":    func(k *subject) bool { return k.s != nil && k.s.Kind == life.Box },
	"elements": func(k *subject) bool { return k.s != nil && k.s.Value != nil && elements(k.s.Value) },
}

// copies reports whether io needs a buffer to copy: as the types of the arguments have it, and as was seen.
func (k *subject) copies() bool {
	seen := k.c.leaf == "" || strings.HasPrefix(k.c.leaf, "io.") && !k.c.several
	return seen && !k.has(0, "ReadFrom") && !k.has(1, "WriteTo")
}

// has reports whether the type of an argument has a method.
func (k *subject) has(n int, method string) bool {
	if given := k.given(); n < len(given) {
		of, _, _ := types.LookupFieldOrMethod(k.p.Info.TypeOf(given[n]), true, nil, method)
		_, is := of.(*types.Func)
		return is
	}
	return false
}

// ofAny matches types that lead to values of any type.
var ofAny = regexp.MustCompile(`[*\]](any|interface\{\})$`)

// offered says what to use instead of the callee, where something is known that fits the call.
func (k *subject) offered() string {
	offers, known := instead[plainName(k.c.callee)]
	if k.s != nil && runsOnce(k.s.Func) {
		return "; " + onlyOnce
	}
	if reset := k.reset(); !known && reset != "" {
		offers, known = []offer{{"dies", reset}}, true
	}
	lent := ""
	for _, o := range offers {
		switch ends := k.ends(); {
		case o.when == "dies" && ends == escaped:
			lent = "; if callers only look at it until the next call: " + o.text
		case o.when == "dies" && ends == kept && k.object() != nil:
			lent = "; once nobody uses it any more: " + o.text
		case !suits[o.when](k):
		case o.when == "dies" && ends == unproved:
			return "; if nobody keeps it: " + o.text
		default:
			return "; " + o.text
		}
	}
	if k.s == nil {
		return lent
	}
	text := k.appender()
	switch {
	case text != "":
	case k.s.Value != nil && life.IsString(k.s.Value.Type()) && isKey(k.s.Value):
		text = "it is only looked up or compared: bytes appended to an array of the function, as string(bytes) there, need " +
			"no copy"
	case !known && suits["constant"](k):
		text = k.same()
	}
	if text == "" {
		return lent
	}
	return "; " + text
}

// same says what could become of what a function returns that is given the same each time; "" where nothing is known.
func (k *subject) same() string {
	call, ok := k.s.Node.(*ast.CallExpr)
	instr, calls := k.s.Instr.(ssa.CallInstruction)
	if !ok || !calls || k.s.Value == nil { // nobody has the result of a deferred call
		return ""
	}
	switch fn := called(instr.Common()); {
	case fn != nil && fn.Signature().Recv() != nil: // what it returns is made of the receiver, too
	case len(call.Args) > 0:
		return "its arguments are always the same: if its result is, too, and nobody changes it, one in a package " +
			"variable can serve all"
	case fn != nil && k.kept():
		return "if its result is always the same, and nobody changes it, one in a package variable can serve all"
	}
	return ""
}

// kept reports whether a call returns something that several may use: an object, a slice, a map or a function.
func (k *subject) kept() bool {
	return slices.ContainsFunc(life.Results(k.s.Value), func(v ssa.Value) bool {
		switch v.Type().Underlying().(type) {
		case *types.Pointer, *types.Slice, *types.Map, *types.Signature:
			return true
		}
		return false
	})
}

// settled reports whether an expression is a package variable that nothing in the package sets.
func (k *subject) settled(e ast.Expr) bool {
	id, _ := ast.Unparen(e).(*ast.Ident)
	v, ok := k.p.Info.Uses[id].(*types.Var)
	if !ok || v.Parent() != k.p.Pkg.Scope() {
		return false
	}
	return !k.p.Changed(k.p.SSA.Var(v.Name()))
}

// reset says that what the callee makes can serve again, if its type has a Reset that takes what the callee took
// first.
func (k *subject) reset() string {
	made, ok := k.object().(*types.Pointer)
	instr, calls := ssa.CallInstruction(nil), false
	if ok {
		instr, calls = k.s.Instr.(ssa.CallInstruction)
	}
	if !calls {
		return ""
	}
	fn := called(instr.Common())
	if fn == nil || fn.Signature().Params().Len() == 0 {
		return ""
	}
	source := fn.Signature().Params().At(0).Type()
	method, _, _ := types.LookupFieldOrMethod(made, true, nil, "Reset")
	again, ok := method.(*types.Func)
	if !ok || !types.Identical(again.Signature().Params(), types.NewTuple(types.NewParam(0, nil, "", source))) {
		return ""
	}
	for result := range again.Signature().Results().Variables() {
		if !check.IsError(result.Type()) {
			return ""
		}
	}
	return named(k.p.Pkg, made.Elem()) + ".Reset gives one, kept or from a sync.Pool, another " + named(k.p.Pkg, source)
}

// object is the type of the pointer, or of the interface with methods, that is all that the callee returns beside an
// error; or nil.
func (k *subject) object() types.Type {
	if k.s == nil || k.s.Value == nil {
		return nil
	}
	var all []types.Type
	for _, v := range life.Results(k.s.Value) {
		if !check.IsError(v.Type()) {
			all = append(all, v.Type())
		}
	}
	if len(all) != 1 {
		return nil
	}
	_, is := all[0].Underlying().(*types.Pointer)
	if of, methods := all[0].Underlying().(*types.Interface); is || methods && of.NumMethods() > 0 {
		return all[0]
	}
	return nil
}

// ends says whether somebody keeps what a call makes: as measured, and as the code has it of its results on other
// paths. Without a measurement nothing is sure to die: a Buffer may, and its bytes be returned.
func (k *subject) ends() lifeKind {
	if k.life.mixed {
		return unproved
	}
	if k.life.kind > unproved || k.s == nil || k.s.Value == nil {
		return k.life.kind
	}
	ends := died
	for _, v := range life.Results(k.s.Value) {
		ends = max(ends, k.x.local(k.p, k.p.Fate(v), "").kind)
	}
	if k.life.kind == died { // what the code has beside it, the benchmarks did not do
		return min(ends, unproved)
	}
	return max(ends, unproved)
}

// given are the arguments of the call; nil for none, or if the call is not found in the code.
func (k *subject) given() []ast.Expr {
	if k.s != nil {
		if call, ok := k.s.Node.(*ast.CallExpr); ok {
			return call.Args
		}
	}
	return nil
}

// compares reports whether an instruction only asks whether a value equals another.
func compares(use ssa.Instruction) bool {
	i, ok := use.(*ssa.BinOp)
	return ok && (i.Op == token.EQL || i.Op == token.NEQ)
}
