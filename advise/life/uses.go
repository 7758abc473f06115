package life

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// OnlyRead reports whether a list is only asked for elements: by constant numbers up to 2, with its length, or
// in turn, by a range statement.
func OnlyRead(list ssa.Value, constant bool) bool {
	lengths := 0 // a range statement asks once
	return !slices.ContainsFunc(*list.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.IndexAddr:
			other := func(of ssa.Instruction) bool { _, load := of.(*ssa.UnOp); return !load }
			if slices.ContainsFunc(*i.Referrers(), other) {
				return true
			}
			if n, ok := i.Index.(*ssa.Const); ok {
				return !constant || n.Int64() > 2
			}
			next, ok := i.Index.(*ssa.BinOp)
			if !ok || constant {
				return true
			}
			round, ok := next.X.(*ssa.Phi)
			return !ok || round.Comment != "rangeindex"
		case *ssa.DebugRef:
			return false
		case *ssa.Call:
			b, ok := i.Call.Value.(*ssa.Builtin)
			lengths++
			return !ok || b.Name() != "len" || !constant && lengths > 1
		}
		return true
	})
}

// UsedAs returns the methods by which a variable is used, itself or behind an interface; "?" stands for other uses,
// and for a value that is not made here.
func UsedAs(v ssa.Value) (methods []string) {
	if _, made := v.(*ssa.Alloc); !made {
		return []string{"?"}
	}
	for _, use := range *v.Referrers() {
		switch i := use.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Call:
			if fn := i.Call.StaticCallee(); fn != nil && fn.Signature.Recv() != nil && !slices.Contains(i.Call.Args[1:], v) {
				methods = append(methods, fn.Name())
				continue
			}
		case *ssa.MakeInterface:
			for m := range i.Type().Underlying().(*types.Interface).Methods() {
				methods = append(methods, m.Name())
			}
			continue
		}
		methods = append(methods, "?")
	}
	return methods
}
