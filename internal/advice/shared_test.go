package advice

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Workers fill lists that begin empty, whose stacks begin with a goroutine.
const handedOver = `package m

type page struct{ text []byte }

func (p *page) fill(n int) {
	for i := 0; i < n; i++ {
		p.text = append(p.text, '#', byte(i))
		if i%2 == 0 {
			p.text = append(p.text, "; and so on"...)
		}
	}
}

func Pages(n int) []*page {
	all := make([]*page, n)
	done := make(chan bool)
	for i := range all {
		all[i] = new(page)
		go func() {
			all[i].fill(12)
			done <- true
		}()
	}
	for range all {
		<-done
	}
	return all
}
`

const handedOverTest = `package m

import "testing"

var kept []*page

func BenchmarkPages(b *testing.B) {
	for b.Loop() {
		kept = Pages(4)
	}
}
`

// TestSharedRemedies: a fix whose line runs in goroutines is tried with the benchmark that starts them. What several
// sites share is said in full at one of them, and the others name that.
func TestSharedRemedies(t *testing.T) {
	c := profiled(t, "1.25", handedOver, handedOverTest)
	c.Try, c.Bench, c.Budget = true, ".", 10*time.Minute
	var said []string
	c.Progress = func(step string) { said = append(said, step) }
	full, refer := 0, 0
	for _, s := range ran(t, c).Evidence.Account.Sites {
		if s.Function != "m.page.fill" || s.Kind != "append" {
			continue
		}
		if s.Verdict != Remedy {
			t.Errorf("line %d: %s: %s", s.Line, s.Verdict, s.Remedy)
		}
		switch {
		case strings.Contains(s.Remedy, "tried: ") && strings.HasPrefix(s.Remedy, "begin p.text with room for"):
			full++
		case strings.HasPrefix(s.Remedy, "the same change as for m.go:") && !s.Fix:
			refer++
		}
	}
	if full != 1 || refer != 1 {
		t.Errorf("%d sites say all, %d refer, want one each", full, refer)
	}
	for _, want := range []string{"checking the packages", "reading ", "compiling ", "why memory is on the heap: "} {
		if !slices.ContainsFunc(said, func(step string) bool { return strings.HasPrefix(step, want) }) {
			t.Errorf("no %q in %q", want, said)
		}
	}
}

// TestProposesWhatWeighs: a candidate that saves next to nothing is not shown before what allocates.
func TestProposesWhatWeighs(t *testing.T) {
	a := &Account{Sites: []Explained{{Line: 1, Verdict: Look, Share: Shares{Bytes: 0.9}},
		{Line: 2, Verdict: Candidate, Share: Shares{Bytes: 0.08}}, {Line: 3, Verdict: Outside, Share: Shares{Bytes: 0.0199}},
		{Line: 4, Verdict: Remedy, Share: Shares{Objects: 0.01}}, {Line: 5, Verdict: Candidate, Share: Shares{Bytes: 0.0001}}}}
	var order []int
	for _, s := range a.ByVerdict() {
		order = append(order, s.Line)
	}
	if want := []int{4, 2, 1, 3, 5}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}
