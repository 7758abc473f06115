package attach

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Restarted is a process on this Linux machine that takes settings by a restart. The
// shell command gets GOGC and GOMEMLIMIT in its environment and must start the
// program with them. Figures come from /proc, so time is the only unit of work, and
// the process must rebuild its state after each restart.
type Restarted struct {
	proc    fs.FS // /proc
	command string
	settle  time.Duration
	pid     int
	program string   // directory and command line, which identify a new process
	exe     string   // its executable
	found   cell.GC  // in the environment of the first process
	env     []string // the variables behind found: a program may set by itself those that are missing
	session int      // of the last command; 0 before the first
	began   float64  // when the last command started, in ticks since boot
	changed bool
	said    bool // to Log, what a restart waits for
	// Output receives what the command prints, and a server that inherits it; nil for none. It is
	// not a pipe: a server that writes to a pipe ends with the pipe's reader.
	Output *os.File
	Log    func(text string) // receives once what a restart waits for, if it takes long; nil for none
}

// restartWithin is how long the command may run, and how long a new process may take to appear.
const restartWithin = 2 * time.Minute

// quiet is for how long a restart may take without a word.
var quiet = 5 * time.Second

// NewRestarted looks at the process. settle is how long a new process needs before it
// can be measured.
func NewRestarted(pid int, command string, settle time.Duration) (*Restarted, error) {
	return newRestarted(os.DirFS("/proc"), pid, command, settle)
}

func newRestarted(proc fs.FS, pid int, command string, settle time.Duration) (*Restarted, error) {
	r := &Restarted{proc: proc, command: command, settle: settle, pid: pid}
	var err error
	// A new process is still its shell, and has no command line while execve(2) loads the program.
	isGo := false
	for range 100 {
		isGo = r.isGo(pid) // before the command line, which may still be the shell's
		if r.program, err = r.programOf(pid); err == nil && isGo || err != nil && !errors.Is(err, errNoCommandLine) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("no such process")
	}
	if err != nil {
		return nil, fmt.Errorf("tune: --attach %d: %w: want a process of this machine, a Linux", pid, err)
	}
	if r.found, r.env, err = r.settingOf(pid); errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("tune: --attach %d: its environment cannot be read: run tune as the user of that process, or "+
			"as root", pid)
	} else if err != nil {
		return nil, fmt.Errorf("tune: --attach %d: %w", pid, err)
	}
	if !isGo {
		return nil, fmt.Errorf("tune: --attach %d: its program is not Go (it has no build information): GOGC does not "+
			"affect it", pid)
	}
	r.exe = r.link(pid, "exe")
	return r, nil
}

// isGo reports whether the program of the process is Go, or cannot be read.
func (r *Restarted) isGo(pid int) bool {
	f, err := r.proc.Open(path.Join(strconv.Itoa(pid), "exe"))
	if err != nil {
		return true
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return true
	}
	_, err = buildinfo.Read(at)
	return err == nil
}

func (r *Restarted) file(pid int, name string) ([]byte, error) {
	return fs.ReadFile(r.proc, path.Join(strconv.Itoa(pid), name))
}

var errNoCommandLine = errors.New("it has ended, or is of the kernel")

// programOf returns the working directory and command line of the process.
func (r *Restarted) programOf(pid int) (string, error) {
	data, err := r.file(pid, "cmdline")
	if err == nil && len(data) == 0 {
		err = errNoCommandLine
	}
	return r.link(pid, "cwd") + "\x00" + string(data), err
}

// link returns where a link of the process points; "" if it is another user's.
func (r *Restarted) link(pid int, name string) string {
	to, _ := fs.ReadLink(r.proc, path.Join(strconv.Itoa(pid), name))
	return to
}

// settingOf returns the setting in the environment of the process, and its variables.
func (r *Restarted) settingOf(pid int) (gc cell.GC, env []string, err error) {
	data, err := r.file(pid, "environ")
	if err != nil {
		return cell.GC{}, nil, err
	}
	env = slices.DeleteFunc(strings.Split(string(data), "\x00"), func(entry string) bool {
		return !strings.HasPrefix(entry, "GOGC=") && !strings.HasPrefix(entry, "GOMEMLIMIT=")
	})
	gc, err = cell.EnvironmentGC(env)
	gc.Name = ""
	return gc, env, err
}

