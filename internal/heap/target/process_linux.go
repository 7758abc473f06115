package target

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// A Process is a running program.
type Process struct {
	PID     int
	Program *Program
	Maps    []Mapping
	// MostStop bounds how long to wait until all threads stand still; 0 for no bound.
	MostStop time.Duration

	threads map[int]bool // stopped threads; only during Stopped and Forked
	child   int          // the fork that Read reads instead; 0 for none
	regs    []Regs       // of the threads, at the time of the fork
	started string       // start time, which tells it from a later process with the same PID
	vector  string       // auxiliary vector: an exec changes its random addresses
}

// OpenProcess reads about a running process without stopping it. Close it when done.
func OpenProcess(pid int) (*Process, error) {
	p := &Process{PID: pid}
	var err error
	if p.started, err = startTime(pid); err != nil {
		return nil, fmt.Errorf("target: there is no process %d: %w", pid, err)
	}
	p.vector = p.loaded()
	exe := p.path("exe")
	name, err := os.Readlink(exe)
	if err != nil {
		return nil, p.refused("read the executable", err)
	}
	name = strings.TrimSuffix(name, " (deleted)")
	if p.Program, err = OpenProgram(exe, name); err != nil {
		return nil, err
	}
	if p.Program.Arch != runtime.GOARCH {
		defer p.Program.Close()
		return nil, fmt.Errorf("target: process %d runs a program for %s, isobar is for %s: take one for %s",
			pid, p.Program.Arch, runtime.GOARCH, p.Program.Arch)
	}
	if err = p.readMaps(); err == nil {
		err = p.Program.setBias(p.Maps)
	}
	if err != nil {
		p.Program.Close()
		return nil, err
	}
	return p, nil
}

// loaded waits until the kernel has loaded the program, and returns its auxiliary vector. The
// parent of a new process may get here slightly earlier: during the exec the vector is all zeros
// at first, and is filled entry by entry.
func (p *Process) loaded() string {
	before := ""
	for range 1000 {
		vector, err := os.ReadFile(p.path("auxv"))
		now := string(vector)
		if err != nil || now == "" || now == before && strings.Trim(now, "\x00") != "" {
			return now
		}
		before = now
		time.Sleep(time.Millisecond)
	}
	return ""
}

// Close closes the executable.
func (p *Process) Close() error { return p.Program.Close() }

func (p *Process) path(file string) string { return fmt.Sprintf("/proc/%d/%s", p.PID, file) }

// refused explains an error of the kernel.
func (p *Process) refused(what string, err error) error {
	switch {
	case errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("target: process %d has ended", p.PID)
	case errors.Is(err, fs.ErrPermission) && p.tracer() != 0:
		return fmt.Errorf("target: may not %s of process %d: process %d, a debugger or strace, traces it: end that first",
			what, p.PID, p.tracer())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("target: may not %s of process %d: %w: run isobar as the same user; where "+
			"/proc/sys/kernel/yama/ptrace_scope is 1 or more, or in a container, with CAP_SYS_PTRACE (sudo, "+
			"--cap-add SYS_PTRACE); or read a core file", what, p.PID, err)
	}
	return fmt.Errorf("target: %s of process %d: %w", what, p.PID, err)
}

// tracer returns the PID of the process that traces this one; 0 for none.
func (p *Process) tracer() uint64 {
	data, _ := os.ReadFile(p.path("status")) // without it there is none to name
	return field(string(data), "TracerPid")
}

// startTime returns the process's start time in /proc/PID/stat.
func startTime(pid int) (string, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return "", err
	}
	s, err := p.Stat()
	return strconv.FormatUint(s.Starttime, 10), err
}

// Same returns an error if the process has ended, or has executed a program again.
func (p *Process) Same() error {
	started, err := startTime(p.PID)
	name, gone := os.Readlink(p.path("exe")) // a process not yet reaped has none
	const most = 100
	for i, alone := 0, false; errors.Is(gone, fs.ErrNotExist) && !alone && i < most; i++ {
		alone = p.alone() // otherwise another thread may be about to take the first one's place, as it executes a program
		time.Sleep(time.Millisecond)
		name, gone = os.Readlink(p.path("exe"))
	}
	if err != nil || started != p.started || errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("target: process %d ended meanwhile", p.PID)
	}
	if gone == nil && strings.TrimSuffix(name, " (deleted)") != p.Program.Path {
		return fmt.Errorf("target: process %d runs another program now, %s", p.PID, name)
	}
	if vector, err := os.ReadFile(p.path("auxv")); err == nil && string(vector) != p.vector {
		return fmt.Errorf("target: process %d began its program again", p.PID)
	}
	return nil
}

