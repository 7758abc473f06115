// Package pool keeps objects and byte buffers for reuse.
//
// A [Pool] holds objects of one type; its [Kind] says what happens to idle ones.
// Cached objects go back to the garbage collector when they stay unused for a
// collection or two, like those of sync.Pool. Retained ones survive collections,
// bounded by number and bytes, until they have been idle too long. A bounded
// pool never has more than a fixed number of objects in existence, and Get waits
// for one to come back. [Bytes] holds buffers in size classes.
//
// Any number of goroutines may call all methods. A call to Put synchronizes
// before the Get that returns the same object. An object belongs to its holder
// between Get and Put and to the pool afterwards: touching it after Put, putting
// it twice, or putting an object that the pool did not hand out is a bug in the
// caller. Builds with the isobar_debug tag and race builds detect these bugs:
// they poison idle objects, check the poison before they hand an object out
// again, panic on a wrong Put, and list who holds what ([Pool.Held]). Other
// builds do not check.
//
// Statistics are counted per P without synchronization; the isobar_nostats tag
// compiles the counting out.
//
// The package does not free memory by hand, run finalizers on the objects, or
// pool values: a T is always handled by pointer, so nothing is boxed. It does not
// close what it evicts: a connection stays open until it is collected, if then.
package pool

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/procpin"
)

// Kind says what happens to a pool's idle objects.
type Kind int

const (
	// Cached objects are evicted when two garbage collections find them
	// unused. Their number is unbounded.
	Cached Kind = iota
	// Retaining keeps up to MaxIdle objects, whatever the collector does, and
	// evicts those that stay idle for IdleAge. Without an IdleAge, Get and Put are
	// cheaper.
	Retaining
	// Bounded allows at most Limit objects to exist, idle or in use. When all are
	// in use, Get waits; whoever has waited longest is served first.
	Bounded
)

// DefaultMaxIdle is the MaxIdle of a Retaining pool that does not set it.
const DefaultMaxIdle = 1024

// Config describes a pool. Its zero value describes a Cached pool of new(T).
type Config[T any] struct {
	Kind Kind

	// New makes an object when none is idle; nil means new(T). It must return a
	// different object in the Go heap each time, never nil.
	New func() *T

	// Reset is called by Put and prepares the object for its next holder. With
	// nil, objects stay as they are. It must not panic.
	Reset func(*T)

	// MaxIdle bounds the idle objects of a Retaining pool; 0 means DefaultMaxIdle. Part of
	// it is divided among the Ps: if a single P puts everything, the pool keeps fewer
	// objects, but at least three quarters of MaxIdle. Without an IdleAge, Get may make an
	// object although other Ps have idle ones in their parts.
	MaxIdle int

	// MaxIdleBytes bounds the memory of a Retaining pool's idle objects; 0
	// means no bound. Put discards an object larger than its share,
	// MaxIdleBytes/MaxIdle.
	MaxIdleBytes int64

	// Size returns the bytes an object occupies, for MaxIdleBytes. Nil means the
	// size of T itself, without the memory it points to.
	Size func(*T) int64

	// IdleAge is the time after which a Retaining or Bounded pool evicts an object
	// that nobody took; eviction may take up to twice as long. 0 means never.
	IdleAge time.Duration

	// Limit is the number of objects that a Bounded pool may have in existence.
	Limit int
}

// A Pool keeps objects of type T for reuse. Make one with [New]; the zero value
// is not usable. It must not be copied.
type Pool[T any] struct {
	// New sets all fields, which are only read afterwards; cache, stock and tally
	// synchronize their own contents.
	kind  Kind
	fresh func() *T
	reset func(*T)
	size  func(*T) int64
	share int64 // size of the largest object that Put keeps; used if size is set
	cache cache[T]
	stock stock[T]
	tally tally
	track tracker[T] // used if invariant.Enabled
}

