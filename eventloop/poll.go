package eventloop

import "sync/atomic"

// A kernel is a set of descriptors whose readiness the system watches: an epoll
// or kqueue descriptor, or the tests' fake.
type kernel interface {
	add(fd int32, gen uint32, i Interest) error
	modify(fd int32, gen uint32, i Interest) error // an error if fd is not in the set
	remove(fd int32) error

	// fetch returns ready descriptors, as many as fit, without waiting.
	fetch(dst []fdEvent) (int, error)

	// watch waits, and calls ready each time a descriptor becomes ready, until the
	// set is closed. Spurious calls are allowed.
	watch(ready func())
	close()
}

// An fdEvent reports that the descriptor of a registration is ready.
type fdEvent struct {
	fd  int32
	gen uint32
	is  Readiness
}

const (
	eventsLen = 256 // as many as tasks in a batch
	lookEvery = 64  // turns
)

// A poller calls the callbacks of registrations.
//
// The loop never waits for descriptors: it sleeps as it does without them.
// Another goroutine watches the set. When a descriptor becomes ready, it records
// that and wakes the loop if it sleeps, just like a producer that has stored a
// task. So descriptors do not change the wake-up of
// Submit, and nobody wakes a loop that is awake. On Linux the watcher waits in
// the runtime's own poller, which takes no thread.
// docs/adr/0004-io-readiness.md has the alternatives and their figures.
type poller struct {
	// Constant.
	kernel kernel
	gone   chan struct{} // closed when the watcher has ended

	table table
	// ready publishes that there may be events. The watcher sets it before it checks
	// whether the loop is parked; the loop clears it before it fetches.
	ready atomic.Bool

	// Owned by the loop's goroutine.
	events       [eventsLen]fdEvent
	next, filled int    // events[next:filled] remain to be delivered
	again        bool   // there may be more events than were fetched
	told         uint64 // callbacks started
}

func newPoller(k kernel) *poller { return &poller{kernel: k, gone: make(chan struct{})} }

func (p *poller) watch(l *Loop) {
	defer close(p.gone)
	p.kernel.watch(func() {
		p.ready.Store(true)
		l.sleeper.Wake()
	})
}

// due reports whether there is, or may be, something to deliver.
func (p *poller) due() bool { return p.next < p.filled || p.again || p.ready.Load() }

// ioDue reports whether there may be callbacks to run.
func (l *Loop) ioDue() bool {
	p := l.io.poller.Load()
	return p != nil && p.due()
}

// runIO runs the callbacks of ready descriptors. A loop that never sleeps may
// keep the watcher from getting a CPU, so it also polls from time to time.
func (l *Loop) runIO(p *poller) {
	if !p.due() && l.turnCount%lookEvery != 0 {
		return
	}
	if p.next == p.filled {
		l.public.events.Store(p.told)
		p.fill()
	}
	for p.next < p.filled {
		e := p.events[p.next]
		p.next++
		run, i := p.table.get(e.fd).get(e.gen)
		if run == nil {
			continue // ended since it was fetched
		}
		if i&Edge == 0 {
			p.again = true
		}
		is := e.is & (HangUp | Failed | Readiness(i&(Read|Write)))
		if is == 0 {
			continue
		}
		p.told++
		run(is)
		l.after()
		if l.cutShort() {
			return
		}
	}
}

// fill fetches events. A descriptor that becomes ready after ready was cleared
// sets it again.
func (p *poller) fill() {
	if p.ready.Load() {
		p.ready.Store(false)
	}
	p.next, p.filled, p.again = 0, 0, false
	n, err := p.kernel.fetch(p.events[:])
	if err != nil {
		panic(fail("fetch", err)) // contained, like a task's panic
	}
	p.filled, p.again = n, n == len(p.events)
}

// A table holds registrations by descriptor, in pages that never move: the loop
// reads it without a lock while others register.
type table struct {
	dir atomic.Pointer[[]*page] // publishes the pages; stored under descriptors.mu; a stored slice is never written again
}

const pageLen = 512

type page [pageLen]slot

// A slot is the place of one descriptor. It is written under descriptors.mu, and
// the next registration of the number uses it again.
type slot struct {
	gen      atomic.Uint32 // publishes the other fields: which registration they belong to, or 0 for none
	interest atomic.Uint32 // an Interest
	run      atomic.Value  // a func(Readiness), which is a pointer and so is stored without allocation
}

func (s *slot) set(gen uint32, i Interest, f func(Readiness)) {
	s.interest.Store(uint32(i))
	s.run.Store(f)
	s.gen.Store(gen)
}

// clear ends the registration and drops what its callback refers to.
func (s *slot) clear() {
	s.gen.Store(0)
	s.run.Store(func(Readiness) {})
}

// get returns the callback and the interest of a registration, or nil if it has
// ended. The second look makes sure that both are its own.
func (s *slot) get(gen uint32) (func(Readiness), Interest) {
	if s == nil || s.gen.Load() != gen {
		return nil, 0
	}
	run, i := s.run.Load(), s.interest.Load()
	if s.gen.Load() != gen {
		return nil, 0
	}
	return run.(func(Readiness)), Interest(i)
}

// get returns the slot of fd, or nil if its page does not exist.
func (t *table) get(fd int32) *slot {
	dir := t.dir.Load()
	if dir == nil {
		return nil
	}
	if i := int(fd / pageLen); i < len(*dir) && (*dir)[i] != nil {
		return &(*dir)[i][fd%pageLen]
	}
	return nil
}

// slot returns the slot of fd. The caller holds descriptors.mu.
func (t *table) slot(fd int32) *slot {
	if s := t.get(fd); s != nil {
		return s
	}
	var dir []*page
	if d := t.dir.Load(); d != nil {
		dir = *d
	}
	i := int(fd / pageLen)
	grown := make([]*page, max(len(dir), i+1))
	copy(grown, dir)
	grown[i] = new(page)
	t.dir.Store(&grown)
	return &grown[i][fd%pageLen]
}
