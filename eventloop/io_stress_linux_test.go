package eventloop

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// descriptorLimit returns how many descriptors a test may open.
func descriptorLimit(tb testing.TB) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		tb.Fatal(err)
	}
	return int(min(limit.Cur, 1<<20)) - 200
}

// eventfds returns n descriptors and closes them when the test ends.
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
		t.Logf("limited to %d open descriptors", len(fds))
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

// However a loop ends, its poller leaves no descriptors or goroutines behind.
func TestDescriptorsReleased(t *testing.T) {
	r, w := pipe(t)
	unix.Write(w, []byte("x"))
	l := mustNew(t, Config{}) // the first one opens the runtime's own descriptors
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

		// Released by the goroutine in Run.
		l = mustNew(t, Config{})
		mustRegister(t, l, r, Read, func(Readiness) { l.Close() })
		if err := l.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
	// An ended one may still be counted.
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
		runtime.Gosched()
	}
}

// Connections come and go on several goroutines while others submit. No byte is
// lost, and no callback follows Unregister on the loop.
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

// round writes its data in two parts, waits until it has been read, and ends
// the registration in one of three ways.
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
	case 0: // on the loop, with an event still to report
		unix.Write(b, []byte("more"))
		inLoop(c.t, c.l, func() {
			unregister()
			c.ended = true
		})
		unix.Close(a)
	case 1: // elsewhere; a callback that has begun finishes before the task
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

// atRest runs a loop with descriptors that are never ready and timers that are
// due later. It calls counted with the number of each once they exist.
func atRest(tb testing.TB, fds []int, timers int, counted func(n int)) *Loop {
	tb.Helper()
	l := mustNew(tb, Config{})
	startLoop(tb, l)
	for _, fd := range fds {
		mustRegister(tb, l, fd, Read, nothing)
	}
	counted(len(fds))
	for i := range timers {
		if _, err := l.After(time.Hour+time.Duration(i), func() {}); err != nil {
			tb.Fatal(err)
		}
	}
	counted(timers)
	for !l.sleeper.Asleep() {
		runtime.Gosched()
	}
	return l
}

// A loop with many descriptors and timers, none of them due, does nothing.
func TestRest(t *testing.T) {
	l := atRest(t, eventfds(t, min(10_000, descriptorLimit(t))), 100_000, func(int) {})
	before := l.Stats()
	time.Sleep(50 * time.Millisecond) // descriptors rule out synctest
	if after := l.Stats(); after != before {
		t.Errorf("at rest, %+v became %+v", before, after)
	}
}

// BenchmarkRest measures an idle second of a loop with 10,000 descriptors and
// 100,000 timers. It reports the CPU time of the process with and without the
// loop, and the heap per descriptor and per timer.
func BenchmarkRest(b *testing.B) {
	cpuTime := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start := cpuTime()
	time.Sleep(time.Second)
	without := cpuTime() - start
	fds := eventfds(b, 10_000)
	last := heap()
	var bytes []float64 // per descriptor, per timer
	l := atRest(b, fds, 100_000, func(n int) {
		now := heap()
		bytes = append(bytes, float64(now-last)/float64(n))
		last = now
	})
	turns := l.Stats().Turns
	start = cpuTime()
	for b.Loop() {
		time.Sleep(time.Second)
	}
	b.ReportMetric(bytes[0], "B/descriptor") // after the loop, which discards earlier metrics
	b.ReportMetric(bytes[1], "B/timer")
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/1e3, "cpu-µs/op")
	b.ReportMetric(float64(without)/1e3, "cpu-µs-without")
	b.ReportMetric(float64(l.Stats().Turns-turns), "turns")
}
