package pool

import (
	"runtime"
	"sync/atomic"
	"weak"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A cache holds the idle objects of a Cached pool: a stack for each P, and a
// depot for objects that do not fit on the stacks.
//
// Each garbage collection ages it: the stacks in use become the victims, the
// victims of the previous collection are dropped with all they hold, and the
// depot drops objects that nobody needed since. Only the P that owns a stack
// touches it, and only while pinned, whether the stack is in use or a victim;
// so nobody waits. A pinned section cannot span a collection, which stops the
// world, so it sees at most one aging. Therefore, when an aging begins, nobody
// still updates the counts of a generation that an earlier one made victims.
//
// In race builds depth is 0 and the depot holds everything, because the
// detector cannot see that a P hands its stack to the next goroutine it runs.
type cache[T any] struct {
	depth uintptr // objects a stack may hold; set by init
	procs int     // stacks in a generation, 1 or more; set by init

	depot[T]
	armed bool // guarded by mu: a collection will call age

	// A generation is an array of procs stacks; these point to the first stack of
	// two generations. Both are written under mu and read by anyone pinned.
	local  atomic.Pointer[stack[T]]
	victim atomic.Pointer[stack[T]]
}

// maxDepth is the capacity of a stack.
const maxDepth = 64

// A stack is owned by the P whose id is its index. Other goroutines read the
// counts, private and n for statistics, and get some value that was written.
type stack[T any] struct {
	_       [cacheLine]byte
	private *T // one more idle object, for a Get that follows a Put (BenchmarkCached/burst=1)
	n       uintptr
	count
	slots [maxDepth]*T // slots[:n] hold idle objects, the rest is nil
}

// cacheLine separates fields that different Ps write: two lines of 64 bytes,
// because processors fetch them in pairs.
const cacheLine = 128

func (c *cache[T]) init(depth int) {
	c.procs = procs()
	c.depth = uintptr(min(depth, maxDepth))
	if invariant.Race {
		c.depth = 0
	}
}

// procs is the number of Ps to provide for. If GOMAXPROCS later rises beyond
// it, the additional Ps use the depot.
func procs() int { return max(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

// mine returns the stack of the P with the given id, or nil if there is none.
// The caller is pinned to that P.
func (c *cache[T]) mine(pid int) *stack[T] {
	if first := c.local.Load(); first != nil && pid < c.procs {
		return at(first, pid)
	}
	return nil
}

// pop takes an object, or returns nil. The caller is pinned to the owner.
func (s *stack[T]) pop() *T {
	if x := s.private; x != nil {
		s.private = nil
		return x
	}
	return s.top()
}

// top is pop without private.
func (s *stack[T]) top() *T {
	n := s.n - 1
	if n >= maxDepth {
		return nil
	}
	x := s.slots[n]
	s.slots[n] = nil
	s.n = n
	return x
}

// push keeps x unless slots already holds depth objects. The caller is pinned
// to the owner.
func (s *stack[T]) push(x *T, depth uintptr) bool {
	if s.private == nil {
		s.private = x
		return true
	}
	return s.pile(x, depth)
}

// pile is push without private.
func (s *stack[T]) pile(x *T, depth uintptr) bool {
	n := s.n
	if n >= depth {
		return false
	}
	s.slots[n%maxDepth] = x
	s.n = n + 1
	return true
}

// get returns an idle object, or nil. Pool.Get and Bytes.Get start with the
// same code, to save a call.
func (c *cache[T]) get() *T {
	pid := procpin.Pin()
	if s := c.mine(pid); s != nil {
		if x := s.pop(); x != nil {
			s.hit()
			procpin.Unpin()
			return x
		}
	}
	procpin.Unpin()
	return c.refill()
}

// refill is get with an empty stack: it tries the victims, then fetches a batch
// from the depot.
func (c *cache[T]) refill() *T {
	if c.victim.Load() != nil {
		if x := c.revive(); x != nil {
			return x
		}
	}
	if c.size.Load() == 0 {
		if c.procs == 0 {
			panic("pool: Get: the pool was not made by New; call pool.New or pool.NewBytes")
		}
		return nil
	}
	var batch [maxDepth/2 + 1]*T
	c.mu.Lock()
	n := c.take(batch[:c.depth/2+1])
	if n > 0 {
		c.hit()
	}
	c.mu.Unlock()
	if n > 1 {
		c.settle(batch[1:n])
	}
	return batch[0]
}

// revive takes an object from the P's own victims.
func (c *cache[T]) revive() *T {
	pid := procpin.Pin()
	var x *T
	if first := c.victim.Load(); first != nil && pid < c.procs {
		x = at(first, pid).pop()
	}
	procpin.Unpin()
	if x == nil {
		return nil
	}
	// Do not count it in the victim, which may be dropped at this moment.
	c.mu.Lock()
	c.hit()
	c.mu.Unlock()
	return x
}

// settle puts items from the depot on the P's stack and returns the rest to the
// depot. They stay idle, so no counter changes.
func (c *cache[T]) settle(items []*T) {
	pid := procpin.Pin()
	if s := c.mine(pid); s != nil {
		n := copy(s.slots[s.n:c.depth], items)
		s.n += uintptr(n)
		items = items[n:]
	}
	procpin.Unpin()
	if len(items) > 0 {
		c.stow(items...)
	}
}

// spill is put with a full stack: it moves half of the stack to the depot.
func (c *cache[T]) spill(x *T) {
	if c.local.Load() == nil && c.depth > 0 {
		c.start()
	}
	var batch [maxDepth/2 + 1]*T
	var full []*T
	pid := procpin.Pin()
	s := c.mine(pid)
	if s == nil {
		procpin.Unpin()
		c.mu.Lock()
		c.count.put()
		c.add(x)
		c.arm()
		c.mu.Unlock()
		return
	}
	if s.n == c.depth {
		s.n = c.depth / 2
		full = batch[:copy(batch[:], s.slots[s.n:c.depth])]
		clear(s.slots[s.n:c.depth])
	}
	s.push(x, c.depth)
	s.put()
	procpin.Unpin()
	if len(full) > 0 {
		c.stow(full...)
	}
}

// stow adds idle objects to the depot, where every P finds them.
func (c *cache[T]) stow(items ...*T) {
	c.mu.Lock()
	c.add(items...)
	c.arm()
	c.mu.Unlock()
}

// start publishes a generation of empty stacks if there is none.
func (c *cache[T]) start() {
	c.mu.Lock()
	if c.local.Load() == nil {
		c.local.Store(&make([]stack[T], c.procs)[0])
		c.arm()
	}
	c.mu.Unlock()
}

// arm makes the next garbage collection call age. The caller holds mu.
//
// The sentinel is unreachable at once. A collection that is marking when it is
// allocated spares it, so at least one marking phase, which stops the world,
// begins between two agings.
func (c *cache[T]) arm() {
	if c.armed {
		return
	}
	c.armed = true
	runtime.AddCleanup(&sentinel{}, func(w weak.Pointer[cache[T]]) {
		if c := w.Value(); c != nil {
			c.age()
		}
	}, weak.Make(c))
}

// A sentinel holds a pointer so that it is not allocated together with other
// tiny objects, which could keep it alive.
type sentinel struct{ _ *byte }

// age runs after a garbage collection.
func (c *cache[T]) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.victim.Load(); v != nil {
		for pid := range c.procs {
			c.count.add(&at(v, pid).count)
		}
	}
	c.victim.Store(c.local.Load())
	c.local.Store(nil)
	c.trim()
	c.armed = false
	if c.victim.Load() != nil || len(c.items) > 0 {
		c.arm()
	}
}

// addTo adds the figures of c, whose objects are size bytes each, to s.
func (c *cache[T]) addTo(s *Stats, t *tally, size int64) {
	c.mu.Lock()
	sum, idle := c.count, len(c.items)
	for _, first := range []*stack[T]{c.victim.Load(), c.local.Load()} {
		for pid := range c.procs {
			if first != nil {
				s := at(first, pid)
				sum.add(&s.count)
				idle += int(atomic.LoadUintptr(&s.n))
				if s.private != nil {
					idle++
				}
			}
		}
	}
	c.mu.Unlock()
	s.addIdle(sum, idle, size)
	t.addTo(s)
}
