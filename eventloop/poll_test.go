package eventloop

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A fakeKernel reports what the test says, for descriptors that need not exist.
type fakeKernel struct {
	mu     sync.Mutex
	set    map[int32]uint32 // the generation by descriptor
	events []fdEvent
	err    error         // what the next fetch returns
	edge   chan struct{} // capacity 1
	deaf   bool          // the watcher is never notified

	modified func(fd int32) // unless nil, called before modify returns
}

var errFake = errors.New("fake")

func (k *fakeKernel) add(fd int32, gen uint32, _ Interest) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.set[fd]; ok {
		return errFake
	}
	k.set[fd] = gen
	return nil
}

func (k *fakeKernel) modify(fd int32, gen uint32, _ Interest) error {
	k.mu.Lock()
	known := k.set[fd] == gen
	k.mu.Unlock()
	if !known {
		return errFake
	}
	if k.modified != nil {
		k.modified(fd)
	}
	return nil
}

func (k *fakeKernel) remove(fd int32) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.set, fd)
	return nil
}

// fire makes descriptors readable, once.
func (k *fakeKernel) fire(fds ...int32) {
	k.mu.Lock()
	for _, fd := range fds {
		k.events = append(k.events, fdEvent{fd, k.set[fd], Readable})
	}
	k.mu.Unlock()
	if !k.deaf {
		select {
		case k.edge <- struct{}{}:
		default:
		}
	}
}

func (k *fakeKernel) fetch(dst []fdEvent) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.err; err != nil {
		k.err = nil
		return 0, err
	}
	n := copy(dst, k.events)
	k.events = slices.Delete(k.events, 0, n)
	return n, nil
}

func (k *fakeKernel) watch(ready func()) {
	for range k.edge {
		ready()
	}
}

func (k *fakeKernel) close() { close(k.edge) }

// fake gives a loop a poller with a fakeKernel.
func fake(l *Loop) *fakeKernel {
	k := &fakeKernel{set: make(map[int32]uint32), edge: make(chan struct{}, 1)}
	p := newPoller(k)
	l.io.poller.Store(p)
	go p.watch(l)
	return k
}

// register registers a descriptor of a fakeKernel.
func register(tb testing.TB, l *Loop, fd int32, f func(Readiness)) Registration {
	tb.Helper()
	gen, err := l.io.add(l, fd, Read|Edge, f)
	if err != nil {
		tb.Error(err)
	}
	return Registration{l, fd, gen}
}

// inLoop runs f on the loop and waits for it.
func inLoop(tb testing.TB, l *Loop, f func()) {
	tb.Helper()
	done := make(chan struct{})
	if err := l.Submit(func() { f(); close(done) }); err != nil {
		tb.Fatal(err)
	}
	<-done
}

func TestDescriptorsOfAnyNumber(t *testing.T) {
	l := mustNew(t, Config{})
	k := fake(l)
	startLoop(t, l)
	var fds []int32
	for fd := int32(0); fd < 100_000; fd += 7 {
		fds = append(fds, fd)
	}
	fds = append(fds, 511, 513, 65_535, 65_536, 1<<20-1, 1<<20, 1<<24)
	slices.Sort(fds)
	fds = slices.Compact(fds)
	told := make(map[int32]int)
	done := make(chan struct{})
	regs := make([]Registration, len(fds))
	for i, fd := range fds {
		regs[i] = register(t, l, fd, func(Readiness) {
			if told[fd]++; len(told) == len(fds) {
				close(done)
			}
		})
	}
	if n := l.Stats().FDs; n != len(fds) {
		t.Errorf("%d of %d are registered", n, len(fds))
	}
	k.fire(fds...)
	<-done
	inLoop(t, l, func() {
		for _, fd := range fds {
			if told[fd] != 1 {
				t.Errorf("descriptor %d was told %d times", fd, told[fd])
			}
		}
	})
	for _, r := range regs {
		if err := r.Unregister(); err != nil {
			t.Error(err)
		}
	}
	if s := l.Stats(); s.FDs != 0 {
		t.Errorf("%d are still registered", s.FDs)
	}
}

// An event fetched for one registration of a number must not reach the next
// one. The faulty variant gives both the same generation.
func TestStaleEvents(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		l := mustNew(t, Config{})
		k := fake(l)
		var old, renewed int
		told := make(chan struct{})
		var second Registration
		register(t, l, 1, func(Readiness) {
			gen := second.gen
			if err := second.Unregister(); err != nil {
				t.Error(err)
			}
			if faulty {
				l.io.gen = gen - 1
			}
			register(t, l, 2, func(Readiness) { renewed++ })
			close(told)
		})
		second = register(t, l, 2, func(Readiness) { old++ })
		k.fire(1, 2)
		startLoop(t, l)
		<-told
		inLoop(t, l, func() {}) // after everything that was fetched together
		if want := map[bool]int{false: 0, true: 1}[faulty]; old != 0 || renewed != want {
			t.Errorf("faulty %v: the registration that ended was told %d times, its successor %d times, want 0 and %d",
				faulty, old, renewed, want)
		}
	}
}

