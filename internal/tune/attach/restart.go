package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Restarted is a process on this machine, a Linux, that takes settings by being
// started again: Command, of the shell, gets GOGC and GOMEMLIMIT in its
// environment and must start the program with them. What is read of the process
// is what /proc says, so that there is no unit of work but time, and its state
// must be built again each time.
type Restarted struct {
	proc    fs.FS // /proc
	command string
	settle  time.Duration
	pid     int
	program string  // directory and command line, by which a new process is found
	found   cell.GC // in the environment of the first
	changed bool
}

// appearWithin is how long a restarted program may take to appear.
const appearWithin = 30 * time.Second

// NewRestarted looks at the process. settle is how long a fresh process needs
// before it can be measured.
func NewRestarted(pid int, command string, settle time.Duration) (*Restarted, error) {
	r := &Restarted{proc: os.DirFS("/proc"), command: command, settle: settle, pid: pid}
	var err error
	if r.program, err = r.programOf(pid); err != nil {
		return nil, fmt.Errorf("tune: --attach %d: %w: want a process of this machine, a Linux", pid, err)
	}
	if r.found, err = r.settingOf(pid); err != nil {
		return nil, fmt.Errorf("tune: --attach %d: %w", pid, err)
	}
	return r, nil
}

func (r *Restarted) file(pid int, name string) ([]byte, error) {
	return fs.ReadFile(r.proc, path.Join(strconv.Itoa(pid), name))
}

// programOf is what the process was started as, and where.
func (r *Restarted) programOf(pid int) (string, error) {
	data, err := r.file(pid, "cmdline")
	if err == nil && len(data) == 0 {
		err = errors.New("no command line")
	}
	// It cannot be read of other users' processes, and is "" then.
	dir, _ := fs.ReadLink(r.proc, path.Join(strconv.Itoa(pid), "cwd"))
	return dir + "\x00" + string(data), err
}

// settingOf is what the environment of the process says; the runtime takes what
// it does not understand for the default.
func (r *Restarted) settingOf(pid int) (cell.GC, error) {
	data, err := r.file(pid, "environ")
	if err != nil {
		return cell.GC{}, err
	}
	gc := cell.GC{Percent: cell.DefaultGC.Percent}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		switch name, value, _ := strings.Cut(entry, "="); {
		case name == "GOGC" && value == "off":
			gc.Percent = -1
		case name == "GOGC":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				gc.Percent = n
			}
		case name == "GOMEMLIMIT":
			if n, err := cell.ParseBytes(value); err == nil {
				gc.LimitBytes = n
			}
		}
	}
	return gc, nil
}

// Settle implements Server.
func (r *Restarted) Settle() (least, most time.Duration) { return r.settle, r.settle }

// ticksPerSecond is what /proc counts CPU time in: USER_HZ, the same everywhere.
const ticksPerSecond = 100

// Look implements Server.
func (r *Restarted) Look(context.Context) (State, error) {
	stat, err1 := r.file(r.pid, "stat")
	statm, err2 := r.file(r.pid, "statm")
	gc, err3 := r.settingOf(r.pid)
	if err := errors.Join(err1, err2, err3); err != nil {
		return State{}, fmt.Errorf("tune: --attach: process %d: %w", r.pid, err)
	}
	// The name, in parentheses, may hold anything; utime and stime are fields 14
	// and 15 of the line.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	pages := bytes.Fields(statm)
	if len(fields) < 13 || len(pages) < 2 {
		return State{}, fmt.Errorf("tune: --attach: process %d has ended", r.pid)
	}
	user, _ := strconv.ParseFloat(string(fields[11]), 64)
	system, _ := strconv.ParseFloat(string(fields[12]), 64)
	resident, _ := strconv.ParseInt(string(pages[1]), 10, 64)
	return State{At: time.Now(), GC: gc, Found: r.found, PID: r.pid, CPU: (user + system) / ticksPerSecond,
		ResidentBytes: resident * int64(os.Getpagesize())}, nil
}

// Apply implements Server. A process that has the setting already goes on.
func (r *Restarted) Apply(ctx context.Context, gc cell.GC, _ time.Duration) error {
	if now, err := r.settingOf(r.pid); err == nil && same(now, gc) {
		return nil
	}
	r.changed = true
	cmd := exec.CommandContext(ctx, "sh", "-c", r.command)
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "GOGC" && name != "GOMEMLIMIT" {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, gc.Env()...)
	// Output goes to files of this process: a server that inherits a pipe would
	// keep it open.
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tune: --restart %q: %w", r.command, err)
	}
	for deadline := time.Now().Add(appearWithin); ; {
		if pid, ok := r.successor(); ok {
			r.pid = pid
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("tune: --restart %q: no new process of the same command line within %v", r.command, appearWithin)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if now, err := r.settingOf(r.pid); err != nil || !same(now, gc) {
		return fmt.Errorf("tune: --restart %q: the new process has GOGC=%s, want %s: the command must pass on GOGC and "+
			"GOMEMLIMIT of its environment", r.command, now, gc)
	}
	return nil
}

func same(a, b cell.GC) bool { return a.Percent == b.Percent && a.LimitBytes == b.LimitBytes }

// successor finds the process that was started in place of the last one, which
// must be gone.
func (r *Restarted) successor() (int, bool) {
	if program, err := r.programOf(r.pid); err == nil && program == r.program {
		return 0, false
	}
	entries, _ := fs.ReadDir(r.proc, ".")
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if program, err := r.programOf(pid); err == nil && program == r.program {
			found = append(found, pid)
		}
	}
	if len(found) == 0 {
		return 0, false
	}
	return slices.Max(found), true
}

// Restore implements Server.
func (r *Restarted) Restore(ctx context.Context) error {
	if !r.changed {
		return nil
	}
	return r.Apply(ctx, r.found, 0)
}
