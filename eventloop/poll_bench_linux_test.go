package eventloop

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A sleeper is a way to wait that another goroutine can end.
// docs/adr/0004-io-readiness.md compares them.
type sleeper interface {
	sleep()
	wake()
	close()
}

// parkedChannel waits the way the loop does while a timer is pending.
type parkedChannel struct {
	parked atomic.Uint32
	token  chan struct{}
}

func (s *parkedChannel) sleep() { s.parked.Store(1); <-s.token }
func (s *parkedChannel) wake() {
	for !s.parked.CompareAndSwap(1, 0) { // here each wake must end a sleep
		runtime.Gosched()
	}
	s.token <- struct{}{}
}
func (s *parkedChannel) close() {}

// epollSet is a set with an eventfd for wake-ups.
type epollSet struct{ epfd, event int }

func newEpollSet(b *testing.B) epollSet {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(event)}); err != nil {
		b.Fatal(err)
	}
	return epollSet{epfd, event}
}

func (s epollSet) wake() { unix.Write(s.event, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (s epollSet) fetch(timeout int) bool {
	var events [16]unix.EpollEvent
	n, _ := unix.EpollWait(s.epfd, events[:], timeout)
	if n > 0 {
		var buf [8]byte
		unix.Read(s.event, buf[:])
	}
	return n > 0
}

// blockingEpoll waits in the system, on its own thread if locked.
type blockingEpoll struct {
	epollSet
	locked, once bool
}

func (s *blockingEpoll) sleep() {
	if s.locked && !s.once {
		s.once = true
		runtime.LockOSThread()
	}
	for !s.fetch(-1) {
	}
}
func (s *blockingEpoll) close() { unix.Close(s.epfd); unix.Close(s.event) }

// polledEpoll waits for the set in the runtime's poller. The eventfd or a
// deadline wakes it.
type polledEpoll struct {
	epollSet
	file     *os.File
	conn     syscall.RawConn
	deadline bool
	woken    atomic.Bool
}

func newPolledEpoll(b *testing.B, deadline bool) *polledEpoll {
	s := &polledEpoll{epollSet: newEpollSet(b), deadline: deadline}
	unix.SetNonblock(s.epfd, true)
	s.file = os.NewFile(uintptr(s.epfd), "epoll")
	s.conn, _ = s.file.SyscallConn()
	return s
}

func (s *polledEpoll) sleep() {
	for !s.woken.CompareAndSwap(true, false) {
		s.conn.Read(func(uintptr) bool { return s.woken.Load() || s.fetch(0) })
		if s.deadline {
			s.file.SetReadDeadline(time.Time{})
		}
	}
}

func (s *polledEpoll) wake() {
	s.woken.Store(true)
	if s.deadline {
		s.file.SetReadDeadline(time.Unix(1, 0))
	} else {
		s.epollSet.wake()
	}
}
func (s *polledEpoll) close() { s.file.Close(); unix.Close(s.event) }

// BenchmarkWakeup measures one wake-up of a sleeping goroutine and its answer.
func BenchmarkWakeup(b *testing.B) {
	for _, v := range []struct {
		name string
		make func(b *testing.B) sleeper
	}{
		{"channel", func(*testing.B) sleeper { return &parkedChannel{token: make(chan struct{}, 1)} }},
		{"epoll_wait", func(b *testing.B) sleeper { return &blockingEpoll{epollSet: newEpollSet(b)} }},
		{"epoll_wait-locked", func(b *testing.B) sleeper { return &blockingEpoll{epollSet: newEpollSet(b), locked: true} }},
		{"runtime-eventfd", func(b *testing.B) sleeper { return newPolledEpoll(b, false) }},
		{"runtime-deadline", func(b *testing.B) sleeper { return newPolledEpoll(b, true) }},
	} {
		b.Run("sleep="+v.name, func(b *testing.B) {
			s := v.make(b)
			defer s.close()
			reply := make(chan struct{})
			n := b.N
			go func() {
				for range n {
					s.sleep()
					reply <- struct{}{}
				}
			}()
			b.ResetTimer()
			for range n {
				s.wake()
				<-reply
			}
		})
	}
}

// BenchmarkReadiness measures a byte written to a pipe, read by its waiter, and
// answered on a channel. It compares the loop with a goroutine that waits in
// epoll_wait, and one that reads from a file of package os.
func BenchmarkReadiness(b *testing.B) {
	b.Run("wait=loop", func(b *testing.B) {
		l := mustNew(b, Config{})
		startLoop(b, l)
		r, w := pipe(b)
		reply := make(chan struct{}, 1)
		var buf [8]byte
		if _, err := l.Register(r, Read|Edge, func(Readiness) {
			unix.Read(r, buf[:])
			reply <- struct{}{}
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			unix.Write(w, buf[:1])
			<-reply
		}
	})
	b.Run("wait=epoll_wait", func(b *testing.B) {
		s := newEpollSet(b)
		r, w := pipe(b)
		unix.EpollCtl(s.epfd, unix.EPOLL_CTL_ADD, r, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r)})
		reply := make(chan struct{}, 1)
		var buf [8]byte
		n := b.N
		go func() {
			for range n {
				for !s.fetch(-1) {
				}
				unix.Read(r, buf[:])
				reply <- struct{}{}
			}
		}()
		b.ResetTimer()
		for range n {
			unix.Write(w, buf[:1])
			<-reply
		}
	})
	b.Run("wait=file", func(b *testing.B) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		reply := make(chan struct{}, 1)
		var buf, one [1]byte
		n := b.N
		go func() {
			for range n {
				r.Read(buf[:])
				reply <- struct{}{}
			}
		}()
		b.ResetTimer()
		for range n {
			w.Write(one[:])
			<-reply
		}
	})
}

