package eventloop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/invariant"
)

func nothing(Readiness) {}

// sockets returns the ends of a connection, non-blocking; the test closes them.
func sockets(tb testing.TB) (a, b int) {
	tb.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return p[0], p[1]
}

func mustRegister(tb testing.TB, l *Loop, fd int, i Interest, f func(Readiness)) *Registration {
	tb.Helper()
	r, err := l.Register(fd, i, f)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestRegisterMisuse(t *testing.T) {
	r, w := pipe(t)
	fresh := func(t *testing.T) *Loop {
		l := mustNew(t, Config{})
		t.Cleanup(func() { l.Close() })
		return l
	}
	register := func(fd int, i Interest, f func(Readiness)) func(*testing.T) error {
		return func(t *testing.T) error {
			_, err := fresh(t).Register(fd, i, f)
			return err
		}
	}
	registered := func(f func(l *Loop, reg *Registration) error) func(*testing.T) error {
		return func(t *testing.T) error {
			l := fresh(t)
			return f(l, mustRegister(t, l, r, Read, nothing))
		}
	}
	closed := func(f func(l *Loop, reg *Registration, fd int) error) func(*testing.T) error {
		return func(t *testing.T) error {
			l := fresh(t)
			a, b := sockets(t)
			defer unix.Close(b)
			reg := mustRegister(t, l, a, Read, nothing)
			unix.Close(a)
			return f(l, reg, a)
		}
	}
	for _, test := range []struct {
		name string
		do   func(*testing.T) error
		want error
	}{
		{"negative descriptor", register(-1, Read, nothing), ErrFD},
		{"descriptor beyond all numbers", register(1<<31, Read, nothing), ErrFD},
		{"descriptor that is not open", register(1<<31-1, Read, nothing), ErrFD},
		{"no callback", register(r, Read, nil), ErrNilTask},
		{"unknown interest", register(r, 1<<7, nothing), ErrInterest},
		{"no interest", register(r, 0, nothing), nil},
		{"file", func(t *testing.T) error {
			f, err := os.Create(filepath.Join(t.TempDir(), "file"))
			if err != nil {
				return err
			}
			defer f.Close()
			return register(int(f.Fd()), Read, nothing)(t)
		}, ErrFDKind},
		{"twice", registered(func(l *Loop, _ *Registration) error {
			_, err := l.Register(r, Write, nothing)
			return err
		}), ErrRegistered},
		{"twice under two numbers", registered(func(l *Loop, _ *Registration) error {
			fd, err := unix.Dup(r)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			again, err := l.Register(fd, Read, nothing)
			return errors.Join(err, again.Unregister())
		}), nil},
		{"with two loops", registered(func(*Loop, *Registration) error { return register(r, Read, nothing)(t) }), nil},
		{"unregister twice", registered(func(_ *Loop, reg *Registration) error {
			return errors.Join(reg.Unregister(), reg.Unregister())
		}), ErrUnregistered},
		{"modify after unregister", registered(func(_ *Loop, reg *Registration) error {
			return errors.Join(reg.Unregister(), reg.Modify(Read))
		}), ErrUnregistered},
		{"unregister the predecessor", registered(func(l *Loop, reg *Registration) error {
			err := reg.Unregister()
			_, again := l.Register(r, Read, nothing)
			return errors.Join(err, again, reg.Unregister())
		}), ErrUnregistered},
		{"modify to unknown interest", registered(func(_ *Loop, reg *Registration) error { return reg.Modify(1 << 5) }), ErrInterest},
		{"modify after close of the loop", registered(func(l *Loop, reg *Registration) error {
			l.Close()
			return reg.Modify(Write)
		}), ErrClosed},
		{"unregister after close of the loop", registered(func(l *Loop, reg *Registration) error {
			l.Close()
			return reg.Unregister()
		}), ErrClosed},
		{"register after shutdown", func(t *testing.T) error {
			_, err := drained(t, Config{}, func(*Loop) {}).Register(w, Write, nothing)
			return err
		}, ErrClosed},
		{"unregister what was closed", closed(func(_ *Loop, reg *Registration, _ int) error { return reg.Unregister() }), ErrFD},
		{"modify what was closed", closed(func(_ *Loop, reg *Registration, _ int) error { return reg.Modify(Write) }), ErrFD},
		{"register what was closed", closed(func(l *Loop, _ *Registration, fd int) error {
			_, err := l.Register(fd, Read, nothing)
			return err
		}), ErrFD},
		{"unregister what was closed, twice", closed(func(_ *Loop, reg *Registration, _ int) error {
			reg.Unregister()
			return reg.Unregister()
		}), ErrUnregistered},
		{"register the number of what was closed", closed(func(l *Loop, reg *Registration, fd int) error {
			if err := unix.Dup3(r, fd, unix.O_CLOEXEC); err != nil {
				return err
			}
			defer unix.Close(fd)
			again, err := l.Register(fd, Read, nothing)
			if err != nil {
				return err
			}
			if err := reg.Unregister(); !errors.Is(err, ErrUnregistered) {
				return err
			}
			if n := l.Stats().FDs; n != 1 {
				t.Errorf("%d descriptors are registered", n)
			}
			return again.Unregister()
		}), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.do(t)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "eventloop: ") {
				t.Errorf("the error does not name the package: %v", err)
			}
		})
	}
}

