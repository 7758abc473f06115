package memtest

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A fake is the testing.TB of a subject: it records messages that would fail a
// test.
type fake struct {
	testing.TB
	name     string
	mu       sync.Mutex
	errors   []string
	logs     []string
	cleanups []func()
}

func (f *fake) Helper()          {}
func (f *fake) Name() string     { return f.name }
func (f *fake) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fake) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fake) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

// finish ends the subject's test.
func (f *fake) finish() {
	for _, c := range f.cleanups {
		c()
	}
}

// expect checks that the subject passed, or failed with all the texts.
func (f *fake) expect(t *testing.T, texts ...string) {
	t.Helper()
	all := strings.Join(f.errors, "\n")
	if len(texts) == 0 && all != "" {
		t.Errorf("a passing subject fails: %s", all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("errors %q lack %q", all, text)
		}
	}
}

// counted skips tests that count allocations exactly: race builds report no
// errors for them, as TestRaceBuildsOnlyLog checks.
func counted(t *testing.T) {
	if invariant.Race {
		t.Skip("allocations are logged only under the race detector")
	}
}

type object struct{ data [64]byte }

var (
	sink   *object
	buffer []byte
	list   []*object
)

func TestAllocs(t *testing.T) {
	counted(t)
	tb := &fake{}
	Allocs(tb, 0, func() { sink.touch() })
	Allocs(tb, 1, func() { sink = &object{} })
	tb.expect(t)
	tb = &fake{}
	Allocs(tb, 1, func() { sink, list = &object{}, []*object{{}} })
	tb.expect(t, "Allocs: a call allocates 3 objects, limit 1")
}

func (o *object) touch() {
	if o != nil {
		o.data[0]++
	}
}

func TestBytes(t *testing.T) {
	counted(t)
	tb := &fake{}
	Bytes(tb, 1024, func() { buffer = make([]byte, 1000) })
	tb.expect(t)
	Bytes(tb, 1000, func() { buffer = make([]byte, 1000) })
	tb.expect(t, "Bytes: a call allocates 1024 bytes, limit 1000")
}

func TestRaceBuildsOnlyLog(t *testing.T) {
	if !invariant.Race {
		t.Skip("for the race detector")
	}
	tb := &fake{name: t.Name()}
	Allocs(tb, 0, func() { sink = &object{} })
	Bytes(tb, 0, func() { sink = &object{} })
	Budget(tb, func() { sink = &object{} })
	tb.expect(t)
	if len(tb.logs) != 3 {
		t.Errorf("logs %q, want 3", tb.logs)
	}
}

// A limit of zero holds even beside goroutines that allocate now and then.
func TestBesideOthers(t *testing.T) {
	counted(t)
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		var kept []*object
		for {
			select {
			case <-stop:
				return
			default:
			}
			for range 100 {
				kept = append(kept, &object{})
			}
			kept = kept[:0]
			for range 2_000_000 { // a pause that yields no CPU
			}
		}
	})
	tb := &fake{}
	Allocs(tb, 0.9, func() { sink.touch() })
	close(stop)
	others.Wait()
	tb.expect(t)
}

func TestGrowth(t *testing.T) {
	tb := &fake{}
	Growth(tb, 16, 200, func() { sink = &object{} })
	once := map[int]*object{}
	n := 0
	Growth(tb, 16, 200, func() { once[n%300], n = &object{}, n+1 }) // fills up after the warm-up
	tb.expect(t)

	list = nil
	Growth(tb, 16, 200, func() { list = append(list, &object{}) })
	tb.expect(t, "Growth: the live heap grows", "limit 16")
	list = nil

	tb = &fake{}
	var grown []byte
	Growth(tb, 16, 200, func() { grown = append(grown, make([]byte, 100)...) }) // by doubling
	tb.expect(t, "Growth: the live heap grows")
	if len(grown) == 0 {
		t.Error("nothing was grown")
	}
	tb = &fake{}
	Growth(tb, 16, 0, func() {})
	tb.expect(t, "0 calls")
}

