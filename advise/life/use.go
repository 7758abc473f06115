package life

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Only reports whether is holds for each use of a value.
func Only(v ssa.Value, is func(ssa.Instruction) bool) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		_, debug := use.(*ssa.DebugRef)
		return !debug && !is(use)
	})
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

// ResultOf is result number n of a call, nil if nobody uses it.
func ResultOf(c ssa.CallInstruction, n int) ssa.Value {
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
