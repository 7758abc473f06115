package workload

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/gc/trace"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

func init() {
	Register(&Workload{
		Name:         "exec",
		Summary:      "run any unmodified Go program from start to end",
		NeedsCommand: true,
		New:          newProgram,
	})
}

// ProgramOutput is the size of the program's standard output, which is read for
// figures (see cell.FigurePrefix), counted and discarded. Standard input is
// empty. ProgramErrors is the size of standard error without the gctrace lines,
// which is passed on.
const (
	ProgramOutput = "/program/stdout:bytes"
	ProgramErrors = "/program/stderr:bytes"
)

// counted counts what is written through it.
type counted struct {
	io.Writer
	bytes int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.bytes += int64(len(b))
	return c.Writer.Write(b)
}

// program runs a command under GODEBUG=gctrace=1. Wall time, CPU time and faults are what the
// kernel accounts to the program and the descendants that it waited for. Peak memory is that of the
// largest of them, or what those that run at once were seen to occupy together, if that is more. GC figures are
// sums over the lines of all processes that print to the program's standard error, rounded by the
// runtime to two or three digits and whole MiB. A cycle interrupted by the exit prints no line.
type program struct{ env Env }

func newProgram(env Env) (Task, error) {
	if len(env.Command) == 0 {
		return nil, errors.New(`no command: put it after --, as in "exec -- go vet ./..."`)
	}
	return &program{env}, nil
}

func (p *program) Close() error { return nil }

// Run implements Whole.
func (p *program) Run(ctx context.Context, rec *cell.Record) error {
	// The kernel kills the program when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := startProgram(ctx, p.env)
	if err != nil {
		return err
	}
	defer s.close()
	waitErr := s.cmd.Wait()
	if err := s.finish(rec); err != nil {
		return err
	}
	return s.failed(rec, exitFailure(rec, s.cmd.ProcessState, waitErr))
}

// A started is a program under gctrace=1 and the data read from it. It belongs
// to one goroutine; its readers' results may be used after finish.
type started struct {
	cmd            *exec.Cmd
	path           string   // of the command
	stream, output *os.File // the program's standard error and output
	packets        bool     // stream delivers each write separately
	before         int64    // resident bytes of this process when it started the program
	began          time.Time
	watch          func() watched
	readers        sync.WaitGroup
	trace          trace.Trace
	traceErr       error
	errors         counted
	figures        figures
}

// joinScript writes the shell's PID to as many files as its first argument says, and then
// executes the program. The shell costs about a millisecond.
const joinScript = `n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit 126; shift; n=$((n-1)); done; exec "$@"`

