package heap

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Line is one class of a ledger.
type Line struct {
	Class  string `json:"class"`
	Bytes  uint64 `json:"bytes"`
	Saves  uint64 `json:"saves_bytes,omitempty"` // bytes of RSS that the remedy frees; 0 if unknown
	Remedy string `json:"remedy,omitempty"`      // what would shrink it
	Proof  string `json:"proof,omitempty"`       // command that shows how much it frees
	Parts  []Part `json:"parts,omitempty"`       // largest first; small ones are left out
}

// A Part is a mapping of a class, named by its file or address.
type Part struct {
	Name  string `json:"name"`
	Bytes uint64 `json:"bytes"`
}

// mostParts and leastPart limit which parts of a line are listed.
const (
	mostParts = 5
	leastPart = 0.05 // of the line
)

// A Ledger splits the resident memory of a process into classes.
type Ledger struct {
	Target  string `json:"target"`
	Program string `json:"program"`
	RSS     uint64 `json:"rss_bytes"`
	Lines   []Line `json:"lines"` // they add up to RSS
	Beside  []Line `json:"beside,omitempty"`
	// Group is charged to the control group beside the process's resident memory.
	Group    []Line   `json:"group,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

const (
	liveObjects = "heap: live objects"
	freeSlots   = "heap: free slots in used spans"
	freeSpans   = "heap: free spans kept"
	libraries   = "libraries"
	threads     = "threads' stacks, and the kernel's pages"
	wholeHeap   = "heap, and stacks: not told apart"
	otherMemory = "other anonymous memory"
)

// classes lists the classes of resident memory, with their remedies.
var classes = []Line{
	{Class: liveObjects, Remedy: "hold less, by the table of holders", Proof: "isobar heap PID"},
	{Class: "heap: garbage not collected yet", Remedy: "a lower GOGC, or GOMEMLIMIT", Proof: "isobar tune --max-rss"},
	{Class: freeSlots, Remedy: "fewer sizes that die at different times; package slab",
		Proof: "isobar lab run exec -- PROGRAM"},
	{Class: freeSpans, Remedy: "GOMEMLIMIT, or debug.FreeOSMemory after a peak",
		Proof: "GOMEMLIMIT=… isobar lab run exec -- PROGRAM"},
	{Class: wholeHeap, Remedy: "an isobar that knows this version of Go tells what"},
	{Class: "goroutine stacks", Remedy: "a bound for those that one go statement starts", Proof: "isobar heap PID"},
	{Class: "runtime structures", Remedy: "a lower peak: they follow the largest heap so far"},
	{Class: "C heap", Remedy: "malloc_trim", Proof: "MALLOC_TRIM_THRESHOLD_=0 isobar lab run exec -- PROGRAM"},
	{Class: otherMemory, Remedy: "what the program or its libraries map themselves"},
	{Class: "program: code and constants", Remedy: "-ldflags=-s -w does not shrink it: only what runs is resident"},
	{Class: "program: variables"},
	{Class: "mapped files", Remedy: "the kernel drops clean pages by itself when memory is short"},
	{Class: libraries},
	{Class: threads},
}

// ledger sums bytes by class.
type ledger map[string]*sum

// A sum accumulates a line.
type sum struct {
	bytes, saves uint64
	parts        map[string]uint64 // bytes, by name
}

// add counts bytes of a class, and how many its remedy would save.
func (l ledger) add(class string, bytes, saves uint64) {
	if l[class] == nil {
		l[class] = &sum{parts: make(map[string]uint64)}
	}
	l[class].bytes += bytes
	l[class].saves += saves
}

// largest returns the parts large enough to list.
func (s *sum) largest() (all []Part) {
	for name, bytes := range s.parts {
		if share(bytes, s.bytes) >= leastPart {
			all = append(all, Part{name, bytes})
		}
	}
	slices.SortFunc(all, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	return all[:min(mostParts, len(all))]
}

// result builds the ledger from the sums.
func (l ledger) result(target, program string, rss uint64) *Ledger {
	out := &Ledger{Target: target, Program: program, RSS: rss}
	for _, c := range classes {
		if s := l[c.Class]; s != nil && s.bytes > 0 {
			c.Bytes, c.Saves, c.Parts = s.bytes, min(s.saves, s.bytes), s.largest()
			out.Lines = append(out.Lines, c)
		}
	}
	slices.SortStableFunc(out.Lines, func(a, b Line) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// advise adds to the line of live objects what the largest holder's remedy saves. Free slots
// beside those objects go with them.
func (l *Ledger) advise(holders []Holder) {
	line := func(class string) *Line {
		for i := range l.Lines {
			if l.Lines[i].Class == class {
				return &l.Lines[i]
			}
		}
		return new(Line)
	}
	live := line(liveObjects)
	if len(holders) == 0 || holders[0].Frees == 0 || live.Bytes == 0 {
		return
	}
	freed := share(holders[0].Frees, live.Bytes)
	live.Saves = uint64(freed * float64(live.Bytes+line(freeSlots).Saves))
	live.Remedy = holders[0].Path + ": " + holders[0].Remedy
}

// group lists memory charged to the control group but not resident in this process. own are the
// anonymous bytes of this process.
func group(c cgroup.Charged, own uint64) []Line {
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	cache := less(c.Cache, c.Mapped)
	all := []Line{
		{
			Class: "page cache that no process maps", Bytes: cache, Saves: less(cache, c.Shared+c.Unwritten),
			Remedy: "the kernel drops it when memory is short; posix_fadvise(POSIX_FADV_DONTNEED) after a large read",
		},
		{Class: "files in memory (tmpfs), shared memory", Bytes: c.Shared},
		{Class: "other processes: anonymous memory", Bytes: less(c.Anonymous, own)},
		{Class: "kernel: stacks of threads", Bytes: c.Stacks, Remedy: "fewer threads: fewer blocking calls at a time"},
		{Class: "kernel: page tables", Bytes: c.Tables},
		{Class: "kernel: slab", Bytes: c.Slab, Remedy: "the kernel drops inodes and names when memory is short"},
		{Class: "kernel: socket buffers", Bytes: c.Sockets, Remedy: "a bound for connections; readers that keep up"},
		{Class: "kernel: other", Bytes: c.Kernel},
	}
	return slices.DeleteFunc(all, func(l Line) bool { return l.Bytes == 0 })
}

// remedy returns what would shrink the class, and the command that proves it.
func (l *Line) remedy() string {
	what := l.Remedy
	if l.Saves > 0 {
		what += ", frees " + size(l.Saves)
	}
	if l.Proof == "" {
		return what
	}
	return what + " (try " + l.Proof + ")"
}

// besides names a line outside of RSS, and what would shrink it.
func (l *Line) besides() []string {
	if l.Remedy == "" {
		return []string{l.Class}
	}
	return []string{l.Class, l.remedy()}
}

// Write prints a ledger for a terminal.
func (l *Ledger) Write(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s: %s\n%10s %6s  resident memory\n", clean(l.Target), clean(l.Program), size(l.RSS), "100 %")
	for _, line := range l.Lines {
		fmt.Fprintf(w, "%10s %4.1f %%  %s\n", size(line.Bytes), 100*share(line.Bytes, l.RSS), line.Class)
		if line.Bytes < l.RSS/50 {
			continue
		}
		if line.Remedy != "" {
			fmt.Fprintf(w, "%20s%s\n", "", line.remedy())
		}
		for _, p := range line.Parts {
			fmt.Fprintf(w, "%20s%s: %s\n", "", clean(p.Name), size(p.Bytes))
		}
	}
	for _, line := range l.Beside {
		fmt.Fprintf(w, "%10s         beside it: %s\n", size(line.Bytes), clean(strings.Join(line.besides(), "; ")))
	}
	if len(l.Group) > 0 {
		fmt.Fprintf(w, "\ncharged to the control group beside the process\n")
	}
	for _, line := range l.Group {
		fmt.Fprintf(w, "%10s  %s\n", size(line.Bytes), strings.Join(line.besides(), "; "))
	}
	for _, warning := range l.Warnings {
		fmt.Fprintf(w, "\nnote: %s\n", text.Clean(warning))
	}
	return w.Flush()
}