// has reports whether gc is in the environment of the process.
func (r *Restarted) has(gc cell.GC) bool {
	now, _, err := r.settingOf(r.pid)
	return err == nil && same(now, gc)
}

// Settle implements Server.
func (r *Restarted) Settle() (least, most time.Duration) { return r.settle, r.settle }

// ticksPerSecond is the unit of times in /proc: USER_HZ, the same everywhere.
const ticksPerSecond = 100

// serves reports whether the process still exists and runs the program.
func (r *Restarted) serves() bool {
	program, err := r.programOf(r.pid)
	return err == nil && program == r.program
}

// startTime is the field of stat that says when a process started, in ticks since boot.
const startTime = 19

// stat returns fields of the process's stat: index 0 is field 3 of proc(5), as the name before it, in parentheses, may
// hold anything. They are zero if they cannot be read.
func (r *Restarted) stat(pid int) (fields [startTime + 1]float64) {
	data, _ := r.file(pid, "stat")
	for i, field := range bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) {
		if i < len(fields) {
			fields[i], _ = strconv.ParseFloat(string(field), 64)
		}
	}
	return fields
}

// age returns for how long the process has run; 0 if that cannot be read.
func (r *Restarted) age() time.Duration {
	began, now := r.stat(r.pid)[startTime], 0.0
	up, _ := fs.ReadFile(r.proc, "uptime")
	fmt.Sscan(string(up), &now)
	if began == 0 {
		return 0
	}
	return time.Duration(max(now-began/ticksPerSecond, 0) * float64(time.Second))
}

// mature waits until the process has run for as long as one that was restarted before it is measured. What a server
// occupies while it starts says nothing about the limits that it can bear.
func (r *Restarted) mature(ctx context.Context) error {
	left := r.settle - r.age()
	if r.changed || left <= 0 {
		return nil
	}
	if r.Log != nil {
		r.Log(fmt.Sprintf("--attach: the process is younger than %v (--settle): waiting until it is not", r.settle))
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(left):
		return nil
	}
}

// Look implements Server.
func (r *Restarted) Look(ctx context.Context) (State, error) {
	if err := r.mature(ctx); err != nil {
		return State{}, err
	}
	cpu, err1 := cpuTime(r.pid)
	statm, err2 := r.file(r.pid, "statm")
	gc, _, err3 := r.settingOf(r.pid)
	pages := bytes.Fields(statm)
	if !r.serves() || len(pages) < 2 {
		return State{}, fmt.Errorf("tune: --attach: process %d has ended, by itself or by what was set: its log says why",
			r.pid)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return State{}, fmt.Errorf("tune: --attach: process %d: %w", r.pid, err)
	}
	resident, _ := strconv.ParseInt(string(pages[1]), 10, 64)
	return State{At: time.Now(), GC: gc, Found: r.found, PID: r.pid, CPU: cpu,
		ResidentBytes: resident * int64(os.Getpagesize()),
		GroupBytes:    cgroup.ReadProcess(os.DirFS("/"), r.pid).MemoryBytes}, nil
}

