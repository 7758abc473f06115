package eventloop

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/invariant"
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

func mustRegister(tb testing.TB, l *Loop, fd int, i Interest, f func(Readiness)) Registration {
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
	registered := func(f func(l *Loop, reg Registration) error) func(*testing.T) error {
		return func(t *testing.T) error {
			l := fresh(t)
			return f(l, mustRegister(t, l, r, Read, nothing))
		}
	}
	closed := func(f func(l *Loop, reg Registration, fd int) error) func(*testing.T) error {
		return func(t *testing.T) error {
			l := fresh(t)
			a, b := sockets(t)
			defer unix.Close(b)
			reg := mustRegister(t, l, a, Read, nothing)
			unix.Close(a)
			return f(l, reg, a)
		}
	}
	beyond := math.MaxInt32
	if beyond < math.MaxInt {
		beyond++ // beyond a 64-bit int
	}
	for _, test := range []struct {
		name string
		do   func(*testing.T) error
		want error
	}{
		{"negative descriptor", register(-1, Read, nothing), ErrFD},
		{"descriptor beyond all numbers", register(beyond, Read, nothing), ErrFD},
		{"descriptor that is not open", register(math.MaxInt32, Read, nothing), ErrFD},
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
		{"twice", registered(func(l *Loop, _ Registration) error {
			_, err := l.Register(r, Write, nothing)
			return err
		}), ErrRegistered},
		{"twice under two numbers", registered(func(l *Loop, _ Registration) error {
			fd, err := unix.Dup(r)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			again, err := l.Register(fd, Read, nothing)
			return errors.Join(err, again.Unregister())
		}), nil},
		{"with two loops", registered(func(*Loop, Registration) error { return register(r, Read, nothing)(t) }), nil},
		{"unregister twice", registered(func(_ *Loop, reg Registration) error {
			return errors.Join(reg.Unregister(), reg.Unregister())
		}), ErrUnregistered},
		{"modify after unregister", registered(func(_ *Loop, reg Registration) error {
			return errors.Join(reg.Unregister(), reg.Modify(Read))
		}), ErrUnregistered},
		{"unregister the predecessor", registered(func(l *Loop, reg Registration) error {
			err := reg.Unregister()
			_, again := l.Register(r, Read, nothing)
			return errors.Join(err, again, reg.Unregister())
		}), ErrUnregistered},
		{"unregister the zero registration", func(*testing.T) error { return Registration{}.Unregister() }, ErrUnregistered},
		{"modify to unknown interest", registered(func(_ *Loop, reg Registration) error { return reg.Modify(1 << 5) }), ErrInterest},
		{"modify after close of the loop", registered(func(l *Loop, reg Registration) error {
			l.Close()
			return reg.Modify(Write)
		}), ErrClosed},
		{"unregister after close of the loop", registered(func(l *Loop, reg Registration) error {
			l.Close()
			return reg.Unregister()
		}), ErrClosed},
		{"register after shutdown", func(t *testing.T) error {
			_, err := drained(t, Config{}, func(*Loop) {}).Register(w, Write, nothing)
			return err
		}, ErrClosed},
		{"unregister what was closed", closed(func(_ *Loop, reg Registration, _ int) error { return reg.Unregister() }), ErrFD},
		{"modify what was closed", closed(func(_ *Loop, reg Registration, _ int) error { return reg.Modify(Write) }), ErrFD},
		{"register what was closed", closed(func(l *Loop, _ Registration, fd int) error {
			_, err := l.Register(fd, Read, nothing)
			return err
		}), ErrFD},
		{"unregister what was closed, twice", closed(func(_ *Loop, reg Registration, _ int) error {
			reg.Unregister()
			return reg.Unregister()
		}), ErrUnregistered},
		{"register the number of what was closed", closed(func(l *Loop, reg Registration, fd int) error {
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

func TestRegisterDoesNotAllocate(t *testing.T) {
	if invariant.Race || invariant.Enabled {
		t.Skip("the race detector allocates, and checked pointers escape")
	}
	l := mustNew(t, Config{})
	startLoop(t, l)
	r, _ := pipe(t)
	round := func() {
		reg := mustRegister(t, l, r, Read, nothing)
		if err := errors.Join(reg.Modify(Read|Edge), reg.Unregister()); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestReadiness checks what a callback receives for each event on a connection.
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
				var reg Registration
				inLoop(t, l, func() {
					reg = mustRegister(t, l, a, test.interest|edge, func(is Readiness) {
						if err := reg.Unregister(); err != nil {
							t.Error(err)
						}
						told <- is // the last one: the test then closes the descriptor
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

// A level-triggered callback runs in each turn while there is data; an
// edge-triggered one runs once, and again with more data or a new interest.
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

// TestNumberUsedAgain is TestStaleEvents with the real kernel: another file
// takes the number between the fetch and the call.
func TestNumberUsedAgain(t *testing.T) {
	l := mustNew(t, Config{})
	other, _ := pipe(t)
	var fds [2]int
	var regs [2]Registration
	told := 0
	for i := range fds {
		a, b := sockets(t)
		defer unix.Close(b)
		defer unix.Close(a)
		fds[i] = a
		unix.Write(b, []byte("x"))
		regs[i] = mustRegister(t, l, a, Read, func(Readiness) {
			told++
			for j, reg := range regs { // both are ready; the first one takes the other's place
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
