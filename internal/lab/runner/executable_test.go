package runner

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestOtherBuilds builds a child with another release of Go, and one with the collector that this
// test binary does not have, and checks their builds. The second child measures nothing: for an
// experiment Go recompiles everything it imports.
func TestOtherBuilds(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds binaries, and keeps them where XDG_CACHE_HOME says")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no Go toolchain here")
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // not below our cache directory
		out, err := exec.Command(goTool, "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(out)))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	defer func(of string) { command = of }(command)
	own, _ := goVersion(runtime.Version())
	release := "1.27.4"
	if own == "go"+release {
		release = "1.26.8"
	}
	other := map[string]string{"greentea": "classic", "classic": "greentea"}[ownCollector()]
	for _, tc := range []struct {
		program string
		build   cell.Build
		is      func(cell.Record) bool
	}{
		{"measures/isobar", cell.Build{Go: release}, func(rec cell.Record) bool { return rec.GoVersion == "go"+release }},
		{"answers/isobar", cell.Build{Collector: other}, func(rec cell.Record) bool {
			return rec.GoVersion == own && strings.Contains(rec.Experiments, "nogreenteagc") == (other == "classic")
		}},
	} {
		command = "./internal/lab/runner/testdata/" + tc.program
		c := testCell("strategies")
		c.Params = map[string]string{"duration": "20ms"}
		c.Go, c.Collector = tc.build.Go, tc.build.Collector
		if rec := run(t, c); rec.Err != nil || !tc.is(rec) {
			t.Errorf("the child for %s is of %s with experiments %q, %v", tc.build, rec.GoVersion, rec.Experiments, rec.Err)
		}
		if again, err := Executable(t.Context(), tc.build, testWriter{t}); err != nil || !strings.Contains(again, tc.build.String()) {
			t.Errorf("from the cache: %q, %v", again, err)
		}
		c.Go, c.Collector = "", ownCollector()
		if rec := run(t, c); rec.Err != nil || tc.is(rec) {
			t.Errorf("the own binary is of %s with experiments %q, %v", rec.GoVersion, rec.Experiments, rec.Err)
		}
	}
}

func TestGoVersion(t *testing.T) {
	for s, want := range map[string][2]string{
		"go1.26.8":                {"go1.26.8", ""},
		"go1.26.8-X:nogreenteagc": {"go1.26.8", "nogreenteagc"},
		"devel go1.27-abc X:a,b":  {"devel go1.27-abc", "a,b"},
	} {
		if version, experiments := goVersion(s); version != want[0] || experiments != want[1] {
			t.Errorf("goVersion(%q) = %q, %q", s, version, experiments)
		}
	}
}

func TestDigest(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	digest := func(fsys fstest.MapFS) string {
		d, err := digestOf(fsys)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := fstest.MapFS{"go.mod": file("module x"), "cmd/a.go": file("package a")}
	first := digest(base)
	base["cmd/a_test.go"], base["docs/x.md"], base[".git/HEAD"] = file("1"), file("2"), file("3")
	if digest(base) != first {
		t.Error("files that no build uses change the digest")
	}
	base["cmd/a.go"] = file("package b")
	if digest(base) == first {
		t.Error("a changed source has the same digest")
	}
}
