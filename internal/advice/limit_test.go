package advice

import (
	"strings"
	"testing"
	"time"
)

// hanging has a benchmark that never ends between two that do.
var hanging = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.26\n",
	"m.go": `package m

func First() []int { return make([]int, 99) }

func Hangs() []int { return make([]int, 99) }

func Last() []int { return make([]int, 99) }
`,
	"m_test.go": `package m

import "testing"

var list []int

func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		list = First()
	}
}

func BenchmarkHangs(b *testing.B) {
	for b.Loop() {
		for range 5000 {
			list = Hangs()
		}
		select {}
	}
}

func BenchmarkLast(b *testing.B) {
	for b.Loop() {
		list = Last()
	}
}
`,
}

// What a command starts ends with its budget, and what was measured until then counts.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds, and waits for the end of a budget")
	}
	dir := tree(t, hanging)
	c := Config{Dir: dir, Patterns: []string{"."}, Try: true, Measure: Measuring{Bench: ".", Progress: func(string) {}},
		Limit: Limit{Budget: 12 * time.Second, Began: time.Now()}}
	var err error
	if c.Profiles, c.LeftOut, err = Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(c.Began); took > c.Budget/2+time.Second {
		t.Errorf("half of %v took %v", c.Budget, took)
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(c.Began); took > c.Budget+time.Second {
		t.Errorf("%v took %v", c.Budget, took)
	}
	by := map[string]bool{}
	for _, s := range r.Evidence.Account.Sites {
		by[s.Function] = s.Objects > 0
	}
	if !by["m.First"] || !by["m.Hangs"] || !by["m.Last"] {
		t.Errorf("explained: %v", by)
	}
	notes := strings.Join(r.Evidence.Notes, "\n")
	if !strings.Contains(notes, "BenchmarkHangs of example.org/m had not ended after ") {
		t.Errorf("no word of what was cut:\n%s", notes)
	}
}

// A TestMain that waits is no benchmark: the error says so.
func TestBudgetNothing(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m_test.go": "package m_test\n\nimport \"testing\"\n\nfunc TestMain(*testing.M) { select {} }\n\n" +
			"func BenchmarkNone(*testing.B) {}\n",
		"m.go": "package m\n",
	})
	c := Config{Dir: dir, Limit: Limit{Budget: 6 * time.Second, Began: time.Now()}}
	_, _, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "as if its TestMain waited: give more with --budget") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(c.Began); took > c.Budget {
		t.Errorf("%v took %v", c.Budget, took)
	}
}
