package heap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// toolchains has a release of every minor version of Go that can be read.
var toolchains = []string{"go1.25.14", "go1.26.8", "go1.27.4"}

// own is the toolchain that built this test, or go1.26.8 if it is not listed.
var own = toolchains[max(1, slices.Index(toolchains, runtime.Version()))]

// planted lists the leaks of testdata/planted, and what names the holder with debug
// information and without.
var planted = []struct{ leak, holder, stripped string }{
	{"map", "main.app.byID", "map[int]*main.record"},
	{"interface", "main.vault.byID", "global at"},
	{"atomic", "main.current.v.byID", "global at"},
	{"reslice", "main.window", "global at"},
	{"timer", "main.init.func", "main.init.func"},
	{"goroutine", "main.stuck", "main.stuck"},
	{"channel", "main.jobs", "global at"},
	{"waiter", "in main.deliver", "in main.deliver"},
	{"pooled", "in main.deliver", "global at"}, // without types a pool is like any variable
	{"pool", "main.buffers", "global at"},
	{"pool beside", "main.halls", "global at"},
	{"finalizer", "objects with a finalizer: main.ring.body", "objects with a finalizer: main.ring.body"},
	{"context", "main.request", "global at"},
	{"subscription", "main.app.topics", "main.init.func"},
	{"bound", "[].r.body", "global at"},
	{"cache", "main.names.entries", "map[string]*main.record"},
	{"sync.Map", "main.sessions", "global at"},
	// Roots that are not leaks.
	{"deferred", "main.deferred", "main.deferred"},
	{"defer records", "in main.defers", "in main.defers"},
	{"defers in a loop", "in main.listed", "in main.listed"},
	{"deep", "in main.descend", "in main.descend"},
	{"panicking", "in runtime.gopanic", "in runtime.gopanic"},
	{"cleanup", "finalizers and cleanups", "finalizers and cleanups"},
}

// TestPlantedLeaks reads a program of every version of Go for every kind of leak. The
// true holder must be among the first three, and live and garbage bytes must match
// the runtime's, which checks our marking.
func TestPlantedLeaks(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the heap of this architecture cannot be read")
	}
	for _, toolchain := range toolchains {
		for _, flags := range []string{"", "-ldflags=-s -w", "-buildmode=pie"} {
			t.Run(strings.TrimSpace(toolchain+" "+flags), func(t *testing.T) {
				program := build(t, toolchain, flags)
				for _, p := range planted {
					want, config := p.holder, Config{Config: image.Config{MaxPause: time.Minute}}
					if flags == "-ldflags=-s -w" { // and from a fork, if there can be one
						want, config.ForkAbove = p.stripped, 1
					}
					t.Run(p.leak, func(t *testing.T) { findPlanted(t, program, p.leak, want, config) })
				}
			})
		}
	}
}

// alone skips a test in race builds: it would check how memory is copied, which the
// planted leaks already do.
func alone(t *testing.T) {
	if invariant.Race {
		t.Skip("reads what the plants read, by one goroutine: not in race builds")
	}
}

// programs is the directory with the builds of testdata/planted.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "planted"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// build builds testdata/planted once per version of Go and flag of go build.
func build(t *testing.T, toolchain, flag string) string {
	t.Helper()
	if (invariant.Race || testing.Short()) && toolchain != own {
		t.Skip("one version only in short and in a race build: what reads them is the same")
	}
	program := filepath.Join(programs, toolchain+flag)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	source, err := os.ReadFile("testdata/planted/main.go")
	if err != nil {
		t.Fatal(err)
	}
	// outside of the module, which requires its own version of Go
	if err := os.WriteFile(filepath.Join(programs, "main.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-o", program, "main.go"}
	if flag != "" {
		args = slices.Insert(args, 1, flag)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = programs
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "download") {
			t.Skipf("%s cannot be had here: %s", toolchain, out)
		}
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// started runs a program until it prints its live bytes, and ends it with the test.
func started(t testing.TB, program string, args ...string) (pid int, live, objects uint64) {
	t.Helper()
	pid, line := says(t, program, args...)
	if _, err := fmt.Sscan(line, &live, &objects); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return pid, live, objects
}

// says is like started, but returns the line that the program prints.
func says(t testing.TB, program string, args ...string) (pid int, line string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	})
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return cmd.Process.Pid, strings.TrimPrefix(line, "live ")
}

