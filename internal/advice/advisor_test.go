package advice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isobar-go/isobar/advise/check"
)

// TestRunEndsWithItsContext: an interrupt does not wait for the package being checked.
func TestRunEndsWithItsContext(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": "package m\n"})
	ctx, cancel := context.WithCancel(t.Context())
	returned, ended := make(chan struct{}), make(chan struct{})
	slow := check.New(check.Check{Name: "slow", Severity: check.Trap, Doc: "takes long\n\nand longer", When: "always",
		WhenNot: "never", Run: func(*check.Pass) {
			defer close(ended)
			cancel()
			select {
			case <-returned:
			case <-time.After(time.Minute):
				t.Error("it waits for the check")
			}
		}})
	_, err := Run(ctx, Config{Dir: dir, Patterns: []string{"."}, Checks: []*check.Check{slow}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	close(returned)
	<-ended
}

// TestTextsAreReadOnce checks that a file is read once, however many findings it has.
func TestTextsAreReadOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.go")
	put(t, name, []byte("package a\r\n\n\tvar x int\n"))
	src := texts{}
	if got := src.line(name, 1); got != "package a" {
		t.Errorf("the first line is %q", got)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{0: "", 3: "var x int", 4: ""} {
		if got := src.line(name, n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
	if got := src.line(name+".gone", 1); got != "" {
		t.Errorf("a file that is not there has %q", got)
	}
}

// TestRunningProgramsAreNotAskedAgain: --verify asks profiles which benchmarks run a
// line. Profiles of a running program have no benchmarks, and the program may be gone.
func TestRunningProgramsAreNotAskedAgain(t *testing.T) {
	v := &verifier{Config: Config{Profiles: []string{"http://127.0.0.1:1/debug/pprof/"}}}
	if err := v.sampled(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}