// startProgram starts the command in its control group. The calling goroutine must stay locked to
// its thread until the program has ended.
func startProgram(ctx context.Context, env Env) (*started, error) {
	command, join := env.Command, env.Join
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	path, tools := cmd.Path, plainTools(cmd.Path)
	if len(join) > 0 && cmd.Err == nil {
		args := append([]string{"-c", joinScript, "sh", strconv.Itoa(len(join))}, join...)
		cmd = exec.CommandContext(ctx, "sh", append(append(args, cmd.Path), command[1:]...)...)
	}
	cmd.Env = append(programEnv(os.Environ(), env.GC.Env(env.Unset...)), tools...) // the last entry of a name wins
	cmd.SysProcAttr = programAttr()
	if cmd.Err != nil {
		return nil, fmt.Errorf("%w: give a command that is in PATH, or its path", cmd.Err)
	}
	output, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stream, stderr, packets, err := tracePipe()
	if err != nil {
		output.Close()
		stdout.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	s := &started{cmd: cmd, path: path, stream: stream, output: output, packets: packets,
		errors: counted{Writer: os.Stderr}}
	// The kernel counts this process's current memory towards the program's peak.
	debug.FreeOSMemory()
	host.ResetPeakRSS()
	s.before, _ = host.PeakRSSBytes(os.Getpid())
	s.began = time.Now()
	err = cmd.Start()
	stdout.Close()
	stderr.Close()
	if err != nil {
		s.close()
		return nil, fmt.Errorf("start %s: %w: give a command that is in PATH, or its path", command[0], err)
	}
	s.readers.Go(func() {
		read := trace.ReadLines
		if packets {
			read = trace.ReadPackets
		}
		s.trace, s.traceErr = read(stream, &s.errors)
	})
	s.readers.Go(func() { s.figures.read(output) })
	s.watch = watch(cmd.Process.Pid)
	return s, nil
}

func (s *started) close() {
	s.stream.Close()
	s.output.Close()
}

// finish records the figures of the program, which has ended.
func (s *started) finish(rec *cell.Record) error {
	wall := time.Since(s.began)
	polled := s.watch()
	s.drain()
	if errors.Is(s.traceErr, os.ErrDeadlineExceeded) {
		rec.Warn("left-behind", "the program left processes behind that hold its standard error open; the figures do not "+
			"include what they do")
	} else if s.traceErr != nil {
		return s.traceErr
	}
	rec.Set(cell.WallTime, wall.Seconds())
	rec.Set(ProgramOutput, float64(s.figures.written))
	rec.Set(ProgramErrors, float64(s.errors.bytes))
	s.figures.record(rec)
	setUsage(rec, s.cmd.ProcessState, s.before, polled)
	if !s.packets {
		rec.Warn("gctrace-lines", "this platform may mix writes to a pipe: gctrace lines that the program's own output "+
			"split are missing")
	}
	setTrace(rec, s.trace, polled)
	if _, err := buildinfo.ReadFile(s.path); err != nil && len(s.trace.Cycles)+s.trace.Relayed == 0 {
		rec.Warn("not-go", "no collection was seen, and %s is not a Go program: GC figures count only Go programs that it "+
			"starts, if they print to its standard error", filepath.Base(s.path))
	}
	return nil
}

// drain waits until all output of the program is read. Processes that it left behind may hold the
// pipes open: it gives up after two seconds, in parts, as a machine may stand still during one.
func (s *started) drain() {
	read := make(chan struct{})
	go func() {
		s.readers.Wait()
		close(read)
	}()
	for range 20 {
		select {
		case <-read:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	s.stream.SetReadDeadline(time.Now())
	s.output.SetReadDeadline(time.Now())
	<-read
}

// failed adds the end of the program's output to the record if the program failed.
func (s *started) failed(rec *cell.Record, err error) error {
	if err != nil {
		rec.Stdout = s.figures.last()
	}
	return err
}

// usage is what the kernel accounts to a program besides CPU time.
type usage struct {
	peakBytes                int64
	minorFaults, majorFaults float64
}

// setUsage records what the kernel accounted. The program starts as a copy of this process, so
// its reported peak is at least this process's memory at that moment (before). Below that, the
// polled peak is the better figure.
func setUsage(rec *cell.Record, state *os.ProcessState, before int64, polled watched) {
	user, system := state.UserTime().Seconds(), state.SystemTime().Seconds()
	rec.Set(cell.UserCPU, user)
	rec.Set(cell.SystemCPU, system)
	rec.Set(cell.TotalCPU, user+system)
	usage, ok := usageOf(state)
	if !ok {
		rec.Warn("no-usage", "this platform does not report peak memory and page faults of a program")
		return
	}
	rec.Set(cell.MinorFaults, usage.minorFaults)
	rec.Set(cell.MajorFaults, usage.majorFaults)
	largest := usage.peakBytes
	switch {
	case largest > before:
	case polled.early:
		largest = 0
		rec.Warn("rss-missed", "no peak memory: the program uses less than the process that started it, and ended before it "+
			"was polled in the second half of its time")
	default:
		largest = polled.peak
		rec.Warn("rss-polled", "the program uses less memory than the process that started it: its peak was polled and "+
			"may miss the end")
	}
	if peak := max(largest, polled.setTogether(rec)); peak > 0 {
		rec.Set(cell.RSSPeak, float64(peak))
	}
	if len(polled.pids) != 1 && largest > 0 { // several, or the platform does not say
		rec.Set(cell.RSSLargest, float64(largest))
	}
}

// exitFailure says how the program ended, nil if it succeeded.
func exitFailure(rec *cell.Record, state *os.ProcessState, err error) error {
	rec.Set(cell.ExitStatus, float64(state.ExitCode()))
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return err
	case state.ExitCode() < 0:
		return &cell.Failure{Kind: cell.FailKilled, Message: "a signal ended the program: " + state.String()}
	}
	return &cell.Failure{Kind: cell.FailExit, Message: fmt.Sprintf("the program exited with status %d", state.ExitCode())}
}

// programEnv returns the environment of the program: the variables of its GC setting, and
// gctrace=1 appended to GODEBUG.
func programEnv(environ, gc []string) []string {
	godebug := ""
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "GODEBUG="); ok && value != "" {
			godebug = value + ","
		}
	}
	env := cell.WithoutEnv(environ, "GODEBUG", cell.EnvGOGC, cell.EnvLimit)
	return append(append(env, gc...), "GODEBUG="+godebug+"gctrace=1")
}

