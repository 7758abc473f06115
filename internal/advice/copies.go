package advice

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// copied sets the remedy of what makes a value that is there already, or that nobody asks for: the result
// stays what it is, and a copy goes. Where a part of the proof is missing, the hint names it as a condition.
func (k *subject) copied() bool {
	if k.s == nil || k.s.Value == nil || k.s.Value.Referrers() == nil {
		return false
	}
	for _, rule := range []func(*subject){(*subject).unused, (*subject).steady, (*subject).repeated, (*subject).text,
		(*subject).cloned} {
		if rule(k); k.e.Verdict != "" {
			return true
		}
	}
	return false
}

// perhaps notes a remedy that rests on what the code does not show.
func (k *subject) perhaps(text string, args ...any) {
	if k.hint == "" {
		k.hint = fmt.Sprintf(text, args...)
	}
}

// unused is about what is always overwritten before it is read.
func (k *subject) unused() {
	if k.outside() || k.s.Kind == life.Call || k.s.Kind == life.Append || k.s.Kind == life.Variadic {
		return
	}
	if !slices.ContainsFunc(*k.s.Value.Referrers(), func(use ssa.Instruction) bool {
		_, debug := use.(*ssa.DebugRef)
		return !debug
	}) {
		k.change(k.e.Check, "nothing reads it: declare the variable without it")
	}
}

// steady is about what the rounds of a loop make, each the same: one from before the loop does.
func (k *subject) steady() {
	loop := k.p.Loop(k.s.Instr.Block())
	changes := func(v ssa.Value) bool { return !same(v, loop) }
	if loop == nil || !k.computed() || slices.ContainsFunc(k.operands(), changes) {
		return
	}
	stmt := k.p.Stmt(loop)
	if stmt == nil {
		return
	}
	at := k.x.position(k.p, stmt.Pos())
	if immutable(k.s.Value.Type()) || k.onlyRead(k.s.Value, map[ssa.Value]bool{}) {
		k.before = stmt
		k.change(k.e.Check, "it is the same in each round of the loop at %s: make it once, before that", at)
		return
	}
	if k.written {
		return
	}
	k.perhaps("it is made of the same in each round of the loop at %s: where nobody writes to it, one from before the "+
		"loop does", at)
}

// repeated is about what the function has made before.
func (k *subject) repeated() {
	if !k.computed() || !immutable(k.s.Value.Type()) {
		return
	}
	for _, b := range k.s.Func.Blocks {
		for _, i := range b.Instrs {
			v, ok := i.(ssa.Value)
			if !ok || i == k.s.Instr || !alike(v, k.s.Value) || !runsFirst(i, k.s.Instr) {
				continue
			}
			at := k.x.position(k.p, i.Pos())
			if !slices.ContainsFunc(k.operands(), func(v ssa.Value) bool { return !immutable(v.Type()) && !k.settled(v) }) {
				k.change(k.e.Check, "it is the same as what %s makes: keep that in a variable", at)
			} else if !k.written {
				k.perhaps("%s makes the same of it: where nobody writes to it in between, one does", at)
			}
			return
		}
	}
}

// computed reports whether the value follows from the operands alone: a copy of them, or what a function of
// the library works out.
func (k *subject) computed() bool {
	switch i := k.s.Instr.(type) {
	case *ssa.Convert:
		return true
	case *ssa.BinOp:
		return k.s.Kind == life.Concat
	case *ssa.Call:
		fn := i.Call.StaticCallee()
		return fn != nil && fn.Pkg != nil && pure(fn)
	}
	return false
}

// pure reports whether a function of the library returns the same for the same, and nothing else happens.
func pure(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	if fn.Signature.Recv() != nil || results.Len() != 1 {
		return false
	}
	switch fn.Pkg.Pkg.Path() {
	case "strings", "strconv", "path", "html", "net/url":
		return immutable(results.At(0).Type()) || fn.Name() == "NewReplacer"
	case "fmt":
		return strings.HasPrefix(fn.Name(), "Sprint")
	case "regexp":
		return fn.Name() == "MustCompile" || fn.Name() == "QuoteMeta"
	}
	return false
}