// alone reports whether the process has at most one thread.
func (p *Process) alone() bool {
	tasks, err := os.ReadDir(p.path("task"))
	return err != nil || len(tasks) < 2
}

func (p *Process) readMaps() error {
	f, err := os.Open(p.path("maps"))
	if err != nil {
		return p.refused("read the mappings", err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m, err := parseMapping(s.Text())
		if err != nil {
			return fmt.Errorf("target: mappings of process %d: %q: %w", p.PID, s.Text(), err)
		}
		p.Maps = append(p.Maps, m)
	}
	return s.Err()
}

// parseMapping reads the first line of a mapping in /proc/PID/maps or smaps.
func parseMapping(line string) (m Mapping, err error) {
	var perm, dev string
	var inode uint64
	_, err = fmt.Sscanf(line, "%x-%x %s %x %s %d", &m.Start, &m.End, &perm, &m.Offset, &dev, &inode)
	if part := strings.SplitN(line, " ", 6); len(part) == 6 {
		m.File = strings.TrimSuffix(strings.TrimSpace(part[5]), " (deleted)")
	}
	m.Read, m.Write = strings.Contains(perm, "r"), strings.Contains(perm, "w")
	return m, err
}

// maxVectors is the most that process_vm_readv takes in one call (UIO_MAXIOV).
const maxVectors = 1024

// Read implements Memory.
func (p *Process) Read(ranges []Range) error {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	want := 0
	flush := func() error {
		if len(local) == 0 {
			return nil
		}
		n, err := unix.ProcessVMReadv(cmp.Or(p.child, p.PID), local, remote, 0)
		if err != nil {
			return p.refused(fmt.Sprintf("read the memory at %#x", remote[0].Base), err)
		}
		if n != want {
			return fmt.Errorf("target: %d of %d bytes of process %d could be read near %#x",
				n, want, p.PID, remote[0].Base)
		}
		local, remote, want = local[:0], remote[:0], 0
		return nil
	}
	for _, r := range ranges {
		if p.Program.readStatic(r, false) { // reading it there would make the process's resident memory grow
			continue
		}
		for len(r.Data) > 0 { // the kernel reads at most MAX_RW_COUNT, 2 GiB less a page
			n := min(len(r.Data), 1<<28)
			v := unix.Iovec{Base: &r.Data[0]}
			v.SetLen(n)
			local = append(local, v)
			remote = append(remote, unix.RemoteIovec{Base: uintptr(r.Addr), Len: n})
			want += n
			r.Addr, r.Data = r.Addr+uint64(n), r.Data[n:]
			if len(local) == maxVectors || want >= 1<<30 {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// Stopped runs copied while all threads of the process are stopped, and returns for how long. The
// kernel lets them go if isobar ends.
func (p *Process) Stopped(copied func() error) (time.Duration, error) {
	if err := p.Same(); err != nil {
		return 0, err
	}
	return traced(func() (time.Duration, error) { return p.whileStopped(copied) })
}

// traced runs do on one thread, as ptrace serves only the thread that attached. A thread that does not stop cannot be
// detached either: then the goroutine keeps its thread, and the kernel lets go as both end. The main thread, which does
// not end with its goroutine, traces nothing.
func traced(do func() (time.Duration, error)) (stop time.Duration, err error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		done := make(chan struct{})
		go func() { // on another thread, as this goroutine keeps the main one
			stop, err = traced(do)
			close(done)
		}()
		<-done
		runtime.UnlockOSThread()
		return stop, err
	}
	if stop, err = do(); !errors.Is(err, errStuck) {
		runtime.UnlockOSThread()
	}
	return stop, err
}

func (p *Process) whileStopped(do func() error) (time.Duration, error) {
	p.threads = make(map[int]bool)
	start := time.Now()
	err := p.stopAll()
	if err == nil {
		err = do()
	}
	for tid := range p.threads {
		// An error means that the thread was killed. Wait for such a thread: until its tracer has, the
		// process does not end for its parent. The parent itself waits for the first thread.
		if unix.PtraceDetach(tid) != nil && tid != p.PID {
			_, _ = wait(tid)
		}
	}
	p.threads = nil
	return time.Since(start), err
}

// Clock returns the monotonic clock of the process in nanoseconds, unless a time
// namespace shifts it.
func (p *Process) Clock() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}

// stopAll stops threads until it finds no new one. It stops the first thread of the process
// first: if that is killed, it ends only after the others.
func (p *Process) stopAll() error {
	until := p.until()
	for again := true; again; {
		again = false
		tasks, err := os.ReadDir(p.path("task"))
		if err != nil {
			return p.refused("list the threads", err)
		}
		tids := make([]int, 0, len(tasks))
		for _, task := range tasks {
			if tid, err := strconv.Atoi(task.Name()); err == nil && !p.threads[tid] {
				tids = append(tids, tid)
			}
		}
		if first := slices.Index(tids, p.PID); first > 0 {
			tids[0], tids[first] = tids[first], tids[0]
		}
		for _, tid := range tids {
			stopped, err := stop(tid, until)
			if errors.Is(err, errStuck) {
				return fmt.Errorf("target: thread %d of process %d %w", tid, p.PID, err)
			}
			if err != nil {
				return p.refused("stop the threads", err)
			}
			if stopped {
				p.threads[tid] = true
				again = true
			}
		}
	}
	if len(p.threads) == 0 {
		return fmt.Errorf("target: process %d has ended", p.PID)
	}
	return nil
}

// errStuck says that a thread does not stop.
var errStuck = errors.New("does not stop: it waits in the kernel, for a child of vfork, a disk or a file server, " +
	"or is frozen")

// leastStop is how long to wait for threads at least: one that waits for a CPU stops when it has one.
const leastStop = time.Second

// until returns when to stop waiting for threads; zero for never.
func (p *Process) until() (t time.Time) {
	if p.MostStop > 0 {
		t = time.Now().Add(max(p.MostStop, leastStop))
	}
	return t
}

// stop stops one thread. It returns false if the thread has ended.
func stop(tid int, until time.Time) (bool, error) {
	if err := unix.PtraceSeize(tid); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return false, nil
		}
		return false, err
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return false, nil
	}
	for {
		status, err := waitUntil(tid, until)
		if errors.Is(err, errStuck) {
			return false, err
		}
		if err != nil || status.Exited() || status.Signaled() {
			return false, nil
		}
		if status.Stopped() && status.StopSignal() != syscall.SIGTRAP && int(status)>>16 == 0 {
			// A signal came first: hand it on, and wait for the stop that we asked for.
			if err := unix.PtraceCont(tid, int(status.StopSignal())); err != nil {
				return false, nil
			}
			continue
		}
		return true, nil
	}
}

// waitUntil is like wait, but returns errStuck if nothing has changed at a time that is not zero.
func waitUntil(tid int, until time.Time) (status unix.WaitStatus, err error) {
	if until.IsZero() {
		return wait(tid)
	}
	for pause := time.Microsecond; ; pause = min(2*pause, time.Millisecond) { // most threads stop at once
		n, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n > 0:
			return status, err
		case time.Now().After(until):
			return status, errStuck
		}
		time.Sleep(pause)
	}
}

// wait waits for a change of a traced thread.
func wait(tid int) (status unix.WaitStatus, err error) {
	for {
		if _, err = unix.Wait4(tid, &status, unix.WALL, nil); !errors.Is(err, syscall.EINTR) {
			return status, err
		}
	}
}

// Threads implements Memory. It works while the process is stopped or its fork is read.
func (p *Process) Threads() ([]Regs, error) {
	if p.regs != nil {
		return p.regs, nil
	}
	var all []Regs
	for tid := range p.threads {
		r, err := registers(tid)
		if err != nil {
			return nil, fmt.Errorf("target: registers of thread %d: %w", tid, err)
		}
		all = append(all, r)
	}
	return all, nil
}
