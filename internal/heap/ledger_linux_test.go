package heap

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

const (
	pageCache = "page cache that no process maps"
	otherMaps = "other anonymous memory"
)

// ledgers lists what testdata/ledger or testdata/databases plants, and the line it belongs to.
var ledgers = []struct {
	plant, class string
	saves        bool // the ledger, or the holder, predicts what the remedy saves
}{
	{"live", liveObjects, false},
	{"garbage", "heap: garbage not collected yet", true},
	{"peak", freeSpans, true},
	{"fragmented", freeSlots, true},
	{"stacks", "goroutine stacks", true},
	{"shrunk", liveObjects, true},
	{"pool", liveObjects, true},
	{"duplicates", liveObjects, true},
	{"offheap", otherMaps, false},
	{"file", "mapped files", true},
	{"huge", "of it in transparent huge pages", true},
	{"malloc", "C heap", true},
	{"arena", "C heap", true},
	{"cache", pageCache, true},
	{"sqlite", "C heap", true},
	{"bbolt", "mapped files", true},
}

// An entry is the result of one run of a plant, or of one pair with and without the remedy.
type entry struct {
	planted, class uint64  // bytes, according to the program and the ledger
	named          float64 // share of RSS in lines that name an owner
	sum            uint64  // bytes that the remedy reduces: RSS, or the line of the control group
	saves, saved   uint64  // bytes: predicted, and measured with the remedy
}

// off returns the error of the prediction, as a share of what was saved.
func (e *entry) off() float64 { return float64(e.saves)/float64(e.saved) - 1 }

// TestLedger plants one cause at a time, and runs it again with the remedy. The line must contain
// what was planted, and the remedy must save what was predicted. scripts/heap-ledger.sh runs five
// pairs of each, and writes docs/results/heap-ledger.md.
func TestLedger(t *testing.T) {
	alone(t)
	t.Setenv("MALLOC_ARENA_MAX", "")
	program := filepath.Join(t.TempDir(), "ledger")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = "testdata/ledger"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	databases, pairs := os.Getenv("ISOBAR_LEDGER"), 1
	if databases != "" {
		pairs = 5
	}
	var page strings.Builder
	for _, tc := range ledgers {
		binary := program
		if tc.plant == "sqlite" || tc.plant == "bbolt" {
			binary = databases
		}
		if binary == "" {
			continue
		}
		t.Run(tc.plant, func(t *testing.T) {
			saves := tc.saves && !testing.Short()
			if _, err := exec.LookPath("gcc"); err != nil && tc.class == "C heap" {
				t.Skip("no C compiler here")
			}
			var fs unix.Statfs_t
			if tc.class == "mapped files" || tc.class == pageCache {
				if err := unix.Statfs(t.TempDir(), &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
					t.Skipf("files for tests are in memory only here: %v", err)
				}
			}
			row := fmt.Sprintf("| %s | %s | not measured | | | | | | |\n", tc.plant, tc.class)
			defer func() { page.WriteString(row) }()
			var all []entry
			for range pairs {
				e := plantOnce(t, binary, tc.class, tc.plant)
				if saves {
					again := plantOnce(t, binary, tc.class, tc.plant, "remedied")
					e.saved = e.sum - min(e.sum, again.sum)
				}
				all = append(all, e)
			}
			row = judgeEntries(t, tc.plant, tc.class, saves, all)
		})
	}
	if databases != "" {
		writeLedgers(t, page.String())
	}
}

