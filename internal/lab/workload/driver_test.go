package workload

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// testStrategy replaces package strategy, which this package must not import.
func testStrategy(name string, size, workers int) ([]func(work func([]byte) uint64) uint64, error) {
	if name != "plain" && name != "other" {
		return nil, fmt.Errorf("no strategy %q", name)
	}
	fresh := func(work func([]byte) uint64) uint64 { return work(make([]byte, size)) }
	return slices.Repeat([]func(work func([]byte) uint64) uint64{fresh}, workers), nil
}

type given map[string]string

func tryBuild(name string, g given, seed uint64) (Task, error) {
	w, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	p, err := w.Resolve(g)
	if err != nil {
		return nil, err
	}
	return w.New(Env{Params: p, GC: cell.DefaultGC, Seed: seed, Strategy: testStrategy})
}

func build(t testing.TB, name string, g given, seed uint64) Task {
	t.Helper()
	task, err := tryBuild(name, g, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := task.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	})
	return task
}

// drive performs ops operations of a closed task on each worker, in pieces of
// the given size, on all workers at once.
func drive(task Closed, ops, piece int64) uint64 {
	sums := make([]uint64, task.Workers()) // sums[i] belongs to worker i until Wait
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			for left := ops; left > 0; left -= piece {
				sums[i] += task.Loop(i, min(piece, left))
			}
		})
	}
	wg.Wait()
	var sum uint64
	for _, s := range sums {
		sum += s
	}
	return sum
}

// driveOpen performs the operations of an open task as fast as it can.
func driveOpen(task Open) (sum uint64, dues []time.Duration, err error) {
	for {
		due, ok, err := task.Next()
		if err != nil || !ok {
			return sum, dues, err
		}
		dues = append(dues, due)
		sum += task.Do()
	}
}

// closedVariants lists configurations of each closed workload that do equal
// work, and how many operations to try.
var closedVariants = map[string]struct {
	ops      int64
	variants []given
}{
	"alloc":      {3000, []given{{"retained": "50"}, {"retained": "50", "iterations": "0"}}},
	"strategies": {500, []given{{"goroutines": "3"}, {"goroutines": "3", "strategy": "other"}}},
	"buffers": {200, []given{
		{"goroutines": "3", "capacity": "2", "pool": "none"}, {"goroutines": "3", "capacity": "2", "pool": "mutex"},
		{"goroutines": "3", "capacity": "2", "pool": "sharded"}, {"goroutines": "3", "capacity": "2", "pool": "syncpool"}}},
	"prealloc": {100, []given{{"hint": "off"}, {"hint": "on"}}},
	"values":   {1000, []given{{"return": "value", "size": "large"}, {"return": "pointer", "size": "large"}}},
	"httpmem": {200, []given{
		{"workers": "3", "held": "7", "mode": "heap"}, {"workers": "3", "held": "7"}, {"workers": "3", "held": "7", "mode": "slab"}, {"workers": "3", "held": "7", "mode": "arena"},
		{"workers": "3", "held": "7", "mode": "arena", "offheap": "on"}}},
	"workers": {20, []given{{"mode": "spawn"}, {"mode": "reuse"}, {"mode": "reuse", "goroutines": "1"}}},
}

func TestEqualWorkHasEqualChecksum(t *testing.T) {
	for name, c := range closedVariants {
		checkVariants(t, name, c.ops, c.variants)
	}
	checkVariants(t, "prealloc", 100, []given{{"kind": "map", "hint": "off"}, {"kind": "map", "hint": "on"}})
	checkVariants(t, "values", 1000, []given{{"return": "value"}, {"return": "pointer"}})
}

func checkVariants(t *testing.T, name string, ops int64, variants []given) {
	t.Helper()
	want := drive(build(t, name, variants[0], 1).(Closed), ops, ops)
	if want == 0 {
		t.Errorf("%s: checksum 0", name)
	}
	for _, g := range variants {
		for _, piece := range []int64{1, 7, ops} {
			if got := drive(build(t, name, g, 1).(Closed), ops, piece); got != want {
				t.Errorf("%s %v, %d at a time: checksum %#x, want %#x", name, g, piece, got, want)
			}
		}
		if name == "strategies" { // its work is the document's, the same for every seed
			continue
		}
		if got := drive(build(t, name, g, 2).(Closed), ops, ops); got == want {
			t.Errorf("%s %v: another seed, the same checksum", name, g)
		}
	}
}

