package eventloop

import "sync/atomic"

// A kernel is a set of descriptors whose readiness the system watches: an epoll
// or kqueue descriptor, or the fake of the tests.
type kernel interface {
	add(fd int32, gen uint32, i Interest) error
	modify(fd int32, gen uint32, i Interest) error // an error if fd is not in the set
	remove(fd int32) error

	// fetch returns what is ready, as far as there is room, without waiting.
	fetch(dst []fdEvent) (int, error)

	// watch waits, and calls ready each time that a descriptor becomes
	// ready, until the set is closed. It may call it too often.
	watch(ready func())
	close()
}

// An fdEvent says that the descriptor of a registration is ready.
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
// The loop never waits for descriptors: it sleeps on its channel, as without
// them. Another goroutine watches the set, and when a descriptor becomes ready
// it stores that and wakes the loop if it is parked, as a producer does that has stored
// a task. So the wake-up of Submit is the same with descriptors, and
// nobody who is awake is woken. On Linux the watcher waits in the runtime's
// own poller, which takes no thread. docs/adr/0004-io-readiness.md has the
// alternatives and their figures.
type poller struct {
	// Constant.
	kernel kernel
	gone   chan struct{} // closed when the watcher has ended

	table table
	ready atomic.Bool // publishes that there may be events. Set by the watcher before it looks whether the loop is parked, cleared by the loop before it fetches

	// Owned by the loop's goroutine.
	events       [eventsLen]fdEvent
	next, filled int    // events[next:filled] are to be told
	again        bool   // there may be more than was fetched
	told         uint64 // callbacks begun
}

func newPoller(k kernel) *poller { return &poller{kernel: k, gone: make(chan struct{})} }

func (p *poller) watch(l *Loop) {
	defer close(p.gone)
	p.kernel.watch(func() {
		p.ready.Store(true)
		if l.parked.Load()&asleep != 0 {
			l.unpark()
		}
	})
}

// due reports whether there is something to tell, or may be.
func (p *poller) due() bool { return p.next < p.filled || p.again || p.ready.Load() }

// ioDue reports whether there may be callbacks to call.
func (l *Loop) ioDue() bool {
	p := l.io.poller.Load()
	return p != nil && p.due()
}

// runIO calls the callbacks of what is ready. A loop that never sleeps may keep
// the watcher from a CPU, so it looks by itself every now and then.
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
		r := p.table.get(e.fd)
		if r == nil || r.gen != e.gen {
			continue // ended since it was fetched
		}
		i := Interest(r.interest.Load())
		if i&Edge == 0 {
			p.again = true
		}
		is := e.is & (HangUp | Failed | Readiness(i&(Read|Write)))
		if is == 0 {
			continue
		}
		p.told++
		r.run(is)
		l.after()
		if l.cutShort() {
			return
		}
	}
}

// fill fetches events. What becomes ready after ready was cleared sets it again.
func (p *poller) fill() {
	if p.ready.Load() {
		p.ready.Store(false)
	}
	p.next, p.filled, p.again = 0, 0, false
	n, err := p.kernel.fetch(p.events[:])
	if err != nil {
		panic(fail("fetch", err)) // contained, as that of a task
	}
	p.filled, p.again = n, n == len(p.events)
}

// A table finds registrations by descriptor, in pages that stay where they are:
// the loop reads it without a lock while others register.
type table struct {
	dir atomic.Pointer[[]*page] // publishes the pages; stored under descriptors.mu, the slice is never written again
}

const pageLen = 512

// page holds registrations; an element publishes its registration, and is stored
// under descriptors.mu.
type page [pageLen]atomic.Pointer[Registration]

// get returns the registration of fd, or nil.
func (t *table) get(fd int32) *Registration {
	dir := t.dir.Load()
	if dir == nil {
		return nil
	}
	if i := int(fd / pageLen); i < len(*dir) && (*dir)[i] != nil {
		return (*dir)[i][fd%pageLen].Load()
	}
	return nil
}

// slot returns the place of fd. The caller holds descriptors.mu.
func (t *table) slot(fd int32) *atomic.Pointer[Registration] {
	var dir []*page
	if d := t.dir.Load(); d != nil {
		dir = *d
	}
	i := int(fd / pageLen)
	if i >= len(dir) || dir[i] == nil {
		grown := make([]*page, max(len(dir), i+1))
		copy(grown, dir)
		grown[i] = new(page)
		dir = grown
		t.dir.Store(&dir)
	}
	return &dir[i][fd%pageLen]
}
