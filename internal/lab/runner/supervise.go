package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

const (
	// pollInterval is how often a child's memory is compared with the cap.
	pollInterval = 20 * time.Millisecond
	// grace is how long a pipe may stay open after the child's end.
	grace = 2 * time.Second
	// maxRecord limits how much is read from a child.
	maxRecord = 64 << 20
)

// profileDirEnv tells the child where to write profiles.
const profileDirEnv = "ISOBAR_PROFILE_DIR"

// joinEnv tells the child which files the program writes its number to, one a
// line, to join its control group.
const joinEnv = "ISOBAR_JOIN"

// ending is how a child ended.
type ending struct {
	state  *os.ProcessState
	output []byte        // what it wrote to standard output
	stderr *tail         // and to standard error
	killed *cell.Failure // why the runner killed it, if it did
}

// supervise runs one child to its end. It fails if the child could not be
// started or ctx ended.
func (r *Runner) supervise(ctx context.Context, exe string, c cell.Cell, profileDir string, join []string) (ending,
	error) {
	if err := context.Cause(ctx); err != nil {
		return ending{}, err
	}
	var document bytes.Buffer
	if err := cell.Encode(&document, c); err != nil {
		return ending{}, err
	}
	// The kernel kills the child with the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := childAttr(r.config.Account)
	if err != nil {
		return ending{}, err
	}
	p, err := start(&exec.Cmd{
		Path: exe, Args: []string{os.Args[0], ChildArg}, Env: childEnv(r.config.Env, c, profileDir, join), Dir: r.config.Dir,
		SysProcAttr: attr,
	})
	if err != nil {
		return ending{}, err
	}
	defer p.close()
	end := ending{stderr: &tail{}}
	var readers sync.WaitGroup
	readers.Go(func() {
		end.output, _ = io.ReadAll(io.LimitReader(p.stdout, maxRecord+1))
		if len(end.output) > maxRecord {
			p.stdout.Close() // ends a child that keeps writing
		}
	})
	readers.Go(func() { io.Copy(io.MultiWriter(end.stderr, r.config.Log), p.stderr) })
	// The child may end before it has read the cell; how it ended says why.
	go p.stdin.Write(document.Bytes())

	exited := make(chan struct{})
	go func() {
		awaitExit(p.cmd)
		close(exited)
	}()
	end.killed, err = guard(ctx, p.cmd.Process, c, exited)
	killGroup(p.cmd.Process) // any processes the child left behind
	if p.cmd.ProcessState == nil {
		p.cmd.Wait()
	}
	end.state = p.cmd.ProcessState
	p.stdout.SetReadDeadline(time.Now().Add(grace))
	p.stderr.SetReadDeadline(time.Now().Add(grace))
	readers.Wait()
	if end.state == nil {
		return ending{}, fmt.Errorf("missed the child's end: another part of this program waits for all processes")
	}
	return end, err
}

// guard waits for the child's end. It kills the child if it exceeds a limit of
// the cell, and reports that, or if ctx ends, which is the error.
func guard(ctx context.Context, p *os.Process, c cell.Cell, exited <-chan struct{}) (*cell.Failure, error) {
	var timeout, poll <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	if c.MemoryBytes > 0 {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		select {
		case <-exited:
			return nil, nil
		case <-ctx.Done():
			killTree(p, exited)
			return nil, context.Cause(ctx)
		case <-timeout:
			killTree(p, exited)
			return &cell.Failure{Kind: cell.FailTimeout,
				Message: fmt.Sprintf("killed after %v: allow more time with --timeout", c.Timeout)}, nil
		case <-poll:
			var total int64
			for _, pid := range host.Descendants(p.Pid) {
				n, _ := host.RSSBytes(pid)
				total += n
			}
			if total > c.MemoryBytes {
				killTree(p, exited)
				return &cell.Failure{Kind: cell.FailMemory,
					Message: fmt.Sprintf("killed when its processes occupied %s, more than the cap of %s: allow more with --memory",
						sizeText(total), sizeText(c.MemoryBytes))}, nil
			}
		}
	}
}

// sizeText is a size in whole MiB, and exact where it is less than one.
func sizeText(n int64) string {
	if n < 1<<20 {
		return cell.FormatBytes(n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// killTree kills the child, its process group, and those of its descendants
// that have left the group, and waits for the child's end.
func killTree(p *os.Process, exited <-chan struct{}) {
	pids := host.Descendants(p.Pid)
	killGroup(p)
	p.Kill()
	for _, pid := range pids[1:] {
		if stray, err := os.FindProcess(pid); err == nil {
			stray.Kill()
		}
	}
	<-exited
}

// process is a started child and the runner's ends of its pipes.
type process struct {
	cmd            *exec.Cmd
	stdin          *os.File // open as long as the runner lives
	stdout, stderr *os.File
}

func (p *process) close() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// start starts cmd as a child in its own process group. Its first argument is
// the name that this program was called by, because a binary may act on it.
func start(cmd *exec.Cmd) (*process, error) {
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	stdin, toChild, err1 := pipe()
	fromChild, stdout, err2 := pipe()
	logs, stderr, err3 := pipe()
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			closeAll()
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		closeAll()
		return nil, err
	}
	stdin.Close()
	stdout.Close()
	stderr.Close()
	return &process{cmd: cmd, stdin: toChild, stdout: fromChild, stderr: logs}, nil
}

// childEnv is the environment of the child: the cell's settings, without
// inherited values for them. GODEBUG keeps everything but gctrace, which would
// write to the child's standard error.
func childEnv(environ []string, c cell.Cell, profileDir string, join []string) []string {
	env := make([]string, 0, len(environ)+4)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "GOGC", "GOMEMLIMIT", "GOMAXPROCS", profileDirEnv, joinEnv:
			continue
		case "GODEBUG":
			var keep []string
			for setting := range strings.SplitSeq(value, ",") {
				if setting != "" && !strings.HasPrefix(setting, "gctrace=") {
					keep = append(keep, setting)
				}
			}
			if len(keep) == 0 {
				continue
			}
			entry = "GODEBUG=" + strings.Join(keep, ",")
		}
		env = append(env, entry)
	}
	env = append(env, c.GC.Env()...)
	if c.GOMAXPROCS > 0 {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", c.GOMAXPROCS))
	}
	if profileDir != "" {
		env = append(env, profileDirEnv+"="+profileDir)
	}
	if len(join) > 0 {
		env = append(env, joinEnv+"="+strings.Join(join, "\n"))
	}
	return env
}
