package eventloop

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// Errors of descriptors; returned errors wrap them.
var (
	ErrFD = errors.New("the descriptor is not open, or was closed while it was registered; call Unregister " +
		"before closing it")
	ErrFDKind = errors.New("the kernel does not report readiness for this kind of descriptor, such as a regular " +
		"file; read or write it on another goroutine")
	ErrRegistered   = errors.New("the descriptor is already registered with this loop; use Modify")
	ErrUnregistered = errors.New("the registration has ended; register the descriptor again")
	ErrInterest     = errors.New("the interest has unknown bits; combine Read, Write and Edge")
)

// Interest is the set of events a registration waits for.
type Interest uint8

const (
	Read  Interest = 1 << iota // there is something to read
	Write                      // there is room to write
	Edge                       // report each of these once when it starts to hold, instead of in every turn while it holds
)

// Readiness is what a callback receives: the events in its interest, and
// failures.
type Readiness uint8

const (
	Readable Readiness = 1 << iota // a read will not block; it may find the end or an error
	Writable                       // a write will not block; it may find an error
	HangUp                         // the peer will send no more, or the connection has ended both ways
	Failed                         // there is an error, which the next read or write will return
)

// A Registration identifies one call of Register. It may be copied and compared;
// the zero value is a registration that has ended.
type Registration struct {
	loop *Loop
	fd   int32
	gen  uint32 // distinguishes registrations with the same number; never 0
}

// descriptors are the registered descriptors of a loop.
type descriptors struct {
	poller atomic.Pointer[poller] // publishes the poller, from the first Register until the loop has ended
	count  atomic.Int64           // publishes how many are registered

	mu     sync.Mutex // guards the fields below, and all changes of the poller's table and kernel
	closed bool       // no further registrations
	gen    uint32     // of the last registration
}

// Register calls f on the loop when fd is ready as interest requests, until
// Unregister or the end of the loop. Failures are always reported; without Read
// and Write f gets nothing else. A condition is reported in every turn while it
// lasts, or once if Edge is set. With Edge, read or write until EAGAIN, because
// the next call comes only when there is more.
//
// The descriptor should be non-blocking. It stays the caller's, to be closed
// after Unregister. A callback runs like a task, but Shutdown does not wait for
// callbacks: registrations that remain after the last task are dropped.
//
// Any goroutine may call Register. It fails with ErrNilTask, ErrInterest,
// ErrFD, ErrFDKind, ErrRegistered, ErrClosed after Shutdown or Close,
// errors.ErrUnsupported if the system has neither epoll nor kqueue, or an error
// of the system. It allocates only for the first descriptor of 512 consecutive
// numbers, on Linux.
func (l *Loop) Register(fd int, interest Interest, f func(Readiness)) (Registration, error) {
	switch {
	case f == nil:
		return Registration{}, fail("Register", ErrNilTask)
	case interest > Read|Write|Edge:
		return Registration{}, fail("Register", ErrInterest)
	case fd < 0 || fd > math.MaxInt32 || !isOpen(fd):
		return Registration{}, fail("Register", ErrFD)
	}
	gen, err := l.io.add(l, int32(fd), interest, f)
	if err != nil {
		return Registration{}, fail("Register", err)
	}
	return Registration{l, int32(fd), gen}, nil
}

func (d *descriptors) add(l *Loop, fd int32, interest Interest, f func(Readiness)) (gen uint32, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, ErrClosed
	}
	p := d.poller.Load()
	if p == nil {
		k, err := newKernel()
		if err != nil {
			return 0, err
		}
		p = newPoller(k)
		d.poller.Store(p)
		go p.watch(l)
	}
	s := p.table.slot(fd)
	if old := s.gen.Load(); old != 0 {
		// Is it still open, or was it closed without Unregister? The kernel knows.
		if p.kernel.modify(fd, old, Interest(s.interest.Load())) == nil {
			return 0, ErrRegistered
		}
		s.clear()
		d.count.Add(-1)
	}
	d.gen = max(d.gen+1, 1)
	s.set(d.gen, interest, f) // before the kernel can report it
	if err := p.kernel.add(fd, d.gen, interest); err != nil {
		s.clear()
		return 0, err
	}
	d.count.Add(1)
	return d.gen, nil
}

// change calls f with the poller and the slot of a registration that has not
// ended.
func (r Registration) change(operation string, f func(p *poller, s *slot) error) error {
	if r.loop == nil {
		return fail(operation, ErrUnregistered)
	}
	d := &r.loop.io
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.poller.Load()
	if p == nil {
		return fail(operation, ErrClosed)
	}
	s := p.table.get(r.fd)
	if s.gen.Load() != r.gen {
		return fail(operation, ErrUnregistered)
	}
	if err := f(p, s); err != nil {
		return fail(operation, err)
	}
	return nil
}

// Modify changes the interest. Conditions that already hold are reported again.
// It fails with ErrInterest, ErrUnregistered, ErrFD if the descriptor was
// closed, or ErrClosed if the loop has ended.
func (r Registration) Modify(interest Interest) error {
	if interest > Read|Write|Edge {
		return fail("Modify", ErrInterest)
	}
	return r.change("Modify", func(p *poller, s *slot) error {
		// Update the loop's copy first: it may fetch the kernel's events at once, and
		// would drop those nobody wants yet.
		old := s.interest.Swap(uint32(interest))
		err := p.kernel.modify(r.fd, r.gen, interest)
		if err != nil {
			s.interest.Store(old)
		}
		return err
	})
}

// Unregister ends the registration. If it is called on the loop, no callback
// follows; elsewhere, a callback that has begun may still be in progress, and a
// task submitted now runs after it. It fails with ErrUnregistered, with
// ErrClosed if the loop has ended, and with ErrFD if the descriptor was closed
// before; in that case too the registration has ended.
func (r Registration) Unregister() error {
	return r.change("Unregister", func(p *poller, s *slot) error {
		s.clear()
		r.loop.io.count.Add(-1)
		return p.kernel.remove(r.fd)
	})
}

// refuse ends registration.
func (d *descriptors) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// release frees the poller's system resources. The loop has ended.
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