func (k *subject) operands() (all []ssa.Value) {
	if c, ok := k.s.Instr.(*ssa.Call); ok {
		return c.Call.Args
	}
	for _, op := range k.s.Instr.Operands(nil) {
		all = append(all, *op)
	}
	return all
}

// immutable reports whether a value of a type cannot be written to: a number, truth value or text.
func immutable(t types.Type) bool {
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

// same reports whether a value is the same in each round of a loop.
func same(v ssa.Value, loop *life.Loop) bool {
	all := func(of ...ssa.Value) bool {
		return !slices.ContainsFunc(of, func(v ssa.Value) bool { return !same(v, loop) })
	}
	switch x := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.Parameter:
		return immutable(x.Type())
	case *ssa.MakeInterface:
		return all(x.X)
	case *ssa.Slice: // the list of a call's last arguments
		list, ok := x.X.(*ssa.Alloc)
		return ok && list.Comment == "varargs" && !slices.ContainsFunc(*list.Referrers(), func(use ssa.Instruction) bool {
			at, element := use.(*ssa.IndexAddr)
			return element && slices.ContainsFunc(*at.Referrers(), func(use ssa.Instruction) bool {
				put, ok := use.(*ssa.Store)
				return ok && !same(put.Val, loop)
			})
		})
	case *ssa.Convert:
		if loop.Has(x.Block()) {
			return immutable(x.Type()) && all(x.X)
		}
	case *ssa.BinOp:
		if loop.Has(x.Block()) {
			return all(x.X, x.Y)
		}
	}
	i, ok := v.(ssa.Instruction)
	return ok && immutable(v.Type()) && !loop.Has(i.Block())
}

// alike reports whether two instructions work out the same of the same values.
func alike(a, b ssa.Value) bool {
	switch x := a.(type) {
	case *ssa.Convert:
		y, ok := b.(*ssa.Convert)
		return ok && x.X == y.X && types.Identical(x.Type(), y.Type())
	case *ssa.Call:
		y, ok := b.(*ssa.Call)
		return ok && x.Call.StaticCallee() != nil && x.Call.StaticCallee() == y.Call.StaticCallee() &&
			slices.EqualFunc(x.Call.Args, y.Call.Args, equal)
	}
	return false
}

func equal(a, b ssa.Value) bool {
	x, ok := a.(*ssa.Const)
	y, is := b.(*ssa.Const)
	return a == b || ok && is && x.Value == y.Value && types.Identical(x.Type(), y.Type())
}

// runsFirst reports whether one instruction has run whenever another does.
func runsFirst(a, b ssa.Instruction) bool {
	if a.Block() == b.Block() {
		return slices.Index(a.Block().Instrs, a) < slices.Index(b.Block().Instrs, b)
	}
	return a.Block().Dominates(b.Block())
}

// settled reports whether nobody writes to a list while the function runs: it does not, and calls nobody who
// could have it from elsewhere.
func (k *subject) settled(v ssa.Value) bool {
	for _, b := range k.s.Func.Blocks {
		for _, i := range b.Instrs {
			call, ok := i.(ssa.CallInstruction)
			if !ok {
				continue
			}
			_, builtin := call.Common().Value.(*ssa.Builtin)
			fn := call.Common().StaticCallee()
			if !builtin && (fn == nil || fn.Pkg == nil || !library(fn.Pkg.Pkg.Path())) {
				return false
			}
		}
	}
	return k.onlyRead(v, map[ssa.Value]bool{})
}

// library reports whether a package is of the standard library.
func library(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// onlyRead reports whether the code that gets a list only reads its elements.
func (k *subject) onlyRead(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	return v.Referrers() != nil && !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.DebugRef, *ssa.Range, *ssa.BinOp:
			return false
		case *ssa.IndexAddr:
			return slices.ContainsFunc(*i.Referrers(), func(of ssa.Instruction) bool {
				_, put := of.(*ssa.Store)
				_, load := of.(*ssa.UnOp)
				k.written = k.written || put
				return !load
			})
		case *ssa.Convert:
			return !immutable(i.Type())
		case *ssa.Slice, *ssa.Phi, *ssa.ChangeType:
			return !k.onlyRead(use.(ssa.Value), seen)
		case *ssa.Call:
			return !k.reads(&i.Call, v, seen)
		}
		return true
	})
}

