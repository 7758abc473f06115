package advice

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/internal/base/invariant"
)

// Tests look at what allocates in shorter time, and count all of it at once.
func init() { profileTime, profileRate = 50*time.Millisecond, 1 }

// profiled returns a module of one file and its tests, with profiles of its benchmarks.
func profiled(t *testing.T, version, source, tests string) Config {
	t.Helper()
	if testing.Short() || invariant.Race {
		t.Skip("builds benchmarks for seconds, which allocate otherwise with the race detector")
	}
	c := Config{Patterns: []string{"."}, Checks: advise.All(), Dir: tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo " + version + "\n", "m.go": source, "m_test.go": tests})}
	var err error
	if c.Profiles, _, err = Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	return c
}

// ran returns what Run finds.
func ran(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A profile that tests damaged is left out, with a note.
func TestProfileLeavesOutBroken(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nfunc F() []int { return make([]int, 99) }\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

var list []int

func BenchmarkF(b *testing.B) {
	for b.Loop() {
		list = F()
	}
}

func TestMain(m *testing.M) {
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
`,
	})
	names, leftOut, err := Profile(t.Context(), Config{Dir: dir, Patterns: []string{"."}}, ".", t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || filepath.Base(names[0]) != "0.allocs.pb.gz" {
		t.Errorf("profiles %v, want the allocations alone", names)
	}
	if len(leftOut) != 1 || !strings.Contains(leftOut[0], "a profile of example.org/m is left out") {
		t.Errorf("left out %q, want the other one", leftOut)
	}
}

// A package with failing benchmarks does not keep the others from being profiled, and
// the report says so. If there is no other package, it is an error.
func TestProfileLeavesOutFailing(t *testing.T) {
	bench := "\n\nimport \"testing\"\n\nvar list []int\n\nfunc BenchmarkF(b *testing.B) {\n\tfor b.Loop() {\n\t\tlist = F()\n\t}\n}\n"
	dir := tree(t, map[string]string{
		"go.mod":      "module example.org/m\n\ngo 1.26\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc BenchmarkA(b *testing.B) { b.Fatal(\"no file\") }\n",
		"m/m.go":      "package m\n\nfunc F() []int { return make([]int, 99) }\n",
		"m/m_test.go": "package m" + bench,
	})
	c := Config{Dir: dir, Patterns: []string{"./..."}}
	var err error
	if c.Profiles, c.LeftOut, err = Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Profiles) != 2 || len(r.Evidence.Notes) == 0 || !strings.Contains(r.Evidence.Notes[0], "benchmarks of example.org/m/a fail") {
		t.Errorf("profiles %v, notes %q: want those of m, and a word about a", c.Profiles, r.Evidence.Notes)
	}
	c.Patterns = []string{"./a"}
	if _, _, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {}); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("%v, want what the benchmark says", err)
	}
}

// The benchmarks of a package that pass are profiled.
func TestProfileKeepsWhatPasses(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nfunc F() []int { return make([]int, 99) }\n",
		"m_test.go": `package m

import "testing"

var list []int

func BenchmarkA(b *testing.B) { b.Fatal("no server") }

func BenchmarkF(b *testing.B) {
	for b.Loop() {
		list = F()
	}
}
`,
	})
	names, leftOut, err := Profile(t.Context(), Config{Dir: dir, Patterns: []string{"."}}, ".", t.TempDir(), func(string) {})
	if err != nil || len(names) != 2 {
		t.Fatalf("profiles %v, error %v", names, err)
	}
	if len(leftOut) != 1 || !strings.Contains(leftOut[0], "benchmarks of example.org/m fail") {
		t.Errorf("left out %q, want the one that fails", leftOut)
	}
}

// A benchmark that panics loses the profiles of the others, too: they run again without it.
func TestProfileLeavesOutWhatPanics(t *testing.T) {
	bench := func(name, body string) string {
		return "func Benchmark" + name + "(b *testing.B) {\n" + body + "\n}\n\n"
	}
	fine := "\tfor b.Loop() {\n\t\tlist = make([]int, 99)\n\t}"
	nothing := "\tvar opened *struct{ list []int }\n\tlist = opened.list"
	for _, tt := range []struct {
		body string
		left string // "" for an error
	}{
		{bench("A", fine) + bench("Opens", nothing) + bench("Z", fine), "BenchmarkOpens of example.org/m panics"},
		{bench("Opens", nothing), ""},
	} {
		dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": "package m\n",
			"m_test.go": "package m\n\nimport \"testing\"\n\nvar list []int\n\n" + tt.body})
		profiles, left, err := Profile(t.Context(), Config{Dir: dir, Patterns: []string{"."}}, ".", t.TempDir(), func(string) {})
		switch {
		case tt.left == "" && (err == nil || !strings.Contains(err.Error(), "nil pointer")):
			t.Errorf("error %v, want the panic", err)
		case tt.left != "" && (err != nil || len(profiles) == 0 || len(left) != 1 || !strings.HasPrefix(left[0], tt.left)):
			t.Errorf("profiles %v, left out %q, error %v; want %q", profiles, left, err, tt.left)
		}
	}
}

// A separate run counts allocations, and its profile replaces the first one. If it
// fails, the first one stays.
func TestProfileCounts(t *testing.T) {
	defer func(rate int) { profileRate = rate }(profileRate)
	profileRate = 16 << 10
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nfunc F() []int { return make([]int, 9) }\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

var list []int

func TestMain(m *testing.M) {
	if ran := os.Getenv("RAN"); ran != "" {
		if _, err := os.Stat(ran); err == nil {
			os.Exit(1)
		}
		os.WriteFile(ran, nil, 0o600)
	}
	os.Exit(m.Run())
}

func BenchmarkF(b *testing.B) {
	for b.Loop() {
		list = F()
	}
}
`,
	})
	for _, again := range []bool{true, false} {
		c := Config{Dir: dir, Patterns: []string{"."}}
		if !again {
			t.Setenv("RAN", filepath.Join(t.TempDir(), "ran"))
		}
		names, leftOut, err := Profile(t.Context(), c, ".", t.TempDir(), func(string) {})
		if err != nil || len(leftOut) > 0 || len(names) != 2 {
			t.Fatal(names, leftOut, err)
		}
		p, err := readProfile(t.Context(), names[1])
		if err != nil {
			t.Fatal(err)
		}
		if exact := p.Period == 1; exact != again || !strings.HasSuffix(names[0], ".cpu.pb.gz") {
			t.Errorf("profiles %v, a sample each %d bytes; want each allocation: %v", names, p.Period, again)
		}
	}
}
