package advice

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/advise/regexpcompile"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/sprintf"
)

// judged is a module whose fixes have each outcome, with tests that fail, are
// flaky, or lie in a package that depends on it.
var judged = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.26\n",
	"m.go": `package m

import (
	"fmt"
	"regexp"
)

func Kept(list []string) (n int) {
	for _, s := range list {
		if regexp.MustCompile("^a+$").MatchString(s) {
			n++
		}
	}
	return n
}

func Elsewhere(list []string) (n int) {
	for _, s := range list {
		if regexp.MustCompile("^b+$").MatchString(s) {
			n++
		}
	}
	return n
}

func Unreached(list []int) (out []string) {
	for _, n := range list {
		out = append(out, fmt.Sprintf("%d", n))
	}
	return out
}
`,
	"m_test.go": `package m

import (
	"os"
	"testing"
)

var list = []string{"aaa", "aab", "abb"}

func TestFails(t *testing.T) {
	t.Run("part", func(t *testing.T) { t.Error("always") })
	t.Run("other", func(t *testing.T) {})
}

// TestFlaky passes twice, alone and without a fix, and then fails every other time.
func TestFlaky(t *testing.T) {
	name := os.Getenv("FLAKY")
	count, _ := os.ReadFile(name)
	os.WriteFile(name, append(count, '.'), 0o644)
	if len(count) > 1 && len(count)%2 == 0 {
		t.Error("flaky")
	}
}

func BenchmarkKept(b *testing.B) {
	for b.Loop() {
		Kept(list)
	}
}

func BenchmarkElsewhere(b *testing.B) {
	for b.Loop() {
		Elsewhere(list)
	}
}
`,
	"d/d.go": "package d\n\nimport \"example.org/m\"\n\nfunc D(list []string) int { return m.Elsewhere(list) }\n",
	"d/d_test.go": `package d

import "testing"

func TestD(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { D([]string{"a", "b"}) }); n < 10 {
		t.Errorf("%v allocations", n)
	}
}
`,
	"other/other_test.go": "package other\n\nimport \"testing\"\n\n" +
		"func TestOther(t *testing.T) { panic(\"not asked\") }\n",
}

// verdicts verifies the fixes of the module and returns their outcomes by function.
func verdicts(t *testing.T, dir string, change func(*Config)) map[string]Verified {
	t.Helper()
	c := Config{Dir: dir, Checks: []*check.Check{regexpcompile.Check, sprintf.Check}}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	vc := Config{Dir: dir, Blocks: 4, BenchTime: "2ms", Progress: func(string) {}}
	change(&vc)
	v, err := Verify(t.Context(), vc, r.Findings)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Verified{}
	for _, f := range v.Fixes {
		out[f.Finding.Function] = f
	}
	return out
}

// Tests that fail or are flaky without a fix have no say, and the report says so; those
// of packages that depend on the change have one.
func TestVerifyTests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and measures")
	}
	dir := tree(t, judged)
	t.Setenv("FLAKY", dir+"/flaky")
	var said []string
	got := verdicts(t, dir, func(c *Config) { c.Progress = func(s string) { said = append(said, s) } })
	for name, want := range map[string]struct{ outcome, reason string }{
		"Kept": {Kept, "left out, as they fail or are flaky without it: example.org/m.TestFails/part, " +
			"example.org/m.TestFlaky"},
		"Elsewhere": {Dropped, "with it tests fail: "},
		"Unreached": {Unproven, "no benchmark or test that could measure it allocates there"},
	} {
		if v := got[name]; v.Outcome != want.outcome || !strings.Contains(v.Reason, want.reason) {
			t.Errorf("%s: %s, %q; want %s, %q", name, v.Outcome, v.Reason, want.outcome, want.reason)
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"fix 1 of 3 (0 kept): m.go:10 regexpcompile: BenchmarkKept, block 1",
		"tests of 2 packages",
		"TestFlaky of example.org/m failed: running it again", "fix 3 of 3 (1 kept)"} {
		if !strings.Contains(all, want) {
			t.Errorf("the progress lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "m.go:10 regexpcompile: BenchmarkElsewhere") {
		t.Errorf("a benchmark judges a line that it does not run:\n%s", all)
	}
}

// A remedy that the budget cuts is unproven, and says so.
func TestVerifyBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and measures")
	}
	dir := tree(t, judged)
	t.Setenv("FLAKY", dir+"/flaky")
	budget := func(c *Config) {
		c.Budget = time.Millisecond
		c.Progress = func(step string) {
			if strings.HasSuffix(step, " reaches") || strings.HasSuffix(step, " runs") {
				t.Errorf("after the budget: %s", step)
			}
		}
	}
	for name, v := range verdicts(t, dir, budget) {
		if v.Outcome != Unproven || !strings.Contains(v.Reason, "the budget of 1ms ended") {
			t.Errorf("%s: %s, %q", name, v.Outcome, v.Reason)
		}
	}
}

// The verdict is the same in nine of ten repetitions next to two busy loops.
func TestVerifyStable(t *testing.T) {
	if os.Getenv("ISOBAR_SOAK") == "" {
		t.Skip("takes minutes: set ISOBAR_SOAK=1")
	}
	dir := tree(t, judged)
	t.Setenv("FLAKY", dir+"/flaky")
	var stop atomic.Bool
	defer stop.Store(true)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	for range 2 {
		go func() {
			for !stop.Load() { //nolint:revive // a busy loop is the point
			}
		}()
	}
	const repetitions = 10
	counts := map[string]map[string]int{}
	for range repetitions {
		for name, v := range verdicts(t, dir, func(*Config) {}) {
			if counts[name] == nil {
				counts[name] = map[string]int{}
			}
			counts[name][v.Outcome]++
		}
	}
	t.Log(counts)
	for name, by := range counts {
		most := 0
		for _, n := range by {
			most = max(most, n)
		}
		if most < 9 {
			t.Errorf("%s: %v", name, by)
		}
	}
}

func TestReadTests(t *testing.T) {
	const out = `noise of a program
{"Action":"build-output","ImportPath":"p [p.test]","Output":"p.go:1: undefined\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
{"Action":"output","Package":"q","Test":"TestA/b","Output":"    q.go:2: bad\n"}
{"Action":"fail","Package":"q","Test":"TestA/b"}
{"Action":"fail","Package":"q","Test":"TestA"}
{"Action":"fail","Package":"q"}
{"Action":"pass","Package":"r"}
`
	ran, err := readTests([]byte(out))
	if err != nil || len(ran) != 2 {
		t.Fatalf("%v, %v; want two packages", ran, err)
	}
	if p := ran["p"]; !p.lost || p.text() != "p.go:1: undefined" {
		t.Errorf("p: %+v", p)
	}
	if q := ran["q"]; q.lost || strings.Join(q.failed, " ") != "TestA/b" || !strings.Contains(q.text(), "q.go:2: bad") {
		t.Errorf("q: %+v", q)
	}
	if got, want := pattern([]string{"TestA/b.c", "TestD"}), `^TestA$/^b\.c$|^TestD$`; got != want {
		t.Errorf("pattern %q, want %q", got, want)
	}
	if _, err := readTests([]byte("{broken\n")); err == nil {
		t.Error("a broken line has no error")
	}
}
