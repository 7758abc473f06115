// Package trace parses the output of GODEBUG=gctrace=1 and separates it from
// the program's own standard error.
//
// The runtime prints one line per collection, but not in one piece. It writes
// some forty fragments ("gc ", "1", " @", "0.012", "s ", ...), and other
// threads of the program may write between them. Read as lines, such a stream
// loses cycles and garbles the program's output. [ReadPackets] therefore reads
// from a pipe in packet mode, where every write arrives separately, and
// recognises runtime lines by their sequence of fragments. [ReadLines] is for
// platforms without such pipes.
//
// A line that arrives whole does not come from a runtime that writes to this stream. Either
// a subprocess printed it and its parent relayed it, as the go command does for its
// compilers, or the program forged it. Such lines are counted but not trusted.
//
// The formats are those of Go 1.5 and later (package runtime, "Environment
// Variables"). Three are known: Go 1.5 had five phases, Go 1.6 has the three of
// today, and Go 1.18 added stacks and globals. Times have two or three
// significant digits, because the runtime truncates the rest. Nothing here is
// safe for concurrent use.
package trace

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// A Cycle is one collection as reported by its line. The zero value is not a cycle; copies are independent.
type Cycle struct {
	N  uint64        // number within the process, from 1
	At time.Duration // when it began, since process start
	// Percent is the share of the available CPU time that collections have taken
	// since process start.
	Percent int64
	// Wall time of the three phases. The first and the last stop the world. Marking
	// includes the scan and the write-barrier phase that Go 1.5 reported separately.
	SweepTermination, Marking, MarkTermination time.Duration
	// CPU time, over all Ps. DedicatedCPU includes the scan phases of Go 1.5.
	SweepTerminationCPU, AssistCPU, DedicatedCPU, IdleCPU, MarkTerminationCPU time.Duration
	// The heap at the start and end of the cycle, the part marked live, and the
	// cycle's goal, all in bytes rounded down to a MiB.
	StartBytes, EndBytes, LiveBytes, GoalBytes int64
	// Roots scanned besides the heap; 0 before Go 1.18, which did not print them.
	StackBytes, GlobalBytes int64
	Procs                   int64 // GOMAXPROCS
	Forced                  bool  // started by runtime.GC
	Leaks                   bool  // the cycle looked for leaked goroutines
	// Stream is the number of the process that printed the cycle, from 0, as far
	// as the sequence of N distinguishes processes.
	Stream int
}

// Pause returns the wall time for which the cycle stopped the world.
func (c Cycle) Pause() time.Duration { return c.SweepTermination + c.MarkTermination }

// CPU returns the CPU time of the cycle, including idle-time marking.
func (c Cycle) CPU() time.Duration {
	return c.SweepTerminationCPU + c.AssistCPU + c.DedicatedCPU + c.IdleCPU + c.MarkTerminationCPU
}

const (
	number  = `([0-9]{1,18})`
	decimal = `([0-9]{1,9}(?:\.[0-9]{1,3})?)`
	scan    = `(?:\+` + decimal + `\+` + decimal + `)?` // two phases of Go 1.5, before marking
)

var linePattern = regexp.MustCompile(
	`^gc ` + number + ` @` + decimal + `s (-?[0-9]{1,9})%( \(checking for goroutine leaks\))?: ` +
		decimal + scan + `\+` + decimal + `\+` + decimal + ` ms clock, ` +
		decimal + scan + `\+` + decimal + `/` + decimal + `/` + decimal + `\+` + decimal + ` ms cpu, ` +
		number + `->` + number + `->` + number + ` MB, ` + number + ` MB goal, ` +
		`(?:` + number + ` MB stacks, ` + number + ` MB globals, )?` + number + ` P( \(forced\))?$`)

// ParseLine parses one line without its line end. It accepts exactly what the
// runtime prints, in any release since Go 1.5.
func ParseLine(line string) (Cycle, error) {
	m := linePattern.FindStringSubmatch(line)
	if m == nil {
		return Cycle{}, fmt.Errorf("trace: parse %.120q: not a gctrace line of Go 1.5 or later", line)
	}
	p := lineParser{fields: m[1:]}
	c := Cycle{N: uint64(p.int(1)), At: p.time("s"), Percent: p.int(1), Leaks: p.text() != ""}
	for _, d := range []*time.Duration{
		&c.SweepTermination, &c.Marking, &c.Marking, &c.Marking, &c.MarkTermination,
		&c.SweepTerminationCPU, &c.DedicatedCPU, &c.DedicatedCPU, &c.AssistCPU, &c.DedicatedCPU, &c.IdleCPU,
		&c.MarkTerminationCPU,
	} {
		*d += p.time("ms")
	}
	for _, b := range []*int64{&c.StartBytes, &c.EndBytes, &c.LiveBytes, &c.GoalBytes, &c.StackBytes, &c.GlobalBytes} {
		*b = p.int(1 << 20)
	}
	c.Procs, c.Forced = p.int(1), p.text() != ""
	if p.err != nil {
		return Cycle{}, fmt.Errorf("trace: parse %.120q: %w", line, p.err)
	}
	return c, nil
}

// lineParser reads the fields of a matched line in order and keeps the first
// error.
type lineParser struct {
	fields []string
	err    error
}

func (p *lineParser) text() string {
	s := p.fields[0]
	p.fields = p.fields[1:]
	return s
}

// int reads a whole number, 0 if the line has none. On overflow it returns the largest int64: with
// collection turned off, the goal is close to it.
func (p *lineParser) int(unit int64) int64 {
	s := cmp.Or(p.text(), "0")
	n, err := strconv.ParseInt(s, 10, 64)
	p.err = cmp.Or(p.err, err)
	return min(n, math.MaxInt64/unit) * unit
}

// time reads a number with up to three decimals exactly, 0 if the line has none.
func (p *lineParser) time(unit string) time.Duration {
	d, err := time.ParseDuration(cmp.Or(p.text(), "0") + unit)
	p.err = cmp.Or(p.err, err)
	return d
}
