package pool

import (
	"container/list"
	"context"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"weak"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/procpin"
)

// A stock holds the idle objects of a Retaining or Bounded pool: a bin for each
// P, and a depot for objects that do not fit in the bins. Unlike a cache's
// stacks, bins may be emptied by whoever holds mu. A goroutine on any P can
// therefore reach every object, which a Bounded pool depends on.
//
// Bins start out unshared: what only the pinned owner touches needs no locked instruction
// (BenchmarkRetaining, BenchmarkBounded). Whoever must look into them sets shared and then stops
// the world, which no pinned section outlasts. So every section that found the bins unshared has
// ended, and its stores are visible. When a period has passed without a theft and nobody waits,
// an owner unshares them; the next period is twice as long, so that stops become rare.
//
// Objects move between bins and depot under mu, so whoever holds mu and has
// shared the bins sees every idle object. Only Put into the P's own bin does not
// take mu. In a shared bin it checks waiting afterwards, and a waiter raises
// waiting before it checks the bins, so one of the two sees the other. A Put
// into an unshared bin ends before the waiter, who shares them, checks.
type stock[T any] struct {
	depth int      // slots of a bin that may be in use; set by init
	room  int      // objects the depot may hold; set by init
	limit int      // objects that may exist, 0 for any number; set by init
	bins  []bin[T] // set by init

	shared atomic.Bool   // others than the owners may empty bins; stored under mu
	period atomic.Uint32 // pushes into shared bins after which an owner asks for unsharing, 0 for never; stored under mu

	depot[T]
	stolen  bool         // guarded by mu: since an owner last asked
	shares  uint64       // guarded by mu: how often the bins were shared, each time stopping the world
	queue   list.List    // of *waiter[T]; guarded by mu
	waiting atomic.Int64 // queue.Len(), stored under mu

	made atomic.Int64 // objects in existence plus permits to make one; if limit > 0
}

// A waiter is a Get that waits. It receives an object, or nil as the permit to
// make one.
type waiter[T any] struct {
	ready chan *T // capacity 1; sent to under mu by whoever takes it off the queue
}

// init prepares s. A stock that ages is always shared, because each age steals. So is every
// stock in race builds, where the detector cannot see that the world stops.
func (s *stock[T]) init(maxIdle, limit int, ages bool) {
	if ages || invariant.Race {
		s.shared.Store(true)
	} else {
		s.period.Store(minPeriod)
	}
	s.limit, s.room = limit, maxIdle
	n := procs()
	hold := min(maxDepth, maxIdle/(4*n)) // objects in a bin: one in private
	if limit > 0 {
		hold = maxDepth
	} else {
		s.room -= hold * n
	}
	if hold > 0 {
		s.bins, s.depth = make([]bin[T], n), hold-1
	}
}

// mine returns the bin of the P with the given id, or nil if there is none.
func (s *stock[T]) mine(pid int) *bin[T] {
	if pid < len(s.bins) {
		return &s.bins[pid]
	}
	return nil
}

// get returns an idle object, or nil. Pool.Get starts with the same code, to
// save a call.
func (s *stock[T]) get() *T {
	pid := procpin.Pin()
	if b := s.mine(pid); b != nil {
		if x := b.pop(s.shared.Load()); x != nil {
			b.hit()
			procpin.Unpin()
			return x
		}
	}
	procpin.Unpin()
	return s.refill(pid)
}

// refill is get with an empty bin: it fetches a batch from the depot, or an
// object from another bin.
func (s *stock[T]) refill(pid int) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(pid + 1)
	if x == nil {
		return nil
	}
	s.hit()
	var batch [maxDepth / 2]*T
	items := batch[:s.take(batch[:s.depth/2])]
	pid = procpin.Pin()
	if b := s.mine(pid); b != nil {
		for len(items) > 0 && b.push(items[0], s.depth, s.shared.Load()) {
			items = items[1:]
		}
	}
	procpin.Unpin()
	s.add(items...)
	return x
}

// find takes an object from the depot or any bin, starting at the given one. A Retaining stock
// without an age leaves objects in bins where they are: each P that runs later will want its own, and
// making new ones costs less than sharing the bins again in each time slice. The caller holds mu.
func (s *stock[T]) find(from int) *T {
	var one [1]*T
	if s.take(one[:]) > 0 {
		return one[0]
	}
	if s.limit == 0 && !s.shared.Load() || s.queue.Len() == 0 && s.binned() == 0 {
		return nil
	}
	s.share()
	for i := range s.bins {
		if x := s.bins[(from+i)%len(s.bins)].steal(); x != nil {
			s.stolen = true
			return x
		}
	}
	return nil
}

// binned returns how many objects are in bins; owners may add and remove some
// meanwhile.
func (s *stock[T]) binned() (n int) {
	for i := range s.bins {
		b := &s.bins[i]
		n += bits.OnesCount64(b.full.Load()) + int(atomic.LoadUintptr(&b.n))
		if b.private != nil {
			n++
		}
	}
	return n
}

