package eventloop

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// The errors of descriptors; what is returned wraps them.
var (
	ErrFD           = errors.New("the descriptor is not open, or was closed while it was registered; unregister it before it is closed")
	ErrFDKind       = errors.New("the kernel does not tell when such a descriptor is ready, as for a regular file; read or write it on another goroutine")
	ErrRegistered   = errors.New("the descriptor is registered with this loop already; use Modify")
	ErrUnregistered = errors.New("the registration has ended; register the descriptor again")
	ErrInterest     = errors.New("the interest has unknown bits; combine Read, Write and Edge")
)

// Interest is what a registration wants to be told.
type Interest uint8

const (
	Read  Interest = 1 << iota // that there is something to read
	Write                      // that there is room to write
	Edge                       // each of these once when it becomes so, instead of in each turn for as long as it is so
)

// Readiness is what a callback is told: what the interest asks for, and failures.
type Readiness uint8

const (
	Readable Readiness = 1 << iota // a read will not block; it may find the end or an error
	Writable                       // a write will not block; it may find an error
	HangUp                         // the peer will send no more, or the connection has ended both ways
	Failed                         // there is an error, which the next read or write returns
)

// A Registration is a descriptor for whose readiness a callback waits. It is
// made by [Loop.Register].
type Registration struct {
	// Constant.
	loop *Loop
	run  func(Readiness)
	fd   int32
	gen  uint32 // tells registrations of one number apart; never 0

	interest atomic.Uint32 // publishes the Interest to the loop; stored under descriptors.mu
}

// descriptors are the registered descriptors of a loop.
type descriptors struct {
	poller atomic.Pointer[poller] // publishes the poller, from the first Register until the loop has ended
	count  atomic.Int64           // publishes how many are registered

	mu     sync.Mutex // guards what follows, and all changes of the poller's table and kernel
	closed bool       // there will be no further registration
	gen    uint32     // of the last registration
}

// Register calls f on the loop when fd is ready for what the interest says, until
// the registration is ended by Unregister or with the loop. Without Read and
// Write f hears of failures alone, which are told in any case; as long as one
// lasts, in each turn, unless Edge is set. Read or write until EAGAIN where
// Edge is set, because the next call comes only when there is more.
//
// The descriptor should be non-blocking, stays the caller's, and is to be
// closed after Unregister. A callback is for the loop what a task is. Callbacks
// do not count for Shutdown: whatever is registered when the last task has run
// is dropped.
//
// Register may be called by any goroutine. It fails with ErrNilTask,
// ErrInterest, ErrFD, ErrFDKind, ErrRegistered, with ErrClosed after Shutdown
// or Close, with errors.ErrUnsupported where there is neither epoll nor kqueue, or
// with an error of the system.
func (l *Loop) Register(fd int, interest Interest, f func(Readiness)) (*Registration, error) {
	switch {
	case f == nil:
		return nil, fail("Register", ErrNilTask)
	case interest > Read|Write|Edge:
		return nil, fail("Register", ErrInterest)
	case fd < 0 || fd > math.MaxInt32 || !isOpen(fd):
		return nil, fail("Register", ErrFD)
	}
	r := &Registration{loop: l, run: f, fd: int32(fd)}
	r.interest.Store(uint32(interest))
	if err := l.io.add(l, r, interest); err != nil {
		return nil, fail("Register", err)
	}
	return r, nil
}

func (d *descriptors) add(l *Loop, r *Registration, interest Interest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	p := d.poller.Load()
	if p == nil {
		k, err := newKernel()
		if err != nil {
			return err
		}
		p = newPoller(k)
		d.poller.Store(p)
		go p.watch(l)
	}
	slot := p.table.slot(r.fd)
	if old := slot.Load(); old != nil {
		// Still there, or was it closed without Unregister? The kernel knows.
		if p.kernel.modify(old.fd, old.gen, Interest(old.interest.Load())) == nil {
			return ErrRegistered
		}
		slot.Store(nil)
		d.count.Add(-1)
	}
	d.gen = max(d.gen+1, 1)
	r.gen = d.gen
	slot.Store(r) // before the kernel can tell of it
	if err := p.kernel.add(r.fd, r.gen, interest); err != nil {
		slot.Store(nil)
		return err
	}
	d.count.Add(1)
	return nil
}

// change calls f for a registration that has not ended.
func (d *descriptors) change(r *Registration, f func(p *poller) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.poller.Load()
	switch {
	case p == nil:
		return ErrClosed
	case p.table.get(r.fd) != r:
		return ErrUnregistered
	}
	return f(p)
}

// Modify changes the interest. What is ready already is told again. It fails
// with ErrInterest, ErrUnregistered, ErrFD if the descriptor was closed, and with
// ErrClosed when the loop has ended.
func (r *Registration) Modify(interest Interest) error {
	if interest > Read|Write|Edge {
		return fail("Modify", ErrInterest)
	}
	err := r.loop.io.change(r, func(p *poller) error {
		// First for the loop: it may fetch what the kernel tells of at once, and
		// would drop what nobody wants yet.
		old := r.interest.Swap(uint32(interest))
		err := p.kernel.modify(r.fd, r.gen, interest)
		if err != nil {
			r.interest.Store(old)
		}
		return err
	})
	if err != nil {
		return fail("Modify", err)
	}
	return nil
}

// Unregister ends the registration. Called on the loop, there is no callback
// after it; called elsewhere, one that has begun may still be in progress, and
// a task submitted now runs after that. It fails with ErrUnregistered, with ErrClosed when the
// loop has ended, and with ErrFD if the descriptor was closed before; then it has
// ended all the same.
func (r *Registration) Unregister() error {
	err := r.loop.io.change(r, func(p *poller) error {
		p.table.slot(r.fd).Store(nil)
		r.loop.io.count.Add(-1)
		return p.kernel.remove(r.fd)
	})
	if err != nil {
		return fail("Unregister", err)
	}
	return nil
}

// refuse ends registering.
func (d *descriptors) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// release gives back what the poller has of the system. The loop has ended.
func (d *descriptors) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if p := d.poller.Swap(nil); p != nil {
		d.count.Store(0)
		p.kernel.close()
		<-p.gone
	}
}
