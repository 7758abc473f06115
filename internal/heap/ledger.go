package heap

import (
	"cmp"
	"io"
	"slices"
)

// A Line is one class of a ledger.
type Line struct {
	Class  string `json:"class"`
	Bytes  uint64 `json:"bytes"`
	Remedy string `json:"remedy,omitempty"` // what would shrink it
	Proof  string `json:"proof,omitempty"`  // the command that shows by how much
}

// A Ledger says where the resident memory of a process is.
type Ledger struct {
	Target  string `json:"target"`
	Program string `json:"program"`
	RSS     uint64 `json:"rss_bytes"`
	Lines   []Line `json:"lines"` // they add up to RSS
	Beside  []Line `json:"beside,omitempty"`
}

// classes lists the classes of resident memory, with their remedies.
var classes = []Line{
	{Class: "heap: live objects", Remedy: "hold less: the table of holders", Proof: "isobar heap PID"},
	{Class: "heap: garbage not collected yet", Remedy: "a lower GOGC, or GOMEMLIMIT", Proof: "isobar tune --max-rss"},
	{Class: "heap: free slots in used spans", Remedy: "fewer sizes that die at different times; package slab",
		Proof: "isobar lab run exec -- PROGRAM"},
	{Class: "heap: free spans kept", Remedy: "GOMEMLIMIT, or debug.FreeOSMemory after a peak",
		Proof: "GOMEMLIMIT=… isobar lab run exec -- PROGRAM"},
	{Class: "goroutine stacks", Remedy: "fewer goroutines; smaller frames", Proof: "isobar heap PID"},
	{Class: "runtime structures", Remedy: "they follow the largest heap there was: a lower peak"},
	{
		Class: "C heap", Remedy: "malloc_trim, or MALLOC_ARENA_MAX=2",
		Proof: "MALLOC_ARENA_MAX=2 isobar lab run exec -- PROGRAM",
	},
	{
		Class:  "other anonymous memory",
		Remedy: "what the program or its libraries map themselves: C's arenas, off-heap memory",
	},
	{Class: "program: code and constants", Remedy: "-ldflags=-s -w does not shrink it: only what runs is resident"},
	{Class: "program: variables"},
	{Class: "mapped files", Remedy: "the kernel drops clean pages by itself when memory is short"},
	{Class: "libraries"},
	{Class: "thread stack and kernel"},
}

// ledger sums up bytes by class.
type ledger map[string]uint64

// result builds the ledger of what was summed up.
func (l ledger) result(target, program string, rss uint64) *Ledger {
	out := &Ledger{Target: target, Program: program, RSS: rss}
	for _, c := range classes {
		if c.Bytes = l[c.Class]; c.Bytes > 0 {
			out.Lines = append(out.Lines, c)
		}
	}
	slices.SortStableFunc(out.Lines, func(a, b Line) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// remedy is what would shrink the class, and the command that proves it.
func (l *Line) remedy() string {
	if l.Proof == "" {
		return l.Remedy
	}
	return l.Remedy + ": " + l.Proof
}

// Write prints a ledger for a terminal.
func (l *Ledger) Write(out io.Writer) error {
	w := &writer{out: out}
	w.printf("%s: %s\n%10s %6s  resident memory\n", clean(l.Target), clean(l.Program), size(l.RSS), "100 %")
	for _, line := range l.Lines {
		w.printf("%10s %4.1f %%  %s\n", size(line.Bytes), 100*share(line.Bytes, l.RSS), line.Class)
		if line.Remedy != "" && line.Bytes >= l.RSS/50 {
			w.printf("%20s%s\n", "", line.remedy())
		}
	}
	for _, line := range l.Beside {
		w.printf("%10s         beside it: %s\n", size(line.Bytes), line.Class)
	}
	return w.err
}
