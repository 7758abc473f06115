package poll

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func open(t *testing.T) *Set {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pipe returns a non-blocking pipe.
func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return p[0], p[1]
}

func write(t *testing.T, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte{1}); err != nil {
		t.Error(err)
	}
}

func TestFetchReturnsWhatIsReady(t *testing.T) {
	s := open(t)
	defer s.Close()
	r, w := pipe(t)
	events := make([]unix.EpollEvent, 4)
	if err := s.Add(r, unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r), Pad: -7}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Fetch(events); n != 0 || err != nil {
		t.Errorf("fetched %d events, %v, before there is anything to read", n, err)
	}
	write(t, w)
	want := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r), Pad: -7}
	if n, err := s.Fetch(events); n != 1 || err != nil || events[0] != want {
		t.Errorf("fetched %d events, %v: %v, want %v", n, err, events[0], want)
	}
	if err := s.Modify(r, unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(r)}); err != nil {
		t.Error(err)
	}
	if n, err := s.Fetch(events); n != 0 || err != nil {
		t.Errorf("fetched %d events, %v, that nobody asked for", n, err)
	}
	if err := s.Remove(r); err != nil {
		t.Error(err)
	}
	if err := s.Remove(r); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("removed twice: %v", err)
	}
	if err := s.Add(-1, unix.EpollEvent{}); !errors.Is(err, syscall.EBADF) {
		t.Errorf("added -1: %v", err)
	}
}

func TestWaitEnds(t *testing.T) {
	for name, end := range map[string]struct {
		by              func(s *Set, w int)
		failed, expired bool
	}{
		"ready":    {func(_ *Set, w int) { write(t, w) }, false, false},
		"deadline": {func(s *Set, _ int) { s.SetDeadline(time.Unix(1, 0)) }, true, true},
		"close":    {func(s *Set, _ int) { s.Close() }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			r, w := pipe(t)
			if err := s.Add(r, unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(r)}); err != nil {
				t.Fatal(err)
			}
			waiting := make(chan struct{}, 1)
			events := make([]unix.EpollEvent, 4)
			done := make(chan error)
			go func() {
				done <- s.Wait(func(uintptr) bool {
					n, _ := s.Fetch(events)
					if n == 0 {
						select {
						case waiting <- struct{}{}:
						default:
						}
					}
					return n > 0
				})
			}()
			<-waiting
			end.by(s, w)
			if err := <-done; (err != nil) != end.failed || errors.Is(err, os.ErrDeadlineExceeded) != end.expired {
				t.Errorf("Wait returned %v", err)
			}
		})
	}
}

// A set whose Wait ended at a deadline can wait again.
func TestDeadlinesAreTakenBack(t *testing.T) {
	s := open(t)
	defer s.Close()
	r, w := pipe(t)
	if err := s.Add(r, unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r)}); err != nil {
		t.Fatal(err)
	}
	never := func(uintptr) bool { return false }
	s.SetDeadline(time.Unix(1, 0))
	if err := s.Wait(never); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Wait returned %v", err)
	}
	if err := s.SetDeadline(time.Time{}); err != nil {
		t.Error(err)
	}
	write(t, w)
	events := make([]unix.EpollEvent, 1)
	if err := s.Wait(func(uintptr) bool { n, _ := s.Fetch(events); return n == 1 }); err != nil {
		t.Errorf("Wait returned %v", err)
	}
}

func TestFetchAllocatesNothing(t *testing.T) {
	s := open(t)
	defer s.Close()
	events := make([]unix.EpollEvent, 4)
	if n := testing.AllocsPerRun(100, func() { s.Fetch(events) }); n != 0 {
		t.Errorf("Fetch allocates %v times", n)
	}
}
