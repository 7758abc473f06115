package advice

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

func TestEdited(t *testing.T) {
	const src = "package p\n\nimport (\n\t\"fmt\"\n\t\"io\"\n)\n\nvar a = fmt.Sprint(1)\nvar b io.Writer\n"
	at := func(text string) int { return strings.Index(src, text) }
	call := change{at("fmt.Sprint(1)"), at("fmt.Sprint(1)") + len("fmt.Sprint(1)"), "strconv.Itoa(1)"}
	add := change{at("\"fmt\""), at("\"fmt\""), "\"strconv\"\n\t"}
	for _, tt := range []struct {
		name    string
		changes []change
		want    string
		err     string
	}{
		{name: "nothing", want: src},
		{name: "an import that is not used any more goes, the new one is sorted in", changes: []change{call, add},
			want: "package p\n\nimport (\n\t\"io\"\n\t\"strconv\"\n)\n\nvar a = strconv.Itoa(1)\nvar b io.Writer\n"},
		{name: "two fixes import the same", changes: []change{call, add, add},
			want: "package p\n\nimport (\n\t\"io\"\n\t\"strconv\"\n)\n\nvar a = strconv.Itoa(1)\nvar b io.Writer\n"},
		{name: "equal insertions that are no imports all count", changes: []change{{at("1)"), at("1)"), "1"}, {at("1)"),
			at("1)"), "1"}},
			want: strings.Replace(src, "Sprint(1)", "Sprint(111)", 1)},
		{name: "overlap", changes: []change{call, {at("Sprint"), at("Sprint") + 3, "x"}},
			err: "two fixes change the same place"},
		{name: "no longer Go", changes: []change{{0, 1, ""}}, err: "does not parse"},
		{name: "past the end", changes: []change{{len(src) + 1, len(src) + 1, "x"}}, err: "same place"},
	} {
		got, err := edited("p.go", []byte(src), tt.changes)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s (%v)\nwant %s", tt.name, got, err, tt.want)
		}
	}
}

func TestEditedKeepsForeignFormatting(t *testing.T) {
	const src = "package p\n\nimport \"fmt\"\n\nvar   a  = fmt.Sprint( 1 )\nvar b = 2\n"
	i := strings.Index(src, "2")
	got, err := edited("p.go", []byte(src), []change{{i, i + 1, "3"}})
	if want := strings.Replace(src, "2", "3", 1); err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	j, k := strings.Index(src, "fmt.Sprint"), strings.Index(src, "\nvar b")
	got, err = edited("p.go", []byte(src), []change{{j, k, `"1"`}})
	if want := "package p\n\n\nvar   a  = \"1\"\nvar b = 2\n"; err != nil || string(got) != want {
		t.Errorf("the only import: got %q (%v), want %q", got, err, want)
	}
}

// FuzzEdited: whatever the changes, the result parses and a clean file stays clean.
func FuzzEdited(f *testing.F) {
	src := []byte("package p\n\nimport \"fmt\"\n\nfunc g(n int) string { return fmt.Sprint(n) }\n")
	f.Add(30, 35, "x", 50, 50, "y")
	f.Add(10, 24, "", 56, 69, `"z"`)
	f.Add(10, 11, "", 47, 69, ";")
	f.Fuzz(func(t *testing.T, a, b int, s string, c, d int, u string) {
		if a < 0 || b < 0 || c < 0 || d < 0 {
			return
		}
		got, err := edited("p.go", src, []change{{a, b, s}, {c, d, u}})
		if err != nil {
			return
		}
		if clean, err := format.Source(got); err != nil || !bytes.Equal(clean, got) {
			t.Errorf("not clean (%v): %q", err, got)
		}
	})
}

// measured is a measurement of one benchmark, whose bytes are given in objects of 16.
func measured(allocs, bytes, time [sides][]float64) *measurement {
	m := &measurement{groups: map[bench]*[sides]stat.Group{}}
	for metric, sides := range map[string][sides][]float64{cell.OpAllocs: allocs, cell.OpBytes: bytes, cell.OpTime: time} {
		for side, values := range sides {
			for block, v := range values {
				if metric == cell.OpBytes {
					v *= 16
				}
				m.add(bench{"example.org/p", "X-2"}, side, block, metric, v)
			}
		}
	}
	return m
}

func all(v float64) []float64 { return slices.Repeat([]float64{v}, 6) }

