package pool

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// An owned object notices when it has two holders.
type owned struct {
	holder atomic.Int64
	id     int64
	text   string
}

// kinds returns a configuration of each kind that has room for n objects.
func kinds(n int) map[string]Config[owned] {
	return map[string]Config[owned]{
		"cached":    {Kind: Cached},
		"retaining": {Kind: Retaining, MaxIdle: n},
		"bounded":   {Kind: Bounded, Limit: n},
	}
}

// numbering makes New number its objects, and returns the count so far.
func numbering(cfg *Config[owned]) *atomic.Int64 {
	made := new(atomic.Int64)
	cfg.New = func() *owned { return &owned{id: made.Add(1)} }
	return made
}

// mustPanic calls f and checks that it panics with a message that names the
// package and contains all of the words.
func mustPanic(t *testing.T, f func(), words ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		message := fmt.Sprint(recover())
		for _, w := range append(words, "pool: ") {
			if !strings.Contains(message, w) {
				t.Errorf("panic %q does not contain %q", message, w)
			}
		}
	}()
	f()
}

func TestNewRefusesContradictions(t *testing.T) {
	for _, cfg := range []Config[int]{
		{Kind: 3},
		{Kind: -1},
		{IdleAge: time.Second},
		{MaxIdle: 1},
		{MaxIdleBytes: 1},
		{Limit: 1},
		{Size: func(*int) int64 { return 1 }},
		{Kind: Retaining, MaxIdle: -1},
		{Kind: Retaining, MaxIdle: maxObjects + 1},
		{Kind: Retaining, MaxIdleBytes: -1},
		{Kind: Retaining, MaxIdleBytes: 1},
		{Kind: Retaining, MaxIdle: 100, MaxIdleBytes: 99},
		{Kind: Retaining, MaxIdleBytes: DefaultMaxIdle - 1, Size: func(*int) int64 { return 1 }},
		{Kind: Retaining, IdleAge: -1},
		{Kind: Retaining, Limit: 1},
		{Kind: Retaining, Size: func(*int) int64 { return 1 }},
		{Kind: Bounded},
		{Kind: Bounded, Limit: -1},
		{Kind: Bounded, Limit: maxObjects + 1},
		{Kind: Bounded, Limit: 1, MaxIdle: 1},
	} {
		mustPanic(t, func() { New(cfg) }, "New: ", ";")
	}
	mustPanic(t, func() { New(Config[struct{}]{}) }, "New: ", "size zero")
}

// A nil pool panics where a caller can recover, not while it is pinned.
func TestNilPanics(t *testing.T) {
	for i, f := range []func(){
		func() { (*Pool[int])(nil).Get() },
		func() { (*Pool[int])(nil).Put(new(int)) },
		func() { (*Bytes)(nil).Get(1) },
		func() { (*Bytes)(nil).Put(make([]byte, MinBytes)) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Errorf("call %d does not panic", i)
				}
			}()
			f()
		}()
	}
}

func TestMisusePanics(t *testing.T) {
	p := New(Config[int]{})
	mustPanic(t, func() { p.Put(nil) }, "Put: ", "nil")
	mustPanic(t, func() { p.Discard(nil) }, "Discard: ", "nil")
	mustPanic(t, func() { p.Warm(-1) }, "Warm: ", "-1")
	if !invariant.Enabled {
		mustPanic(t, func() { new(Pool[int]).Get() }, "Get: ", "pool.New")
	}
	empty := New(Config[int]{New: func() *int { return nil }})
	mustPanic(t, func() { empty.Get() }, "Get: ", "returned nil")
	b := NewBytes()
	mustPanic(t, func() { b.Get(-1) }, "Bytes.Get: ", "-1")
	mustPanic(t, func() { b.Warm(MaxBytes+1, 1) }, "Bytes.Warm: ")
	mustPanic(t, func() { b.Warm(1, -1) }, "Bytes.Warm: ")
}

func TestPutThenGetReturnsTheObjectReset(t *testing.T) {
	for name, cfg := range kinds(8) {
		cfg.Reset = func(x *owned) { x.id = 0 }
		p := New(cfg)
		x := p.Get()
		x.id, x.text = 7, "kept"
		p.Put(x)
		// Another P would not find an object of a Cached pool; most attempts stay on
		// one P.
		for range 1000 {
			y := p.Get()
			if y.id != 0 {
				t.Fatalf("%s: got id %d after Reset", name, y.id)
			}
			found := y == x
			if found && y.text != "kept" {
				t.Fatalf("%s: a field that Reset leaves alone is lost: %q", name, y.text)
			}
			p.Put(y)
			if found {
				break
			}
		}
	}
}