// Apply implements Server. A process that already has the setting goes on. Apply finishes a
// restart that has begun, even if ctx ends: half a restart may leave no server.
func (r *Restarted) Apply(ctx context.Context, gc cell.GC, _ time.Duration) error {
	if r.has(gc) && r.serves() || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fail := func(format string, args ...any) error {
		err := fmt.Errorf("tune: --restart %q: "+format, append([]any{r.command}, args...)...)
		if r.Output != nil {
			err = fmt.Errorf("%w (what it printed is in %s)", err, r.Output.Name())
		}
		return err
	}
	r.changed = true
	before := r.running()
	cmd := exec.Command("sh", "-c", r.command)
	env := gc.Env()
	if same(gc, r.found) {
		env = r.env
	}
	cmd.Env = append(cell.WithoutEnv(os.Environ(), "GOGC", "GOMEMLIMIT"), env...)
	cmd.SysProcAttr = ownSession() // keep Ctrl-C from the server
	if r.Output != nil {
		cmd.Stdout, cmd.Stderr = r.Output, r.Output
	}
	if err := cmd.Start(); err != nil {
		return fail("%w", err)
	}
	r.session = cmd.Process.Pid
	r.began = r.stat(r.session)[startTime]
	want := "a new process of the command line " + inWords(r.program)
	ended, deadline, late := make(chan error, 1), time.After(restartWithin), time.After(quiet)
	var returned <-chan time.Time // some time after the command
	go func() { ended <- cmd.Wait() }()
	for done, found := false, false; !done || !found; {
		select {
		case err := <-ended:
			if err != nil {
				if pid, ok := r.successor(before); ok { // the command started the server anyway
					r.pid = pid
				}
				return fail("%w", err)
			}
			done = true
			returned = time.After(quiet)
		case <-deadline:
			if found {
				return fail("it runs for %v: it must return, and leave the server in the background", restartWithin)
			}
			return fail("within %v there was none: want %s", restartWithin, want)
		case <-returned:
			if away := r.elsewhere(gc); len(away) > 0 {
				program, _ := r.programOf(away[0])
				return fail("it started process %d, of the command line %s; want %s: start it by the same words, after cd",
					away[0], inWords(program), want)
			}
		case <-late:
			r.sayOnce(fmt.Sprintf("--restart: waiting up to %v for %s, and for the command to return", restartWithin, want))
		case <-time.After(20 * time.Millisecond):
			if pid, ok := r.successor(before); ok {
				r.pid, found = pid, true
			}
		}
	}
	if now, _, err := r.settingOf(r.pid); err != nil || !same(now, gc) {
		return fail("the new process has GOGC=%s, want %s: the command must pass on GOGC and GOMEMLIMIT of its environment",
			now, gc)
	}
	return nil
}

// elsewhere returns the processes of the executable that the last command started with another command line or in
// another directory: those of its session, and younger ones that have its setting.
func (r *Restarted) elsewhere(gc cell.GC) []int {
	return slices.DeleteFunc(r.which(func(program string) bool { return program != r.program }), func(pid int) bool {
		stat := r.stat(pid)
		now, _, err := r.settingOf(pid)
		its := int(stat[3]) == r.session || stat[startTime] >= r.began && err == nil && same(now, gc)
		return !its || r.link(pid, "exe") != r.exe
	})
}

// inWords formats a command line and its directory.
func inWords(program string) string {
	dir, line, _ := strings.Cut(strings.TrimSuffix(program, "\x00"), "\x00")
	return strings.ReplaceAll(line, "\x00", " ") + ", in " + dir
}

// sayOnce logs what the first slow restart waits for.
func (r *Restarted) sayOnce(what string) {
	if r.Log != nil && !r.said {
		r.said = true
		r.Log(what)
	}
}

func same(a, b cell.GC) bool { return a.Percent == b.Percent && a.LimitBytes == b.LimitBytes }

// running returns the processes that run the program.
func (r *Restarted) running() (pids []int) {
	return r.which(func(program string) bool { return program == r.program })
}

// which returns the processes whose directory and command line is accepts.
func (r *Restarted) which(is func(program string) bool) (pids []int) {
	entries, _ := fs.ReadDir(r.proc, ".")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if program, err := r.programOf(pid); err == nil && is(program) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// successor finds the process that replaced the last one, which must be gone. It did
// not run before.
func (r *Restarted) successor(before []int) (int, bool) {
	now := r.running()
	if slices.Contains(now, r.pid) {
		return r.pid, !slices.Contains(before, r.pid)
	}
	now = slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
	if len(now) == 0 {
		return 0, false
	}
	return slices.Max(now), true
}

// Restore implements Server.
func (r *Restarted) Restore(ctx context.Context) error {
	if !r.changed {
		return nil
	}
	err := r.Apply(ctx, r.found, 0)
	state := "no process has its command line"
	switch {
	case err == nil || r.serves() && r.has(r.found):
		return nil
	case r.serves():
		state = fmt.Sprintf("process %d runs with another setting", r.pid)
	}
	return fmt.Errorf("%s: %w; by hand: %s", state, err, r.ByHand())
}

// ByHand returns the shell command that restores today's setting.
func (r *Restarted) ByHand() string {
	set := ""
	if len(r.env) > 0 {
		set = "export " + strings.Join(r.env, " ") + "; "
	}
	return "unset GOGC GOMEMLIMIT; " + set + r.command
}
