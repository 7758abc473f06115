package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// TestBinConserves runs thieves against a bin while its owner fills and empties
// it. Every object is in one place at a time, and none is missing at the end.
func TestBinConserves(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const objects, rounds, thieves = 100, 30000, 3 // the thieves take turns
	for _, depth := range []int{1, 5, 64} {
		var b bin[owned]
		back := make(chan *owned, objects)
		for i := range objects {
			back <- &owned{id: int64(i)}
		}
		var stop atomic.Bool
		var turn sync.Mutex
		var wg sync.WaitGroup
		for range thieves {
			wg.Go(func() {
				for !stop.Load() {
					turn.Lock()
					x := b.steal()
					turn.Unlock()
					if x == nil {
						runtime.Gosched()
						continue
					}
					if !x.holder.CompareAndSwap(1, 0) {
						t.Error("stolen twice")
					}
					back <- x
				}
			})
		}
		for i := range rounds {
			if i%3 == 2 {
				if x := b.pop(true); x != nil {
					if !x.holder.CompareAndSwap(1, 0) {
						t.Error("popped twice")
					}
					back <- x
				}
				continue
			}
			select {
			case x := <-back:
				x.holder.Store(1)
				if !b.push(x, depth, true) {
					x.holder.Store(0)
					back <- x
				}
			default:
				runtime.Gosched()
			}
		}
		stop.Store(true)
		wg.Wait()
		for b.pop(true) != nil {
			back <- nil
		}
		if len(back) != objects {
			t.Errorf("depth %d: %d objects left of %d", depth, len(back), objects)
		}
		if b.full.Load() != 0 || b.taken.Load() != 0 || b.slots != [64]*owned{} {
			t.Errorf("depth %d: marks or objects remain", depth)
		}
	}
}

// FuzzPool replays a schedule of operations on each kind of pool against a
// model: the sets of objects that are held and that may be idle.
func FuzzPool(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 2, 0, 3, 0, 4, 0, 1})
	f.Add([]byte("get put discard warm collect"))
	f.Fuzz(func(t *testing.T, schedule []byte) {
		schedule = schedule[:min(len(schedule), 2000)] // more only takes longer
		for name, cfg := range kinds(20) {
			p := New(cfg)
			var held []*owned
			isHeld := map[*owned]bool{}
			gone := map[*owned]bool{}
			for _, op := range schedule {
				switch i := int(op / 8); op % 8 {
				default:
					if cfg.Kind == Bounded && len(held) == cfg.Limit {
						continue
					}
					x := p.Get()
					if isHeld[x] || gone[x] {
						t.Fatalf("%s: Get returned an object that is held or was discarded", name)
					}
					held, isHeld[x] = append(held, x), true
				case 1, 2, 3:
					if i < len(held) {
						p.Put(held[i])
						delete(isHeld, held[i])
						held = append(held[:i], held[i+1:]...)
					}
				case 4:
					if i < len(held) {
						p.Discard(held[i])
						delete(isHeld, held[i])
						gone[held[i]] = true
						held = append(held[:i], held[i+1:]...)
					}
				case 5:
					p.Warm(i)
				case 6:
					if cfg.Kind == Cached {
						p.cache.age()
					} else if i%2 == 0 || invariant.Race {
						p.stock.age()
					} else {
						p.stock.stolen = false
						p.stock.settle()
					}
				}
				s := p.Stats()
				if counting && s.InUse != int64(len(held)) {
					t.Fatalf("%s: InUse = %d, held %d: %+v", name, s.InUse, len(held), s)
				}
				if cfg.Kind != Cached && s.Idle > 20 || cfg.Kind == Bounded && int(s.Idle)+len(held) > 20 {
					t.Fatalf("%s: beyond its bound with %d held: %+v", name, len(held), s)
				}
			}
		}
	})
}

// FuzzBin replays a schedule of one owner and one thief, who take turns, with bins shared and
// unshared. The bin has exactly what was put and not taken, and no more than its depth allows.
func FuzzBin(f *testing.F) {
	f.Add(byte(5), []byte{0, 0, 0, 2, 3, 1, 0, 2, 0, 1, 1, 1, 1})
	f.Add(byte(64), []byte("000000000000000220033300000"))
	f.Add(byte(0), []byte{0, 0, 2, 0, 3, 1, 2, 0, 1})
	f.Fuzz(func(t *testing.T, depth byte, schedule []byte) {
		depth %= maxDepth
		var b bin[owned]
		in := map[*owned]bool{}
		shared := false
		for _, op := range schedule {
			var x *owned
			switch op % 4 {
			case 0:
				if x := new(owned); b.push(x, int(depth), shared) {
					in[x] = true
				} else if len(in) < int(depth) {
					t.Fatalf("no room beside %d of %d objects", len(in), depth)
				}
				continue
			case 1:
				// While bins are shared, private is left to the thief.
				if x = b.pop(shared); x == nil && len(in) > 1 {
					t.Fatalf("nothing of %d objects", len(in))
				}
			case 2:
				if shared = !shared; shared {
					b.expose()
				}
				continue
			case 3:
				if !shared {
					continue
				}
				if x = b.steal(); x == nil && len(in) > 0 {
					t.Fatalf("nothing of %d objects for the thief", len(in))
				}
			}
			if x != nil && !in[x] {
				t.Fatal("taken twice")
			}
			delete(in, x)
			if len(in) > int(depth)+1 {
				t.Fatalf("%d objects in %d slots", len(in), depth)
			}
		}
		b.expose()
		for left := len(in); left > 0; left-- {
			if x := b.steal(); !in[x] {
				t.Fatalf("%d objects are missing", left)
			} else {
				delete(in, x)
			}
		}
		if b.steal() != nil || b.slots != [maxDepth]*owned{} {
			t.Fatal("objects remain")
		}
	})
}
