package heap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/show/text"
)

func size(n uint64) string { return text.Bytes(float64(n)) }

// mostUnused returns the type of the node with the most unused bytes.
func mostUnused(n *Node, rest []*Node) string {
	all := append([]*Node{n}, rest...)
	return slices.MaxFunc(all, func(a, b *Node) int { return cmp.Compare(a.Unused, b.Unused) }).Type
}

// An aid is a remedy for a holder.
type aid struct {
	do, saves string
	bytes     uint64 // no longer live with the remedy
	unmarked  bool   // nothing that it holds needs marking any more
}

// gone returns an aid that frees everything a node retains.
func gone(n *Node, do string) aid { return aid{do, size(n.Retained), n.Retained, true} }

// remedy returns what to do about the holder at the end of a path; rest is the main path below it.
func (r *Report) remedy(path, rest []*Node, unused, duplicates uint64) aid {
	n := path[len(path)-1]
	var elem *Node
	if len(rest) > 0 {
		elem = rest[0]
	}
	switch {
	case slices.ContainsFunc(path, pooled) || slices.ContainsFunc(rest, pooled):
		return gone(n, "do not put back what has grown: drop buffers above a bound")
	case unused > n.Retained/4 && strings.HasPrefix(mostUnused(n, rest), "map["):
		return aid{"make the map again: it keeps its room when entries are deleted", size(unused), unused, false}
	case unused > n.Retained/4:
		return aid{"keep a copy of what is used: slices.Clone, strings.Clone, or a smaller capacity", size(unused),
			unused, false}
	case duplicates > n.Retained/4:
		return aid{"keep each string once: package unique", size(duplicates), duplicates, false}
	case strings.Contains(n.Label, "timers.heap") || strings.Contains(n.Type, "timerWhen"):
		return gone(n, "stop timers that are done with: Timer.Stop, or a context that is cancelled")
	case r.waits(path[0].Label) && (len(path) == 1 || strings.HasPrefix(n.Label, " in ")):
		return gone(n, "end the goroutines that do no work: a closed channel or a cancelled context")
	case strings.HasPrefix(n.Type, "map["):
		if elem != nil && elem.Objects > 8 {
			return aid{"bound it, if it grows; hold values instead of pointers, or handles of package slab",
				fmt.Sprintf("%d objects to mark", elem.Objects), 0, true}
		}
		return aid{"bound it, if it grows; keys and values without pointers are not scanned",
			size(n.ScanBytes) + " to scan", 0, true}
	case strings.HasPrefix(n.Type, "sync.Map of "):
		return aid{"bound it, if it grows; a map with a lock has no object for each entry",
			fmt.Sprintf("%d objects to mark", n.Objects), 0, false}
	case strings.HasPrefix(n.Type, "chan "):
		return gone(n, "a smaller buffer, or a reader that keeps up")
	case elem != nil && strings.HasPrefix(elem.Type, "map["):
		return r.remedy(append(slices.Clip(path), elem), rest[1:], 0, 0)
	case elem != nil && elem.Objects > 1000 && !strings.HasPrefix(elem.Type, "runtime."):
		return aid{"values in one slice, or package slab, instead of an object each",
			fmt.Sprintf("%d objects to mark", elem.Objects), 0, true}
	}
	return aid{}
}

// waits reports whether a root is the goroutines of one start, besides main's, and those of them that hold
// most wait.
func (r *Report) waits(root string) bool {
	start, ok := strings.CutPrefix(root, "goroutine ")
	if !ok || start == "runtime.main" {
		return false
	}
	waiting, running := uint64(0), uint64(0)
	for i := range r.Goroutines {
		switch g := &r.Goroutines[i]; {
		case g.Start != start:
		case g.Wait != "":
			waiting += g.Retained + g.Stacks
		default:
			running += g.Retained + g.Stacks
		}
	}
	return waiting >= running
}

// pooled reports whether a node is a pool, what a pool keeps for each P, a queue of one, or the runtime's list of
// pools. What a pool keeps hangs on an unsafe.Pointer: its type is unknown.
func pooled(n *Node) bool {
	kept := n.Type == "unknown" && (strings.HasSuffix(n.Label, ".local") || strings.HasSuffix(n.Label, ".victim"))
	return kept || strings.Contains(n.Type, "sync.Pool") || n.Type == "[]sync.eface" ||
		strings.Contains(n.Label, "allPools")
}

// A Collector is the cost of collections up to the last one.
type Collector image.Collector

// share is the fraction of all CPU time that collections took, 0 to 1; 0 if unknown.
func (c *Collector) share() float64 {
	if c.CPU <= 0 || c.Used < c.CPU {
		return 0
	}
	return float64(c.CPU) / float64(c.Used)
}

// spared returns the fraction of all CPU time saved if the live heap shrinks by the
// share live, marking by the share mark, and GOGC rises until the peak is the same. A
// collection costs what it marks. Their number is the allocated bytes over the
// headroom, which grows from g to g + live times the live heap.
func (c *Collector) spared(live, mark float64) float64 {
	if c.GOGC <= 0 {
		return 0
	}
	g := float64(c.GOGC) / 100
	return c.share() * (1 - (1-mark)*g/(g+live))
}

// String says what collections cost; "" if unknown. The runtime counts the time of its Ps, so if
// threads wait for a CPU, both times exceed the kernel's.
func (c *Collector) String() string {
	if c.share() == 0 {
		return ""
	}
	gogc := "off"
	if c.GOGC >= 0 {
		gogc = fmt.Sprint(c.GOGC)
	}
	return fmt.Sprintf("took %s, %.1f %% of the CPU time used, as the runtime counts it, with waiting for a CPU; "+
		"GOGC %s", text.Duration(float64(c.CPU)), 100*c.share(), gogc)
}
