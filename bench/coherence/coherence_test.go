package coherence

import (
	"math"
	"testing"
)

// costs are round, so that sums can be foreseen.
var costs = Costs{Lock: 2, Move: 30, Write: 3, Read: 4, Keep: 0.5, Pause: 300, Yield: 60}

// TestProtocol follows one line, and lines of a stream, from CPU to CPU.
func TestProtocol(t *testing.T) {
	m := NewMachine(costs, 2)
	a, b := m.cpus[0], m.cpus[1]
	at := func(c *CPU, want float64, what string) {
		t.Helper()
		if c.now != want {
			t.Errorf("%s: at %v ns, want %v", what, c.now, want)
		}
	}
	w := m.Line(2)
	stream := m.Stream(8, 2)
	end := m.Run(func(c *CPU) {
		if c == a {
			c.Add(&w[0], 1)
			at(a, 2, "a's addition to a line of nobody")
			c.Store(&w[1], 1)
			c.Load(&w[0])
			at(a, 2, "a's store and load")
			for i := range stream {
				c.Store(&stream[i], 7)
			}
			c.now = 1000 // b goes on
			c.Add(&w[0], 1)
			at(a, 1032, "a's addition to a line that b has taken over")
			return
		}
		c.now = 100
		c.Load(&w[0])
		at(b, 130, "b's load of what a has written")
		c.Add(&w[0], 1)
		at(b, 132, "b's addition: the line has moved with the load")
		c.Load(&stream[0])
		at(b, 162, "b's first load of a stream")
		c.Load(&stream[1])
		c.Load(&stream[2])
		c.Load(&stream[4])
		at(b, 170, "b's loads of the next lines")
		if v := c.Load(&stream[4]); v != 7 {
			t.Errorf("b reads %d, want 7", v)
		}
	})
	if end != 1032 || w[0].v != 3 {
		t.Errorf("ends at %v with %d, want 1032 and 3", end, w[0].v)
	}
}

// Lines that two CPUs read are shared until one writes.
func TestShared(t *testing.T) {
	m := NewMachine(costs, 3)
	w := &m.Line(1)[0]
	var after [3]float64
	m.Run(func(c *CPU) {
		c.now = float64(100 * c.id)
		if c.id == 0 {
			c.Store(w, 1)
			c.now = 1000
			c.CAS(w, 1, 2)
		} else {
			c.Load(w)
			c.now = 500
			c.Load(w)
		}
		after[c.id] = c.now
	})
	if want := [3]float64{1032, 500, 500}; after != want {
		t.Errorf("CPUs end at %v, want %v", after, want)
	}
}

// Of two CPUs that add to one line, each keeps it for Keep of a move: a move
// per Keep·Move/Lock additions, as Costs.Keep is calibrated.
func TestKeep(t *testing.T) {
	const each = 10_000
	m := NewMachine(costs, 2)
	w := &m.Line(1)[0]
	per := m.Run(func(c *CPU) {
		for range each {
			c.Add(w, 1)
		}
	}) / (2 * each)
	if want := costs.Lock / costs.Keep; math.Abs(per/want-1) > 0.2 || w.v != 2*each {
		t.Errorf("%.2f ns an addition, want about %.2f; sum %d", per, want, w.v)
	}
}

// TestMoves counts what an operation moves: nothing in a pool, and in the queue
// of a producer that waits for its consumer each line there and back.
func TestMoves(t *testing.T) {
	for _, s := range Subjects {
		got := s.Moves(costs, Work{10, 10}, 2)
		switch {
		case s.round != nil && s.Bench != "pool.Bounded/burst=1" && s.Bench != "recorder.RecordParallel":
			if got != (Moves{}) {
				t.Errorf("%s %s: %+v, want none", s.Bench, s.Impl, got)
			}
		case s.Bench == mpscBench && s.Impl == "isobar":
			if got.Locked < 2 || got.Waited+got.Ahead < 0.5 || got.Waited > 3 {
				t.Errorf("%s %s: %+v", s.Bench, s.Impl, got)
			}
		}
	}
	m := NewMachine(costs, 2)
	w := &m.Line(1)[0]
	m.Run(func(c *CPU) {
		for i := range 100 {
			c.now = float64(1000*i + 500*c.id) // in turn
			c.Add(w, 1)
		}
	})
	if m.moves.Waited != 199 || m.moves.Ahead != 0 {
		t.Errorf("%+v of 200 additions in turn, want 199", m.moves)
	}
}

// What was measured on one CPU is what the calibrated model says of one, and
// what nobody shares costs as much on each of many.
func TestCalibrate(t *testing.T) {
	for _, s := range Subjects {
		const all = 90.0
		work := s.Calibrate(costs, all, 50)
		if got := s.Predict(costs, work, 1); math.Abs(got/all-1) > 0.05 {
			t.Errorf("%s %s: %.1f ns on one CPU, calibrated by %v", s.Bench, s.Impl, got, all)
		}
		two := s.Predict(costs, work, 2)
		if two <= 0 || math.IsNaN(two) {
			t.Errorf("%s %s: %v ns on two CPUs", s.Bench, s.Impl, two)
		}
	}
	if s := Subjects[10]; math.Abs(16*s.Predict(costs, Work{50, 50}, 16)/100-1) > 0.05 {
		t.Errorf("%s %s costs more on 16 CPUs than on one", s.Bench, s.Impl)
	}
}
