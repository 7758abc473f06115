package advice

import (
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

const tryable = `package m

func All(in []int) (out []int) {
	for _, v := range in {
		out = append(out, v+1)
	}
	return out
}

func Few(in []int) (out []int) {
	for _, v := range in {
		if v%16 == 0 {
			out = append(out, v+1)
		}
	}
	return out
}

type pair struct{ a, b int }

//go:noinline
func paired(v int) *pair {
	if v < 0 {
		return nil
	}
	return &pair{v, v}
}

func Pairs(in []int) (sum int) {
	for _, v := range in {
		p := paired(v)
		sum += p.a - p.b
	}
	return sum
}

func Doubling(in []int) (out []int) {
	for _, v := range in {
		out = append(out, v+1)
	}
	return out
}
`

const tryableTest = `package m

import "testing"

var in = make([]int, 1000)

var out []int

func init() {
	for i := range in {
		in[i] = i
	}
}

func TestDoubling(t *testing.T) {
	var want []int
	for range in {
		want = append(want, 1)
	}
	if got := Doubling(in); cap(got) != cap(want) {
		t.Error(cap(got), cap(want))
	}
}

func BenchmarkAll(b *testing.B) {
	for b.Loop() {
		out = All(in)
	}
}

func BenchmarkFew(b *testing.B) {
	for b.Loop() {
		out = Few(in)
	}
}

func BenchmarkPairs(b *testing.B) {
	for b.Loop() {
		if Pairs(in) != 0 {
			b.Fatal("not a pair")
		}
	}
}

func BenchmarkDoubling(b *testing.B) {
	for b.Loop() {
		out = Doubling(in)
	}
}
`

// TestRemediesAreTried: what saves is a remedy, with what was measured. What takes more bytes, or breaks a test, is
// none, and nothing is said of it.
func TestRemediesAreTried(t *testing.T) {
	if testing.Short() || invariant.Race {
		t.Skip("builds benchmarks for seconds, which allocate otherwise with the race detector")
	}
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.17\n", "m.go": tryable, "m_test.go": tryableTest})
	said := 0
	c := Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All()}
	var err error
	if c.Profiles, _, err = Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	verdicts := func() map[string]Explained {
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]Explained{}
		for _, s := range r.Evidence.Account.Sites {
			by[strings.TrimPrefix(s.Function, "m.")] = s
		}
		for _, f := range r.Findings {
			if by[f.Function].Verdict == Look {
				t.Errorf("%s: a fix that saves nothing is offered", f.Function)
			}
		}
		return by
	}
	for name, s := range verdicts() {
		if s.Verdict != Candidate || !s.Fix || len(s.Tried) > 0 {
			t.Errorf("%s without benchmarks: %s: %s", name, s.Verdict, s.Remedy)
		}
	}
	c.Try, c.Measure = true, Measuring{Bench: ".", Budget: 4 * time.Minute, Progress: func(step string) {
		if strings.HasPrefix(step, "trying fix") {
			said++
		}
	}}
	by := verdicts()
	if s := by["All"]; s.Verdict != Remedy || len(s.Tried) == 0 || !strings.Contains(s.Remedy, " -> 1 allocs/op") ||
		!strings.HasSuffix(s.Remedy, " in BenchmarkAll") {
		t.Errorf("All: %s: %s", s.Verdict, s.Remedy)
	}
	if s := by["paired"]; s.Verdict != Remedy || !strings.Contains(s.Remedy, " -> 0 allocs/op") {
		t.Errorf("paired: %s: %s", s.Verdict, s.Remedy)
	}
	for _, name := range []string{"Few", "Doubling"} {
		if s := by[name]; s.Verdict != Look || s.Fix || strings.Contains(s.Remedy, "size") {
			t.Errorf("%s: %s: %s", name, s.Verdict, s.Remedy)
		}
	}
	if said != 4 {
		t.Errorf("%d trials are announced, want 4", said)
	}
}
