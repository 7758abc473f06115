//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package eventloop

import (
	"os"

	"golang.org/x/sys/unix"
)

// kqueue is a kernel for macOS and the BSDs. A set is a queue, which the
// runtime's poller does not accept. So the watcher waits in the system, on a
// thread, for a second queue that is notified when the first becomes ready.
//
// A descriptor in the set always has a read filter, which is disabled if nobody
// wants it.
type kqueue struct {
	set, outer int
	end        [2]int // a pipe; its writing end is closed to end the watcher
	raw        []unix.Kevent_t
	one        []unix.Kevent_t // for change; guarded by descriptors.mu
}

func newKernel() (kernel, error) {
	k := &kqueue{set: -1, outer: -1, end: [2]int{-1, -1}, raw: kevents(eventsLen), one: kevents(1)}
	if err := k.open(); err != nil {
		for _, fd := range []int{k.set, k.outer, k.end[0], k.end[1]} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
		return nil, os.NewSyscallError("kqueue", err)
	}
	return k, nil
}

func (k *kqueue) open() (err error) {
	if k.set, err = unix.Kqueue(); err != nil {
		return err
	}
	if k.outer, err = unix.Kqueue(); err != nil {
		return err
	}
	if err = unix.Pipe(k.end[:]); err != nil {
		return err
	}
	for _, fd := range []int{k.set, k.outer, k.end[0], k.end[1]} {
		unix.CloseOnExec(fd)
	}
	changes := kevents(2)
	unix.SetKevent(&changes[0], k.set, unix.EVFILT_READ, unix.EV_ADD|unix.EV_CLEAR)
	unix.SetKevent(&changes[1], k.end[0], unix.EVFILT_READ, unix.EV_ADD)
	_, err = unix.Kevent(k.outer, changes, nil, nil)
	return err
}

// change makes one change to the set.
func (k *kqueue) change(fd int32, gen uint32, filter, flags int) error {
	unix.SetKevent(&k.one[0], int(fd), filter, flags)
	*udata(&k.one[0]) = uintptr(gen)
	_, err := unix.Kevent(k.set, k.one, nil, nil)
	return err
}

func (k *kqueue) add(fd int32, gen uint32, i Interest) error {
	flags, read := unix.EV_ADD, unix.EV_DISABLE
	if i&Edge != 0 {
		flags |= unix.EV_CLEAR
	}
	if i&Read != 0 {
		read = unix.EV_ENABLE
	}
	err := k.change(fd, gen, unix.EVFILT_READ, flags|read)
	if err == nil && i&Write != 0 {
		if err = k.change(fd, gen, unix.EVFILT_WRITE, flags|unix.EV_ENABLE); err != nil {
			_ = k.change(fd, 0, unix.EVFILT_READ, unix.EV_DELETE)
		}
	}
	return fdError("kevent", err)
}

func (k *kqueue) modify(fd int32, gen uint32, i Interest) error {
	if err := k.remove(fd); err != nil {
		return err
	}
	return k.add(fd, gen, i)
}

func (k *kqueue) remove(fd int32) error {
	err := k.change(fd, 0, unix.EVFILT_READ, unix.EV_DELETE)
	_ = k.change(fd, 0, unix.EVFILT_WRITE, unix.EV_DELETE) // it may not exist
	return fdError("kevent", err)
}

func (k *kqueue) fetch(dst []fdEvent) (int, error) {
	n, err := unix.Kevent(k.set, nil, k.raw[:min(len(dst), len(k.raw))], new(unix.Timespec))
	if err != nil {
		return 0, os.NewSyscallError("kevent", err)
	}
	for i := range k.raw[:n] {
		e := &k.raw[i]
		is := Readable
		if int(e.Filter) == unix.EVFILT_WRITE {
			is = Writable
		}
		if e.Flags&unix.EV_EOF != 0 {
			is |= HangUp
			if e.Fflags != 0 {
				is |= Failed
			}
		}
		dst[i] = fdEvent{int32(e.Ident), uint32(*udata(e)), is}
	}
	return n, nil
}

func (k *kqueue) watch(ready func()) {
	events := kevents(2)
	for {
		n, err := unix.Kevent(k.outer, nil, events, nil)
		if err == unix.EINTR {
			continue
		}
		for i := range events[:max(n, 0)] {
			if int(events[i].Ident) == k.end[0] {
				err = os.ErrClosed
			}
		}
		if err != nil {
			break
		}
		ready()
	}
	unix.Close(k.outer)
	unix.Close(k.end[0])
}

func (k *kqueue) close() {
	unix.Close(k.end[1])
	unix.Close(k.set)
}