// A slot that is reused repeatedly never returns the callback or interest of a registration
// other than the requested one.
func TestSlotIsReadWhole(t *testing.T) {
	var s slot
	var current atomic.Uint32
	var told uint32
	var found atomic.Uint32
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Without a CPU, the other goroutine sees nothing of it.
		for gen := uint32(1); gen <= 200_000 || found.Load() == 0; gen++ {
			current.Store(gen)
			s.set(gen, Interest(gen%8), func(Readiness) { told = gen })
			if gen%64 == 0 {
				runtime.Gosched() // on one CPU, the other goroutine sees it now
			}
			s.clear()
		}
	}()
	for round := 1; ; round++ {
		if round%64 == 0 {
			runtime.Gosched()
		}
		select {
		case <-done:
			return
		default:
		}
		gen := current.Load()
		if gen == 0 {
			continue
		}
		run, i := s.get(gen)
		if run == nil {
			continue
		}
		found.Add(1)
		if run(0); told != gen || i != Interest(gen%8) {
			t.Fatalf("registration %d: the callback of %d, interest %b", gen, told, i)
		}
	}
}

// An event that the kernel reports before Modify returns belongs to the new
// interest.
func TestToldBeforeModifyReturns(t *testing.T) {
	l := mustNew(t, Config{})
	k := fake(l)
	startLoop(t, l)
	told := 0
	r := register(t, l, 4, func(Readiness) { told++ })
	if err := r.Modify(Edge); err != nil {
		t.Fatal(err)
	}
	k.modified = func(fd int32) {
		k.fire(fd)
		for fetched := false; !fetched; {
			inLoop(t, l, func() {
				k.mu.Lock()
				fetched = len(k.events) == 0 // and what was fetched has been delivered
				k.mu.Unlock()
			})
		}
	}
	if err := r.Modify(Read | Edge); err != nil {
		t.Fatal(err)
	}
	inLoop(t, l, func() {
		if told != 1 {
			t.Errorf("told %d times, want 1", told)
		}
	})
}

// A loop that never sleeps, on the only CPU, polls for events itself.
func TestBusyLoopLooksForEvents(t *testing.T) {
	l := mustNew(t, Config{})
	k := fake(l)
	k.deaf = true
	var fired, told uint64
	register(t, l, 3, func(Readiness) { told = l.turnCount })
	startLoop(t, l)
	done := make(chan struct{})
	var busy func()
	busy = func() {
		switch {
		case fired == 0:
			fired = l.turnCount
			k.fire(3)
		case told != 0 || l.turnCount > fired+10*lookEvery:
			close(done)
			return
		}
		l.Submit(busy)
	}
	l.Submit(busy)
	<-done
	if told == 0 || told-fired > lookEvery {
		t.Errorf("ready in turn %d, told in turn %d", fired, told)
	}
}

// A panic, Goexit or the end of Run does not lose the events fetched with the
// current one.
func TestEventsSurvive(t *testing.T) {
	l := mustNew(t, Config{OnPanic: func(any, []byte) {}})
	k := fake(l)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told []int32
	next := make(chan struct{})
	for fd := range int32(6) {
		register(t, l, fd, func(Readiness) {
			told = append(told, fd)
			l.QueueMicrotask(func() { told = append(told, -fd) })
			switch fd {
			case 1:
				panic("callback")
			case 2:
				runtime.Goexit()
			case 4:
				cancel()
				for l.signals.Load() == 0 {
					runtime.Gosched()
				}
			case 5:
				l.Submit(func() { close(next) })
			}
		})
	}
	k.fire(0, 1, 2, 3, 4, 5)
	gone := make(chan error)
	go func() {
		defer close(gone) // Goexit ends this goroutine when Run is done
		gone <- l.Run(ctx)
	}()
	for range gone {
	}
	if want := []int32{0, 0, 1, -1, 2, -2, 3, -3, 4}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	startLoop(t, l)
	<-next
	if want := []int32{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if s := l.Stats(); s.Panics != 2 {
		t.Errorf("%d panics were reported", s.Panics)
	}
}

func TestKernelFails(t *testing.T) {
	var reported []any
	l := mustNew(t, Config{OnPanic: func(value any, _ []byte) { reported = append(reported, value) }})
	k := fake(l)
	told := make(chan struct{})
	register(t, l, 9, func(Readiness) { close(told) })
	k.err = errFake
	startLoop(t, l)
	k.fire(9)
	for failed := false; !failed; {
		inLoop(t, l, func() { failed = len(reported) > 0 })
	}
	k.fire()
	<-told
	inLoop(t, l, func() {
		if err, _ := reported[0].(error); len(reported) != 1 || !errors.Is(err, errFake) ||
			!strings.HasPrefix(err.Error(), "eventloop: fetch: ") {
			t.Errorf("reported %v", reported)
		}
	})
}
