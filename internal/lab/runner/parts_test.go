package runner

import (
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestSamplerDoesNotAllocate(t *testing.T) {
	s := startSampler(time.Now(), time.Hour)
	var rec cell.Record
	defer s.stop(&rec)
	l := &s.line
	for _, column := range []*[]int64{&l.AtNs, &l.HeapBytes, &l.GoalBytes, &l.SysBytes, &l.RSSBytes, &l.Cycles} {
		*column = slices.Grow(*column, maxSamples)
	}
	s.pauses = slices.Grow(s.pauses, maxPauses)
	if n := testing.AllocsPerRun(100, s.sample); n != 0 {
		t.Errorf("%v allocations a sample", n)
	}
	runtime.GC()
	if n := testing.AllocsPerRun(100, func() { s.seen--; s.readPauses() }); n != 0 {
		t.Errorf("%v allocations for reading pauses", n)
	}
}

func TestSamplerThins(t *testing.T) {
	s := &sampler{}
	for i := range int64(7) {
		s.line.AtNs = append(s.line.AtNs, i)
		s.line.HeapBytes = append(s.line.HeapBytes, 10*i)
	}
	s.thin()
	want := cell.Timeline{AtNs: []int64{0, 2, 4, 6}, HeapBytes: []int64{0, 20, 40, 60}}
	if !reflect.DeepEqual(s.line, want) {
		t.Errorf("thinned to %+v", s.line)
	}
}

func TestSparse(t *testing.T) {
	bounds := []float64{math.Inf(-1), 0, 1, 2, math.Inf(1)}
	got := sparse(
		&metrics.Float64Histogram{Buckets: bounds, Counts: []uint64{0, 5, 5, 5}},
		&metrics.Float64Histogram{Buckets: bounds, Counts: []uint64{1, 5, 7, 8}})
	want := cell.Buckets{Lower: []float64{0, 1, 2}, Upper: []float64{0, 2, 2}, Count: []uint64{1, 2, 3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sparse = %+v, want %+v", got, want)
	}
}

func TestTail(t *testing.T) {
	for size := 1; size < 40; size += 7 { // however the stream is split
		text := "starting\nno panic: here\npanic: first\n\ngoroutine 1:\npanic: second\n" +
			strings.Repeat("x", 3*maxTail) + "\nlast line\n\n"
		var w tail
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			io.WriteString(&w, rest[:n])
			rest = rest[n:]
		}
		if w.crash != "panic: first" || w.last() != ": last line" || len(w.end) != maxTail ||
			!strings.HasSuffix(text, string(w.end)) {
			t.Errorf("by %d: crash %q, last %q, %d bytes", size, w.crash, w.last(), len(w.end))
		}
	}
	if kind := crashKind("fatal error: runtime: out of memory"); kind != cell.FailMemory {
		t.Errorf("out of memory is %s", kind)
	}
}

func TestDefaultMemoryCap(t *testing.T) {
	if n := DefaultMemoryCap(0); n != 0 {
		t.Errorf("of unknown memory: %d, want no cap", n)
	}
	// A container of 256 MiB, of which 10 are in use, leaves cells most of it.
	if n := capWithin(256<<20, 246<<20); n < 160<<20 || n > 180<<20 {
		t.Errorf("a cell may take %d MiB of 246", n>>20)
	}
	if n := capWithin(16<<30, 1<<30); n != 768<<20 {
		t.Errorf("a cell may take %d MiB of 1 GiB", n>>20)
	}
	if n := DefaultMemoryCap(1 << 30); n <= 0 || n > 1<<30/10*7 {
		t.Errorf("of 1 GiB: %d", n)
	}
}

// TestNothingLeaks runs cells with every kind of ending and expects as many
// goroutines and open files as before.
func TestNothingLeaks(t *testing.T) {
	files := func() int {
		entries, _ := os.ReadDir("/proc/self/fd")
		return len(entries)
	}
	run(t, testCell("test-closed")) // the first use of pipes opens the poller
	goroutines, before := runtime.NumGoroutine(), files()
	for _, name := range []string{"test-closed", "test-panic", "test-garbage", "test-exit", "test-stray"} {
		run(t, testCell(name))
	}
	waitFor(t, "goroutines and files to be as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && files() <= before
	})
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{1: "1B", 64 << 10: "64KiB", 1 << 20: "1 MiB", 200<<20 + 5: "200 MiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
