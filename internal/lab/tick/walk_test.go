package tick

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestGenerateIsDeterministic(t *testing.T) {
	config := GenerateConfig{Ticks: 10_000, Symbols: 20, Rate: 12_345, Seed: 7}
	var first, second bytes.Buffer
	if err := errors.Join(Generate(&first, config), Generate(&second, config)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("equal configurations, different files")
	}
	// Pinned: a configuration must give the same file on any machine.
	h := fnv.New64a()
	h.Write(first.Bytes())
	if got, want := h.Sum64(), uint64(0x706e5f7d19cdcdce); got != want {
		t.Errorf("digest %#x, want %#x: earlier files can no longer be reproduced", got, want)
	}
	config.Seed++
	second.Reset()
	if err := Generate(&second, config); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("another seed, the same file")
	}
}

func TestGenerateRefuses(t *testing.T) {
	for want, config := range map[string]GenerateConfig{
		"0 symbols":       {Ticks: 1, Rate: 1},
		"rate 0":          {Ticks: 1, Symbols: 1},
		"rate NaN":        {Ticks: 1, Symbols: 1, Rate: math.NaN()},
		"-1 ticks":        {Ticks: -1, Symbols: 1, Rate: 1},
		"than a century":  {Ticks: math.MaxInt64, Symbols: 1, Rate: 1e9},
		"2000000 symbols": {Ticks: 1, Symbols: 2_000_000, Rate: 1},
	} {
		if err := Generate(io.Discard, config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
}

type fullDisk struct{ room int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestGenerateReportsWriteErrors(t *testing.T) {
	for _, zip := range []bool{false, true} {
		for _, room := range []int{0, 100_000} {
			err := Generate(&fullDisk{room}, GenerateConfig{Ticks: 20_000, Symbols: 10, Rate: 1e5, Gzip: zip})
			if !errors.Is(err, errFull) {
				t.Errorf("gzip %v, room %d: %v, want the write error", zip, room, err)
			}
		}
	}
}

func TestWalkMakesPlausibleTicks(t *testing.T) {
	w, err := NewWalk(3, 1e9, 42)
	if err != nil {
		t.Fatal(err)
	}
	var last Tick
	var steps, squares float64
	previous := map[string]float64{}
	for i := range int64(300_000) {
		var tick Tick
		w.Next(&tick)
		switch {
		case !slices.Contains(w.Symbols(), tick.Symbol), tick.TradeID != i+1, tick.TimeNs < last.TimeNs,
			tick.Price < 1 || tick.Price > 100_000, tick.Volume < 1 || tick.Volume > 1000,
			tick.Bid > tick.Price || tick.Ask < tick.Price || tick.Bid < 0.99*tick.Price || tick.Ask > 1.01*tick.Price:
			t.Fatalf("tick %d: %+v after %+v", i, tick, last)
		}
		if p := previous[tick.Symbol]; p > 0 {
			steps++
			squares += math.Pow(math.Log(tick.Price/p), 2)
		}
		previous[tick.Symbol] = tick.Price
		last = tick
	}
	if sd := math.Sqrt(squares / steps); sd < 0.0004 || sd > 0.0006 {
		t.Errorf("standard deviation of a step %v, want about 0.0005", sd)
	}
	for _, p := range []float64{1, 100_000} {
		for _, coins := range []uint64{0, math.MaxUint64} {
			if got := step(p, coins); got < 1 || got > 100_000 || got == p {
				t.Errorf("step(%v, %#x) = %v: not reflected", p, coins, got)
			}
		}
	}
	var tick Tick
	if allocs := testing.AllocsPerRun(1000, func() { w.Next(&tick) }); allocs != 0 {
		t.Errorf("%v allocations a tick, want 0", allocs)
	}
}

func TestAheadReadsTheSame(t *testing.T) {
	for _, n := range []int64{0, 1, aheadTicks - 1, aheadTicks, 10*aheadTicks + 1} {
		var buf bytes.Buffer
		if err := Generate(&buf, GenerateConfig{Ticks: n, Symbols: 9, Rate: 1e5, Seed: 3}); err != nil {
			t.Fatal(err)
		}
		buf.WriteString("bad\n" + good)
		want, _, err := readAll(t, buf.String(), ReaderConfig{SkipBad: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&buf, ReaderConfig{SkipBad: true})
		if err != nil {
			t.Fatal(err)
		}
		a := NewAhead(r)
		got, err := drain(a.Next)
		if err != nil || !slices.Equal(got, want) || a.Skipped() != 1 {
			t.Errorf("n=%d: %d ticks, %d skipped, %v; want %d, 1, nil", n, len(got), a.Skipped(), err, len(want))
		}
		var tick Tick
		if err := a.Next(&tick); err != io.EOF {
			t.Errorf("n=%d: after the end: %v", n, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAheadReportsErrorsInPlaceAndClosesEarly(t *testing.T) {
	r, err := NewReader(strings.NewReader(header+strings.Repeat(good, 3)+"bad\n"), ReaderConfig{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAhead(r)
	ticks, err := drain(a.Next)
	if len(ticks) != 3 || err == nil || !strings.Contains(err.Error(), "f:5:4") {
		t.Errorf("%d ticks, %v; want 3 and the error of line 5", len(ticks), err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	r, err = NewReader(&endless{line: []byte(good)}, ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := NewAhead(r).Close(); err != nil { // with the goroutine at work
		t.Error(err)
	}
}

// endless is a file with a header and then one line repeated, with a new symbol
// in each of the first 100.
type endless struct {
	line    []byte
	pending []byte
	n       int
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.pending) == 0 {
		switch {
		case e.n == 0:
			e.pending = []byte(header)
		case e.n <= 100:
			e.pending = fmt.Appendf(nil, "S%d%s", e.n, e.line)
		default:
			e.pending = e.line
		}
		e.n++
	}
	n := copy(b, e.pending)
	e.pending = e.pending[n:]
	return n, nil
}

func TestReadingTakesBoundedMemory(t *testing.T) {
	e := &endless{line: []byte(good)}
	r, err := NewReader(e, ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAhead(r)
	defer a.Close()
	heap := func(ticks int) uint64 {
		var tick Tick
		for range ticks {
			if err := a.Next(&tick); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(10_000)
	after := heap(1_000_000)
	if after > before+256<<10 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
