// Package coherence predicts what structures that CPUs share cost on more CPUs
// than there are to measure. It runs each structure's accesses to shared memory
// on simulated CPUs, which pass cache lines to each other by the MESI protocol,
// and adds up what a machine charges for them.
//
// A structure is a [Subject]: its algorithm in small, with every access to a word
// that more than one CPU touches, at the place in a cache line where the real
// word lies. Instructions in between are time, calibrated on one CPU.
// TestLocked holds the subjects to the locked instructions that the compiled
// structures execute. What a machine charges ([Costs]) is measured by package
// lines in the same run; see docs/adr/0022.
//
// The model leaves out: distances (all pairs of CPUs are as far apart as the two
// that were measured), the size of caches, goroutines that sleep or lose their CPU
// (a lock is waited for by spinning, so that structures with locks look better
// than they are), the garbage collector, and memory that is not in any cache.
package coherence

import (
	"iter"
	"math"
	"math/rand/v2"
)

// Costs are what a machine charges, in ns.
type Costs struct {
	Lock  float64 // a locked instruction on a line of one's own
	Move  float64 // a line that another CPU has written, until the next instruction can go on
	Write float64 // the same, by a write, if it was foreseen: one line after the other, all left alone for a while
	Read  float64 // the same, by a read
	Keep  float64 // how much of Move passes before the CPU that has the line must let go of it, 0 to 1
	Pause float64 // between two looks at a lock: 30 PAUSE instructions
	Yield float64 // runtime.Gosched with nothing else to run
}

// A Machine has CPUs that share memory.
type Machine struct {
	costs   Costs
	cpus    []*CPU
	streams int
	moves   Moves
}

// Moves counts lines that went from one CPU to another.
type Moves struct {
	Waited float64 // at Costs.Move
	Ahead  float64 // foreseen, at Costs.Write or Costs.Read
	Locked float64 // locked instructions beside them
}

// MaxCPUs is how many a machine may have.
const MaxCPUs = 128

// A set of CPUs.
type set [MaxCPUs / 64]uint64

func (s *set) add(c *CPU)     { s[c.id/64] |= 1 << (c.id % 64) }
func (s set) has(c *CPU) bool { return s[c.id/64]>>(c.id%64)&1 != 0 }
func (s set) empty() bool     { return s == set{} }

// only reports whether no other than c is in s.
func (s set) only(c *CPU) bool {
	s[c.id/64] &^= 1 << (c.id % 64)
	return s.empty()
}

// NewMachine returns a machine without memory.
func NewMachine(costs Costs, cpus int) *Machine {
	m := &Machine{costs: costs}
	for id := range cpus {
		m.cpus = append(m.cpus, &CPU{m: m, id: id, random: rand.New(rand.NewPCG(1, uint64(id)))})
	}
	return m
}

// A line is a cache line. Modified: owner, dirty. Exclusive: owner. Shared:
// sharers. Invalid, as seen by any other CPU.
type line struct {
	owner   *CPU
	dirty   bool // the owner has written since it got the line
	sharers set
	ready   float64 // when the last transfer ends; no other begins before
	touched float64 // when a CPU that has the line last used it
	next    *line   // of the stream; nil for the last
	stream  int     // which stream it is of: the next line is used next, and hardware may fetch it ahead; 0 for none
}

// A Word is in a cache line.
type Word struct {
	line *line
	v    uint64
}

// Line returns n words that share a cache line.
func (m *Machine) Line(n int) []Word {
	return m.stretch(n, n, 0)
}

// Stream returns n words, per of them to a cache line, that are used in order.
func (m *Machine) Stream(n, per int) []Word {
	m.streams++
	return m.stretch(n, per, m.streams)
}

func (m *Machine) stretch(n, per int, stream int) []Word {
	words := make([]Word, n)
	for i := range words {
		if i%per == 0 {
			words[i].line = &line{stream: stream, touched: math.Inf(-1)}
			if i > 0 {
				words[i-1].line.next = words[i].line
			}
		} else {
			words[i].line = words[i-1].line
		}
	}
	words[n-1].line.next = words[0].line
	return words
}

// A CPU executes one program.
type CPU struct {
	m      *Machine
	id     int
	now    float64
	stores float64 // when the last plain store is done; locked instructions wait for it
	random *rand.Rand
	locked int     // locked instructions executed
	at     []*line // by stream: the line it has used last
	pass   func(struct{}) bool
	next   func() (struct{}, bool)
	over   bool
}