// BenchmarkReadinessBusy is BenchmarkReadiness for a loop that never sleeps,
// because it always has a task, of a microsecond, to run. With one P the
// watcher seldom gets a turn. It reports how many turns of the loop pass.
func BenchmarkReadinessBusy(b *testing.B) {
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("procs=%d", procs), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			l := mustNew(b, Config{})
			r, w := pipe(b)
			var buf [8]byte
			waits, told, passed := false, 0, uint64(0)
			var since uint64
			if _, err := l.Register(r, Read|Edge, func(Readiness) {
				unix.Read(r, buf[:])
				waits = false
				passed += l.turnCount - since
				told++
			}); err != nil {
				b.Fatal(err)
			}
			done := make(chan struct{})
			n := b.N
			var busy func()
			busy = func() {
				if told == n {
					close(done)
					return
				}
				if !waits {
					waits, since = true, l.turnCount
					unix.Write(w, buf[:1])
				}
				for start := time.Now(); time.Since(start) < time.Microsecond; {
				}
				l.Submit(busy)
			}
			b.ResetTimer()
			startLoop(b, l)
			l.Submit(busy)
			<-done
			b.ReportMetric(float64(passed)/float64(n), "turns/op")
		})
	}
}

// pipe returns the ends of a non-blocking pipe, which are closed when the test
// ends.
func pipe(tb testing.TB) (r, w int) {
	tb.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return p[0], p[1]
}

// withPoller gives l a poller, with one descriptor that is never ready.
func withPoller(tb testing.TB, l *Loop) {
	tb.Helper()
	r, _ := pipe(tb)
	if _, err := l.Register(r, Read, func(Readiness) { tb.Error("a pipe without data was readable") }); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkRoundTripIO is BenchmarkRoundTrip with and without a poller.
func BenchmarkRoundTripIO(b *testing.B) {
	for _, poller := range []bool{false, true} {
		b.Run(fmt.Sprintf("poller=%v", poller), func(b *testing.B) {
			l := mustNew(b, Config{})
			startLoop(b, l)
			if poller {
				withPoller(b, l)
			}
			p := &ping{reply: make(chan struct{}, 1)}
			b.ReportAllocs()
			for b.Loop() {
				if err := l.SubmitTask(p); err != nil {
					b.Fatal(err)
				}
				<-p.reply
			}
		})
	}
}

// BenchmarkDispatch measures one event by the number of descriptors ready at
// the same time, with a callback that does nothing. They are level-triggered
// and thus stay ready.
func BenchmarkDispatch(b *testing.B) {
	for _, ready := range []int{1, 64, 1000} {
		b.Run(fmt.Sprintf("ready=%d", ready), func(b *testing.B) {
			l := mustNew(b, Config{})
			total := 0
			done := make(chan struct{})
			count := func(Readiness) {
				if total++; total == b.N {
					close(done)
				}
			}
			for range ready {
				r, w := pipe(b)
				unix.Write(w, []byte{1})
				if _, err := l.Register(r, Read, count); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			startLoop(b, l)
			<-done
			b.StopTimer()
		})
	}
}
