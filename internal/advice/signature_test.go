package advice

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// recorded is what the exercises must be recognized by: the line that is to be
// charged, by a part of it, and its exercise. The document's table of signatures
// is among them, its numbers put right.
var recorded = []struct {
	exercise int
	variant  string
	line     string
	frame    string // of the document's table, for CPU profiles; empty for none
}{
	{1, "before", "fmt.Sprintf(", "runtime.mallocgc"},
	{2, "kept", "keepBytes([]byte(in.token))", "runtime.stringtoslicebyte"},
	{3, "before", "sumString(string(in.line))", "runtime.slicebytetostring"},
	{4, "before", "s += f", "runtime.concatstring"},
	{5, "before", "append(out, f(x))", "runtime.growslice"},
	{6, "before", "WriteString(", "runtime.mallocgc"},
	{7, "before", "go func() {", "runtime.new"},
	{8, "before", `logAny("user"`, "runtime.convT64"},
	{9, "before", "&linkedNode{", ""},
	{10, "before", "time.After(", "time.NewTimer"},
	{11, "before", "json.Marshal(", ""},
	{12, "before", "regexp.MustCompile(", ""},
	{14, "before", "defer ", "runtime.deferproc"},
	{15, "before", "errors.New(", ""},
	{17, "before", "runtime.SetFinalizer(", "runtime.SetFinalizer"},
	{18, "before", "func newUser(", "runtime.newobject"},
}

func exercise(t *testing.T, number int, variant string) workload.Closed {
	t.Helper()
	w, err := workload.Lookup("exercises")
	if err != nil {
		t.Fatal(err)
	}
	params, err := w.Resolve(map[string]string{"exercise": strconv.Itoa(number), "variant": variant})
	if err != nil {
		t.Fatal(err)
	}
	task, err := w.New(workload.Env{Params: params, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return task.(workload.Closed)
}

var exercisePackage = sync.OnceValues(func() ([]*unit, error) {
	return analyze(context.Background(), Config{Dir: filepath.Join("..", ".."), Patterns: []string{"./internal/lab/workload"}})
})

// resolve joins a profile to the exercises and returns what each of their lines
// is explained by; lines are named by file, number and text.
func resolve(t *testing.T, profile string) (map[string]Line, error) {
	t.Helper()
	pkgs, err := exercisePackage()
	if err != nil {
		t.Fatal(err)
	}
	e, err := join(t.Context(), []string{profile}, pkgs, filepath.Join("..", ".."), nil)
	if err != nil {
		return nil, err
	}
	lines := map[string]Line{}
	for _, l := range e.Lines {
		if strings.Contains(l.File, "exercises_") {
			lines[l.File+":"+strconv.Itoa(l.Line)+": "+l.Source] = l
		}
	}
	return lines, nil
}

// recognized reports whether a line with the text is explained by the exercise.
func recognized(lines map[string]Line, text string, exercise int) bool {
	for name, l := range lines {
		if strings.Contains(name, text) && l.Exercise == exercise && l.Cause != "" {
			return true
		}
	}
	return false
}

// TestAllocationsResolve records the allocations of each exercise, all of
// them, and finds the line and the exercise in the profile.
func TestAllocationsResolve(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds allocate otherwise")
	}
	rate := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = rate }()
	for _, c := range recorded {
		if c.exercise == 14 || c.exercise == 17 {
			continue // their records are the runtime's: only CPU profiles have them
		}
		task := exercise(t, c.exercise, c.variant)
		runtime.MemProfileRate = 1
		task.Loop(0, 2000/int64(1+19*btoi(c.exercise == 12 || c.exercise == 11)))
		runtime.MemProfileRate = rate
		runtime.GC()
		name := filepath.Join(t.TempDir(), "allocs")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if lines, err := resolve(t, name); err != nil || !recognized(lines, c.line, c.exercise) {
			t.Errorf("exercise %d is not recognized at %q: %v, %v", c.exercise, c.line, lines, err)
		}
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSignaturesResolve records CPU profiles of the exercises that the
// document's table of signatures names: until one has a sample in the line that
// is to blame, as samples are few and fall by chance; on a busy machine there may
// be none at all.
func TestSignaturesResolve(t *testing.T) {
	if testing.Short() || invariant.Race {
		t.Skip("records CPU profiles for seconds")
	}
	for _, c := range recorded {
		if c.frame == "" {
			continue
		}
		task := exercise(t, c.exercise, c.variant)
		found := false
		var lines map[string]Line
		var failed error
		for try := 0; try < 25 && !found; try++ {
			name := filepath.Join(t.TempDir(), "cpu")
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				t.Fatal(err)
			}
			for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
				task.Loop(0, 50)
			}
			pprof.StopCPUProfile()
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			lines, err = resolve(t, name)
			found = err == nil && recognized(lines, c.line, c.exercise)
			failed = err
		}
		if !found {
			t.Errorf("exercise %d (%s) is not recognized at %q: %v, %v", c.exercise, c.frame, c.line, lines, failed)
		}
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSignaturesKnowTheTable holds that each frame of the document's table
// stands for a pattern, by itself or, where many patterns share it, by the line
// that called it.
func TestSignaturesKnowTheTable(t *testing.T) {
	for frame, want := range map[string]int{
		"runtime.convT64": 8, "runtime.convTstring": 8, "runtime.growslice": 5, "runtime.stringtoslicebyte": 2,
		"runtime.slicebytetostring": 3, "runtime.concatstrings": 4, "runtime.concatstring2": 4, "runtime.makemap": 0,
		"runtime.makemap_small": 0, "time.NewTimer": 10, "runtime.deferproc": 14, "runtime.SetFinalizer": 17,
		"regexp.MustCompile": 12, "regexp.compile": 12,
	} {
		if s := recognize(frame); s == nil || s.exercise != want {
			t.Errorf("%s: %+v, want exercise %d", frame, s, want)
		}
	}
	for _, frame := range []string{"runtime.mallocgc", "runtime.newobject", "main.main", "regexp.(*Regexp).MatchString"} {
		if s := recognize(frame); s != nil {
			t.Errorf("%s: %+v, which only the line can tell", frame, s)
		}
	}
}
