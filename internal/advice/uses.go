package advice

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// elements reports whether a slice is only read and written by its elements, so that nobody sees what capacity it has.
func elements(list ssa.Value) bool {
	return life.Only(list, func(use ssa.Instruction) bool {
		call, ok := use.(*ssa.Call)
		if !ok {
			_, element := use.(*ssa.IndexAddr)
			return element
		}
		of, ok := call.Call.Value.(*ssa.Builtin)
		return ok && slices.Contains([]string{"len", "copy", "clear"}, of.Name())
	})
}

// inOrder reports whether only constants, and range statements with no other list, tell which elements of a slice are
// used.
func inOrder(list ssa.Value) bool {
	return life.Only(list, func(use ssa.Instruction) bool {
		at, ok := use.(*ssa.IndexAddr)
		if !ok {
			return true
		}
		if _, constant := at.Index.(*ssa.Const); constant {
			return true
		}
		next, ok := at.Index.(*ssa.BinOp)
		if !ok {
			return false
		}
		index, ok := next.X.(*ssa.Phi)
		return ok && index.Comment == "rangeindex" && life.Only(next, func(use ssa.Instruction) bool {
			other, ok := use.(*ssa.IndexAddr)
			return !ok || other.X == list
		})
	})
}

// spare reports whether what makes a slice leaves room behind its last element.
func spare(made ssa.Value) bool {
	switch m := made.(type) {
	case *ssa.MakeSlice:
		n, isConst := m.Len.(*ssa.Const)
		c, capConst := m.Cap.(*ssa.Const)
		return m.Len != m.Cap && !(isConst && capConst && n.Int64() == c.Int64())
	case *ssa.Alloc: // of an array, for a constant capacity
		arr, ok := m.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
		return ok && slices.ContainsFunc(*m.Referrers(), func(use ssa.Instruction) bool {
			cut, ok := use.(*ssa.Slice)
			if !ok || cut.High == nil {
				return false
			}
			high, ok := cut.High.(*ssa.Const)
			return ok && high.Int64() < arr.Len()
		})
	}
	return false
}

// takers are those that a value is given to, itself or in the list of last arguments.
func takers(v ssa.Value) []*ssa.CallCommon { return through(v, map[ssa.Value]bool{}) }

func through(v ssa.Value, seen map[ssa.Value]bool) (all []*ssa.CallCommon) {
	if v == nil || v.Referrers() == nil || seen[v] {
		return nil
	}
	seen[v] = true
	for _, use := range *v.Referrers() {
		switch i := use.(type) {
		case ssa.CallInstruction:
			if _, builtin := i.Common().Value.(*ssa.Builtin); !builtin && slices.Contains(i.Common().Args, v) {
				all = append(all, i.Common())
			}
		case *ssa.Phi, *ssa.Slice, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
			all = append(all, through(use.(ssa.Value), seen)...)
		case *ssa.Store:
			at, element := i.Addr.(*ssa.IndexAddr)
			if element && i.Val == v {
				if list, ok := at.X.(*ssa.Alloc); ok {
					all = append(all, through(list, seen)...)
				}
			}
		}
	}
	return all
}

// runsOnce reports whether a function initializes a package, or is called by a sync.Once.
func runsOnce(fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return fn.Signature.Recv() == nil && (fn.Name() == "init" || strings.HasPrefix(fn.Name(), "init#"))
	}
	once := func(c *ssa.CallCommon) bool { return slices.Contains(onces, fullName(c)) }
	if made := closure(fn); made != nil {
		return slices.ContainsFunc(takers(made), once)
	}
	return slices.ContainsFunc(takers(fn), once)
}

// outermost is the function that the code declares around a literal, or the function itself.
func outermost(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// closure is where the function around a literal makes it, or nil.
func closure(literal *ssa.Function) *ssa.MakeClosure {
	for _, use := range *literal.Referrers() {
		if made, ok := use.(*ssa.MakeClosure); ok {
			return made
		}
	}
	return nil
}

// onlyOnce is said of what such a function makes.
const onlyOnce = "this runs only as the package is initialized, or once for each sync.Once"

// onces call a function once.
var onces = []string{"sync.Once.Do", "sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}

// called is the function or method that a call names, or nil.
func called(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	if fn := c.StaticCallee(); fn != nil {
		of, _ := fn.Object().(*types.Func)
		return of
	}
	return nil
}

// nameOf is a function's name as profiles have it, shortened.
func nameOf(fn *types.Func) string {
	name, of := fn.Name(), fn.Signature().Recv()
	if of == nil {
		return fn.Pkg().Name() + "." + name
	}
	t := of.Type()
	if to, ok := t.(*types.Pointer); ok {
		t = to.Elem()
	}
	return named(nil, t) + "." + name
}

// fullName is the plain name of the function that a call names, or "".
func fullName(c *ssa.CallCommon) string {
	if fn := called(c); fn != nil {
		return plainName(fn.FullName())
	}
	return ""
}
