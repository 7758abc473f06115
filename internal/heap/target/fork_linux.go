package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/isobar-go/isobar/internal/base/cgroup"
)

// Forked runs copied on the memory of the process at one moment: that of a forked child, whose
// pages the kernel copies when the process writes them. The process is stopped while it forks,
// for the returned time, and runs while copied reads. The child runs no instruction.
// There is no fork if it would likely take longer than most, unless most is 0. If the error wraps
// ErrNoFork, copied did not run.
func (p *Process) Forked(most time.Duration, copied func() error) (time.Duration, error) {
	if err := errors.Join(p.Same(), p.mayFork(most)); err != nil {
		return 0, err
	}
	clone, err := p.findClone()
	if err != nil {
		return 0, err
	}
	return traced(func() (time.Duration, error) { return p.forkAndRead(clone, copied) })
}

func (p *Process) forkAndRead(clone uint64, copied func() error) (stop time.Duration, err error) {
	var c child
	for range forkTries { // a busy program may have no waiting thread at the moment
		stop, err = p.whileStopped(func() error {
			if c, err = p.fork(clone); err == nil {
				p.regs, err = p.Threads()
			}
			return err
		})
		if !errors.Is(err, errNoWaiter) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return stop, err
	}
	p.child = c.pid
	err = copied()
	p.child, p.regs = 0, nil
	return stop, errors.Join(err, p.end(c))
}

// forkPerGB is about how long a fork takes per GB of 4 KB pages.
const forkPerGB = 30 * time.Millisecond

// forkTries is how often a process is stopped to find a waiting thread.
const forkTries = 5

// errNoWaiter says that no thread can make a system call for us.
var errNoWaiter = fmt.Errorf("target: %w: no thread waits in Go's runtime", ErrNoFork)

// A child is a forked process.
type child struct {
	pid   int    // as we see it
	inner uint64 // as the process sees it
}

// end kills a child and has the process reap it.
func (p *Process) end(c child) error {
	if err := unix.Kill(c.pid, unix.SIGKILL); err != nil {
		return p.refused("end the fork", err)
	}
	for {
		if status, err := wait(c.pid); err != nil || status.Exited() || status.Signaled() {
			break
		}
	}
	until := time.Now().Add(reapTime)
	for p.Same() == nil {
		err := p.reap(c)
		if err == nil {
			return nil
		}
		if errors.Is(err, errStuck) {
			return fmt.Errorf("target: a thread of process %d, which keeps a dead child, %d, %w", p.PID, c.pid, err)
		}
		if time.Now().After(until) {
			return fmt.Errorf("target: process %d keeps a dead child, %d, until it ends: no thread waited", p.PID, c.pid)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// reapTime is how long to wait for a thread that can reap the child.
const reapTime = 5 * time.Second

// reap lets one waiting thread reap a dead child. It stops other threads only for a look.
func (p *Process) reap(c child) error {
	tasks, err := os.ReadDir(p.path("task"))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		// The file shows the system call of a sleeping thread.
		if call, _ := os.ReadFile(p.path("task/" + task.Name() + "/syscall")); err != nil || !waits(string(call)) {
			continue
		}
		stopped, err := stop(tid, p.until())
		if errors.Is(err, errStuck) {
			return err
		}
		if err != nil || !stopped {
			continue
		}
		err = p.reapIn(tid, c.inner)
		_ = unix.PtraceDetach(tid) // an error means that the thread has ended
		if err == nil {
			return nil
		}
	}
	return errNoWaiter
}

// mayFork refuses an unsafe fork: a seccomp filter may kill the process, a device may write into
// a page that the fork has moved, or memory may not suffice for all pages written meanwhile. It
// also refuses a fork that would stop the process for longer than most.
func (p *Process) mayFork(most time.Duration) error {
	status, err := os.ReadFile(p.path("status"))
	if err != nil {
		return p.refused("read the status", err)
	}
	if field(string(status), "Seccomp") != 0 {
		return fmt.Errorf("target: %w: process %d has a seccomp filter, which may forbid it", ErrNoFork, p.PID)
	}
	for _, m := range p.Maps {
		if strings.HasPrefix(m.File, "/[aio]") || strings.Contains(m.File, "[io_uring]") {
			return fmt.Errorf("target: %w: process %d has asynchronous I/O under way", ErrNoFork, p.PID)
		}
	}
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("target: %w: %w", ErrNoFork, err)
	}
	need, free := field(string(status), "RssAnon")<<10, field(string(memory), "MemAvailable")<<10
	if g := cgroup.ReadProcess(os.DirFS("/"), p.PID); g.MemoryBytes > 0 {
		free = min(free, uint64(max(0, g.MemoryBytes-g.MemoryUsedBytes)))
	}
	if likely := time.Duration(float64(need) / (1 << 30) * float64(forkPerGB)); most > 0 && likely > most {
		return fmt.Errorf("target: %w: process %d would stand still for about %v, for %d MB", ErrNoFork, p.PID, likely,
			need>>20)
	}
	if need += need / 256; need > free { // a second copy of its pages, and page tables
		return fmt.Errorf("target: %w: process %d may write %d MB meanwhile, and %d MB are free in its control group",
			ErrNoFork, p.PID, need>>20, free>>20)
	}
	return nil
}

// field returns the number in a line "key: number" of a file in /proc; 0 if there is none.
func field(text, key string) (n uint64) {
	if _, line, ok := strings.Cut("\n"+text, "\n"+key+":"); ok {
		_, _ = fmt.Sscan(line, &n) // stays 0
	}
	return n
}