// reads reports whether a call only reads the elements of a list that it is given.
func (k *subject) reads(c *ssa.CallCommon, v ssa.Value, seen map[ssa.Value]bool) bool {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		into := (b.Name() == "append" || b.Name() == "copy") && c.Args[0] == v
		k.written = k.written || into
		return !into && slices.Contains([]string{"len", "cap", "append", "copy"}, b.Name())
	}
	if c.IsInvoke() { // whose contract is that it neither writes to the bytes nor keeps them
		return c.Method.Name() == "Write" && check.IsBytes(v.Type())
	}
	fn := c.StaticCallee()
	if fn == nil || len(fn.Blocks) == 0 || fn.Pkg != k.s.Func.Pkg {
		return false
	}
	return !slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool {
		i := slices.Index(fn.Params, p)
		return i < len(c.Args) && c.Args[i] == v && !k.onlyRead(p, seen)
	})
}

// text is about bytes that are gathered only to become a text.
func (k *subject) text() {
	switch i := k.s.Instr.(type) {
	case *ssa.Call:
		fn := i.Call.StaticCallee()
		if fn == nil || fn.String() != "(*bytes.Buffer).String" {
			return
		}
		if buffer := i.Call.Args[0]; begun(buffer) && asBuilder(buffer) {
			k.change("stringconv", "%s copies what was written: let the buffer be a strings.Builder, grown to the usual size "+
				"first, whose String does not", k.e.What)
		}
	case *ssa.Convert:
		if k.s.Kind != life.Convert || !immutable(i.Type()) || !check.IsBytes(i.X.Type()) {
			return
		}
		if gathered(i.X, i, map[ssa.Value]bool{}) {
			k.perhaps("its bytes are only gathered for it: where their number is known before, a strings.Builder that is " +
				"grown to that makes no copy of them")
		} else if call := k.source(i.X); call != nil {
			k.perhaps("it copies the bytes that %s makes (%s): where that can return a text, there is no copy here",
				shortName(call.Call.StaticCallee().String()), k.x.position(k.p, call.Pos()))
		}
	}
}

// source is the call of a function of the package that makes a list: here, or where each caller of the function
// around the expression gives it.
func (k *subject) source(v ssa.Value) *ssa.Call {
	result := 0
	if part, ok := v.(*ssa.Extract); ok {
		v, result = part.Tuple, part.Index
	}
	switch x := v.(type) {
	case *ssa.Call:
		fn := x.Call.StaticCallee()
		if fn == nil || fn.Pkg != k.s.Func.Pkg {
			return nil
		}
		if sum := k.p.Summary(fn); sum != nil && sum.Results[result].OnlyFresh() {
			return x
		}
	case *ssa.Parameter:
		calls, all := k.p.Callers(x.Parent())
		i := slices.Index(x.Parent().Params, x)
		var found *ssa.Call
		for _, c := range calls {
			if c.Parent() == x.Parent() || i >= len(c.Common().Args) {
				return nil
			}
			if _, passed := c.Common().Args[i].(*ssa.Parameter); passed {
				return nil
			}
			from := k.source(c.Common().Args[i])
			if from == nil || found != nil && from.Call.StaticCallee() != found.Call.StaticCallee() {
				return nil
			}
			found = from
		}
		if all && !exported(k.p, x.Parent()) {
			return found
		}
	}
	return nil
}

// begun reports whether a buffer is one of the function, empty at first.
func begun(buffer ssa.Value) bool {
	switch x := buffer.(type) {
	case *ssa.Alloc:
		return true
	case *ssa.Call:
		fn := x.Call.StaticCallee()
		if fn == nil || fn.String() != "bytes.NewBuffer" {
			return false
		}
		bytes, empty := x.Call.Args[0].(*ssa.Const)
		return empty && bytes.IsNil()
	}
	return false
}

