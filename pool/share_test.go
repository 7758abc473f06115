package pool

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestShareStopsTheWorld holds an assumption of share: taking the stacks of all goroutines
// stops the world, even if the buffer is empty.
func TestShareStopsTheWorld(t *testing.T) {
	stops := func() (n uint64) {
		s := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
		metrics.Read(s)
		for _, c := range s[0].Value.Float64Histogram().Counts {
			n += c
		}
		return n
	}
	before := stops()
	for range 10 {
		runtime.Stack(nil, true)
	}
	if n := stops() - before; n < 10 {
		t.Errorf("10 calls stopped the world %d times", n)
	}
}

// TestSharedOnlyWhileNeeded follows a pool whose only object a second goroutine wants once.
func TestSharedOnlyWhileNeeded(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds always share bins")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the owner's pushes are all in one bin
	p := New(Config[owned]{Kind: Bounded, Limit: 1})
	round := func(n uint32) {
		for range n {
			p.Put(p.Get())
		}
	}
	round(10)
	if p.stock.shared.Load() || p.Stats().Shares != 0 {
		t.Fatalf("bins are shared with one user: %+v", p.Stats())
	}
	x := p.Get()
	got := make(chan *owned)
	go func() { got <- p.Get() }()
	for p.stock.waiting.Load() == 0 {
		runtime.Gosched()
	}
	p.Put(x)
	p.Put(<-got)
	if !p.stock.shared.Load() || p.Stats().Shares != 1 {
		t.Fatalf("a Get that had to wait has not shared the bins: %+v", p.Stats())
	}
	period := p.stock.period.Load()
	if period != 2*minPeriod {
		t.Fatalf("the period is %d, want twice %d", period, minPeriod)
	}
	round(2*period + 2) // in the first, there was a theft
	if p.stock.shared.Load() {
		t.Error("bins are still shared after two periods without a theft")
	}
	if s := p.Stats(); s.Shares != 1 || s.Idle != 1 {
		t.Errorf("afterwards: %+v", s)
	}
}

func TestAgingPoolsStayShared(t *testing.T) {
	p := New(Config[owned]{Kind: Retaining, IdleAge: 1 << 40})
	for range 3 * minPeriod {
		p.Put(p.Get())
	}
	if s := p.Stats(); !p.stock.shared.Load() || s.Shares != 0 {
		t.Errorf("shared %v, %+v", p.stock.shared.Load(), s)
	}
}

// A Get of a Retaining pool leaves objects in the bins of other Ps, however many; a Get of
// a Bounded pool takes the last one.
func TestRetainingSharesNothing(t *testing.T) {
	if invariant.Race || invariant.Enabled {
		t.Skip("race builds always share bins, and debug builds know the objects that were put")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, cfg := range []Config[owned]{{Kind: Retaining}, {Kind: Bounded, Limit: 100}} {
		p := New(cfg)
		p.stock.bins = make([]bin[owned], 4)
		shares := cfg.Kind == Bounded
		for idle := 1; idle <= 40; idle++ {
			p.stock.bins[1+idle%3].push(new(owned), p.stock.depth, false)
			p.Get()
			if s := p.Stats(); (s.Shares == 1) != shares || p.stock.shared.Load() != shares {
				t.Errorf("kind %d, Get beside %d objects in other bins: shared %v, %+v", cfg.Kind, idle, p.stock.shared.Load(), s)
			}
			if shares {
				break
			}
		}
	}
}

// TestSharingAndUnsharing makes the bins change constantly, under goroutines that take from
// their own and from each other's. An owner's section that outlasted the stop of the world
// would hand an object out twice, and an unseen Put would leave a Get waiting forever.
func TestSharingAndUnsharing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, cfg := range []Config[owned]{{Kind: Bounded, Limit: 2}, {Kind: Retaining, MaxIdle: 64}} {
		const workers, rounds, enough = 4, 20000, 300
		p := New(cfg)
		var wg sync.WaitGroup
		var ended atomic.Bool
		for range workers {
			wg.Go(func() {
				for i := 0; i < rounds || !ended.Load(); i++ {
					x := p.Get()
					if !x.holder.CompareAndSwap(0, 1) {
						t.Error("two holders")
					}
					if i%3 == 0 {
						runtime.Gosched()
					}
					x.holder.Store(0)
					if i%5 == 0 {
						p.Discard(x)
					} else {
						p.Put(x)
					}
				}
			})
		}
		for n := uint64(0); n < enough && !invariant.Enabled; runtime.Gosched() {
			if cfg.Kind == Retaining {
				p.stock.age() // Get does not share its bins
			}
			p.stock.mu.Lock()
			n = p.stock.shares
			p.stock.period.Store(2)
			p.stock.stolen = false
			p.stock.mu.Unlock()
		}
		ended.Store(true)
		wg.Wait()
		s := p.Stats()
		if counting && s.InUse != 0 || int(s.Idle) > max(cfg.Limit, cfg.MaxIdle) {
			t.Errorf("afterwards: %+v", s)
		}
	}
}

// BenchmarkShare measures the cost of sharing the bins while the other Ps run.
func BenchmarkShare(b *testing.B) {
	var ended atomic.Bool
	for range runtime.GOMAXPROCS(0) - 1 {
		go func() {
			for !ended.Load() {
			}
		}()
	}
	for b.Loop() {
		runtime.Stack(nil, true)
	}
	ended.Store(true)
}