func TestDefaultsBuild(t *testing.T) {
	for name := range closedVariants {
		task := build(t, name, nil, 1).(Closed)
		ops, d := task.Budget()
		if ops < 0 || d < 0 || ops == 0 && d == 0 || task.Workers() < 1 {
			t.Errorf("%s: budget %d, %v, %d workers", name, ops, d, task.Workers())
		}
		if r, ok := task.(Reporter); ok {
			task.Loop(0, 1)
			var rec cell.Record
			r.Report(&rec)
			if len(rec.Metrics) == 0 {
				t.Errorf("%s reports nothing", name)
			}
		}
	}
}

func TestWorkloadsRefuse(t *testing.T) {
	both := given{"iterations": "0", "duration": "0"}
	for _, c := range []struct {
		name string
		g    given
		want string
	}{
		{"alloc", both, "iterations and duration are both 0"},
		{"alloc", given{"size": "2GiB"}, "want a size from 0B to 1GiB"},
		{"alloc", given{"retain": "101"}, "want a number from 0 to 100"},
		{"alloc", given{"refs": "0"}, "want a whole number from 1"},
		{"alloc", given{"siez": "1"}, `did you mean "size"?`},
		{"strategies", both, "iterations and duration are both 0"},
		{"strategies", given{"strategy": "fast"}, `workload: strategies: no strategy "fast"`},
		{"strategies", given{"size": "0"}, "want a size from 1B"},
		{"buffers", both, "iterations and duration are both 0"},
		{"buffers", given{"pool": "lock"}, "want one of none, mutex, sharded, syncpool"},
		{"buffers", given{"rows": "10", "window": "11"}, "lower --window or raise --rows"},
		{"httpmem", given{"mode": "heap", "offheap": "on"}, "choose slab or arena"},
		{"prealloc", both, "iterations and duration are both 0"},
		{"prealloc", given{"kind": "list"}, "want one of slice, map"},
		{"prealloc", given{"hint": "maybe"}, "want on or off"},
		{"values", both, "iterations and duration are both 0"},
		{"values", given{"size": "medium"}, "want one of small, large"},
		{"workers", both, "iterations and duration are both 0"},
		{"workers", given{"mode": "thread"}, "want one of spawn, reuse"},
		{"market", given{"tickrate": "0"}, "want a whole number from 1"},
		{"market", given{"duration": "0"}, "--duration 0 never ends without --input"},
		{"market", given{"pace": "recorded"}, "name it with --input"},
		{"market", given{"pace": "slow"}, "want one of fixed, recorded"},
		{"market", given{"input": "no-such-file.csv"}, "no-such-file.csv"},
		{"marekt", nil, `did you mean "market"?`},
	} {
		if _, err := tryBuild(c.name, c.g, 1); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "workload: ") {
			t.Errorf("%s %v: %v, want workload: ... %s", c.name, c.g, err, c.want)
		}
	}
}

// TestDefaultsAreValid: every default passes its own check.
func TestDefaultsAreValid(t *testing.T) {
	for _, w := range All() {
		if _, err := w.Resolve(nil); err != nil {
			t.Error(err)
		}
	}
}

// TestLoadCommandHasNoRate: parameters that a load command does without are not part of its configuration.
func TestLoadCommandHasNoRate(t *testing.T) {
	w, err := Lookup("serve")
	if err != nil {
		t.Fatal(err)
	}
	for load, want := range map[string]bool{"": true, "./load": false} {
		p, err := w.Resolve(given{"load": load})
		if _, rate := p["rate"]; err != nil || rate != want || p["stop-within"] == "" {
			t.Errorf("load %q: %v, %v", load, p, err)
		}
	}
}

// TestResolveNamesTheFirst: if several parameters are unknown, the error always names
// the same one.
func TestResolveNamesTheFirst(t *testing.T) {
	w, err := Lookup("prealloc")
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		_, err := w.Resolve(given{"zz": "1", "aa": "1", "mm": "1"})
		if err == nil || !strings.Contains(err.Error(), `no parameter "aa"`) {
			t.Fatalf("%v, want an error about aa", err)
		}
	}
}