// New returns an empty pool. It panics if cfg contradicts itself.
func New[T any](cfg Config[T]) *Pool[T] {
	cfg.check()
	p := &Pool[T]{kind: cfg.Kind, fresh: cfg.New, reset: cfg.Reset}
	if p.fresh == nil {
		p.fresh = func() *T { return new(T) }
	}
	switch cfg.Kind {
	case Cached:
		p.cache.init(maxDepth)
	case Retaining:
		if cfg.MaxIdle == 0 {
			cfg.MaxIdle = DefaultMaxIdle
		}
		if cfg.MaxIdleBytes > 0 {
			if p.size = cfg.Size; p.size == nil {
				fit := cfg.MaxIdleBytes / int64(sizeof[T]())
				cfg.MaxIdle = int(min(int64(cfg.MaxIdle), fit))
			} else {
				p.share = cfg.MaxIdleBytes / int64(cfg.MaxIdle)
			}
		}
		p.stock.init(cfg.MaxIdle, 0, cfg.IdleAge > 0)
	case Bounded:
		p.stock.init(cfg.Limit, cfg.Limit, cfg.IdleAge > 0)
	}
	if cfg.IdleAge > 0 {
		p.stock.trimEvery(cfg.IdleAge)
	}
	if invariant.Enabled {
		p.track.init("Pool")
	}
	return p
}

func (cfg *Config[T]) check() {
	bad := func(format string, args ...any) { panic("pool: New: " + fmt.Sprintf(format, args...)) }
	if sizeof[T]() == 0 {
		bad("%T has size zero and needs no pool; use the value", *new(T))
	}
	switch cfg.Kind {
	case Cached:
		if cfg.IdleAge != 0 {
			bad("IdleAge %v on a Cached pool; use Retaining, or leave it to the collector", cfg.IdleAge)
		}
	case Retaining, Bounded:
		if cfg.IdleAge < 0 {
			bad("IdleAge %v; want 0 for never, or more", cfg.IdleAge)
		}
	default:
		bad("Kind %d; want Cached, Retaining or Bounded", cfg.Kind)
	}
	if cfg.Kind == Bounded && (cfg.Limit < 1 || cfg.Limit > maxObjects) {
		bad("Limit %d; a Bounded pool wants 1 to %d", cfg.Limit, maxObjects)
	}
	if cfg.Kind != Bounded && cfg.Limit != 0 {
		bad("Limit %d; it applies to Bounded pools only", cfg.Limit)
	}
	if cfg.Kind != Retaining && (cfg.MaxIdle != 0 || cfg.MaxIdleBytes != 0 || cfg.Size != nil) {
		bad("MaxIdle, MaxIdleBytes or Size; they apply to Retaining pools only")
	}
	if cfg.MaxIdle < 0 || cfg.MaxIdle > maxObjects {
		bad("MaxIdle %d; want 0 for %d, or 1 to %d", cfg.MaxIdle, DefaultMaxIdle, maxObjects)
	}
	if cfg.MaxIdleBytes < 0 {
		bad("MaxIdleBytes %d; want 0 for no bound, or more", cfg.MaxIdleBytes)
	}
	count := cfg.MaxIdle
	if cfg.Size != nil { // each object gets a share
		count = cmp.Or(count, DefaultMaxIdle)
	}
	if least := max(int64(sizeof[T]()), int64(count)); cfg.MaxIdleBytes > 0 && cfg.MaxIdleBytes < least {
		bad("MaxIdleBytes %d leaves no room for an object; want %d or more", cfg.MaxIdleBytes, least)
	}
	if cfg.Size != nil && cfg.MaxIdleBytes == 0 {
		bad("Size without MaxIdleBytes; set both")
	}
}

// maxObjects is the largest MaxIdle and Limit: enough for any use, and far
// from overflow.
const maxObjects = 1 << 30

// Get returns an idle object, or a new one. On a Bounded pool it waits while
// all objects are in use.
func (p *Pool[T]) Get() *T {
	if !invariant.Enabled {
		_ = p.kind // not while pinned, where the panic of a nil Pool would end the process
		pid := procpin.Pin()
		if p.kind == Cached {
			if s := p.cache.mine(pid); s != nil {
				if x := s.pop(); x != nil {
					s.hit()
					procpin.Unpin()
					return x
				}
			}
		} else if b := p.stock.mine(pid); b != nil {
			shared := p.stock.shared.Load()
			x := b.fetch(shared)
			if x == nil && !shared {
				x = b.top()
			}
			if x == nil {
				x = b.pop(shared)
			}
			if x != nil {
				b.hit()
				procpin.Unpin()
				return x
			}
		}
		procpin.Unpin()
	}
	x, _ := p.get(context.Background())
	if invariant.Enabled {
		p.track.take(x, nil)
	}
	return x
}

// GetContext is Get, but gives up if ctx is done while it waits, which only
// happens on a Bounded pool. The error wraps ctx.Err(). It ignores ctx if it
// gets an object without waiting.
func (p *Pool[T]) GetContext(ctx context.Context) (*T, error) {
	x, err := p.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("pool: GetContext: all %d objects are in use: %w", p.stock.limit, err)
	}
	if invariant.Enabled {
		p.track.take(x, nil)
	}
	return x, nil
}