// What a callback is told, for each thing that can happen to a connection.
func TestReadiness(t *testing.T) {
	write := func(fd int) { unix.Write(fd, []byte("x")) }
	for _, test := range []struct {
		name     string
		interest Interest
		do       func(a, b int)
		want     Readiness
	}{
		{"data", Read, func(a, b int) { write(b) }, Readable},
		{"room", Write, func(a, b int) {}, Writable},
		{"data and room", Read | Write, func(a, b int) { write(b) }, Readable | Writable},
		{"data unwanted", Write, func(a, b int) { write(b) }, Writable},
		{"half close", Read, func(a, b int) { unix.Shutdown(b, unix.SHUT_WR) }, Readable | HangUp},
		{"close", Read | Write, func(a, b int) { unix.Close(b) }, Readable | Writable | HangUp},
		{"close unwanted", 0, func(a, b int) { unix.Close(b) }, HangUp},
		{"close with data unread", Read, func(a, b int) { write(a); unix.Close(b) }, Readable | HangUp | Failed},
	} {
		for _, edge := range []Interest{0, Edge} {
			t.Run(test.name+[]string{"/level", "/edge"}[edge/Edge], func(t *testing.T) {
				l := mustNew(t, Config{})
				a, b := sockets(t)
				defer unix.Close(a)
				defer unix.Close(b)
				test.do(a, b)
				startLoop(t, l)
				told := make(chan Readiness, 1)
				var reg *Registration
				inLoop(t, l, func() {
					reg = mustRegister(t, l, a, test.interest|edge, func(is Readiness) {
						told <- is
						if err := reg.Unregister(); err != nil {
							t.Error(err)
						}
					})
				})
				if is := <-told; is != test.want {
					t.Errorf("told %04b, want %04b", is, test.want)
				}
			})
		}
	}
	t.Run("pipe without reader", func(t *testing.T) {
		l := mustNew(t, Config{})
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(p[1])
		told := make(chan Readiness, 1)
		mustRegister(t, l, p[1], Write|Edge, func(is Readiness) {
			if is&Failed != 0 {
				told <- is
			}
		})
		unix.Close(p[0])
		startLoop(t, l)
		if is := <-told; is != Writable|Failed {
			t.Errorf("told %04b, want %04b", is, Writable|Failed)
		}
	})
}

// turnsOf lets the loop make n turns.
func turnsOf(t *testing.T, l *Loop, n int) {
	t.Helper()
	for range n {
		inLoop(t, l, func() {})
	}
}