const minPeriod, maxPeriod = 1 << 15, 1 << 31

// share lets the caller, who holds mu, steal from bins.
func (s *stock[T]) share() {
	if s.shared.Load() {
		return
	}
	s.shared.Store(true)
	runtime.Stack(nil, true) // writes nothing, but stops and starts the world (TestShareStopsTheWorld)
	for i := range s.bins {
		s.bins[i].expose()
	}
	s.stolen, s.shares = true, s.shares+1
	s.period.Store(2 * min(s.period.Load(), maxPeriod/2))
}

// settle unshares the bins if nobody has stolen from them since the last call
// and nobody waits.
func (s *stock[T]) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stolen && s.queue.Len() == 0 {
		s.shared.Store(false)
	}
	s.stolen = false
}

// spill is put with a full bin: it moves half of the bin to the depot and
// returns how many objects it had to drop.
func (s *stock[T]) spill(x *T) (dropped int) {
	batch := [maxDepth/2 + 1]*T{x}
	n := 1
	s.mu.Lock()
	pid := procpin.Pin()
	if b := s.mine(pid); b != nil {
		for n <= s.depth/2 {
			y := b.pop(s.shared.Load())
			if y == nil {
				break
			}
			batch[n] = y
			n++
		}
	}
	procpin.Unpin()
	s.count.put()
	dropped = s.store(batch[:n])
	s.mu.Unlock()
	s.notify()
	return dropped
}

// store adds items to the depot while it has room, and returns how many did not
// fit. The caller holds mu.
func (s *stock[T]) store(items []*T) (dropped int) {
	n := min(len(items), s.room-len(s.items))
	s.add(items[:n]...)
	return len(items) - n
}

// stow adds a new object to the depot, where every P finds it, and reports
// whether there was room.
func (s *stock[T]) stow(x *T) bool {
	s.mu.Lock()
	dropped := s.store([]*T{x})
	s.mu.Unlock()
	s.notify()
	return dropped == 0
}

// permit takes a permit to make an object, if there is one.
func (s *stock[T]) permit() bool {
	for {
		n := s.made.Load()
		if n >= int64(s.limit) {
			return false
		}
		if s.made.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// forget records that n objects are gone, so others may be made.
func (s *stock[T]) forget(n int) {
	s.made.Add(-int64(n))
	s.notify()
}

// wait returns an object, or nil for the permit to make one, as soon as either
// is available.
func (s *stock[T]) wait(ctx context.Context) (*T, error) {
	if s.waiting.Load() == 0 && s.permit() {
		return nil, nil
	}
	w := &waiter[T]{ready: make(chan *T, 1)}
	s.mu.Lock()
	place := s.queue.PushBack(w)
	s.waiting.Store(int64(s.queue.Len()))
	s.mu.Unlock()
	s.serve()
	select {
	case x := <-w.ready:
		return x, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case x := <-w.ready:
		return x, nil
	default:
	}
	s.queue.Remove(place)
	s.waiting.Store(int64(s.queue.Len()))
	return nil, ctx.Err()
}

// notify serves the waiters, if there are any.
func (s *stock[T]) notify() {
	if s.waiting.Load() > 0 {
		s.serve()
	}
}

// serve hands objects, or permits to make them, to the waiters in order of
// arrival, until it runs out of either.
func (s *stock[T]) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queue.Len() > 0 {
		x := s.find(0)
		if x != nil {
			s.hit()
		} else if !s.permit() {
			return
		}
		first := s.queue.Front()
		s.queue.Remove(first)
		s.waiting.Store(int64(s.queue.Len()))
		first.Value.(*waiter[T]).ready <- x
	}
}

// trimEvery evicts, every age, the objects that nobody took since the last
// time, as long as the stock is reachable.
func (s *stock[T]) trimEvery(age time.Duration) {
	w := weak.Make(s)
	time.AfterFunc(age, func() {
		if s := w.Value(); s != nil {
			s.age()
			s.trimEvery(age)
		}
	})
}

// age evicts the objects that stayed in the depot since the last call, and
// moves the contents of the bins to the depot for the next call.
func (s *stock[T]) age() {
	s.mu.Lock()
	evicted := s.trim()
	s.share()
	for i := range s.bins {
		for len(s.items) < s.room {
			x := s.bins[i].steal()
			if x == nil {
				break
			}
			s.add(x)
		}
	}
	s.low = len(s.items)
	s.mu.Unlock()
	if s.limit > 0 {
		s.forget(evicted)
	}
}

// addTo adds the figures of s, whose objects are size bytes each, to st.
func (s *stock[T]) addTo(st *Stats, t *tally, size int64) {
	s.mu.Lock()
	sum, idle := s.count, len(s.items)
	st.Shares = s.shares
	s.mu.Unlock()
	for i := range s.bins {
		sum.add(&s.bins[i].count)
	}
	st.addIdle(sum, idle+s.binned(), size)
	t.addTo(st)
}