func TestJudge(t *testing.T) {
	same := [sides][]float64{all(10), all(10), all(10)}
	less := [sides][]float64{all(10), all(10), all(5)}
	none := [sides][]float64{all(10), all(10), all(0)}
	more := [sides][]float64{all(10), all(10), all(12)}
	first := [sides][]float64{all(0), all(0), all(3)}
	part := [sides][]float64{all(0.25), all(0.25), all(0)}
	worse := [sides][]float64{{10, 11, 9, 12, 10, 8}, {11, 9, 10, 10, 13, 9}, {11, 12, 10, 11, 12, 10}}
	noisy := [sides][]float64{{10, 11, 9, 12, 10, 8}, {11, 9, 10, 10, 13, 9}, {9, 10, 11, 8, 10, 12}}
	for _, tt := range []struct {
		name                string
		allocs, bytes, time [sides][]float64
		outcome, reason     string
	}{
		{"fewer objects", less, same, noisy, Kept, "less allocs/op in p.X-2: 10 -> 5, -50.0 % [-50.0 %, -50.0 %]"},
		{"fewer bytes", same, less, noisy, Kept, "less B/op"},
		{"a part of an object", same, part, noisy, Dropped, "neither allocations nor bytes fall"},
		{"none left", none, none, noisy, Kept, "10 -> 0, -100.0 %"},
		{"nothing", same, same, noisy, Dropped, "neither allocations nor bytes fall"},
		{"within noise", noisy, noisy, noisy, Unproven, "equal runs differ as much"},
		{"perhaps more", same, worse, noisy, Unproven, "perhaps more B/op"},
		{"time alone", same, same, less, Dropped, "neither allocations nor bytes fall"},
		{"more objects, fewer bytes", more, less, noisy, Dropped, "more allocs/op in p.X-2: 10 -> 12, +20.0 %"},
		{"the first objects", first, less, noisy, Dropped, "more allocs/op in p.X-2: 0 -> 3"},
		{"fewer objects, more time", less, less, more, Kept, "; but more time/op in p.X-2: "},
	} {
		outcome, reason := outcomeOf(measured(tt.allocs, tt.bytes, tt.time).figures())
		if outcome != tt.outcome || !strings.Contains(reason, tt.reason) {
			t.Errorf("%s: %v, %q; want %v, %q", tt.name, outcome, reason, tt.outcome, tt.reason)
		}
	}
	if outcome, _ := outcomeOf(nil); outcome != Dropped {
		t.Error("no figures:", outcome)
	}
}

// TestJudges: judges allocate at the lines of a remedy or in its functions; by turns those that allocate most and least
// come first.
func TestJudges(t *testing.T) {
	p := &testPackage{ImportPath: "example.org/p"}
	few, many, other := judge{p, "BenchmarkFew", ""}, judge{p, "BenchmarkMany", ""}, judge{p, "BenchmarkOther", ""}
	some := judge{p, "BenchmarkSome", ""}
	stack := func(names ...any) (stack []profile.Line) {
		for i := 0; i < len(names); i += 2 {
			fn := &profile.Function{Name: names[i].(string), Filename: "/p/p.go"}
			stack = append(stack, profile.Line{Function: fn, Line: int64(names[i+1].(int))})
		}
		return stack
	}
	at := func() *remedy {
		return &remedy{pkgs: []string{"example.org/p"}, functions: []string{"T.F"}, seen: map[judge]seen{},
			finding: Finding{Spans: []span{{File: "/p/p.go", From: 10, To: 12}}}}
	}
	m := at()
	m.tally(few, stack("strings.Repeat", 1, "example.org/p.(*T).F", 11, "example.org/p.BenchmarkFew", 99), 3)
	m.tally(many, stack("example.org/p.(*T[...]).F.func1", 12), 500)
	m.tally(other, stack("example.org/p.(*T).F", 13), 9000)
	m.tally(other, stack("example.org/q.(*T).F", 11), 9000)
	m.tally(some, stack("example.org/p.(*T).F", 10), 70)
	if got, want := m.judges(), []judge{many, other, some, few}; !slices.Equal(got, want) {
		t.Errorf("at the lines: %v, want %v", got, want)
	}
	m = at()
	m.tally(few, stack("example.org/p.T.F", 14), 3)
	m.tally(other, stack("example.org/p.T.For", 14), 9)
	m.tally(many, stack("example.org/p.T.F", 9), 500)
	if got, want := m.judges(), []judge{many, few}; !slices.Equal(got, want) {
		t.Errorf("in the function: %v, want %v", got, want)
	}
}