func findPlanted(t *testing.T, program, leak, want string, config Config) {
	t.Setenv("GODEBUG", "gccheckmark=1")
	pid, live, _ := started(t, program, leak, "garbage")
	r, err := Open(t.Context(), fmt.Sprint(pid), config)
	if err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(r.Live)/float64(live) - 1); off > 0.01 {
		t.Errorf("live %d bytes, the runtime says %d", r.Live, live)
	}
	const each, left = 256 << 10, 60 // bytes of an object, number of objects
	if off := math.Abs(float64(r.Garbage)/(left*each) - 1); off > 0.01 {
		t.Errorf("%d bytes of garbage, %d were left: objects are missing or called live", r.Garbage, left*each)
	}
	if leak == "bound" && config.ForkAbove == 0 && 100*r.Untyped > r.Live { // with debug information
		t.Errorf("%d of %d live bytes are of a type that is not known", r.Untyped, r.Live)
	}
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "no fork") })
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
	all := r.Holders(0.01)
	for _, h := range all[:min(3, len(all))] {
		if strings.Contains(h.Path+" "+h.Type+" "+h.Mostly, want) && h.Live > 0.5 {
			return
		}
	}
	t.Errorf("no %q among the first three holders:", want)
	for _, h := range all[:min(8, len(all))] {
		t.Errorf("%9d %s  %s; mostly %s", h.Retained, h.Path, h.Type, h.Mostly)
	}
}

// TestFirstHolders checks the whole path and the bytes of the first row.
func TestFirstHolders(t *testing.T) {
	for _, tc := range []struct{ flags, plant, path string }{
		{"", "finalizable", "main.app.byID"}, // a finalizer does not hold what its object holds
		{"", "short and long", "main.crowds"},
		{"", "cleanup", "finalizers and cleanups of main.init."},
		{"-ldflags=-s -w", "shards", "variables and goroutines that hold little each"}, // elements of an array
	} {
		pid, live, _ := started(t, build(t, own, tc.flags), tc.plant)
		r, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{MaxPause: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		all := r.Holders(0.01)
		if len(all) == 0 || !strings.HasPrefix(all[0].Path, tc.path) || all[0].Retained < live/100*95 {
			t.Errorf("%s: of %d bytes: %+v", tc.plant, live, all)
		}
	}
}

// TestTypesInAPool: a pool takes interfaces apart.
func TestTypesInAPool(t *testing.T) {
	pid, _, _ := started(t, build(t, own, ""), "pool")
	r, err := Open(t.Context(), fmt.Sprint(pid), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Untyped > r.Live/20 {
		t.Errorf("%d of %d live bytes are of a type that is not known", r.Untyped, r.Live)
	}
}

// TestMemoryOfAReading: a heap that takes more memory to read than there is free is not read.
func TestMemoryOfAReading(t *testing.T) {
	alone(t)
	for _, plant := range []string{"map", "chain"} {
		pid, _, _ := started(t, build(t, own, ""), plant)
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins again
			t.Skip(err)
		}
		before := status(t, "VmHWM")
		c := Config{Config: image.Config{MaxPause: time.Minute}}
		if _, err := Open(t.Context(), fmt.Sprint(pid), c); err != nil {
			t.Fatal(err)
		}
		c.FreeBytes = status(t, "VmHWM") - before
		if _, err := Open(t.Context(), fmt.Sprint(pid), c); err == nil || !strings.Contains(err.Error(), "are free here") {
			t.Errorf("%s: a reading that took %d MB was made with as many free: %v", plant, c.FreeBytes>>20, err)
		}
	}
}

// status returns a line of our own /proc/self/status that is in kB, in bytes.
func status(t *testing.T, name string) (n uint64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "\n"+name+":")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n << 10
}

// TestStacksCount: copying a large stack takes time too, so a small heap does not prevent a fork.
func TestStacksCount(t *testing.T) {
	alone(t)
	const shorter = 1 // ns: a copy too small to be measured
	pid, _, _ := started(t, build(t, own, ""), "deep")
	r, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{ForkAbove: shorter + 1}})
	if err != nil {
		t.Fatal(err)
	}
	tried := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "no fork") })
	if !r.Forked && !tried {
		t.Error("no fork was tried")
	}
	if stacks := uint64(110_000 * 16); r.Copied < stacks {
		t.Errorf("copied %d bytes, the stacks are more than %d", r.Copied, stacks)
	}
}

