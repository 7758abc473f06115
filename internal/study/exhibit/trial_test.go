package exhibit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// runTrial runs n trials of a kind and returns how many had its outcome.
func runTrial(t *testing.T, kind, n string) (hits float64, rec *cell.Record) {
	t.Helper()
	rec = new(cell.Record)
	task := build(t, "trial", given{"kind": kind, "trials": n}, 1).(workload.Whole)
	if err := task.Run(context.Background(), rec); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return rec.Metrics["/trial/hits:trials"], rec
}

// TestTrials holds the faults that do not depend on time: each trial shows its
// fault every time.
func TestTrials(t *testing.T) {
	for _, c := range []struct {
		kind, n string
		hits    float64
	}{
		{"during-beside-enable", "3", 3}, {"controller-env", "3", 0}, {"gc-while-off", "3", 3}, {"percent-leak", "3", 3}, {"stale-timestamp", "50", 50},
		{"sharded-pool", "8", 1}, {"arena-slot", "20", 20}, {"arena-tokens", "20", 20}, {"arena-large", "20", 20},
	} {
		before := workload.GOGC()
		hits, rec := runTrial(t, c.kind, c.n)
		if hits != c.hits {
			t.Errorf("%s: %v of %s, want %v", c.kind, hits, c.n, c.hits)
		}
		if rec.Metrics["/trial/count:trials"] < hits {
			t.Errorf("%s: more hits than trials", c.kind)
		}
		if after := workload.GOGC(); after != before {
			t.Errorf("%s leaves GOGC at %d, it was %d", c.kind, after, before)
		}
	}
}

// TestTrialRaces holds that the races can occur; how often depends on the
// machine.
func TestTrialRaces(t *testing.T) {
	if hits, _ := runTrial(t, "force-beside-enable", "10"); hits == 0 {
		t.Error("ForceGC beside EnableGC never left the collector off in 10 trials")
	}
	if invariant.Race || testing.Short() {
		return // 134 MB, marked under the race detector
	}
	if _, rec := runTrial(t, "off-while-marking", "2"); rec.Metrics["/trial/call:ns"] <= 0 || rec.Metrics["/trial/cycle:ns"] <= 0 {
		t.Errorf("no times: %v", rec.Metrics)
	}
}

// TestSyncPoolKeepsOneCycle: a race build drops some of the objects put.
func TestSyncPoolKeepsOneCycle(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds drop objects at random")
	}
	if hits, _ := runTrial(t, "syncpool-after-1", "50"); hits == 50 {
		t.Error("one collection emptied the pool: nothing was kept for a second one")
	}
}

func TestTrialUnknownKind(t *testing.T) {
	w, err := workload.Lookup("trial")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resolve(map[string]string{"kind": "arena-slots"}); err == nil || !strings.Contains(err.Error(), `did you mean "arena-slot"`) {
		t.Errorf("an unknown kind: %v", err)
	}
	if kinds := slices.Sorted(maps.Keys(trialKinds)); len(kinds) < 10 {
		t.Errorf("only %q are registered", kinds)
	}
}

// TestSeedWorkloads holds how much document 000's operations allocate, and that both ways
// of removing an object keep the list's length.
func TestSeedWorkloads(t *testing.T) {
	if !invariant.Race {
		for pool, want := range map[string]float64{"off": 2, "on": 1} {
			if allocs, _ := perOperation(build(t, "tickpool", given{"pool": pool}, 1).(workload.Closed), 500); allocs < want-0.05 || allocs > want+0.05 {
				t.Errorf("tickpool --pool %s: %v allocations an operation, want %v", pool, allocs, want)
			}
		}
	}
	for _, way := range []string{"shift", "swap"} {
		r := build(t, "retain", given{"remove": way, "retained": "2000"}, 1).(*retain)
		r.Loop(0, 5000)
		if len(r.list) != 2000 {
			t.Errorf("%s: %d objects, want 2000", way, len(r.list))
		}
	}
}

// TestTickerDrops compares the delivered ticks with those due.
func TestTickerDrops(t *testing.T) {
	d, err := build(t, "ticker", given{"tickrate": "1000", "duration": "50ms"}, 1).(workload.Driven).Drive(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if d.Due != 50 || d.Done < 1 || d.Done > d.Due+1 || d.Service.Count() != uint64(d.Done) {
		t.Errorf("due %d, done %d, timed %d", d.Due, d.Done, d.Service.Count())
	}
}

// TestBatchesRestoreGOGC: the toggling controller is gone once the task is
// closed.
func TestBatchesRestoreGOGC(t *testing.T) {
	before := workload.GOGC()
	t.Run("task", func(t *testing.T) { // its end closes the task
		build(t, "batches", given{"toggle": "on", "interval": "1ms", "garbage": "64", "live": "1MB"}, 1).(workload.Closed).Loop(0, 200)
	})
	if after := workload.GOGC(); after != before {
		t.Errorf("GOGC is %d, it was %d", after, before)
	}
}
