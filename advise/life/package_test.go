package life

import "testing"

// TestChanged: a variable that only its declaration sets does not change.
func TestChanged(t *testing.T) {
	p := load(t, "index.go", `package fates

var early, late = 1, 1

func count() { late++ }
`)
	if early, late := p.Changed(p.SSA.Var("early")), p.Changed(p.SSA.Var("late")); early || !late {
		t.Errorf("changed: early %v, late %v, want only late", early, late)
	}
}