// TestCoreSaysWhatTheProcessDoes compares the report of a process with that of its core.
func TestCoreSaysWhatTheProcessDoes(t *testing.T) {
	alone(t)
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Skip("no gcore here to write a core file")
	}
	program := build(t, own, "")
	pid, live, _ := started(t, program, "map")
	name := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(gcore, "-o", name, fmt.Sprint(pid)).CombinedOutput(); err != nil {
		t.Skipf("gcore may not: %v\n%s", err, out)
	}
	name += fmt.Sprint(".", pid)
	r, err := Open(t.Context(), name, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(r.Live)/float64(live) - 1); off > 0.01 {
		t.Errorf("live %d bytes in the core, the runtime says %d", r.Live, live)
	}
	if all := r.Holders(0.01); len(all) == 0 || all[0].Path != "main.app.byID" {
		t.Errorf("holders in the core: %+v", all)
	}
	stripped := build(t, own, "-ldflags=-s -w")
	_, err = Open(t.Context(), name, Config{Binary: stripped})
	if err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("a core with another build of its program: %v", err)
	}
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), name, Config{}); err == nil || !strings.Contains(err.Error(), "it is cut off") {
		t.Errorf("half of a core: %v", err)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	asleep := exec.Command("sleep", "60")
	if err := asleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer asleep.Wait()
	defer asleep.Process.Kill()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no core"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, target, want string }{
		{"not Go", fmt.Sprint(asleep.Process.Pid), "not a Go program"},
		{"no process", "4194305", "no process"},
		{"no file", text + "x", "no such file"},
		{"another file", text, "neither a core file nor a report"},
	} {
		if _, err := Open(t.Context(), tc.target, Config{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.name, err, tc.want)
		}
	}
	program := build(t, own, "")
	pid, _, _ := started(t, program, "map")
	if _, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{MaxPause: 1}}); !errors.Is(err, image.ErrPause) {
		t.Errorf("a pause of a nanosecond: %v", err)
	}
	if _, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{FreeBytes: 1 << 20}}); err == nil {
		t.Error("a copy that does not fit was made")
	}
}

// TestUnknownVersion reads a program that claims to be built with a future version of Go.
func TestUnknownVersion(t *testing.T) {
	program := build(t, own, "")
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "unknown")
	data = bytes.ReplaceAll(data, []byte(own), []byte("go1.99.8"))
	if err := os.WriteFile(program, data, 0o700); err != nil {
		t.Fatal(err)
	}
	pid, live, _ := started(t, program, "duplicates")
	_, err = Open(t.Context(), fmt.Sprint(pid), Config{})
	if err == nil || !strings.Contains(err.Error(), "go1.99.8") || !strings.Contains(err.Error(), "--ledger") {
		t.Errorf("the error is %v", err)
	}
	l, err := ReadLedger(t.Context(), pid, Config{})
	if err != nil {
		t.Fatal(err)
	}
	sum, heap := uint64(0), uint64(0)
	for _, line := range l.Lines {
		if sum += line.Bytes; line.Class == wholeHeap {
			heap = line.Bytes
		}
		if line.Class == otherMemory && !strings.HasPrefix(line.Remedy, "runtime structures") {
			t.Errorf("what runtime structures are in is %q", line.Remedy)
		}
	}
	if sum != l.RSS || heap < live/2 || len(l.Warnings) == 0 {
		t.Errorf("of %d bytes live the ledger is %+v", live, l)
	}
}