// Level: in each turn as long as there is data. Edge: once, and again with more
// data or a new interest.
func TestLevelAndEdge(t *testing.T) {
	l := mustNew(t, Config{})
	startLoop(t, l)
	r, w := pipe(t)
	told := 0
	reg := mustRegister(t, l, r, Read, func(Readiness) { told++ })
	count := func() (n int) {
		inLoop(t, l, func() { n = told; told = 0 })
		return n
	}
	unix.Write(w, []byte("x"))
	for n := 0; n < 100; {
		n += count()
	}
	if err := reg.Modify(0); err != nil {
		t.Fatal(err)
	}
	count()
	turnsOf(t, l, 2*lookEvery)
	if n := count(); n != 0 {
		t.Errorf("told %d times without interest", n)
	}
	for _, again := range []func(){
		func() { reg.Modify(Read | Edge) },
		func() { unix.Write(w, []byte("x")) },
		func() { unix.Write(w, []byte("x")) },
	} {
		again()
		for count() == 0 {
		}
		turnsOf(t, l, 2*lookEvery)
		if n := count(); n != 0 {
			t.Errorf("edge-triggered, told %d times more", n)
		}
	}
	if err := reg.Modify(Read); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 100; {
		n += count()
	}
	inLoop(t, l, func() {
		if err := reg.Unregister(); err != nil {
			t.Error(err)
		}
		told = 0
	})
	turnsOf(t, l, 2*lookEvery)
	if n := count(); n != 0 {
		t.Errorf("told %d times after Unregister", n)
	}
}

// As TestStaleEvents, with the kernel: the number is taken by another file
// between the fetch and the call.
func TestNumberUsedAgain(t *testing.T) {
	l := mustNew(t, Config{})
	other, _ := pipe(t)
	var fds [2]int
	var regs [2]*Registration
	told := 0
	for i := range fds {
		a, b := sockets(t)
		defer unix.Close(b)
		defer unix.Close(a)
		fds[i] = a
		unix.Write(b, []byte("x"))
		regs[i] = mustRegister(t, l, a, Read, func(Readiness) {
			told++
			for j, reg := range regs { // both are ready; whoever is first takes the other's place
				if err := reg.Unregister(); err != nil {
					t.Error(err)
				}
				if j != i {
					unix.Dup3(other, fds[j], unix.O_CLOEXEC)
					mustRegister(t, l, fds[j], Read, func(Readiness) { t.Error("the new file was told of the old one's data") })
				}
			}
		})
	}
	startLoop(t, l)
	for n := 0; n == 0; {
		inLoop(t, l, func() { n = told })
	}
	turnsOf(t, l, 2*lookEvery)
	if told != 1 {
		t.Errorf("%d callbacks, want 1", told)
	}
}

// descriptorLimit returns how many descriptors a test may open.
func descriptorLimit(tb testing.TB) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		tb.Fatal(err)
	}
	return int(min(limit.Cur, 1<<20)) - 200
}

// eventfds returns n descriptors and closes them in the end.
func eventfds(tb testing.TB, n int) []int {
	tb.Helper()
	fds := make([]int, n)
	for i := range fds {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			tb.Fatal(err)
		}
		fds[i] = fd
		tb.Cleanup(func() { unix.Close(fd) })
	}
	return fds
}

func signalEvent(tb testing.TB, fd int) {
	if _, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		tb.Error(err)
	}
}

func TestManyDescriptors(t *testing.T) {
	fds := eventfds(t, min(10_000, descriptorLimit(t)))
	if len(fds) < 10_000 {
		t.Logf("only %d descriptors may be open", len(fds))
	}
	l := mustNew(t, Config{})
	startLoop(t, l)
	var all sync.WaitGroup
	told := make([]int, len(fds))
	for i, fd := range fds {
		interest := Read | Edge
		if i%2 == 0 {
			interest = Read
		}
		mustRegister(t, l, fd, interest, func(Readiness) {
			var buf [8]byte
			if n, err := unix.Read(fd, buf[:]); n != 8 || err != nil {
				t.Errorf("descriptor %d: %v", fd, err)
			}
			told[i]++
			all.Done()
		})
	}
	for range 3 {
		all.Add(len(fds))
		for _, fd := range fds {
			signalEvent(t, fd)
		}
		all.Wait()
	}
	if i := slices.IndexFunc(told, func(n int) bool { return n != 3 }); i >= 0 {
		t.Errorf("number %d was told %d times, want 3", i, told[i])
	}
	if s := l.Stats(); s.FDs != len(fds) {
		t.Errorf("Stats.FDs is %d", s.FDs)
	}
}

