package exhibit

import (
	"maps"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
	"github.com/isobar-go/isobar/internal/study/ingress"
	"github.com/isobar-go/isobar/latency"
)

// A chanLoop hands over tasks but loses or reorders some.
type chanLoop struct {
	tasks chan func()
	done  chan struct{}
	lose  int // number of the task to lose; 0 for none
	swap  int // number of the task to run after the next one; 0 for none
}

func init() {
	for _, l := range []chanLoop{{lose: 100}, {swap: 100}} {
		name := "test-losing"
		if l.swap > 0 {
			name = "test-swapping"
		}
		ingress.Register(name, func(ingress.Config) (ingress.Loop, error) {
			started := &chanLoop{tasks: make(chan func(), 64), done: make(chan struct{}), lose: l.lose, swap: l.swap}
			go started.run()
			return started, nil
		})
	}
}

func (l *chanLoop) run() {
	defer close(l.done)
	var late func()
	i := 0
	for f := range l.tasks {
		switch i++; i {
		case l.lose:
		case l.swap:
			late = f
		default:
			f()
			if late != nil {
				late()
				late = nil
			}
		}
	}
}

func (l *chanLoop) Submit(_ int, f func()) { l.tasks <- f }

func (l *chanLoop) SubmitBatch(_ int, fs []func()) {
	for _, f := range fs {
		l.tasks <- f
	}
}

func (l *chanLoop) Close() error {
	close(l.tasks)
	<-l.done
	return nil
}

// TestLoopNoticesLoss: a task that is lost or runs out of order fails the cell.
func TestLoopNoticesLoss(t *testing.T) {
	for name, want := range map[string]string{
		"test-losing": "999 of 1000 tasks ran, 900 of them out of turn", "test-swapping": "1000 of 1000 tasks ran, 2 of them out of turn"} {
		task, err := tryBuild("loop", given{"ingress": name, "inflight": "2048"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			task.(workload.Closed).Loop(0, 1)
		}
		if err := task.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestLoopDoesEqualWork holds that the sum depends on the seed and on none of
// the compared parameters.
func TestLoopDoesEqualWork(t *testing.T) {
	const ops = 1000
	sum := func(g given, seed uint64, piece int64) uint64 {
		g = maps.Clone(g)
		g["producers"] = "3"
		return drive(build(t, "loop", g, seed).(workload.Closed), ops, piece)
	}
	want := sum(given{}, 1, ops)
	for _, g := range []given{
		{}, {"batch": "64"}, {"mode": "pingpong"}, {"ingress": "ablation", "arena": "on"}, {"inflight": "5"},
	} {
		for _, piece := range []int64{1, 7, ops} {
			if got := sum(g, 1, piece); got != want || got == 0 {
				t.Errorf("%v, %d at a time: checksum %#x, want %#x", g, piece, got, want)
			}
		}
		if sum(g, 2, ops) == want {
			t.Errorf("%v: another seed, the same checksum", g)
		}
	}
}

// TestLoopCollects checks the number of collections and what their time is charged to.
func TestLoopCollects(t *testing.T) {
	for _, g := range []given{
		{"producers": "1"}, {"producers": "1", "batch": "64"}, {"producers": "2"}, {"mode": "pingpong"}, {"burst": "1000"},
	} {
		g["gc-every"] = "100"
		l := build(t, "loop", g, 1).(*loop)
		ops := int64(1000) / max(l.burst, 1)
		drive(l, ops, ops)
		if l.burst == 0 {
			drive(l, 200, 1)
		}
		p := l.producers[0]
		if want := max(p.given+(100-p.given%100)%100, 100); p.nextGC != want {
			t.Errorf("%v: the next collection comes before task %d, want %d", g, p.nextGC, want)
		}
		if p.gc.ops != 1000 && l.burst == 0 || p.gc.spent <= 0 {
			t.Errorf("%v: %v in collections during %d tasks, want some during 1000", g, p.gc.spent, p.gc.ops)
		}
		rec := cell.Record{Metrics: map[string]float64{cell.OpTime: 1e12}}
		l.Report(&rec)
		gc, task, rest := rec.Metrics["/loop/gc/time:ns"], rec.Metrics["/loop/task/time:ns"], rec.Metrics["/loop/rest/time:ns"]
		if gc <= 0 || len(l.producers) == 1 && task-gc != rest || len(l.producers) > 1 && rest != 0 {
			t.Errorf("%v: %v ns a task, %v of it in collections, %v not", g, task, gc, rest)
		}
	}
}

// TestLoopLatency holds that both distributions contain every timed task.
func TestLoopLatency(t *testing.T) {
	l := build(t, "loop", given{"producers": "3", "inflight": "300"}, 1).(*loop)
	drive(l, 500, 1)
	for _, p := range l.producers {
		p.finish()
	}
	var rec cell.Record
	l.Report(&rec)
	for _, name := range []string{cell.HistService, cell.HistResponse} {
		var h latency.Histogram
		if err := h.UnmarshalBinary(rec.Latency[name]); err != nil || h.Count() != 1500 {
			t.Errorf("%s: %d values, %v; want 1500", name, h.Count(), err)
		}
	}
}

// TestLoopWindow: no more tasks are in flight than allowed.
func TestLoopWindow(t *testing.T) {
	for _, g := range []given{{"inflight": "1"}, {"inflight": "63"}, {"inflight": "200"}, {"inflight": "200", "batch": "64"}, {"inflight": "400", "producers": "3"}} {
		l := build(t, "loop", g, 1).(*loop)
		most := make([]int64, len(l.producers)) // each belongs to its producer
		l.in = watch{l.in, func(producer, size int) {
			p := l.producers[producer]
			most[producer] = max(most[producer], p.given+int64(size)-p.public.Load())
		}}
		drive(l, 2000, 500)
		drive(l, 2000, 1)
		for i, p := range l.producers {
			// The step not yet reported by the loop counts as in flight; so does flush.
			if most[i] > p.window+p.step {
				t.Errorf("%v: %d tasks in flight, want at most %d", g, most[i], p.window)
			}
		}
	}
}

// A watch checks before each submission.
type watch struct {
	ingress.Loop
	look func(producer, size int)
}

func (w watch) Submit(producer int, f func()) {
	w.look(producer, 1)
	w.Loop.Submit(producer, f)
}

func (w watch) SubmitBatch(producer int, fs []func()) {
	w.look(producer, len(fs))
	w.Loop.SubmitBatch(producer, fs)
}

func TestLoopRefuses(t *testing.T) {
	for _, c := range []struct {
		g    given
		want string
	}{
		{given{"ingress": "mian"}, `unknown strategy "mian"`},
		{given{"arena": "on"}, "--arena is a switch of --ingress ablation"},
		{given{"mode": "pingpong", "burst": "10"}, "leave out --burst and --batch"},
		{given{"inflight": "100", "batch": "2"}, "want 128 for each producer"},
		{given{"producers": "17"}, "want a whole number from 1 to 16"},
		{given{"iterations": "0"}, "iterations and duration are both 0"},
	} {
		if _, err := tryBuild("loop", c.g, 1); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "workload: ") {
			t.Errorf("%v: %v, want workload: ... %s", c.g, err, c.want)
		}
	}
}
