package phase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/trace"
	"strings"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// anchor is the category of the event that aligns the trace's clock with
// another.
const anchor = "isobar/anchor"

// Anchor logs an event in the running trace and returns its time.
func Anchor() time.Time {
	now := time.Now()
	trace.Log(context.Background(), anchor, "")
	return now
}

// Waits is the key in Timeline.Ops for operations that are not the program's
// own: how long goroutines were ready without a CPU.
const Waits = "waiting for a CPU"

// maxOps limits the operations of one kind.
const maxOps = 4 << 20

// Read reads a trace. For a damaged or truncated trace it returns the Timeline up to the
// damage, with Cut set; a trace without any event is an error.
func Read(r io.Reader) (*Timeline, error) {
	in, err := exptrace.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("phase: no execution trace of Go 1.22 or later: %w; 'go test -trace FILE' writes one, and so "+
			"does /debug/pprof/trace?seconds=5 of net/http/pprof", err)
	}
	d := decoder{
		line: &Timeline{Ops: map[string][]Op{}}, open: map[ranged]bool{}, workers: map[exptrace.GoID]*worker{},
		ready: map[exptrace.GoID]int64{}, tasks: map[exptrace.TaskID]named{}, regions: map[exptrace.GoID][]named{},
	}
	any := false
	for {
		e, err := in.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if !any {
				return nil, fmt.Errorf("phase: %w", err)
			}
			d.line.Cut = fmt.Errorf("phase: the trace is damaged or truncated: %w", err)
			break
		}
		at := int64(e.Time())
		if !any {
			any = true
			d.line.Start = at
			d.line.begin(at, None)
		}
		d.line.End = at
		d.event(e, at)
		d.line.begin(at, d.now())
	}
	if !any {
		return nil, errors.New("phase: the trace has no events")
	}
	return d.line, nil
}

// A decoder tracks the state at the current event.
type decoder struct {
	line    *Timeline
	open    map[ranged]bool
	workers map[exptrace.GoID]*worker
	active  [phases]int // open ranges and running workers, by phase

	ready   map[exptrace.GoID]int64 // since when
	tasks   map[exptrace.TaskID]named
	regions map[exptrace.GoID][]named // open ones, innermost last
}

// A ranged is one of the runtime's ranges: a phase of a goroutine, of a P, or of the program.
type ranged struct {
	of    exptrace.ResourceID
	phase Phase
}

// A worker is a goroutine that marks.
type worker struct {
	kind    Phase // Idle or Dedicated
	running bool
}

type named struct {
	name  string
	start int64
}

// now returns the most severe phase at the current event.
func (d *decoder) now() Phase {
	for p := Stop; p > None; p-- {
		worker := p == Idle || p == Dedicated
		if d.active[p] > 0 && (!worker || d.active[Mark] > 0) { // a worker may run past the mark phase without marking
			return p
		}
	}
	return None
}

func (d *decoder) event(e exptrace.Event, at int64) {
	switch e.Kind() {
	case exptrace.EventRangeBegin, exptrace.EventRangeActive:
		d.bound(e.Range(), true)
	case exptrace.EventRangeEnd:
		d.bound(e.Range(), false)
	case exptrace.EventLabel:
		d.label(e.Label())
	case exptrace.EventStateTransition:
		if s := e.StateTransition(); s.Resource.Kind == exptrace.ResourceGoroutine {
			from, to := s.Goroutine()
			d.moved(s.Resource.Goroutine(), from, to, at)
		}
	case exptrace.EventLog:
		if e.Log().Category == anchor && d.line.Anchor == 0 {
			d.line.Anchor = at
		}
	case exptrace.EventTaskBegin:
		d.tasks[e.Task().ID] = named{e.Task().Type, at}
	case exptrace.EventTaskEnd:
		if t, ok := d.tasks[e.Task().ID]; ok {
			delete(d.tasks, e.Task().ID)
			d.op("task "+t.name, t.start, at)
		}
	case exptrace.EventRegionBegin:
		g := e.Goroutine()
		d.regions[g] = append(d.regions[g], named{e.Region().Type, at})
	case exptrace.EventRegionEnd:
		g := e.Goroutine()
		if open := d.regions[g]; len(open) > 0 && open[len(open)-1].name == e.Region().Type {
			d.op("region "+e.Region().Type, open[len(open)-1].start, at)
			d.regions[g] = open[:len(open)-1]
		}
	}
}

// bound records the beginning or end of one of the runtime's ranges. The trace may report
// the beginning of an open range again.
func (d *decoder) bound(r exptrace.Range, begins bool) {
	of := ranged{of: r.Scope}
	switch {
	case r.Name == "GC concurrent mark phase":
		of.phase = Mark
	case r.Name == "GC mark assist":
		of.phase = Assist
	case r.Name == "GC incremental sweep":
		of.phase = Sweep
	case strings.HasPrefix(r.Name, "stop-the-world (GC "):
		of.phase = Stop
	case strings.HasPrefix(r.Name, "stop-the-world"):
		of.phase = OtherStop
	default:
		return
	}
	switch {
	case begins && !d.open[of]:
		d.open[of] = true
		d.active[of.phase]++
	case !begins && d.open[of]:
		delete(d.open, of)
		d.active[of.phase]--
	}
}

// label records the kind of a collector's worker that runs.
func (d *decoder) label(l exptrace.Label) {
	var kind Phase
	switch l.Label {
	case "GC (dedicated)", "GC (fractional)":
		kind = Dedicated
	case "GC (idle)":
		kind = Idle
	default:
		return
	}
	g := l.Resource.Goroutine()
	w := d.workers[g]
	if w == nil {
		w = new(worker)
		d.workers[g] = w
	}
	if w.running {
		d.active[w.kind]--
	}
	w.kind, w.running = kind, true
	d.active[kind]++
}

// moved records that a goroutine starts or stops running.
func (d *decoder) moved(g exptrace.GoID, from, to exptrace.GoState, at int64) {
	if w := d.workers[g]; w != nil {
		if runs := to.Executing(); runs != w.running {
			w.running = runs
			if runs {
				d.active[w.kind]++
			} else {
				d.active[w.kind]--
			}
		}
		return
	}
	if to == exptrace.GoRunnable {
		d.ready[g] = at
		return
	}
	if since, ok := d.ready[g]; ok && from == exptrace.GoRunnable {
		delete(d.ready, g)
		if to == exptrace.GoRunning {
			d.op(Waits, since, at)
		}
	}
	if to == exptrace.GoNotExist {
		delete(d.regions, g)
	}
}

func (d *decoder) op(kind string, start, end int64) {
	if ops := d.line.Ops[kind]; len(ops) < maxOps {
		d.line.Ops[kind] = append(ops, Op{start, end})
	}
}