// TestUnused plants holders that use almost nothing of what they hold.
func TestUnused(t *testing.T) {
	program := build(t, own, "")
	for _, tc := range []struct {
		plant, holder, remedy string
		unused                float64
	}{
		{"capacity", "main.spare", "smaller capacity", 24 << 20},
		{"reslice", "main.window", "slices.Clone", 15 << 20},
		{"substring", "main.excerpts", "strings.Clone", 32 << 20},
		{"shrunk", "main.emptied", "make the map again", 2 << 20 * 17}, // slots of 16 bytes and a control byte, half used
	} {
		pid, _, _ := started(t, program, tc.plant)
		r, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{MaxPause: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(float64(r.Unused)/tc.unused - 1); off > 0.03 {
			t.Errorf("%s: %d bytes unused, planted were %.0f", tc.plant, r.Unused, tc.unused)
		}
		if h := r.Holders(0.01)[0]; h.Path != tc.holder || h.Unused > r.Unused || h.Unused < r.Unused/10*9 ||
			!strings.Contains(h.Remedy, tc.remedy) {
			t.Errorf("%s: the first holder is %+v", tc.plant, h)
		}
	}
	pid, _, _ := started(t, program, "map")
	if r, err := Open(t.Context(), fmt.Sprint(pid), Config{}); err != nil || r.Unused > r.Live/50 {
		t.Errorf("a map of records that are all used: %d of %d bytes unused, %v", r.Unused, r.Live, err)
	}
}

// TestDuplicates plants 1024 strings of four texts.
func TestDuplicates(t *testing.T) {
	pid, _, _ := started(t, build(t, own, ""), "duplicates")
	r, err := Open(t.Context(), fmt.Sprint(pid), Config{Strings: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = 32 << 20 / 256 * 255.0
	if off := math.Abs(float64(r.Duplicates)/want - 1); off > 0.01 {
		t.Errorf("%d bytes of strings are there already, planted were %.0f", r.Duplicates, want)
	}
	if h := r.Holders(0.01)[0]; h.Path != "main.excerpts" || float64(h.Duplicates) < 0.99*want ||
		!strings.Contains(h.Remedy, "unique") {
		t.Errorf("the first holder is %+v", h)
	}
	if r, err = Open(t.Context(), fmt.Sprint(pid), Config{}); err != nil || r.Duplicates != 0 {
		t.Errorf("%d bytes of strings were read unasked, %v", r.Duplicates, err)
	}
}

// TestCollector compares the collector's figures in every version's runtime with its metrics.
func TestCollector(t *testing.T) {
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			pid, line := says(t, build(t, toolchain, ""), "churn")
			var live, objects, seconds float64
			if _, err := fmt.Sscan(line, &live, &objects, &seconds); err != nil {
				t.Fatal(err)
			}
			r, err := Open(t.Context(), fmt.Sprint(pid), Config{})
			if err != nil {
				t.Fatal(err)
			}
			c := r.Collector
			if off := math.Abs(c.CPU.Seconds()/seconds - 1); off > 0.01 || c.GOGC != 100 || c.share() <= 0 || c.share() >= 1 {
				t.Errorf("collections took %+v, the program says %v s", c, seconds)
			}
		})
	}
}

// TestGoroutinesThatWaitForEver plants goroutines, some of which can be woken: by a variable, a
// timer, or another goroutine that can run.
func TestGoroutinesThatWaitForEver(t *testing.T) {
	const each = 256 << 10
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			pid, _, _ := started(t, build(t, toolchain, ""), "waits")
			r, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{MaxPause: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			locked := "sync.Mutex.Lock for ever 1"
			if strings.HasPrefix(toolchain, "go1.25") { // its records do not name the mutex
				locked = "sync.Mutex.Lock 1"
			}
			want := map[string]bool{
				"main.stuck chan receive for ever 8": true, "main.stuck chan receive 4": true,
				"main.stuck chan receive 2": true, "main.hands chan receive 1": true,
				"main.locked " + locked: true, "main.inTime chan receive 1": true,
				"main.nothing chan receive (nil chan) for ever 1": true,
			}
			for _, g := range r.Goroutines {
				if !strings.HasPrefix(g.In, "main.") || g.In == "main.main" {
					continue
				}
				got := g.In + " " + g.Wait
				if g.Forever {
					got += " for ever"
				}
				if got = fmt.Sprint(got, " ", g.Count); !want[got] {
					t.Errorf("unexpected: %s", got)
				}
				delete(want, got)
				// A record of the lock also holds the struct around it, so the stack alone does not.
				if g.In != "main.hands" && g.In != "main.locked" && g.Retained < uint64(g.Count)*each || !strings.HasPrefix(g.Created, "main.init") ||
					g.Longest <= 0 || g.Longest > time.Hour {
					t.Errorf("%s: %+v", got, g)
				}
			}
			for line := range want {
				t.Errorf("missing: %s", line)
			}
			held := 9.0 * each
			if strings.HasSuffix(locked, "for ever 1") {
				held += each
			}
			if off := math.Abs(float64(r.Forever)/held - 1); off > 0.01 {
				t.Errorf("what waits for ever holds %d bytes, planted were %.0f", r.Forever, held)
			}
		})
	}
}
