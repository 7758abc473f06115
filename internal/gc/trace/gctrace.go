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

// A Cycle is one collection of a program as its line reports it, and as records keep it. The runtime
// rounds sizes down to a MiB. The zero value is not a cycle; copies are independent.
type Cycle struct {
	// Stream numbers the process that collected, from 0, as far as the sequence of N distinguishes
	// processes.
	Stream int `json:"stream,omitempty"`
	// N numbers the collections of the process, from 1. It is 0 in old records,
	// which also lack Leaks, Percent and all times but At, Mark, CPU and Idle.
	N       uint64 `json:"n,omitempty"`
	Percent int64  `json:"percent,omitempty"` // share of the available CPU collection took since process start
	AtNs    int64  `json:"at_ns"`             // its start, since that process began
	// MarkNs is wall time of marking, with the scan and the write-barrier phase that Go 1.5 reported
	// separately. The world stops before and after it.
	MarkNs        int64 `json:"mark_ns"`
	SweepNs       int64 `json:"sweep_ns,omitempty"`
	TerminationNs int64 `json:"termination_ns,omitempty"`
	// CPUNs is CPU time taken from the program, over all Ps: stopping the world, assists and
	// dedicated workers, with the scan phases of Go 1.5. IdleNs is marking on otherwise idle CPUs.
	CPUNs       int64 `json:"cpu_ns"`
	AssistNs    int64 `json:"assist_ns,omitempty"`
	DedicatedNs int64 `json:"dedicated_ns,omitempty"`
	IdleNs      int64 `json:"idle_ns,omitempty"`
	// The heap at the start, at the end of marking, and after it; the goal (in records 0 for none);
	// and what was scanned besides the heap, which Go prints since 1.18.
	StartBytes  int64 `json:"start_bytes"`
	EndBytes    int64 `json:"end_bytes"`
	LiveBytes   int64 `json:"live_bytes"`
	GoalBytes   int64 `json:"goal_bytes,omitempty"`
	StackBytes  int64 `json:"stack_bytes,omitempty"`
	GlobalBytes int64 `json:"global_bytes,omitempty"`
	Procs       int   `json:"procs"`            // GOMAXPROCS
	Forced      bool  `json:"forced,omitempty"` // started by runtime.GC
	Leaks       bool  `json:"leaks,omitempty"`  // also looked for leaked goroutines
}

// PauseNs returns the wall time for which the cycle stopped the world.
func (c Cycle) PauseNs() int64 { return c.SweepNs + c.TerminationNs }

// PauseCPUNs returns the CPU time of stopping the world.
func (c Cycle) PauseCPUNs() int64 { return c.CPUNs - c.AssistNs - c.DedicatedNs }

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
	c := Cycle{N: uint64(p.int(1)), AtNs: p.ns("s"), Percent: p.int(1), Leaks: p.text() != ""}
	for _, ns := range []*int64{
		&c.SweepNs, &c.MarkNs, &c.MarkNs, &c.MarkNs, &c.TerminationNs,
		&c.CPUNs, &c.DedicatedNs, &c.DedicatedNs, &c.AssistNs, &c.DedicatedNs, &c.IdleNs, &c.CPUNs,
	} {
		*ns += p.ns("ms")
	}
	c.CPUNs += c.AssistNs + c.DedicatedNs
	for _, b := range []*int64{&c.StartBytes, &c.EndBytes, &c.LiveBytes, &c.GoalBytes, &c.StackBytes, &c.GlobalBytes} {
		*b = p.int(1 << 20)
	}
	c.Procs, c.Forced = int(p.int(1)), p.text() != ""
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

// ns reads a time with up to three decimals exactly, 0 if the line has none.
func (p *lineParser) ns(unit string) int64 {
	d, err := time.ParseDuration(cmp.Or(p.text(), "0") + unit)
	p.err = cmp.Or(p.err, err)
	return int64(d)
}
