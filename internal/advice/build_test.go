package advice

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestBuildIDOfProgram: the linker writes a build id, which differs between programs.
func TestBuildIDOfProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only ELF files have it")
	}
	ids := map[string]bool{}
	for _, text := range []string{"1", "2"} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { println("+text+") }\n"))
		cmd := exec.Command("go", "build", "-o", "prog", "main.go")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		id := buildID(filepath.Join(dir, "prog"))
		if len(id) != 40 {
			t.Fatalf("%q: want the 20 bytes that the linker writes", id)
		}
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("two programs, build ids %v", ids)
	}
	if id := buildID(os.DevNull); id != "" {
		t.Errorf("a file that is no program: %q", id)
	}
}

func TestFunctionsOfAnotherBuild(t *testing.T) {
	fresh := func() *joiner {
		return &joiner{
			files:  map[string]string{"/m/a.go": "/m/a.go", "/m/b.go": "/m/b.go"},
			starts: map[beginning]bool{{"/m", "A", 10}: true, {"/m", "M", 20}: true},
			moved:  map[string]place{}, still: map[string]bool{},
		}
	}
	fn := func(name, file string, line int64) *profile.Function {
		return &profile.Function{Name: name, Filename: file, StartLine: line}
	}
	same := []*profile.Function{
		fn("example.org/m.A[...]", "/m/a.go", 10), fn("example.org/m.(*T[...]).M", "/m/a.go", 20), fn("example.org/m.A.func1", "/m/a.go", 12),
		fn("example.org/m.glob..func2.1", "/m/a.go", 3), fn("example.org/m.init.0", "/m/a.go", 5), fn("example.org/m.(*T).M-fm", "/m/a.go", 1), fn("other.B", "/other/b.go", 99),
	}
	for _, tt := range []struct {
		name string
		more *profile.Function
		want string
	}{
		{"the same", fn("example.org/m.A", "/m/a.go", 10), ""},
		{"no start lines", fn("example.org/m.A", "/m/a.go", 0), ""},
		{"in the file of what is inlined", fn("example.org/m.A", "/m/b.go", 10), ""},
		{"moved", fn("example.org/m.(*U).M", "/m/a.go", 21), "(*U).M began at a.go:21"},
		{"another name", fn("example.org/m.B", "/m/a.go", 10), "m.B began at a.go:10"},
	} {
		j := fresh()
		j.functions(&profile.Profile{Function: append(same[:len(same):len(same)], tt.more)})
		err := j.compare()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
