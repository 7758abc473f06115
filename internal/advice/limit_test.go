package advice

import (
	"fmt"
	"regexp"
	"strconv"
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

import (
	"testing"
	"time"
)

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
		time.Sleep(time.Hour)
	}
}

func BenchmarkLast(b *testing.B) {
	for b.Loop() {
		list = Last()
	}
}
`,
}

// given sets the budget for a module: a time, and more on a machine that takes long to build it.
func given(t *testing.T, c *Config, budget time.Duration) {
	t.Helper()
	began := time.Now()
	r := &profiling{Config: *c, dir: t.TempDir()}
	pkgs, err := command{dir: c.Dir}.benchPackages(t.Context(), c.Patterns)
	if err != nil || len(pkgs) != 1 {
		t.Fatal(len(pkgs), err)
	}
	if _, err = r.build(t.Context(), pkgs[0]); err != nil {
		t.Fatal(err)
	}
	c.Limit = Limit{Budget: budget + 8*time.Since(began), Began: time.Now()}
}

// holds fails a test unless a text says that something was given some time, at most a
// quarter of the budget: half of what is left of a half.
func (l Limit) holds(t *testing.T, text, what string) {
	t.Helper()
	l.over(t)
	_, after, found := strings.Cut(text, what)
	word, _, _ := strings.Cut(after, ":")
	if took, err := time.ParseDuration(word); !found || err != nil || took > l.Budget/4 {
		t.Errorf("of %v, want at most a quarter: %s", l.Budget, text)
	}
}

// over fails a test that took more than three times its budget, which is at least eight
// builds: the budget does not cover how late a busy machine ends processes.
func (l Limit) over(t *testing.T) {
	t.Helper()
	if took := time.Since(l.Began); took > 3*l.Budget {
		t.Errorf("%v took %v", l.Budget, took)
	}
}

// Processes that a command starts end with its budget, and what was measured until then counts.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds, and waits for the end of a budget")
	}
	c := Config{Dir: tree(t, hanging), Patterns: []string{"."}, Try: true,
		Bench: ".", Progress: func(string) {}}
	given(t, &c, 12*time.Second)
	var err error
	if c.Profiles, c.LeftOut, err = Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	cut, while, _ := strings.Cut(strings.Join(c.LeftOut, "\n"), ", while ")
	if !strings.HasPrefix(while, "BenchmarkHangs ran: what was seen until then counts") {
		t.Errorf("left out: %q", c.LeftOut)
	}
	c.holds(t, cut, "the benchmarks of example.org/m were cut after ")
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.over(t)
	by := map[string]bool{}
	for _, s := range r.Evidence.Account.Sites {
		by[s.Function] = s.Objects > 0
	}
	if !by["m.First"] || !by["m.Hangs"] || !by["m.Last"] {
		t.Errorf("explained: %v", by)
	}
	notes, late := strings.Join(r.Evidence.Notes, "\n"), "the time for it ended before all benchmarks ran; give more"
	if c.Budget/4 > measuredWithin { // measuredWithin ends it first
		late = "what was seen within 12s of BenchmarkHangs counts"
	}
	if !strings.Contains(notes, "not all lifetimes were measured: "+late) || !strings.Contains(notes, c.LeftOut[0]) {
		t.Errorf("no word of what was cut:\n%s", notes)
	}
}

// Of a package whose benchmarks are cut or fail, what those that were cut did is explained, and no note says otherwise.
func TestBudgetBeforeFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds, and waits for the end of a budget")
	}
	c := Config{Dir: tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": "package m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nvar list []int\n\nfunc BenchmarkEndless(*testing.B) {\n\tfor {\n" +
			"\t\tlist = make([]int, 99)\n\t}\n}\n\nfunc BenchmarkFails(b *testing.B) { b.Fatal(\"no server\") }\n"})}
	given(t, &c, 6*time.Second)
	profiles, left, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {})
	if err != nil || len(profiles) == 0 || len(left) != 2 || left[0] != fmt.Sprintf(someFail, "example.org/m") ||
		!strings.Contains(left[1], "while BenchmarkEndless ran") {
		t.Errorf("profiles %v, left out %q, error %v; want those of the one that was cut", profiles, left, err)
	}
}

// waiting returns the Config of a module whose TestMain does something and then waits.
func waiting(t *testing.T, first string) Config {
	return Config{Dir: tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m_test.go": "package m_test\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { " + first + "; select {} }\n\n" +
			"func BenchmarkNone(*testing.B) {}\n",
		"m.go": "package m\n",
	})}
}

// The time may end while no benchmark runs: between two, or after the last. Finished ones count.
func TestBudgetBetween(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds, and waits for the end of a budget")
	}
	c := waiting(t, "m.Run()")
	given(t, &c, 6*time.Second)
	profiles, leftOut, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {})
	if err != nil || len(profiles) != 2 || len(leftOut) != 0 {
		t.Errorf("%d profiles, left out %q, error %v; want those of CPU time and allocations", len(profiles), leftOut, err)
	}
}

// A waiting TestMain is no benchmark: the error says so.
func TestBudgetNothing(t *testing.T) {
	c := waiting(t, "_ = m")
	given(t, &c, 6*time.Second)
	_, _, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), ", as if its TestMain waited: give more with --budget") {
		t.Fatalf("error %v", err)
	}
	c.holds(t, strings.ReplaceAll(err.Error(), ",", ":"), "no benchmark had begun after ")
}

// TestShare checks that packages share the time by their benchmarks, and that none gets more than half.
func TestShare(t *testing.T) {
	few := &testPackage{benches: []string{"BenchmarkA"}}
	many := &testPackage{benches: []string{"BenchmarkA", "BenchmarkB", "BenchmarkC"}}
	for _, c := range []struct {
		p      *testPackage
		left   int
		done   []string
		chosen string
		runs   int
		want   float64
	}{
		{few, 20, nil, ".", 1, 0.05},
		{few, 20, nil, ".", 2, 0.025},
		{many, 20, nil, ".", 1, 0.15},
		{many, 20, []string{"BenchmarkA", "BenchmarkB"}, ".", 1, 1.0 / 18},
		{many, 4, nil, ".", 1, 0.5},
		{many, 3, nil, ".", 2, 0.5},
		{many, 3, []string{"BenchmarkA", "BenchmarkB", "BenchmarkC"}, ".", 1, 0.5}, // what was not seen in its sources
		{many, 10, nil, "A$|B$", 1, 0.2},
	} {
		r := &profiling{left: c.left, chosen: regexp.MustCompile(c.chosen)}
		if got := r.share(c.p, c.done, c.runs); got != c.want {
			t.Errorf("of %v of %d without %v, %q: %v, want %v", c.p.benches, c.left, c.done, c.chosen, got, c.want)
		}
	}
}

// TestEach holds that many benchmarks run shorter, so that all of them run.
func TestEach(t *testing.T) {
	for n, want := range map[int]time.Duration{1: profileTime, 50: 20 * time.Millisecond, 1000: leastTime} {
		if got := each(4*time.Second, n); got != want {
			t.Errorf("each of %d in 4 s: %v, want %v", n, got, want)
		}
	}
}

// TestLate holds that what the budget ended is said in a line or two, of however many packages.
func TestLate(t *testing.T) {
	r := &profiling{Config: Config{Limit: Limit{Budget: time.Minute}}}
	for i := range 40 {
		name := strconv.Itoa(i)
		c := cut{"m/" + name, "BenchmarkX", time.Second}
		r.cuts, r.missed = append(r.cuts, c, c), append(r.missed, "n/"+name) // each runs twice
	}
	want := "40 benchmarks were cut when their share of the time was over, and count as far as they ran: " +
		"BenchmarkX of m/0, " +
		"BenchmarkX of m/1, BenchmarkX of m/2, and 37 more; give more with --budget\n" +
		"not in the profiles, or not all of them, as the time ended before all benchmarks ran: n/0, n/1, n/2, and 37 more; " +
		"give more with --budget, which is 1m0s"
	if got := strings.Join(r.late(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestKeeping holds that a step ends early enough for what comes after it.
func TestKeeping(t *testing.T) {
	for _, c := range []struct{ gone, ends time.Duration }{
		{0, 25 * time.Second},                 // a quarter of what it may have
		{90 * time.Second, 100 * time.Second}, // less is left
		{110 * time.Second, 100 * time.Second},
	} {
		l := Limit{Budget: 2 * time.Minute, Began: time.Now().Add(-c.gone)}
		within, cancel := l.keeping(6).within(t.Context(), 4)
		defer cancel()
		end, ok := within.Deadline()
		if late := end.Sub(l.Began.Add(c.ends)); !ok || late < 0 || c.gone > 0 && late > 0 {
			t.Errorf("%v after it began, it ends %v later than %v", c.gone, late, c.ends)
		}
	}
}