// Run executes program on every CPU, and returns when the last one ends.
func (m *Machine) Run(program func(*CPU)) float64 {
	for _, c := range m.cpus {
		c.at = make([]*line, m.streams+1)
		var stop func()
		c.next, stop = iter.Pull(func(yield func(struct{}) bool) {
			c.pass = yield
			program(c)
		})
		defer stop()
	}
	for c := m.earliest(); c != nil; c = m.earliest() {
		_, more := c.next()
		c.over = !more
	}
	end := 0.0
	for _, c := range m.cpus {
		end = max(end, c.now)
	}
	return end
}

// earliest returns the CPU that is to act next, nil at the end.
func (m *Machine) earliest() *CPU {
	var first *CPU
	for _, c := range m.cpus {
		if !c.over && (first == nil || c.now < first.now) {
			first = c
		}
	}
	return first
}

// turn lets the CPUs act that are behind c.
func (c *CPU) turn() {
	if c.m.earliest() != c {
		c.pass(struct{}{})
	}
}

// Work spends about ns without touching what is shared: half of it to one and a
// half, so that CPUs do not keep in step as no real ones do.
func (c *CPU) Work(ns float64) { c.now += ns * (0.5 + c.random.Float64()) }

// Load reads w. Who reads what another CPU has written will likely write it too: the
// line moves. Lines that are read twice in a row are shared.
func (c *CPU) Load(w *Word) uint64 {
	c.turn()
	l := w.line
	if l.owner == c || l.sharers.has(c) {
		c.now = max(c.now, l.ready)
		l.use(c, c.now)
		return w.v
	}
	switch {
	case l.owner != nil:
		c.move(l, c.m.costs.Read)
	case !l.sharers.empty(): // any of them answers, at any time
		c.m.moves.Waited++
		c.now = max(c.now, l.ready) + c.m.costs.Move
	}
	switch {
	case l.owner != nil && !l.dirty:
		l.sharers.add(l.owner)
		l.sharers.add(c)
		l.owner = nil
	case !l.sharers.empty():
		l.sharers.add(c)
	default:
		l.owner, l.dirty = c, false
	}
	l.use(c, c.now)
	return w.v
}

// move waits until l is here. Meanwhile its owner may use it for a while.
func (c *CPU) move(l *line, foreseen float64) {
	costs := c.m.costs
	if l.foreseen(c) {
		c.m.moves.Ahead++
		c.now = max(c.now, l.ready) + foreseen
		l.ready = c.now
		return
	}
	c.m.moves.Waited++
	begin := max(c.now, l.ready)
	l.ready = begin + costs.Move
	c.now = begin + costs.Keep*costs.Move
	c.turn()
	c.now = begin + costs.Move
}

// foreseen reports whether c comes to l from the line before in a stream: what is used
// one after the other is asked for at once.
func (l *line) foreseen(c *CPU) bool {
	return l.stream > 0 && c.at[l.stream] != nil && c.at[l.stream].next == l
}

// use notes that c uses a line that it has, until now or later.
func (l *line) use(c *CPU, until float64) {
	l.touched = until
	if l.stream > 0 {
		c.at[l.stream] = l
	}
}

// own makes the line c's alone. wait says that c goes on only when it is.
func (c *CPU) own(l *line, wait bool) {
	alone := l.owner == c || l.owner == nil && l.sharers.only(c)
	if !alone {
		if wait {
			c.move(l, c.m.costs.Write)
		} else { // the store waits in the store buffer
			cost := c.m.costs.Move
			if l.foreseen(c) {
				c.m.moves.Ahead++
				cost = c.m.costs.Write
			} else if l.owner != nil || !l.sharers.empty() {
				c.m.moves.Waited++
			}
			l.ready = max(c.now, l.ready) + cost
			c.stores = max(c.stores, l.ready)
		}
	}
	l.owner, l.dirty = c, true
	l.sharers = set{}
	l.use(c, max(c.now, l.ready))
}

// Store writes w by a plain store.
func (c *CPU) Store(w *Word, v uint64) {
	c.turn()
	c.own(w.line, false)
	w.v = v
}

// lock begins a locked instruction on w.
func (c *CPU) lock(w *Word) {
	c.turn()
	c.own(w.line, true)
	c.now = max(c.now, c.stores) + c.m.costs.Lock
	w.line.use(c, c.now)
	c.locked++
}

// Swap writes w by a locked instruction, as atomic stores do on amd64.
func (c *CPU) Swap(w *Word, v uint64) { c.lock(w); w.v = v }

// Add adds to w and returns the sum.
func (c *CPU) Add(w *Word, d uint64) uint64 { c.lock(w); w.v += d; return w.v }

// CAS is a compare-and-swap.
func (c *CPU) CAS(w *Word, before, after uint64) bool {
	c.lock(w)
	if w.v != before {
		return false
	}
	w.v = after
	return true
}
