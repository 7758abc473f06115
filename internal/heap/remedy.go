package heap

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/show/text"
)

func size(n uint64) string { return text.Bytes(float64(n)) }

// mostUnused returns the type of the node with the most unused bytes.
func mostUnused(n *Node, rest []*Node) string {
	most := n
	for _, m := range rest {
		if m.Unused > most.Unused {
			most = m
		}
	}
	return most.Type
}

// remedy says what this toolkit knows to do about a holder, and what that would save.
func remedy(n *Node, rest []*Node, unused uint64) (do, saves string) {
	var elem *Node
	if len(rest) > 0 {
		elem = rest[0]
	}
	switch {
	case unused > n.Retained/4 && strings.HasPrefix(mostUnused(n, rest), "map["):
		return "make the map anew: it keeps its room when entries are deleted", size(unused)
	case unused > n.Retained/4:
		return "keep a copy of what is used: slices.Clone, strings.Clone, or a smaller capacity", size(unused)
	case strings.Contains(n.Label, "timers.heap") || strings.Contains(n.Type, "timerWhen"):
		return "stop timers that are done with: Timer.Stop, or a context that is cancelled", size(n.Retained)
	case strings.HasPrefix(n.Label, "goroutine "):
		return "end the goroutines: a closed channel or a cancelled context", size(n.Retained)
	case strings.Contains(n.Type, "sync.Pool") || strings.Contains(n.Label, "allPools"):
		return "do not put back what has grown: drop buffers above a bound", ""
	case strings.HasPrefix(n.Type, "map["):
		pointers := elem != nil && elem.Objects > 8
		if pointers {
			return "bound it; hold values instead of pointers, or handles of package slab",
				fmt.Sprintf("%d objects to mark", elem.Objects)
		}
		return "bound it; keys and values without pointers are not scanned", size(n.ScanBytes) + " to scan"
	case strings.HasPrefix(n.Type, "chan "):
		return "a smaller buffer, or a reader that keeps up", size(n.Retained)
	case elem != nil && elem.Objects > 1000:
		return "values in one slice, or package slab, instead of an object each",
			fmt.Sprintf("%d objects to mark", elem.Objects)
	}
	return "", ""
}
