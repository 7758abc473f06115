package advice

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/advise"
)

// sampledAt returns the file of a profile of functions with the name, file and line given: one object each, twice as large as the one before.
func sampledAt(t *testing.T, at ...[3]any) string {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_objects"}, {Type: "alloc_space"}}}
	for i, of := range at {
		fn := &profile.Function{ID: uint64(i + 1), Name: of[0].(string), Filename: of[1].(string)}
		loc := &profile.Location{ID: fn.ID, Line: []profile.Line{{Function: fn, Line: int64(of[2].(int))}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{1, 512 << i},
			NumLabel: map[string][]int64{"bytes": {512 << i}}})
	}
	return save(t, p)
}

// TestProgramsBuiltElsewhere: the files of a profile are found by package and name, wherever the program was built.
func TestProgramsBuiltElsewhere(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"a/a.go": "package a\n\nfunc F() *[128]int { return new([128]int) }\n\n" +
			"func G() func() *[128]int {\n\treturn func() *[128]int { return new([128]int) }\n}\n",
		"b/a.go":       "package b\n",
		"cmd/x/run.go": "package main\n\nvar kept any\n\nfunc main() { kept = new([128]int) }\n",
		"cmd/y/run.go": "package main\n\n\n\nfunc main() {}\n",
	})
	link, copied := filepath.Join(t.TempDir(), "link"), t.TempDir()
	if err := errors.Join(os.Symlink(dir, link), os.CopyFS(copied, os.DirFS(dir))); err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{"/builds/7/m", "C:/builds/us/m", "example.org/m", dir, link, copied} {
		r := ran(t, Config{Dir: dir, Patterns: []string{"./..."}, Profiles: []string{sampledAt(t,
			[3]any{"example.org/m/a.F", there + "/a/a.go", 3}, [3]any{"main.main.G.func1", there + "/a/a.go", 6},
			[3]any{"main.main", there + "/cmd/x/run.go", 5})}})
		var got []string
		for _, s := range r.Evidence.Account.Sites {
			got = append(got, fmt.Sprint(s.File, ":", s.Line))
		}
		if want := "cmd/x/run.go:5 a/a.go:3 a/a.go:6"; strings.Join(got, " ") != want {
			t.Errorf("%s: sites %v, want %s", there, got, want)
		}
	}
}

// TestCopiesAreNamedByTheirDeclaration: a function literal that was inlined has the name of the function that declares
// it, not of the one that holds the copy.
func TestCopiesAreNamedByTheirDeclaration(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"a/a.go": "package a\n\ntype T[E any] struct{}\n\nfunc (t *T[E]) All() (f func() *E) {\n" +
			"\tf = func() *E {\n\t\treturn nil\n\t}\n" +
			"\treturn func() *E {\n\t\treturn new(E)\n\t}\n}\n",
		"main.go": "package main\n\nfunc main() {}\n",
	})
	for _, name := range []string{"main.main.(*T[go.shape.int]).All.func7", "example.org/m/a.(*T[...]).All.func2"} {
		at := &profile.Function{ID: 1, Name: name, Filename: dir + "/a/a.go", StartLine: 9}
		loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: at, Line: 10}}}
		r := ran(t, Config{Dir: dir, Patterns: []string{"./..."}, Profiles: []string{save(t, &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "alloc_objects"}, {Type: "alloc_space"}},
			Function:   []*profile.Function{at}, Location: []*profile.Location{loc},
			Sample: []*profile.Sample{{Location: []*profile.Location{loc}, Value: []int64{1, 8}}}})}})
		if s := r.Evidence.Account.Sites; len(s) != 1 || s[0].Function != "a.T.All.func2" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestFilesThatTheBuildLeavesOut: what they allocate is their callers', and the report says so.
func TestFilesThatTheBuildLeavesOut(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod":   "module example.org/m\n\ngo 1.26\n",
		"m.go":     "package m\n\nfunc F() *[128]int { return new([128]int) }\n",
		"tags.go":  "//go:build special\n\npackage m\n\nfunc G() *[128]int { return new([128]int) }\n",
		"other.go": "//go:build special\n\npackage m\n\nfunc H() {}\n",
	})
	r := ran(t, Config{Dir: dir, Patterns: []string{"."}, Profiles: []string{sampledAt(t,
		[3]any{"example.org/m.F", "/built/m.go", 3}, [3]any{"example.org/m.G", "/built/tags.go", 5})}})
	if notes := strings.Join(r.Evidence.Notes, "\n"); !strings.Contains(notes, "tags.go allocates") ||
		strings.Contains(notes, "other.go") {
		t.Errorf("notes: %s", notes)
	}
}

// TestCodeOfAnotherFile: what code allocates is charged to the file that //line names, if it exists, and is not to be
// fixed where it is copied to.
func TestCodeOfAnotherFile(t *testing.T) {
	body := "func F(in []string) []string {\n\tvar out []string\n\tfor _, s := range in {\n\t\tout = append(out, s)\n\t}\n\treturn out\n}\n"
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.y":    "%%\n" + body,
		"m.go":   "package m\n\n//line m.y:2\n" + body + "\n//line gone.y:1\nfunc G() *[128]int { return new([128]int) }\n\n//line m.go:15\n\nfunc H() { G() }\n",
	})
	r := ran(t, Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All(), Profiles: []string{
		sampledAt(t, [3]any{"example.org/m.F", "m.y", 5}, [3]any{"example.org/m.F", "m.y", 5})}})
	if s := r.Evidence.Account.Sites; len(s) != 1 || s[0].File != "m.y" || s[0].Line != 5 || s[0].Fix ||
		s[0].Source != "out = append(out, s)" || s[0].Verdict != Candidate {
		t.Errorf("%+v", s)
	}
	for _, f := range r.Findings {
		if f.Fix {
			t.Errorf("a fix of what is made of another file: %+v", f)
		}
	}
	var b strings.Builder
	if err := SARIF(&b, "1", dir, advise.All(), r.Findings); err != nil || !strings.Contains(b.String(), `"startColumn": 1,`) {
		t.Errorf("%v: want columns, which //line does not give and SARIF counts from 1, in %s", err, b.String())
	}
}

// TestCodeBesideC: what a function that calls C allocates is explained.
func TestCodeBesideC(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := tree(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go": "package m\n\n// static int twice(int n) { return 2 * n; }\nimport \"C\"\n\nfunc F(n int) (out []int) {\n" +
			"\tfor i := range n {\n\t\tout = append(out, int(C.twice(C.int(i))))\n\t}\n\treturn out\n}\n",
	})
	r := ran(t, Config{Dir: dir, Patterns: []string{"."},
		Profiles: []string{sampledAt(t, [3]any{"example.org/m.F", dir + "/m.go", 8}, [3]any{"example.org/m.F", dir + "/m.go", 8})}})
	if s := r.Evidence.Account.Sites; len(s) != 1 || s[0].What != "append(out, int(C.twice(C.int(i))))" || s[0].Verdict != Candidate ||
		s[0].Fix {
		t.Errorf("%+v", s)
	}
}