// TestOneHolder runs each kind on more goroutines than Ps, with collections
// and changing GOMAXPROCS, and checks that no object ever has two holders, that
// the counts add up, and that the bounds hold.
func TestOneHolder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const workers, rounds, most = 8, 3000, 40
	for name, cfg := range kinds(workers * most) {
		made := numbering(&cfg)
		p := New(cfg)
		warmed := p.Warm(10)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(w)))
				var held []*owned
				for range rounds {
					if n := rng.IntN(most); n < len(held) {
						x := held[n]
						held[n] = held[len(held)-1]
						held = held[:len(held)-1]
						if !x.holder.CompareAndSwap(int64(w+1), 0) {
							t.Errorf("%s: a held object changed hands", name)
							return
						}
						if rng.IntN(50) == 0 {
							p.Discard(x)
						} else {
							p.Put(x)
						}
						continue
					}
					x := p.Get()
					if !x.holder.CompareAndSwap(0, int64(w+1)) {
						t.Errorf("%s: got an object that another holds", name)
						return
					}
					held = append(held, x)
				}
				for _, x := range held {
					x.holder.Store(0)
					p.Put(x)
				}
			})
		}
		for i := range 6 {
			runtime.GC()
			runtime.GOMAXPROCS(1 + i%3)
		}
		wg.Wait()
		s := p.Stats()
		if got := int64(s.Misses + s.Warmed); got != made.Load() {
			t.Errorf("%s: Misses+Warmed = %d, made %d", name, got, made.Load())
		}
		if s.Warmed != uint64(warmed) || warmed != 10 {
			t.Errorf("%s: Warmed = %d, Warm returned %d; want 10", name, s.Warmed, warmed)
		}
		if !counting {
			continue
		}
		if s.InUse != 0 {
			t.Errorf("%s: InUse = %d with nothing held: %+v", name, s.InUse, s)
		}
		if s.Misses+s.Warmed != uint64(s.Idle)+s.Evicted+s.Discarded {
			t.Errorf("%s: counts do not add up: %+v", name, s)
		}
		if cfg.Kind != Cached && s.Evicted != 0 {
			t.Errorf("%s: %d evicted without IdleAge", name, s.Evicted)
		}
		if cfg.Kind != Cached && s.Idle > workers*most {
			t.Errorf("%s: %d idle, bound %d", name, s.Idle, workers*most)
		}
	}
}

func TestContentsSurviveCollections(t *testing.T) {
	type rich struct {
		s    string
		list []string
		m    map[string]*int
		next *rich
		any  any
	}
	for _, cfg := range []Config[rich]{{}, {Kind: Retaining}, {Kind: Bounded, Limit: 200}} {
		p := New(cfg)
		for i := range 100 {
			objects := make([]*rich, 100)
			for j := range objects {
				x := p.Get()
				if x.m != nil && (x.list[0] != x.s || *x.m[x.s] != len(x.s) || x.next.s != x.s || x.any != x.s) {
					t.Fatalf("kind %d, round %d: object is corrupt: %+v", cfg.Kind, i, x)
				}
				s := fmt.Sprint("object ", i, "/", j)
				n := len(s)
				*x = rich{s: s, list: []string{s}, m: map[string]*int{s: &n}, next: &rich{s: s}, any: s}
				objects[j] = x
			}
			runtime.GC()
			for _, x := range objects {
				p.Put(x)
			}
			if i%2 == 0 {
				runtime.GC()
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("debug builds allocate")
	}
	for name, cfg := range kinds(100) {
		p := New(cfg)
		p.Warm(64)
		var held [64]*owned
		if n := testing.AllocsPerRun(1000, func() {
			for i := range held {
				held[i] = p.Get()
			}
			for _, x := range held {
				p.Put(x)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per burst of 64", name, n)
		}
	}
	b := NewBytes()
	if n := testing.AllocsPerRun(1000, func() { b.Put(b.Get(1000)) }); n != 0 {
		t.Errorf("Bytes: %v allocations per Get and Put", n)
	}
}

// eventually collects garbage until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for range 1000 {
		if cond() {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Errorf("not reached in 1000 collections: %s", what)
}

func TestCachedObjectsAreEvicted(t *testing.T) {
	var freed atomic.Int64
	p := New(Config[owned]{New: func() *owned {
		x := new(owned)
		runtime.AddCleanup(x, func(int) { freed.Add(1) }, 0)
		return x
	}})
	const n = 500
	var held [n]*owned
	for i := range held {
		held[i] = p.Get()
	}
	for i, x := range held {
		p.Put(x)
		held[i] = nil
	}
	eventually(t, "every object is freed", func() bool { return freed.Load() == n })
	s := p.Stats()
	if s.Idle != 0 || counting && s.Evicted != n {
		t.Errorf("after eviction: %+v", s)
	}
	if p.Get() == nil {
		t.Error("Get returned nil after eviction")
	}
}

func TestCachedObjectsSurviveOneCollection(t *testing.T) {
	if invariant.Race {
		t.Skip("the depot evicts by demand")
	}
	p := New(Config[owned]{})
	for range 10 {
		p.Put(p.Get())
	}
	before := p.Stats().Idle
	p.cache.age()
	if after := p.Stats().Idle; after != before {
		t.Errorf("%d idle after one collection, %d before", after, before)
	}
	p.cache.age()
	p.cache.age()
	if after := p.Stats().Idle; after != 0 {
		t.Errorf("%d idle after three collections without use", after)
	}
}

func TestPoolsAreCollected(t *testing.T) {
	var gone atomic.Int64
	func() {
		for name, cfg := range kinds(10) {
			if name != "cached" {
				cfg.IdleAge = time.Hour
			}
			p := New(cfg)
			p.Put(p.Get())
			runtime.AddCleanup(p, func(int) { gone.Add(1) }, 0)
		}
	}()
	if invariant.Enabled {
		t.Skip("cleanups of tracked objects refer to the tracker")
	}
	eventually(t, "three pools are freed", func() bool { return gone.Load() == 3 })
}

func TestWarm(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would evict
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // another P would not find what this one has taken from the depot
	for name, cfg := range kinds(1000) {
		made := numbering(&cfg)
		p := New(cfg)
		want := 10000
		if cfg.Kind == Bounded {
			want = 1000
		}
		got := p.Warm(10000)
		if s := p.Stats(); int64(got) != s.Idle {
			t.Errorf("%s: Warm returned %d: %+v", name, got, s)
		}
		if cfg.Kind == Retaining {
			want = 750
		}
		if got < want {
			t.Errorf("%s: Warm(10000) = %d, want at least %d", name, got, want)
		}
		before := made.Load()
		for range got {
			p.Get()
		}
		if made.Load() != before {
			t.Errorf("%s: %d of %d warmed objects were not found", name, made.Load()-before, got)
		}
	}
}
