package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetainedObjectsSurviveCollections(t *testing.T) {
	const n = 300
	cfg := Config[owned]{Kind: Retaining, MaxIdle: 2 * n}
	made := numbering(&cfg)
	p := New(cfg)
	var held [n]*owned
	for i := range held {
		held[i] = p.Get()
	}
	for _, x := range held {
		p.Put(x)
	}
	for range 6 {
		runtime.GC()
	}
	// Take them in separate goroutines, so from any P. As long as bins are unshared,
	// Get may leave one for each P where it is.
	p.stock.mu.Lock()
	p.stock.share()
	p.stock.mu.Unlock()
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() { held[i] = p.Get() })
	}
	wg.Wait()
	if made.Load() != n {
		t.Errorf("%d new objects were made", made.Load()-n)
	}
}

func TestRetainingBounds(t *testing.T) {
	const bound, n = 200, 1000
	put := func(p *Pool[owned]) Stats {
		var held [n]*owned
		for i := range held {
			held[i] = p.Get()
			held[i].id = int64(i)
		}
		for _, x := range held {
			p.Put(x)
		}
		return p.Stats()
	}
	p := New(Config[owned]{Kind: Retaining, MaxIdle: bound})
	if s := put(p); s.Idle > bound || s.Idle < bound*3/4 || s.Discarded != uint64(n-s.Idle) {
		t.Errorf("MaxIdle %d: %+v", bound, s)
	}
	size := int64(sizeof[owned]())
	p = New(Config[owned]{Kind: Retaining, MaxIdleBytes: bound * size})
	if s := put(p); s.IdleBytes > bound*size || s.IdleBytes < bound*size*3/4 {
		t.Errorf("MaxIdleBytes %d: %+v", bound*size, s)
	}
	// A third of the objects exceed their share of 10 bytes.
	p = New(Config[owned]{Kind: Retaining, MaxIdle: 3 * n, MaxIdleBytes: 30 * n, Size: func(x *owned) int64 { return 9 + x.id%3 }})
	if s := put(p); s.Discarded != n/3 || counting && s.InUse != 0 {
		t.Errorf("Size: %+v", s)
	}
}

func TestIdleAge(t *testing.T) {
	for _, kind := range []Kind{Retaining, Bounded} {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config[owned]{Kind: kind, IdleAge: time.Minute}
			if kind == Bounded {
				cfg.Limit = 500
			}
			p := New(cfg)
			if n := p.Warm(500); n != 500 {
				t.Fatalf("Warm(500) = %d", n)
			}
			held := p.Get()
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if s := p.Stats(); s.Idle != 499 {
				t.Errorf("kind %d: evicted before the age: %+v", kind, s)
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if s := p.Stats(); s.Idle != 0 {
				t.Errorf("kind %d: idle after twice the age: %+v", kind, s)
			}
			p.Put(held)
			if kind == Bounded {
				if n := p.Warm(500); n != 499 {
					t.Errorf("evicted objects still count against the limit: Warm(500) = %d, want 499", n)
				}
			}
		})
	}
}

func TestBoundedWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, waiters = 3, 10
		cfg := Config[owned]{Kind: Bounded, Limit: limit}
		made := numbering(&cfg)
		p := New(cfg)
		var held [limit]*owned
		for i := range held {
			held[i] = p.Get()
		}
		var order []int
		var mu sync.Mutex
		for i := range waiters {
			go func() {
				x, err := p.GetContext(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				p.Put(x)
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Fatalf("%d got an object beyond the limit", len(order))
		}
		p.Put(held[0]) // from now on, one at a time
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(order) != waiters {
			t.Fatalf("%d of %d waiters were served", len(order), waiters)
		}
		for i, w := range order {
			if i != w {
				t.Errorf("order of service is %v", order)
				break
			}
		}
		if made.Load() != limit {
			t.Errorf("%d objects were made, limit %d", made.Load(), limit)
		}
	})
}

func TestBoundedGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config[owned]{Kind: Bounded, Limit: 1})
		x := p.Get()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		y, err := p.GetContext(ctx)
		if y != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "pool: GetContext: ") {
			t.Errorf("GetContext = %v, %v", y, err)
		}
		p.Put(x)
		// The waiter that gave up must not swallow it.
		if y, err = p.GetContext(ctx); y != x || err != nil {
			t.Errorf("GetContext = %v, %v; want the idle object whatever ctx says", y, err)
		}
	})
}

func TestBoundedDiscardMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config[owned]{Kind: Bounded, Limit: 1})
		x := p.Get()
		got := make(chan *owned, 1)
		go func() { got <- p.Get() }()
		synctest.Wait()
		p.Discard(x)
		if y := <-got; y == x {
			t.Error("a discarded object came back")
		}
	})
}

func TestBoundedSurvivesPanicInNew(t *testing.T) {
	fail := true
	p := New(Config[owned]{Kind: Bounded, Limit: 1, New: func() *owned {
		if fail {
			panic("pool: no luck")
		}
		return new(owned)
	}})
	mustPanic(t, func() { p.Get() }, "no luck")
	fail = false
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.GetContext(ctx); err != nil {
		t.Errorf("the permit is lost: %v", err)
	}
}

// TestBoundedNeverSleepsForever has far more goroutines than objects. A lost
// wake-up would end in a deadlock.
func TestBoundedNeverSleepsForever(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const limit, workers, rounds = 3, 16, 2000
	cfg := Config[owned]{Kind: Bounded, Limit: limit}
	var live atomic.Int64
	cfg.New = func() *owned {
		if live.Add(1) > limit {
			t.Error("more objects than the limit")
		}
		return new(owned)
	}
	p := New(cfg)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(w)))
			for range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(4) == 0 {
					go cancel()
				}
				x, err := p.GetContext(ctx)
				cancel()
				if err != nil {
					continue
				}
				if !x.holder.CompareAndSwap(0, 1) {
					t.Error("two holders")
				}
				if rng.IntN(8) == 0 {
					runtime.Gosched()
				}
				x.holder.Store(0)
				if rng.IntN(16) == 0 {
					live.Add(-1)
					p.Discard(x)
				} else {
					p.Put(x)
				}
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); counting && (s.InUse != 0 || s.Idle > limit) {
		t.Errorf("afterwards: %+v", s)
	}
}
