package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

const (
	// pollInterval is how often a child's memory is compared with the cap.
	pollInterval = 20 * time.Millisecond
	// grace is how long a pipe may stay open after the child's end. Later output is lost, so it
	// is longer than a machine may stand still.
	grace = 10 * time.Second
	// maxRecord limits how much is read from a child.
	maxRecord = 64 << 20
)

// profileDirEnv tells the child where to write profiles.
const profileDirEnv = "ISOBAR_PROFILE_DIR"

// joinEnv tells the child which files, one per line, the program writes its PID to in
// order to join its control group.
const joinEnv = "ISOBAR_JOIN"

// ending is how a child ended.
type ending struct {
	state  *os.ProcessState
	output output        // what it wrote to standard output
	stderr *tail         // and to standard error
	killed *cell.Failure // why the runner killed it, if it did
}

// output keeps what a child writes, up to maxRecord plus one byte.
type output []byte

// Write fails beyond the limit. That closes the pipe, which ends a child that keeps writing.
func (o *output) Write(b []byte) (int, error) {
	n := min(len(b), maxRecord+1-len(*o))
	*o = append(*o, b[:n]...)
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
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
	end := ending{stderr: &tail{}}
	cmd := &exec.Cmd{
		Path: exe, Args: []string{os.Args[0], ChildArg}, Env: childEnv(r.config.Env, c, profileDir, join), Dir: r.config.Dir,
		SysProcAttr: attr, Stdout: &end.output, Stderr: io.MultiWriter(end.stderr, r.config.Log), WaitDelay: grace,
	}
	stdin, err := cmd.StdinPipe() // open as long as the runner lives
	if err != nil {
		return ending{}, err
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return ending{}, err
	}
	// The child may end before it has read the cell; its ending says why.
	go stdin.Write(document.Bytes())

	exited := make(chan struct{})
	go func() {
		awaitExit(cmd)
		close(exited)
	}()
	end.killed, err = guard(ctx, cmd.Process, c, exited)
	killGroup(cmd.Process) // any processes the child left behind
	if cmd.ProcessState == nil {
		cmd.Wait()
	}
	if end.state = cmd.ProcessState; end.state == nil {
		return ending{}, fmt.Errorf("missed the child's end: another part of this program waits for all processes")
	}
	return end, err
}

// guard waits for the child's end. If the child exceeds a limit of the cell, guard kills it and
// returns the failure; if ctx ends, it kills the child and returns the error.
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
			select {
			case <-exited: // it had ended, but this process noticed late
				return nil, nil
			default:
			}
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

// sizeText formats a size in whole MiB, or exactly if it is below one.
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

// childEnv returns the environment of the child: it replaces inherited values by the
// cell's settings. GODEBUG keeps everything but gctrace, which would write to the
// child's standard error.
func childEnv(environ []string, c cell.Cell, profileDir string, join []string) []string {
	env := cell.WithoutEnv(environ, "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", profileDirEnv, joinEnv)
	for _, entry := range environ {
		value, ok := strings.CutPrefix(entry, "GODEBUG=")
		if !ok {
			continue
		}
		keep := slices.DeleteFunc(strings.Split(value, ","), func(setting string) bool {
			return setting == "" || strings.HasPrefix(setting, "gctrace=")
		})
		if len(keep) > 0 {
			env = append(env, "GODEBUG="+strings.Join(keep, ","))
		}
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