// TestFunctionsOfAFix: benchmarks that run what a fix changes judge it, not only those of the line that it is for.
func TestFunctionsOfAFix(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.go")
	const src = "package a\n\ntype T struct{ m map[int]int }\n\nfunc New() *T { return &T{m: map[int]int{}} }\n\n" +
		"func (t *T) Set(n int) { t.m[n] = n }\n"
	if err := os.WriteFile(name, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	v := &verifier{at: &module{root: dir}, patch: &Patch{base: dir, files: map[string]contents{}, kept: fix{}, src: texts{}}}
	from := strings.Index(src, "map[int]int{}")
	m := v.mechanical(Finding{Function: "T.Set", Pkg: "a",
		Edits: fix{name: {{from, from + len("map[int]int{}"), "make(map[int]int, 99)"}}}})
	if want := []string{"T.Set", "New"}; !slices.Equal(m.functions, want) {
		t.Errorf("%q, want %q", m.functions, want)
	}
}

// TestAllJudgesOfTrials: what a trial does not run cannot lose.
func TestAllJudgesOfTrials(t *testing.T) {
	p := &testPackage{ImportPath: "example.org/p"}
	judges := make([]judge, 3*mostJudges)
	for i := range judges {
		judges[i] = judge{p, fmt.Sprint("Benchmark", i), ""}
	}
	v := &verifier{}
	v.built = map[string]string{fmt.Sprint(p.ImportPath, v.env): "p.test"}
	for _, tt := range []struct {
		base map[string][]*benchfmt.Result
		want int
	}{{nil, mostJudges}, {map[string][]*benchfmt.Result{}, len(judges)}} {
		v.base = tt.base
		got, err := v.contests(t.Context(), &remedy{}, judges)
		if err != nil || len(got) != tt.want {
			t.Errorf("%d contests, %v; want %d", len(got), err, tt.want)
		}
	}
}

func TestPatchWriteAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	p := &Patch{base: dir, files: map[string]contents{}}
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("old "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.files[file] = contents{[]byte("old " + name + "\n"), []byte("new " + name + "\n")}
	}
	state := func() (text string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text += e.Name() + ": " + string(data)
		}
		return text
	}
	old := state()
	c := filepath.Join(dir, "c.go")
	was := p.files[c]
	p.files[c] = contents{[]byte("something else\n"), was.new}
	if err := p.Write(t.Context()); err == nil || !strings.Contains(err.Error(),
		"has changed since it was analyzed; nothing was changed") {
		t.Errorf("a file that changed meanwhile: %v", err)
	}
	if got := state(); got != old {
		t.Errorf("after a refusal:\n%s\nwant\n%s", got, old)
	}
	delete(p.files, c)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	p.files[sub+"/d.go"] = contents{nil, []byte("new\n")} // it does not exist yet
	if err := p.Write(t.Context()); err == nil {
		t.Error("a file that is gone: no error")
	}
	delete(p.files, sub+"/d.go")
	if err := os.Remove(sub); err != nil || state() != old {
		t.Errorf("after another refusal: %v, %s", err, state())
	}
	p.files[c] = was
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := state(), strings.ReplaceAll(old, "old", "new"); got != want {
		t.Errorf("after Write:\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat(c); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions: %v (%v), want 0600", info.Mode(), err)
	}
}

