//go:build linux && amd64

package main

// A machine is CPUs whose caches keep the same memory by the protocol MESI, and
// the clock of each CPU. Caches are as large as need be: only what another CPU
// has written, or reads, costs anything.
type machine struct {
	move  float64   // ns that a line takes from a cache to another
	plain float64   // ns of an instruction
	now   []float64 // clocks
	drain []float64 // when the stores of a CPU have left it
	lines map[uint64]*line
	moves int
}

// A line is 64 bytes. One CPU has it to write, or several have it to read.
type line struct {
	owner   int // that may write; -1 for none
	readers map[int]bool
	busy    float64 // until when the line is on its way
}

// machineOf makes machines of CPUs.
func machineOf(cpus int, plain, move float64) func() *machine {
	return func() *machine { return newMachine(cpus, plain, move) }
}

func newMachine(cpus int, plain, move float64) *machine {
	return &machine{
		move: move, plain: plain, now: make([]float64, cpus), drain: make([]float64, cpus), lines: map[uint64]*line{},
	}
}

// fetch moves a line to a CPU at a time and returns when it is there. A line
// makes one journey at a time.
func (m *machine) fetch(l *line, at float64) float64 {
	m.moves++
	l.busy = max(l.busy, at) + m.move
	return l.busy
}

// An access is one of an instruction to memory.
type access struct {
	addr          uint64
	write, locked bool
}

// step adds an instruction of a CPU. A load waits for its line; a store leaves
// the CPU later, but a locked instruction waits for it and for all before.
func (m *machine) step(cpu int, accesses []access) {
	m.now[cpu] += m.plain
	for _, a := range accesses {
		l := m.lines[a.addr>>6]
		if l == nil { // nobody else had it
			l = &line{owner: cpu, readers: map[int]bool{cpu: true}}
			m.lines[a.addr>>6] = l
		}
		if a.locked {
			m.now[cpu] = max(m.now[cpu], m.drain[cpu])
		}
		switch alone := len(l.readers) == 1 && l.readers[cpu]; {
		case l.owner == cpu || alone:
			if a.write {
				l.owner = cpu
			}
		case a.write:
			there := m.fetch(l, max(m.now[cpu], m.drain[cpu]))
			l.owner = cpu
			clear(l.readers)
			l.readers[cpu] = true
			if m.drain[cpu] = there; a.locked {
				m.now[cpu] = there
			}
		case !l.readers[cpu]:
			m.now[cpu] = m.fetch(l, m.now[cpu])
			l.owner = -1
			l.readers[cpu] = true
		}
	}
}

// next is the CPU whose clock is behind the others'.
func (m *machine) next() int {
	first := 0
	for cpu, now := range m.now {
		if now < m.now[first] {
			first = cpu
		}
	}
	return first
}