func openDescriptors(tb testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

// However a loop ends, its poller leaves no descriptor and no goroutine.
func TestDescriptorsReleased(t *testing.T) {
	r, w := pipe(t)
	unix.Write(w, []byte("x"))
	l := mustNew(t, Config{}) // the runtime's own descriptors come with the first one
	withPoller(t, l)
	l.Close()
	before, goroutines := openDescriptors(t), runtime.NumGoroutine()
	for range 20 {
		unused := mustNew(t, Config{})
		mustRegister(t, unused, r, Read, nothing)
		unused.Close()

		l := mustNew(t, Config{})
		mustRegister(t, l, r, Read, nothing)
		end := make(chan error)
		go func() { end <- l.Run(context.Background()) }()
		inLoop(t, l, func() { mustRegister(t, l, w, Write, nothing) })
		if err := l.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-end; err != nil {
			t.Error(err)
		}

		// Released by the goroutine of Run.
		l = mustNew(t, Config{})
		mustRegister(t, l, r, Read, func(Readiness) { l.Close() })
		if err := l.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
	for i := 0; runtime.NumGoroutine() > goroutines; i++ { // one that has ended may still be counted
		if i > 1_000_000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
		runtime.Gosched()
	}
}

// Connections come and go on several goroutines, while others submit: no byte
// is lost, and nothing is told after Unregister on the loop.
func TestIOStress(t *testing.T) {
	rounds := 2000
	switch {
	case os.Getenv("ISOBAR_SOAK") != "":
		rounds = 200_000
	case testing.Short() || invariant.Race:
		rounds = 300
	}
	l := mustNew(t, Config{})
	startLoop(t, l)
	var stop atomic.Bool
	var submitters, workers sync.WaitGroup
	var ran, submitted atomic.Int64
	for range 2 {
		submitters.Go(func() {
			for i := uint64(0); !stop.Load(); i++ {
				if l.Submit(func() { ran.Add(1) }) == nil {
					submitted.Add(1)
				}
				stall(i)
				for l.Stats().Queued > 1000 {
					runtime.Gosched()
				}
			}
		})
	}
	for worker := range 6 {
		workers.Go(func() {
			for i := range rounds {
				c := &conn{t: t, l: l, want: 1 + i%5, done: make(chan struct{})}
				c.round(worker+i, []Interest{Read, Read | Edge}[i%2])
				if worker == 0 && i%500 == 0 {
					runtime.GC()
				}
			}
		})
	}
	workers.Wait()
	stop.Store(true)
	submitters.Wait()
	if err := l.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if ran.Load() != submitted.Load() || ran.Load() == 0 {
		t.Errorf("%d of %d tasks ran", ran.Load(), submitted.Load())
	}
}

// conn is a connection of TestIOStress.
type conn struct {
	t    *testing.T
	l    *Loop
	want int
	done chan struct{}

	// Owned by the loop.
	got   int
	ended bool
}

// round writes what is wanted in two parts, waits until it has been read, and
// ends the registration in one of three ways.
func (c *conn) round(how int, interest Interest) {
	a, b := sockets(c.t)
	defer unix.Close(b)
	reg := mustRegister(c.t, c.l, a, interest, func(Readiness) { c.read(a) })
	unix.Write(b, make([]byte, c.want/2))
	stall(uint64(how))
	unix.Write(b, make([]byte, c.want-c.want/2))
	<-c.done
	unregister := func() {
		if err := reg.Unregister(); err != nil {
			c.t.Error(err)
		}
	}
	switch how % 3 {
	case 0: // on the loop, with something left to tell of
		unix.Write(b, []byte("more"))
		inLoop(c.t, c.l, func() {
			unregister()
			c.ended = true
		})
		unix.Close(a)
	case 1: // elsewhere; a callback that has begun is done before the task
		unregister()
		inLoop(c.t, c.l, func() { c.ended = true })
		unix.Close(a)
	case 2: // by closing it, which Unregister notices unless the number is in use again
		unix.Close(a)
		if err := reg.Unregister(); !errors.Is(err, ErrFD) && !errors.Is(err, ErrUnregistered) {
			c.t.Error(err)
		}
	}
}

func (c *conn) read(fd int) {
	if c.ended {
		c.t.Error("told after Unregister on the loop")
	}
	before := c.got
	var buf [2]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if n <= 0 {
			if err != unix.EAGAIN && c.got < c.want {
				c.t.Errorf("read: %d, %v after %d of %d bytes", n, err, c.got, c.want)
			}
			break
		}
		c.got += n
	}
	if before < c.want && c.got >= c.want {
		close(c.done)
	}
}
