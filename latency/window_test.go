package latency

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestWindow checks that each window has the durations recorded since the
// previous one, with quantiles within a bucket's width of the exact ones.
func TestWindow(t *testing.T) {
	r := NewRecorder()
	r.Record(time.Hour) // before the window
	w := r.Window()
	rng := rand.New(rand.NewPCG(1, 2))
	shares := []float64{0, 0.5, 0.99, 0.999, 1}
	for round, n := range []int{1, 10, 5000, 0, 100_000} {
		values := make([]time.Duration, n)
		for i := range values {
			values[i] = time.Duration(rng.ExpFloat64() * float64(time.Millisecond) * float64(round+1))
			r.Record(values[i])
		}
		slices.Sort(values)
		got := []time.Duration{-1, -1, -1, -1, -1}
		if count := w.Next(shares, got); count != uint64(n) {
			t.Fatalf("round %d: %d values, want %d", round, count, n)
		}
		for i, q := range shares {
			want := time.Duration(-1)
			if n > 0 {
				want = values[int(q*float64(n-1)+0.5)]
			}
			if off := (got[i] - want).Abs(); off > want.Abs()/1000+1 && n > 0 || n == 0 && off != 0 {
				t.Errorf("round %d: quantile %v: %v, want %v", round, q, got[i], want)
			}
		}
	}
	one := make([]time.Duration, 1)
	for _, want := range []uint64{1, 1, 3} { // after the last Reset there is more than before
		r.Reset()
		for range want {
			r.Record(7)
		}
		if n := w.Next([]float64{0.5}, one); n != want || one[0] != 7 {
			t.Errorf("after Reset: %d values, %v, want %d and 7 ns", n, one[0], want)
		}
	}
}

// TestWindowLosesNothing checks that a record concurrent with Next is in
// exactly one window.
func TestWindowLosesNothing(t *testing.T) {
	r := NewRecorder()
	w := r.Window()
	var wg sync.WaitGroup
	const each = 20_000
	for range 4 {
		wg.Go(func() {
			for i := range each {
				r.Record(time.Duration(i))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	sum, to := uint64(0), make([]time.Duration, 2)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		sum += w.Next([]float64{0.5, 0.99}, to)
	}
	if sum != 4*each {
		t.Errorf("%d values in all windows, want %d", sum, 4*each)
	}
}

func TestWindowRefuses(t *testing.T) {
	w := NewRecorder().Window()
	for name, f := range map[string]func(){
		"too short":     func() { w.Next([]float64{0.5, 0.9}, make([]time.Duration, 1)) },
		"above 1":       func() { w.Next([]float64{50}, make([]time.Duration, 1)) },
		"in no order":   func() { w.Next([]float64{0.9, 0.5}, make([]time.Duration, 2)) },
		"not a number":  func() { zero := 0.0; w.Next([]float64{zero / zero}, make([]time.Duration, 1)) },
		"below nothing": func() { w.Next([]float64{-0.1}, make([]time.Duration, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestWindowDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	r := NewRecorder()
	w, to := r.Window(), make([]time.Duration, 2)
	q := []float64{0.5, 0.99}
	if n := testing.AllocsPerRun(20, func() { r.Record(5); w.Next(q, to) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkWindow(b *testing.B) {
	r := NewRecorder()
	for i := range 1_000_000 {
		r.Record(time.Duration(i))
	}
	w, q, to := r.Window(), []float64{0.5, 0.99, 0.999}, make([]time.Duration, 3)
	for b.Loop() {
		r.Record(5)
		w.Next(q, to)
	}
}