// watched is the result of polling a program and its descendants.
type watched struct {
	peak    int64 // bytes, of the largest process
	threads map[int]host.ThreadTime
	pids    map[int]bool // of all that were seen
	// together is the most memory that all occupied in two consecutive polls, in bytes, and large
	// how many had at least a quarter of the largest's then. last is the sum of the last poll.
	together, last int64
	large          int
	early          bool // no poll found the program in the second half of its time
}

// add notes the resident memory of all processes in a poll. The sum counts shared pages several
// times: little where processes run one binary, whose text is shared. But a new process shares all
// of its parent's memory until it executes its program; two polls in a row hardly see it there.
func (w *watched) add(resident []int64) {
	sum, most := int64(0), int64(0)
	for _, n := range resident {
		sum, most = sum+n, max(most, n)
	}
	if both := min(sum, w.last); both > w.together {
		w.together, w.large = both, 0
		for _, n := range resident {
			if 4*n >= most {
				w.large++
			}
		}
	}
	w.last = sum
}

// setTogether records how many large processes ran at once, and returns what they occupied; 0 if
// there was one.
func (w *watched) setTogether(rec *cell.Record) int64 {
	if w.large < 2 {
		return 0
	}
	rec.Set(cell.Processes, float64(w.large))
	rec.Warn("processes", "%d processes ran at once: peak memory is what they occupied together, and GOMEMLIMIT applies "+
		"to each", w.large)
	return w.together
}

// share is the fraction of a thread's runnable time that it spent on a CPU: the mean
// over threads, weighted by CPU time, as the runtime's monitor often waits and hardly
// runs. 1 if unknown.
func (w watched) share() float64 {
	all, shared := 0.0, 0.0
	for _, t := range w.threads {
		if on := float64(t.On); on > 0 {
			all += on
			shared += on * on / (on + float64(t.Waited))
		}
	}
	if all == 0 {
		return 1
	}
	return shared / all
}

// watch polls the process and its descendants until the returned function is
// called: peak memory at once and on every tick, thread times on the first tick
// and every fifth after it.
func watch(pid int) (stop func() watched) {
	done := make(chan struct{})
	result := make(chan watched)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		w := watched{threads: map[int]host.ThreadTime{}, pids: map[int]bool{}}
		begun := time.Now()
		seen := begun
		for n := 0; ; n++ {
			var resident []int64
			for _, p := range host.Descendants(pid) {
				if n, ok := host.RSSBytes(p); ok {
					resident = append(resident, n)
					w.pids[p] = true
				}
				if n, ok := host.PeakRSSBytes(p); ok {
					w.peak, seen = max(w.peak, n), time.Now()
				}
				if n%5 == 1 {
					host.ThreadTimes(p, w.threads)
				}
			}
			w.add(resident)
			select {
			case <-done:
				w.early = seen.Sub(begun) < time.Since(seen)
				result <- w
				return
			case <-tick.C:
			}
		}
	}()
	return func() watched {
		close(done)
		return <-result
	}
}
