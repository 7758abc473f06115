package live

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/isobar-go/isobar/monitor"
)

// kernelFigures are the kernel's figures for a process.
var kernelFigures = []monitor.Figure{
	{Key: "/memory/resident:bytes", Help: "Resident memory of the process.", Chart: "Memory of the process"},
	{Key: "/process/cpu:cpu-seconds", Help: "CPU time of the process.", Counter: true, Chart: "CPU time of the process"},
	{Key: "/process/threads:threads", Help: "Threads of the process.", Chart: "Threads"},
}

// errNoProcess is returned by look once the process has ended.
var errNoProcess = errors.New("no such process")

// A processFeed shows a process of this machine: the kernel's figures, and those from a
// port that it listens on.
type processFeed struct {
	pid     int
	started string // distinguishes the process from a later one with the same ID
	of      monitor.Process
	config  Config
	web     Feed // nil if no port has figures
	figures []monitor.Figure
	own     []int // the kernelFigures that web lacks
	last    time.Time
	note    string
}

// openProcess determines which figures the process offers.
func openProcess(pid int, c Config) (Feed, error) {
	k, err := look(pid)
	if err != nil {
		if errors.Is(err, errNoProcess) {
			return nil, fmt.Errorf("watch: there is no process %d; to watch a file of that name, write ./%d", pid, pid)
		}
		return nil, fmt.Errorf("watch: process %d: %w", pid, err)
	}
	info, err := buildinfo.ReadFile(executable(pid))
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("watch: may not look at process %d: %w; run as its user or with CAP_SYS_PTRACE (sudo, "+
			"--cap-add SYS_PTRACE), or name the URL of its page", pid, err)
	case err != nil:
		return nil, fmt.Errorf("watch: process %d (%s) is not a Go program, or has lost its build information: %w; if it "+
			"runs one, name that process", pid, k.name, err)
	}
	f := &processFeed{pid: pid, started: k.started, config: c,
		of: monitor.Process{Program: k.name, PID: pid, Go: info.GoVersion}}
	f.of.Host, _ = os.Hostname()
	if path, err := os.Readlink(executable(pid)); err == nil {
		f.of.Program = filepath.Base(path)
	}
	ports, err := listening(pid)
	if err != nil {
		f.note = fmt.Sprintf("only what the kernel knows is shown: its ports cannot be asked: %v", err)
	}
	var others []string
	f.web, others = firstWithFigures(pid, ports, c)
	switch {
	case f.web != nil:
	case k.stopped:
		f.note = "only what the kernel knows is shown: a signal or a debugger has stopped the process, and its ports do " +
			"not answer: watch it again when it runs"
	case len(others) > 0:
		f.note = fmt.Sprintf("at the ports that it listens on (%v) a program with another command line has figures: name "+
			"the URL to watch that%s", others, onlyKernel)
	case len(ports) > 0:
		f.note = fmt.Sprintf("none of the ports that it listens on (%v) has figures of it%s", ports, onlyKernel)
	case f.note == "":
		f.note = "it listens on no port of the loopback interface" + onlyKernel
	}
	return f, nil
}

const onlyKernel = ": only what the kernel knows is shown; mount monitor.Handler() in the program, import " +
	"net/http/pprof, or start it with GODEBUG=gctrace=1 and watch its standard error"

// firstWithFigures asks all ports at once and returns the feed of the first that has figures
// of the process, and the ports that have another's, as behind a proxy.
func firstWithFigures(pid int, ports []string, c Config) (first Feed, others []string) {
	feeds := make([]*webFeed, len(ports))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var asked sync.WaitGroup
	for i, address := range ports {
		base := "http://" + address
		w := &webFeed{client: &client{newClient(nil, c), nil}, target: base, probes: usual(base), config: c, epoch: 1}
		asked.Go(func() {
			if w.connect(ctx) == nil {
				feeds[i] = w
			} else {
				w.Close()
			}
		})
	}
	asked.Wait()
	for _, w := range feeds {
		switch {
		case w == nil:
		case !answers(pid, w.from):
			others = append(others, w.target)
			w.Close()
		case first == nil:
			first = w
		default:
			w.Close()
		}
	}
	return first, others
}

func (f *processFeed) Next(ctx context.Context) (Sample, error) {
	var s Sample
	if f.web != nil {
		var err error
		if s, err = f.web.Next(ctx); err != nil {
			if _, gone := f.look(); gone != nil {
				return Sample{}, gone
			}
			return Sample{}, err
		}
	} else {
		if !await(ctx, f.config.Interval-time.Since(f.last)) {
			return Sample{}, ctx.Err()
		}
		f.last = time.Now()
		s.At, s.Epoch = f.last, 1
	}
	k, err := f.look()
	if err != nil {
		return Sample{}, err
	}
	f.join(&s, k)
	return s, nil
}

// look reads the kernel's figures; it returns io.EOF once the process has ended.
func (f *processFeed) look() (kernelReading, error) {
	k, err := look(f.pid)
	if errors.Is(err, errNoProcess) || err == nil && k.started != f.started {
		return k, io.EOF
	}
	return k, err
}

// join adds the kernel's figures to the sample.
func (f *processFeed) join(s *Sample, k kernelReading) {
	if f.figures == nil || len(f.figures) != len(s.Figures)+len(f.own) {
		have := map[string]bool{}
		for _, figure := range s.Figures {
			have[figure.Key] = true
		}
		f.own, f.figures = nil, append([]monitor.Figure(nil), s.Figures...)
		for i, figure := range kernelFigures {
			if !have[figure.Key] {
				f.own, f.figures = append(f.own, i), append(f.figures, figure)
			}
		}
	}
	all := [...]float64{k.resident, k.cpu, k.threads}
	for _, i := range f.own {
		v := all[i]
		if s.Past {
			v = math.NaN()
		}
		s.Values = append(s.Values, v)
	}
	s.Figures = f.figures
	procs := s.Process.Procs
	s.Process = f.of
	s.Process.Procs = procs
}

func (f *processFeed) Source() string {
	if f.web != nil {
		return f.web.Source()
	}
	return "the kernel"
}

func (f *processFeed) Notes() []string {
	if f.web != nil {
		return f.web.Notes()
	}
	return []string{f.note}
}

func (f *processFeed) Close() error {
	if f.web != nil {
		return f.web.Close()
	}
	return nil
}

// A kernelReading is the kernel's figures for a process.
type kernelReading struct {
	name, started          string
	resident, cpu, threads float64
	stopped                bool // by a signal or a debugger
}