// asBuilder reports whether a buffer could be a strings.Builder: its methods are those that both have, and
// others see it as an io.Writer alone.
func asBuilder(buffer ssa.Value) bool {
	const both = " Write WriteByte WriteRune WriteString String Len Cap Grow Reset "
	return !slices.ContainsFunc(*buffer.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.DebugRef:
			return false
		case ssa.CallInstruction:
			fn := i.Common().StaticCallee()
			return fn == nil || fn.Signature.Recv() == nil || i.Common().Args[0] != buffer ||
				!strings.Contains(both, " "+fn.Name()+" ")
		case *ssa.MakeInterface:
			named, ok := types.Unalias(i.Type()).(*types.Named)
			return !ok || named.String() != "io.Writer"
		}
		return true
	})
}

// gathered reports whether a list only grows by append, from nothing, until it becomes a text.
func gathered(v ssa.Value, text ssa.Instruction, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	switch x := v.(type) {
	case *ssa.Const:
		return x.Value == nil
	case *ssa.Phi:
		if slices.ContainsFunc(x.Edges, func(e ssa.Value) bool { return !gathered(e, text, seen) }) {
			return false
		}
	case *ssa.Call:
		b, ok := x.Call.Value.(*ssa.Builtin)
		if !ok || b.Name() != "append" || !gathered(x.Call.Args[0], text, seen) {
			return false
		}
	case *ssa.MakeSlice:
		if n, ok := x.Len.(*ssa.Const); !ok || n.Int64() != 0 {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.Phi:
			return !seen[i] && !gathered(i, text, seen)
		case *ssa.Call:
			b, ok := i.Call.Value.(*ssa.Builtin)
			grows := ok && b.Name() == "append" && i.Call.Args[0] == v && (seen[i] || gathered(i, text, seen))
			return !grows && (!ok || b.Name() != "len")
		}
		return use != text
	})
}

// cloned is about a list whose elements are those of another: that may do as well.
func (k *subject) cloned() {
	if k.outside() || k.s.Kind != life.Append {
		return
	}
	call := k.s.Instr.(*ssa.Call)
	from := call.Call.Args[1]
	grows := slices.ContainsFunc(*call.Referrers(), func(use ssa.Instruction) bool {
		_, phi := use.(*ssa.Phi)
		_, kept := use.(*ssa.Store)
		next, ok := use.(*ssa.Call)
		return phi || kept || ok && next.Call.Args[0] == ssa.Value(call) && next.Call.StaticCallee() == nil
	})
	list, elements := from.(*ssa.Slice)
	switch {
	case elements && k.p.Loop(call.Block()) != nil:
		if from = element(list); from != nil && (life.IsString(from.Type()) || check.IsBytes(from.Type())) {
			k.perhaps("it copies elements of %s: where these follow each other there without a gap, a part of it is no copy",
				valueOf(k.p, from))
		}
	case !grows && empty(call.Call.Args[0]) && types.Identical(from.Type(), call.Type()):
		k.perhaps("it is a copy of %s: where neither is written to while both are in use, that itself does",
			valueOf(k.p, from))
	}
}

// element is the text or list whose element alone is appended, by an index; nil for none.
func element(list *ssa.Slice) ssa.Value {
	array, ok := list.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" {
		return nil
	}
	var from ssa.Value
	for _, use := range *array.Referrers() {
		at, ok := use.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		for _, use := range *at.Referrers() {
			put, ok := use.(*ssa.Store)
			if !ok || from != nil {
				return nil
			}
			switch x := put.Val.(type) {
			case *ssa.Lookup:
				from = x.X
			case *ssa.Index:
				from = x.X
			case *ssa.UnOp:
				if at, ok := x.X.(*ssa.IndexAddr); ok && x.Op == token.MUL {
					from = at.X
				}
			}
			if from == nil {
				return nil
			}
		}
	}
	return from
}

// empty reports whether a list begins without elements.
func empty(v ssa.Value) bool {
	switch x := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.MakeSlice:
		n, ok := x.Len.(*ssa.Const)
		return ok && n.Int64() == 0
	}
	return false
}

// valueOf is the name that the code has for a value.
func valueOf(p *life.Package, v ssa.Value) string {
	if v.Referrers() != nil {
		for _, use := range *v.Referrers() {
			if ref, ok := use.(*ssa.DebugRef); ok && !ref.IsAddr {
				return spelled(p, ref.Expr)
			}
		}
	}
	return "a " + types.TypeString(v.Type(), func(p *types.Package) string { return p.Name() })
}