// tree writes files and returns their directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLay: files laid over a module, and a workspace, are built there, although
// replacements and uses lead out of it; the original stays as it is.
func TestLay(t *testing.T) {
	dir := tree(t, map[string]string{
		"out/go.mod": "module example.org/out\n\ngo 1.26\n", "out/out.go": "package out\n\nconst N = 1\n",
		"one/go.mod": "module example.org/one\n\ngo 1.26\n\nrequire (\n\texample.org/in v0.0.0\n" +
			"\texample.org/out v0.0.0\n)\n\nreplace example.org/in => ./in\n\nreplace example.org/out v0.0.0 => ../out\n",
		"one/one.go":    "package one\n\nimport (\n\t\"example.org/in\"\n\t\"example.org/out\"\n)\n\nvar N = in.N + out.N\n",
		"one/gone.go":   "package one\n\nvar Gone = 1\n",
		"one/in/go.mod": "module example.org/in\n\ngo 1.26\n", "one/in/in.go": "package in\n\nconst N = 1\n",
		"work/go.work": "go 1.26\n\nuse (\n\t./a\n\t../out\n)\n", "work/a/go.mod": "module example.org/a\n\ngo 1.26\n",
		"work/a/a.go": "package a\n\nimport \"example.org/out\"\n\nvar N = out.N\n", "work/a/gone.go": "package a\n\n" +
			"var Gone = 1\n",
	})
	for sub, name := range map[string]string{"one": "one.go", "work/a": "a.go"} {
		at := filepath.Join(dir, sub)
		v, err := newVerifier(t.Context(), Config{Dir: at})
		if err != nil {
			t.Fatalf("%s: %v", sub, err)
		}
		file := filepath.Join(at, name)
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := &Patch{files: map[string]contents{file: {src, []byte("broken")}, filepath.Join(at, "new.go"): {nil,
			[]byte("package " + strings.TrimSuffix(name, ".go") + "\n\nvar Gone = 2\n")}}}
		second := &Patch{files: map[string]contents{file: {[]byte("broken"), append(src, "\nvar M = N + Gone\n"...)},
			filepath.Join(at, "gone.go"): {[]byte("x"), nil}}}
		for want, patches := range map[string][]*Patch{"": {first, second}, "expected 'package'": {second, first},
			"Gone redeclared": {{
				files: map[string]contents{filepath.Join(at, "new.go"): first.files[filepath.Join(at, "new.go")]}}}} {
			laid, err := v.lay(patches...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := laid.run(t.Context(), "go", "vet", "."); (err == nil) != (want == "") || err != nil &&
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", sub, err, want)
			}
		}
		if _, err := v.run(t.Context(), "go", "vet", "."); err != nil {
			t.Errorf("%s, as it is: %v", sub, err)
		}
		if within(filepath.Join(dir, "out", "out.go"), v.at.root) {
			t.Errorf("%s: a file outside counts as inside", sub)
		}
		v.remove()
		if exists(v.tmp) {
			t.Errorf("%s: %s is still there", sub, v.tmp)
		}
	}
	if _, err := newVerifier(t.Context(), Config{Dir: filepath.Join(dir, "out", "..")}); err == nil ||
		!strings.Contains(err.Error(), "no module here") {
		t.Errorf("no module: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newVerifier(ctx, Config{Dir: filepath.Join(dir, "one")}); err == nil {
		t.Error("a cancelled verification has no error")
	}
}

func TestUnknown(t *testing.T) {
	dir := tree(t, map[string]string{"a.go": "alpha(1) beta(2)", "b.go": "alpha( 1 ) gamma(3)"})
	at := func(file string, start, end int, check, function string) Finding {
		return Finding{Check: check, Function: function, Pkg: "p", Spans: []span{{File: filepath.Join(dir, file),
			Start: start, End: end}}}
	}
	alpha, beta := at("a.go", 0, 8, "c", "f"), at("a.go", 9, 16, "c", "f")
	gamma := at("b.go", 11, 19, "c", "f")
	other := at("a.go", 0, 8, "d", "f")
	elsewhere := at("a.go", 0, 8, "c", "h")
	for _, tt := range []struct {
		name     string
		now, was []Finding
		unknown  int
	}{
		{"same", []Finding{alpha, beta}, []Finding{beta, alpha}, 0},
		{"a second of the same", []Finding{alpha, elsewhere}, []Finding{alpha}, 1},
		{"moved", []Finding{elsewhere}, []Finding{alpha}, 0},
		{"reworded", []Finding{gamma}, []Finding{beta}, 0},
		{"one reworded, one new", []Finding{gamma, alpha}, []Finding{beta}, 1},
		{"another check", []Finding{other}, []Finding{alpha}, 1},
		{"nothing before", []Finding{alpha}, nil, 1},
		{"nothing now", nil, []Finding{alpha}, 0},
	} {
		if got := unknown(tt.now, tt.was, nil); len(got) != tt.unknown {
			t.Errorf("%s: %d unknown, want %d", tt.name, len(got), tt.unknown)
		}
	}
}

func TestPatchText(t *testing.T) {
	base := t.TempDir()
	p := &Patch{base: base, files: map[string]contents{
		filepath.Join(base, "x", "a.go"): {[]byte("a\nb\nc\n"), []byte("a\nB\nc\n")},
	}}
	if got, want := p.String(), "diff --git a/x/a.go b/x/a.go\n--- a/x/a.go\n+++ b/x/a.go\n@@ -1,3 +1,3 @@\n a\n-b\n"+
		"+B\n c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
