//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestMachine follows lines by hand: a move takes 10 ns, an instruction 1.
func TestMachine(t *testing.T) {
	type op struct {
		cpu  int
		what access
		now  float64 // of the CPU, afterwards
	}
	load := func(addr uint64) access { return access{addr: addr} }
	store := func(addr uint64) access { return access{addr: addr, write: true} }
	lock := func(addr uint64) access { return access{addr: addr, write: true, locked: true} }
	for name, tc := range map[string]struct {
		ops   []op
		moves int
	}{
		"one CPU":   {[]op{{0, load(0), 1}, {0, store(8), 2}, {0, lock(63), 3}}, 0},
		"two lines": {[]op{{0, store(0), 1}, {1, store(64), 1}, {0, load(0), 2}, {1, load(64), 2}}, 0},
		"many readers, each fetches it once": {[]op{
			{0, store(0), 1}, {1, load(0), 11}, {2, load(0), 21}, {1, load(0), 12}, {2, load(0), 22}, {0, load(0), 2},
		}, 2},
		"a writer takes it from the readers": {[]op{
			{0, store(0), 1}, {1, load(0), 11}, {0, lock(0), 21}, {1, load(0), 31},
		}, 3},
		"one journey at a time": {[]op{{0, lock(0), 1}, {1, lock(0), 11}, {2, lock(0), 21}, {0, lock(0), 31}}, 3},
		"a store does not wait, a locked instruction waits for it": {[]op{
			{1, store(0), 1}, {0, store(0), 1}, {0, load(64), 2}, {0, lock(64), 11},
		}, 1},
	} {
		m := newMachine(3, 1, 10)
		for i, op := range tc.ops {
			m.step(op.cpu, []access{op.what})
			if m.now[op.cpu] != op.now {
				t.Errorf("%s: after step %d CPU %d is at %v, want %v", name, i, op.cpu, m.now[op.cpu], op.now)
			}
		}
		if m.moves != tc.moves {
			t.Errorf("%s: %d moves, want %d", name, m.moves, tc.moves)
		}
	}
}

// TestSimulate steps through real code: CPUs that share a counter pass its line on
// with each addition, and those that record latencies share nothing.
func TestSimulate(t *testing.T) {
	p, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for name, moves := range map[string][2]float64{"one atomic counter": {0.95, 1.05}, "latency.Recorder": {0, 0.1}} {
		r, err := simulate(p, name, machineOf(3, 1, 100), 90)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.moves < moves[0] || r.moves > moves[1] || r.ns <= 0 || r.instructions < 10 {
			t.Errorf("%s: %+v, want %v moves", name, r, moves)
		}
	}
}