// get returns an idle object or makes one. On a Bounded pool it first waits for
// a permit or for an object to come back.
func (p *Pool[T]) get(ctx context.Context) (*T, error) {
	var x *T
	if p.kind == Cached {
		x = p.cache.get()
	} else {
		x = p.stock.get()
	}
	if x == nil && p.kind == Bounded {
		var err error
		if x, err = p.stock.wait(ctx); err != nil {
			return nil, err
		}
	}
	if x == nil {
		x = p.make("Get")
		p.tally.misses.Add(1)
	}
	return x, nil
}

// make calls New. On a Bounded pool the caller holds a permit for one more
// object, which is returned if New does not return one.
func (p *Pool[T]) make(op string) *T {
	made := false
	if p.kind == Bounded {
		defer func() {
			if !made {
				p.stock.forget(1)
			}
		}()
	}
	x := p.fresh()
	if x == nil {
		panic("pool: " + op + ": Config.New returned nil; return an object")
	}
	made = true
	if invariant.Enabled {
		p.track.create(x, int(sizeof[T]()))
	}
	return x
}

// Put returns x, which must come from this pool. From then on the pool owns x.
func (p *Pool[T]) Put(x *T) {
	if x == nil {
		panic("pool: Put: nil object; put only what Get returned")
	}
	if invariant.Enabled {
		p.track.giveBack(x, int(sizeof[T]()))
	}
	if p.reset != nil {
		p.reset(x)
	}
	if p.size != nil && p.size(x) > p.share {
		p.tally.drop(1)
		return
	}
	if invariant.Enabled {
		p.track.poison(x, nil)
	}
	pid := procpin.Pin()
	if p.kind == Cached {
		if s := p.cache.mine(pid); s != nil && s.push(x, p.cache.depth) {
			s.put()
			procpin.Unpin()
			return
		}
		procpin.Unpin()
		p.cache.spill(x)
		return
	}
	shared := p.stock.shared.Load()
	if b := p.stock.mine(pid); b != nil &&
		(b.stash(x, shared) || !shared && b.pile(x, b.depth) || b.push(x, p.stock.depth, shared)) {
		b.put()
		if !shared {
			procpin.Unpin()
			return
		}
		due := b.due(p.stock.period.Load())
		procpin.Unpin()
		p.stock.notify()
		if due {
			p.stock.settle()
		}
		return
	}
	procpin.Unpin()
	p.tally.discarded.Add(uint64(p.stock.spill(x)))
}

// Discard gives up x without returning it, for objects that are no longer
// usable. On a Bounded pool this makes room for another.
func (p *Pool[T]) Discard(x *T) {
	if x == nil {
		panic("pool: Discard: nil object; discard only what Get returned")
	}
	if invariant.Enabled {
		p.track.giveBack(x, int(sizeof[T]()))
	}
	p.tally.drop(1)
	if p.kind == Bounded {
		p.stock.forget(1)
	}
}

// Warm makes n new objects, leaves them idle and returns how many it made:
// fewer than n if the pool's bounds allow no more.
func (p *Pool[T]) Warm(n int) int {
	if n < 0 || n > maxObjects {
		panic(fmt.Sprintf("pool: Warm: %d objects; want 0 to %d", n, maxObjects))
	}
	for i := range n {
		if p.kind == Bounded && !p.stock.permit() {
			return i
		}
		x := p.make("Warm")
		if invariant.Enabled {
			p.track.poison(x, nil)
		}
		kept := true
		if p.kind == Cached {
			p.cache.stow(x)
		} else {
			kept = p.stock.stow(x)
		}
		p.tally.warmed.Add(1)
		if !kept {
			p.tally.discarded.Add(1)
			return i
		}
	}
	return n
}

// Held lists the objects that were taken and not given back, longest-held
// first, and those of them that became unreachable (at most the latest 100). It
// is empty except in debug and race builds.
func (p *Pool[T]) Held() []Held {
	if !invariant.Enabled {
		return nil
	}
	return p.track.list()
}

// Stats returns the pool's counts, which are approximate while other goroutines use the pool.
func (p *Pool[T]) Stats() Stats {
	var s Stats
	if p.kind == Cached {
		p.cache.addTo(&s, &p.tally, int64(sizeof[T]()))
	} else {
		p.stock.addTo(&s, &p.tally, int64(sizeof[T]()))
	}
	s.derive()
	return s
}