// TestRuntimeHasNames: all anonymous memory of a stripped Go program without C is the heap's or
// the runtime's. The heap begins at a random address, so entries of the runtime's page tables may
// lie far from where the tables begin.
func TestRuntimeHasNames(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ledger")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".")
	cmd.Dir, cmd.Env = "testdata/ledger", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, plant := range []string{"live", "garbage", "duplicates"} {
		pid, _, _ := started(t, program, plant)
		r, err := Open(t.Context(), fmt.Sprint(pid), Config{Strings: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Ledger.Lines {
			if l.Class == otherMaps {
				t.Errorf("%s: %d bytes without a name: %v", plant, l.Bytes, l.Parts)
			}
		}
	}
}

// TestPagesComeAndGo: every byte of a runtime mapping is booked as the runtime's, even if the
// process maps or frees pages between the reading of its size and of its pages.
func TestPagesComeAndGo(t *testing.T) {
	const pages = 7
	memory, err := unix.Mmap(-1, 0, pages*target.PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	for i := range pages {
		memory[i*target.PageBytes] = 1
	}
	p, err := target.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	start := uint64(uintptr(unsafe.Pointer(&memory[0])))
	m := target.Resident{Mapping: target.Mapping{Start: start, End: start + uint64(len(memory))}}
	im := &image.Image{Runtime: []image.Extent{{Start: m.Start, End: m.End}}}
	for _, before := range []uint64{pages - 1, pages, pages + 1} {
		m.RSS = before * target.PageBytes
		a := &accounts{p: p, im: im, sum: make(ledger)}
		if err := a.anonymous(&m); err != nil {
			t.Fatal(err)
		}
		for class, s := range a.sum {
			if class != "runtime structures" || s.bytes != m.RSS {
				t.Errorf("of %d bytes, %d are %s", m.RSS, s.bytes, class)
			}
		}
	}
}

// judgeEntries checks the medians of some pairs, and returns their row of the page.
func judgeEntries(t *testing.T, plant, class string, saves bool, all []entry) string {
	t.Helper()
	e := entry{
		planted: median(all, func(e entry) uint64 { return e.planted }),
		class:   median(all, func(e entry) uint64 { return e.class }),
		named:   median(all, func(e entry) float64 { return e.named }),
		saves:   median(all, func(e entry) uint64 { return e.saves }),
		saved:   median(all, func(e entry) uint64 { return e.saved }),
	}
	wrong := float64(e.class)/float64(e.planted) - 1
	if math.Abs(wrong) > 0.03 {
		t.Errorf("%d bytes of %s, planted were %d", e.class, class, e.planted)
	}
	if e.named < 0.98 {
		t.Errorf("%.1f %% of RSS has a name", 100*e.named)
	}
	row := fmt.Sprintf("| %s | %s | %s | %+.1f %% | %.1f %% |", plant, class, size(e.planted), 100*wrong, 100*e.named)
	if !saves {
		return row + " – | – | | |\n"
	}
	if math.Abs(e.off()) > 0.15 {
		t.Errorf("the remedy saves %d bytes, predicted were %d", e.saved, e.saves)
	}
	worst := slices.MaxFunc(all, func(a, b entry) int { return cmp.Compare(math.Abs(a.off()), math.Abs(b.off())) })
	return fmt.Sprintf("%s %s | %s | %+.1f %% | %+.1f %% |\n", row, size(e.saves), size(e.saved),
		100*e.off(), 100*worst.off())
}

// median returns the median of f over all entries.
func median[T cmp.Ordered](all []entry, f func(entry) T) T {
	var values []T
	for _, e := range all {
		values = append(values, f(e))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func writeLedgers(t *testing.T, rows string) {
	t.Helper()
	text := `# Where resident memory is, and what a remedy saves

Written by ` + "`scripts/heap-ledger.sh`" + `. Each program plants one cause of resident memory, most of them 32 MB. It
runs five times without the remedy and five times with it, in turn; figures are medians.

- *planted*: what the program says; *ledger*: how much more the ledger has in that line.
- *named*: the share of RSS in lines that name an owner. A program that maps memory itself owns it.
- *predicted*: what the ledger says the remedy frees, for live objects that of the largest holder; *saved*: how much
  less the program has with the remedy.
- *off by*: predicted against saved; *at worst*: the pair that is furthest off.

Two causes have no remedy whose saving could be told from outside: live objects that are all in use, and memory that the
program maps itself. For mapped files, the remedy is what the kernel does when memory is short.

| planted | line | planted | ledger | named | predicted | saved | off by | at worst |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
` + rows
	if err := os.WriteFile("../../docs/results/heap-ledger.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plantOnce runs a plant and reads its ledger.
func plantOnce(t *testing.T, program, class string, args ...string) entry {
	t.Helper()
	if class == pageCache { // its own group separates it from what others read
		g, err := cgroup.New("/", cgroup.Bounds{MemoryBytes: 1 << 30})
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { g.Remove() })
		t.Setenv("ISOBAR_PROCS", g.Procs()[0])
	}
	pid, planted, _ := started(t, program, args...)
	if planted == 0 {
		t.Skip("the kernel has no huge pages to give")
	}
	r, err := Open(t.Context(), fmt.Sprint(pid), Config{Strings: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Goroutines {
		if g.Start == "" {
			t.Errorf("goroutines without a function: %+v", g)
		}
	}
	if r.Ledger == nil {
		t.Fatalf("no ledger: %q", r.Warnings)
	}
	maps := args[0] == "offheap" || args[0] == "huge" // it maps memory itself
	e, lines := entry{planted: planted, sum: r.Ledger.RSS}, uint64(0)
	for _, l := range r.Ledger.Lines {
		if l.Class != otherMaps || maps {
			lines += l.Bytes
		}
	}
	e.named = share(lines, r.Ledger.RSS)
	if named := (Line{Class: "mapped off-heap for planting", Bytes: planted}); args[0] == "offheap" &&
		!slices.ContainsFunc(r.Ledger.Beside, func(l Line) bool { return reflect.DeepEqual(l, named) }) {
		t.Errorf("beside it: %+v, want %+v", r.Ledger.Beside, named)
	}
	for _, l := range slices.Concat(r.Ledger.Lines, r.Ledger.Beside, r.Ledger.Group) {
		if l.Class != class {
			continue
		}
		e.class, e.saves = l.Bytes, l.Saves
		if mapped := class == otherMaps || class == "mapped files"; mapped && len(args) == 1 &&
			(len(l.Parts) == 0 || l.Parts[0].Bytes < l.Bytes/10*9) {
			t.Errorf("the parts of %s are %+v", class, l.Parts)
		}
	}
	if class == pageCache {
		e.sum = e.class
	}
	return e
}
