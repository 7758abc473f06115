package advice

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// lead says what would make the memory needless; "" where nothing is known.
func (k *subject) lead() string {
	if runsOnce(k.s.Func) {
		return onlyOnce
	}
	by := *k
	seen := k.life.kind == kept && k.life.holder.Kind != life.Global // benchmarks keep in globals what others do not
	if code := k.x.lifetime(k.p, k.s, k.c); !k.sure() && code.kind > died && (code.kind == kept || !seen) {
		by.life = code
	}
	if k.s.Kind == life.Box {
		for _, c := range takers(k.s.Value) {
			if fn := called(c); fn != nil {
				if text := by.offer(plainName(fn.FullName())); text != "" {
					return text
				}
			}
		}
	}
	return by.offer("@" + strings.ReplaceAll(k.s.Kind.String(), " ", "_"))
}

// sure reports whether all of the memory dies with the call of the function that makes it.
func (k *subject) sure() bool {
	return k.dies() && len(k.life.rest) == 0 && k.life.in == shortName(k.c.function)
}

// handed reports whether callers get the value itself, and not something that has it.
func (k *subject) handed() bool {
	is := k.s.Value.Type()
	if e, ok := k.s.Node.(ast.Expr); ok && k.list() { // a constant length makes an array
		is = k.p.Info.TypeOf(e)
	}
	return k.life.kind == escaped && !k.within() && slices.ContainsFunc(
		slices.Collect(outermost(k.s.Func).Signature.Results().Variables()), func(r *types.Var) bool {
			return types.IsInterface(r.Type()) && !check.IsError(r.Type()) || types.Identical(r.Type(), is)
		})
}

// within reports whether an object on the heap that the function makes gets the value in a field.
func (k *subject) within() bool {
	return slices.ContainsFunc(*k.s.Value.Referrers(), func(use ssa.Instruction) bool {
		set, ok := use.(*ssa.Store)
		if !ok {
			return false
		}
		at, ok := set.Addr.(*ssa.FieldAddr)
		if !ok || !k.p.Origin(at.X).OnlyFresh() {
			return false
		}
		made, here := at.X.(*ssa.Alloc)
		return !here || made.Heap // otherwise it is a value
	})
}

// enclosing returns the outermost loop around the expression within its function, or nil.
func (k *subject) enclosing() (outer ast.Stmt) {
	for _, n := range slices.Backward(k.path()) {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			outer = nil
		case *ast.ForStmt:
			if outer == nil {
				outer = n
			}
		case *ast.RangeStmt:
			if outer == nil && n.Body.Pos() < k.s.Node.Pos() {
				outer = n
			}
		}
	}
	return outer
}

// path are the nodes around the expression, innermost first, up to the file; nil if it is not known.
func (k *subject) path() []ast.Node {
	if k.s == nil || k.s.Node == nil {
		return nil
	}
	for _, f := range k.p.Files {
		if f.FileStart <= k.s.Node.Pos() && k.s.Node.Pos() < f.FileEnd {
			path, _ := astutil.PathEnclosingInterval(f, k.s.Node.Pos(), k.s.Node.End())
			return path
		}
	}
	return nil
}

// loop names a loop.
func (k *subject) loop(at ast.Stmt) string {
	line := k.x.position(k.p, at.Pos())
	if over, ok := at.(*ast.RangeStmt); ok {
		return fmt.Sprintf("the loop over %s (%s)", spelled(k.p, over.X), line)
	}
	return fmt.Sprintf("the loop at %s", line)
}

// loads reports whether an instruction reads a variable, or a part of it.
func loads(use ssa.Instruction) bool {
	switch use.(type) {
	case *ssa.UnOp:
		return true
	case *ssa.FieldAddr, *ssa.IndexAddr:
		return life.Only(use.(ssa.Value), loads)
	}
	return false
}

// list reports whether the expression is a slice.
func (k *subject) list() bool {
	e, ok := k.s.Node.(ast.Expr)
	if !ok {
		return false
	}
	_, ok = k.p.Info.TypeOf(e).Underlying().(*types.Slice)
	return ok
}

// logger names the function that takes a list of values of any type and returns nothing, or returns "".
func (k *subject) logger() string {
	for _, c := range takers(k.s.Value) {
		fn := called(c)
		if fn == nil || !fn.Signature().Variadic() || fn.Signature().Results().Len() > 0 {
			continue
		}
		params := fn.Signature().Params()
		if list, ok := params.At(params.Len() - 1).Type().(*types.Slice); ok && types.IsInterface(list.Elem()) {
			return nameOf(fn)
		}
	}
	return ""
}

// reader is the place of the only function literal that has a variable, and reads it, if the variable is set just
// once, and before that; or "".
func (k *subject) reader() string {
	variable, ok := k.s.Value.(*ssa.Alloc)
	if !ok {
		return ""
	}
	var literal *ssa.Function
	set := 0
	for _, use := range *variable.Referrers() {
		switch i := use.(type) {
		case *ssa.Store:
			if i.Addr != variable || i.Block() != variable.Block() || literal != nil {
				return ""
			}
			set++
		case *ssa.MakeClosure:
			if literal != nil {
				return ""
			}
			literal = i.Fn.(*ssa.Function)
			if literal.Synthetic != "" || !life.Only(literal.FreeVars[slices.Index(i.Bindings, ssa.Value(variable))], loads) {
				return "" // the body of a loop over an iterator, or it changes the variable
			}
		default:
			if _, debug := use.(*ssa.DebugRef); !debug && !loads(use) {
				return ""
			}
		}
	}
	if literal == nil || set != 1 {
		return ""
	}
	return k.x.position(k.p, literal.Pos())
}

// joins spells the length of a list that the append adds to one which was made before it in the same block without room
// for it, if the list is there as that is made; or returns "".
func (k *subject) joins() string {
	call, ok := k.s.Node.(*ast.CallExpr)
	if !ok || !call.Ellipsis.IsValid() || k.growth.Begin == nil || k.growth.Field != "" || spare(k.growth.Begin) {
		return ""
	}
	begin, more := k.growth.Begin.(ssa.Instruction), k.s.Instr.(*ssa.Call).Call.Args[1]
	if _, given := more.(*ssa.Parameter); !given || begin.Block() != k.s.Instr.Block() {
		return ""
	}
	switch made := begin.(type) { // what begins empty is one object, as it is
	case *ssa.MakeSlice:
		if n, is := made.Len.(*ssa.Const); is && n.Int64() == 0 {
			return ""
		}
	case *ssa.Alloc:
		if !k.growth.Sized {
			return ""
		}
	}
	return "len(" + spelled(k.p, call.Args[1]) + ")"
}
