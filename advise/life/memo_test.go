package life

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/tools/go/ssa"
)

// everything describes all that a package tells about its sites.
func everything(p *Package) (all string) {
	for _, s := range p.Sites() {
		at := p.Fset.Position(s.Pos())
		all += fmt.Sprintln(s.Kind, len(p.At(at.Filename, at.Line)), p.Loop(s.Instr.Block()) != nil, p.Growth(s).Field)
		if s.Value != nil {
			all += fmt.Sprintln(p.Fate(s.Value).Holders, p.Origin(s.Value))
		}
		if call, ok := s.Instr.(ssa.CallInstruction); ok && call.Common().StaticCallee() != nil {
			if sum := p.Summary(call.Common().StaticCallee()); sum != nil {
				all += fmt.Sprintln(describe(sum))
			}
		}
	}
	return all
}

// TestTogether: a package tells several goroutines the same as one. The race detector sees what they share.
func TestTogether(t *testing.T) {
	facts := func(string) *Facts { return &Facts{map[string]*Summary{"sort.Ints": {Params: make([]Param, 1)}}} }
	build := func() *Package {
		p := load(t, "testdata/fates.go", nil)
		p.Source.Facts = facts
		return p
	}
	want, p := everything(build()), build()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := everything(p); got != want {
				t.Errorf("of several goroutines, one has\n%s, want\n%s", got, want)
			}
		})
	}
	wg.Wait()
}
