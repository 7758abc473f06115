package workload

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// smallSpike returns a spike whose clock the test controls.
func smallSpike(t *testing.T, g given) (task *spike, clock *atomic.Int64) {
	t.Helper()
	all := given{"low": "1MiB", "high": "4MiB", "phase": "1s"}
	for k, v := range g {
		all[k] = v
	}
	task = build(t, "spike", all, 1).(*spike)
	clock = new(atomic.Int64)
	task.now = func() time.Duration { return time.Duration(clock.Load()) }
	return task, clock
}

func TestSpikeSteps(t *testing.T) {
	task, clock := smallSpike(t, nil)
	if ops, d := task.Budget(); ops != 0 || d != 3*time.Second {
		t.Errorf("budget %d, %v; want the three phases", ops, d)
	}
	n := int64(task.Workers())
	low, high := int(1<<20/TreeBytes/n), int(4<<20/TreeBytes/n)
	for _, c := range []struct {
		at   time.Duration
		ops  int64
		want int // trees that each worker keeps
	}{
		{0, 10, low},
		{time.Second - 1, 10, low},
		{time.Second, 5, low + 5}, // each adds one
		{time.Second, int64(2 * high), high},
		{2 * time.Second, 1, low}, // dropped at once
		{3 * time.Second, 7, low}, // after the phases
	} {
		clock.Store(int64(c.at))
		drive(task, c.ops, 3)
		for i, w := range task.workers {
			if len(w.store.trees) != c.want {
				t.Errorf("at %v worker %d keeps %d trees, want %d", c.at, i, len(w.store.trees), c.want)
			}
		}
	}
	rec := cell.Record{Timeline: cell.Timeline{
		AtNs:     []int64{0, 999e6, 1000e6, 1500e6, 2000e6, 2999e6, 3000e6},
		RSSBytes: []int64{10, 20, 50, 40, 39, 12, 99},
	}}
	task.Report(&rec)
	for metric, want := range map[string]float64{
		"phase-1/throughput:ops/s": float64(20 * n),
		"phase-2/throughput:ops/s": float64((5 + 2*int64(high)) * n),
		"phase-3/throughput:ops/s": float64(n),
		"phase-1/rss/peak:bytes":   20,
		"phase-2/rss/peak:bytes":   50,
		"phase-3/rss/peak:bytes":   39,
		"/spike/shed:calls":        0,
	} {
		if got, ok := rec.Metrics[metric]; !ok || got != want {
			t.Errorf("%s = %v (%v), want %v", metric, got, ok, want)
		}
	}
	if len(rec.Warnings) != 0 {
		t.Errorf("warnings %v", rec.Warnings)
	}
	cut := cell.Record{Metrics: map[string]float64{cell.WallTime: 2.9}}
	task.Report(&cut)
	if len(cut.Warnings) != 1 || cut.Warnings[0].Code != "spike-cut" {
		t.Errorf("a measurement of 2.9 s: warnings %v, want spike-cut", cut.Warnings)
	}
}

func TestSpikeSheds(t *testing.T) {
	task, clock := smallSpike(t, given{"shed": "on"})
	high := task.high
	clock.Store(int64(time.Second))
	drive(task, int64(2*high), 3)
	full := int64(high * len(task.workers) * TreeBytes)
	task.shed(gcctl.Shed{LiveBytes: full, ExcessBytes: full / 4})
	task.shed(gcctl.Shed{LiveBytes: full, ExcessBytes: 0}) // the bound never goes back up
	drive(task, 1, 1)
	if got, want := len(task.workers[0].store.trees), high*3/4; got != want {
		t.Errorf("with a quarter too much %d trees are kept, want %d of %d", got, want, high)
	}
	task.shed(gcctl.Shed{LiveBytes: full, ExcessBytes: full})
	drive(task, 2, 1)
	if got := len(task.workers[0].store.trees); got != 1 {
		t.Errorf("with all of it too much %d trees are kept, want 1", got)
	}
	clock.Store(int64(2 * time.Second))
	drive(task, int64(task.low), 1)
	if got := len(task.workers[0].store.trees); got != task.low {
		t.Errorf("in the third phase %d trees are kept, want %d", got, task.low)
	}
	var rec cell.Record
	task.Report(&rec)
	if got := rec.Metrics["/spike/shed:calls"]; got != 3 {
		t.Errorf("%v calls, want 3", got)
	}
}

func TestTreeStoreKeepsItsBound(t *testing.T) {
	s := newTreeStore(10, 20, rand.New(rand.NewPCG(1, 1)))
	nodes := func(n *treeNode) int { return 0 }
	nodes = func(n *treeNode) int {
		if n == nil {
			return 0
		}
		return 1 + nodes(n.left) + nodes(n.right)
	}
	for _, tree := range s.trees {
		if got := nodes(tree); got != treeNodes {
			t.Fatalf("a tree of %d nodes, want %d", got, treeNodes)
		}
	}
	before := len(s.trees)
	s.bound = 3
	s.put()
	if before != 10 || len(s.trees) != 3 {
		t.Errorf("%d and then %d trees, want 10 and 3", before, len(s.trees))
	}
	for i, tree := range s.trees[:10][3:] {
		if tree != nil {
			t.Errorf("dropped tree %d is still referred to", i)
		}
	}
	if s.read() == s.trees[0].sum()+s.trees[1].sum()+s.trees[2].sum() {
		t.Error("read walked more than one tree")
	}
}

func TestControllerParameters(t *testing.T) {
	for _, name := range []string{"none", "default", "off", "hybrid", "idle", "adaptive", "percent=200"} {
		task, err := tryBuild("spike", given{"low": "1MiB", "high": "1MiB", "controller": name, "limit": "1GiB"}, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := task.(*spike).ctl != nil; got != (name != "none") {
			t.Errorf("%s: a controller: %v", name, got)
		}
		if err := task.Close(); err != nil { // the next task needs this one closed
			t.Errorf("%s: Close: %v", name, err)
		}
	}
	for _, c := range []struct {
		name string
		g    given
		want string
	}{
		{"spike", given{"controller": "fast"}, "fast"},
		{"spike", given{"controller": "percent=-5"}, "percent"},
		{"spike", given{"limit": "much"}, "want a size from"},
		{"spike", given{"target-cpu": "1"}, "want a number from 0 to 0.5"},
		{"spike", given{"phase": "0"}, "want a duration from 1ms"},
		{"spike", given{"low": "1B"}, "want a size from 64KiB"},
		{"spike", given{"low": "8MiB", "controller": "adaptive", "limit": "1MiB"}, "gcctl: "},
		{"hybrid", given{"tickrate": "10", "busy": "20ms"}, "raise --tickrate or --busy"},
		{"hybrid", given{"busy": "0"}, "want a duration from 1µs"},
		{"hybrid", given{"sections": "some"}, "want on or off"},
	} {
		if task, err := tryBuild(c.name, c.g, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %s", c.name, c.g, err, c.want)
			if err == nil {
				task.Close()
			}
		}
	}
}