func TestScan(t *testing.T) {
	const word = float64(strconv.IntSize / 8)
	type leaf struct{ _ [64]byte }
	type head struct { // with its header it fills its size class
		_ *object
		_ [1008]byte
	}
	type tail struct {
		_ [1008]byte
		_ *object
	}
	type small struct {
		_ *object
		_ [120]byte
	}
	for _, tt := range []struct {
		name  string
		build func() any
		share float64
	}{
		{"no pointers", func() any { return make([]leaf, 10000) }, 0},
		{"pointer first", func() any { return make([]head, 10000) }, 1}, // an array is scanned up to the last element's pointer
		{"objects, pointer first", func() any {
			var all [4000]*head
			for i := range all {
				all[i] = &head{}
			}
			return &all
		}, 2 * word / 1024},
		{"objects, pointer last", func() any {
			var all [4000]*tail
			for i := range all {
				all[i] = &tail{}
			}
			return &all
		}, 1},
	} {
		if got := ScanShare(tt.build); got < tt.share-0.05 || got > tt.share+0.05 {
			t.Errorf("%s: share %.3f, want %.3f", tt.name, got, tt.share)
		}
		tb := &fake{}
		Scan(tb, tt.share+0.05, tt.build)
		tb.expect(t)
		if tt.share > 0.05 {
			Scan(tb, tt.share-0.05, tt.build)
			tb.expect(t, "Scan: the collector scans", "limit")
		}
	}
	// Small objects are scanned up to the last pointer or in full, depending on
	// the CPU.
	smalls := func() any {
		var all [4000]*small
		for i := range all {
			all[i] = &small{}
		}
		return &all
	}
	first := 2 * word / (128 + word)
	if got := ScanShare(smalls); math.Abs(got-first) > 0.05 && math.Abs(got-1) > 0.05 {
		t.Errorf("small objects, pointer first: share %.3f, want %.3f or 1", got, first)
	}
	tb := &fake{}
	Scan(tb, 1, func() any { return new(int) })
	tb.expect(t, "build a larger one")
}

func TestWatch(t *testing.T) {
	free := []*object{}
	get := func() *object {
		if n := len(free); n > 0 {
			o := free[n-1]
			free = free[:n-1]
			return o
		}
		return &object{}
	}
	put := func(o *object) { free = append(free, o) }

	tb := &fake{}
	w := Watch(tb, get, put)
	a, b := w.Get(), w.Get()
	if w.Held() != 2 {
		t.Errorf("%d held, want 2", w.Held())
	}
	w.Put(a)
	w.Put(b)
	tb.finish()
	tb.expect(t)

	tb = &fake{}
	w = Watch(tb, get, put)
	w.Get()
	w.Put(w.Get())
	tb.finish()
	tb.expect(t, "Watch: 1 objects did not come back", "1 taken at memtest_test.go:")

	tb = &fake{}
	w = Watch(tb, get, put)
	o := w.Get()
	w.Put(o)
	w.Put(o)
	tb.expect(t, "memtest_test.go:", "puts an object that is not held")
	put(o) // bypasses w: the pool has it twice
	w.Get()
	w.Get()
	tb.expect(t, "still holds")
}

func TestWatchManyGoroutines(t *testing.T) {
	var pool = sync.Pool{New: func() any { return &object{} }}
	tb := &fake{}
	w := Watch(tb, func() *object { return pool.Get().(*object) }, func(o *object) { pool.Put(o) })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				w.Put(w.Get())
			}
		})
	}
	all.Wait()
	tb.finish()
	tb.expect(t)
}

func TestBudget(t *testing.T) {
	counted(t)
	t.Chdir(t.TempDir())
	cheap := func() { buffer = make([]byte, 100) }
	dear := func() { buffer, sink = make([]byte, 100), &object{} }
	larger := func() { buffer = make([]byte, 1000) }
	as := func(name string, f func()) *fake {
		tb := &fake{name: name}
		Budget(tb, f)
		return tb
	}

	as("TestA", cheap).expect(t, "has no line for TestA", "-memtest.update")
	t.Setenv("MEMTEST_UPDATE", "1")
	as("TestB/sub", dear).expect(t)
	as("TestA", cheap).expect(t)
	data, err := os.ReadFile(BudgetFile)
	if want := "TestA allocs=1 bytes=112\nTestB/sub allocs=2 bytes=176\n"; err != nil || !strings.HasSuffix(string(data), want) {
		t.Errorf("%s is %q (%v), want the end %q", BudgetFile, data, err, want)
	}
	t.Setenv("MEMTEST_UPDATE", "")
	as("TestA", cheap).expect(t)
	as("TestB/sub", dear).expect(t)
	as("TestA", dear).expect(t, "a call allocates 2 objects and 176 bytes, budget 1 and 112")
	as("TestA", larger).expect(t, "1 objects and 1024 bytes")
	if tb := as("TestB/sub", cheap); len(tb.errors) > 0 || len(tb.logs) != 1 || !strings.Contains(tb.logs[0], "keeps what was gained") {
		t.Errorf("errors %q, logs %q", tb.errors, tb.logs)
	}

	for text, want := range map[string]string{
		"TestA allocs=x bytes=1\n":                              "memtest.budget:1:",
		"# c\nTestA allocs=1 bytes=1\nTestA allocs=1 bytes=1\n": "memtest.budget:3: TestA has a line already",
	} {
		if err := os.WriteFile(BudgetFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		as("TestA", cheap).expect(t, want)
	}
}

// Parallel subtests can hold their own limits side by side.
func TestParallel(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var own []byte
			Allocs(t, 1.5, func() { own = make([]byte, 64) })
			Bytes(t, 100, func() { own = make([]byte, 64) })
			if len(own) != 64 {
				t.Error("f did not run")
			}
		})
	}
}
