package life

import (
	"go/types"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// TestIndex: what a package sets, makes and closes is found by the type, of a generic one for all instances.
func TestIndex(t *testing.T) {
	p := load(t, "index.go", `package fates

type T struct{ list []int }

type Of[E any] struct{ list []E }

var early, late = 1, 1

func fill(t *T, of *Of[int], done chan string) *T {
	t.list = nil
	*t = T{}
	of.list = nil
	late++
	close(done)
	return &T{}
}

func more[E any](of *Of[E]) *Of[E] {
	of.list = nil
	return new(Of[E])
}
`)
	for name, want := range map[string][2]int{"T": {2, 1}, "Of": {2, 1}} {
		of := p.Pkg.Scope().Lookup(name).Type()
		fields := 0
		for _, set := range p.Sets(types.NewPointer(of)) {
			if _, ok := set.Addr.(*ssa.FieldAddr); ok || NamedOf(set.Val.Type()) != nil {
				fields++
			}
		}
		if got := [2]int{fields, len(p.Objects(of))}; got != want {
			t.Errorf("%s: %d stores and %d objects, want %d", name, got[0], got[1], want)
		}
	}
	if early, late := p.Changed(p.SSA.Var("early")), p.Changed(p.SSA.Var("late")); early || !late {
		t.Errorf("changed: early %v, late %v, want only late", early, late)
	}
	if !p.Closes(types.Typ[types.String]) || p.Closes(types.Typ[types.Int]) {
		t.Error("want that only channels of strings are closed")
	}
}
