package life

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Only reports whether is holds for each use of a value.
func Only(v ssa.Value, is func(ssa.Instruction) bool) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		_, debug := use.(*ssa.DebugRef)
		return !debug && !is(use)
	})
}

// Elements reports whether a slice is only read and written by its elements, so that nobody sees what capacity it has.
func Elements(list ssa.Value) bool {
	return Only(list, func(use ssa.Instruction) bool {
		call, ok := use.(*ssa.Call)
		if !ok {
			_, element := use.(*ssa.IndexAddr)
			return element
		}
		of, ok := call.Call.Value.(*ssa.Builtin)
		return ok && slices.Contains([]string{"len", "copy", "clear"}, of.Name())
	})
}

// Spare reports whether what makes a slice leaves room behind its last element.
func Spare(made ssa.Value) bool {
	switch m := made.(type) {
	case *ssa.MakeSlice:
		n, isConst := m.Len.(*ssa.Const)
		c, capConst := m.Cap.(*ssa.Const)
		return m.Len != m.Cap && !(isConst && capConst && n.Int64() == c.Int64())
	case *ssa.Alloc: // of an array, for a constant capacity
		arr, ok := object(m.Type()).Underlying().(*types.Array)
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

// Results are the values that a call returns, without errors.
func Results(call ssa.Value) (all []ssa.Value) {
	if _, several := call.Type().(*types.Tuple); !several {
		return []ssa.Value{call}
	}
	for _, use := range *call.Referrers() {
		if v, ok := use.(*ssa.Extract); ok && !isError(v.Type()) {
			all = append(all, v)
		}
	}
	return all
}

// Calls are those that a value is given to, itself or in the list of last arguments.
func Calls(v ssa.Value) []*ssa.CallCommon { return calls(v, map[ssa.Value]bool{}) }

func calls(v ssa.Value, seen map[ssa.Value]bool) (all []*ssa.CallCommon) {
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
			all = append(all, calls(use.(ssa.Value), seen)...)
		case *ssa.Store:
			at, element := i.Addr.(*ssa.IndexAddr)
			if element && i.Val == v {
				if list, ok := at.X.(*ssa.Alloc); ok {
					all = append(all, calls(list, seen)...)
				}
			}
		}
	}
	return all
}

// Addressed are the instructions that do more with the address of a variable than read it, or write to it.
func Addressed(address ssa.Value) (uses []ssa.Instruction) {
	for _, use := range *address.Referrers() {
		switch i := use.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
			continue
		case *ssa.Store:
			if i.Val != address {
				continue
			}
		case *ssa.FieldAddr:
			uses = append(uses, Addressed(i)...)
			continue
		case *ssa.IndexAddr:
			uses = append(uses, Addressed(i)...)
			continue
		}
		uses = append(uses, use)
	}
	return uses
}

// Once reports whether a function runs once: as a package is initialized, or by a sync.Once.
func Once(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn.Parent() == nil {
			return fn.Signature.Recv() == nil && (fn.Name() == "init" || strings.HasPrefix(fn.Name(), "init#"))
		}
		for _, b := range fn.Parent().Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(ssa.CallInstruction)
				if !ok || !slices.Contains(onces, calleeName(call.Common())) {
					continue
				}
				for _, v := range call.Common().Args {
					if made, ok := v.(*ssa.MakeClosure); v == fn || ok && made.Fn == fn {
						return true
					}
				}
			}
		}
	}
	return false
}

// onces call a function once.
var onces = []string{"sync.Once.Do", "sync.OnceFunc", "sync.OnceValue", "sync.OnceValues"}

// Ends are the instructions that use a value in the end: under all of its names, and where the package calls the
// function that returns it.
func (p *Package) Ends(v ssa.Value) (uses []ssa.Instruction) {
	seen := map[ssa.Value]bool{}
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		if v == nil || v.Referrers() == nil || seen[v] {
			return
		}
		seen[v] = true
		for _, use := range *v.Referrers() {
			switch i := use.(type) {
			case *ssa.DebugRef:
			case *ssa.Phi, *ssa.ChangeType:
				follow(use.(ssa.Value))
			case *ssa.Return:
				calls := p.callers[i.Parent()]
				for _, c := range calls {
					for n, r := range i.Results {
						if r == v {
							follow(result(c, n))
						}
					}
				}
				if len(calls) == 0 {
					uses = append(uses, use)
				}
			default:
				uses = append(uses, use)
			}
		}
	}
	follow(v)
	return uses
}

// result is result number n of a call, nil if nobody uses it.
func result(c ssa.CallInstruction, n int) ssa.Value {
	v := c.Value()
	if v == nil {
		return nil
	}
	if _, several := v.Type().(*types.Tuple); !several {
		return v
	}
	for _, use := range *v.Referrers() {
		if e, ok := use.(*ssa.Extract); ok && e.Index == n {
			return e
		}
	}
	return nil
}
