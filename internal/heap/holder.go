package heap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Holder is a row of the table: a path that holds much of the heap.
type Holder struct {
	Path     string  `json:"path"`
	Type     string  `json:"type"`
	Retained uint64  `json:"retained_bytes"`
	Objects  uint64  `json:"retained_objects"`
	Live     float64 `json:"live_share"`          // 0 to 1
	Mark     float64 `json:"mark_share"`          // of the bytes and pointers that marking reads, 0 to 1
	CPU      float64 `json:"cpu_share,omitempty"` // share of all CPU time that marking it takes; 0 if unknown
	Mostly   string  `json:"mostly,omitempty"`
	Unused   uint64  `json:"unused_bytes,omitempty"`
	Remedy   string  `json:"remedy,omitempty"`
	Saves    string  `json:"saves,omitempty"`
	Frees    uint64  `json:"frees_bytes,omitempty"` // bytes that the remedy turns into garbage; 0 if unknown
	// Duplicates are bytes of strings that exist elsewhere too; 0 unless they were counted.
	Duplicates uint64 `json:"duplicate_bytes,omitempty"`
	// Spares is the share of all CPU time that the remedy saves at the same peak heap; 0 if unknown.
	Spares float64 `json:"cpu_saved_share,omitempty"`
}

// Holders lists the paths that hold at least a share of the live heap, largest first.
func (r *Report) Holders(share float64) []Holder {
	w := &holders{r: r, least: uint64(share * float64(r.Live)), all: []Holder{}, weights: make(map[*Node]uint64)}
	for _, c := range r.Tree.Children {
		w.emit(c, []*Node{c})
	}
	slices.SortStableFunc(w.all, func(a, b Holder) int { return cmp.Compare(b.Retained, a.Retained) })
	return w.all
}

// below returns the bytes of variables and goroutines that hold less than a share of the live heap each.
func (r *Report) below(share float64) (sum uint64) {
	w := &holders{least: uint64(share * float64(r.Live)), weights: make(map[*Node]uint64)}
	for _, c := range r.Tree.Children {
		if w.weight(c) < w.least {
			sum += c.Retained
		}
	}
	return sum
}

type holders struct {
	r     *Report
	least uint64
	all   []Holder

	weights map[*Node]uint64
}

// Shares of a node's bytes that decide whether its children are listed instead.
const (
	mostOfIt = 0.6
	muchOfIt = 0.1
)

// emit adds a row for a node, or for its children if these few hold most of it: the row is the
// place where the path starts to spread.
func (w *holders) emit(n *Node, path []*Node) {
	whole := w.weight(n)
	if whole < w.least {
		return
	}
	var heavy []*Node
	sum, most := uint64(0), uint64(0)
	for _, c := range n.Children {
		if v := w.weight(c); float64(v) >= muchOfIt*float64(whole) && v >= w.least {
			heavy = append(heavy, c)
			sum, most = sum+v, max(most, v)
		}
	}
	spreads := float64(n.Retained) >= mostOfIt*float64(whole) && // not held by another path as well
		(len(heavy) > 0 && n.Objects > 0 && heavy[0].Label != "" && many(n.Objects, heavy[0].Objects) ||
			hasSpread(path))
	overlap := sum > n.Retained+n.Retained/10 && most <= n.Retained // of a tree's nodes and what these hold
	if n.Retained >= w.least && (len(heavy) == 0 || spreads || overlap || float64(sum) < mostOfIt*float64(whole)) {
		w.all = append(w.all, w.line(n, path))
		return
	}
	for _, c := range heavy {
		w.emit(c, append(slices.Clip(path), c))
	}
}

// many reports whether a path spreads from one count of objects to the next.
func many(from, to uint64) bool { return to > 8 && to > 4*from }

// hasSpread reports whether a path has already spread, as a list does in one step.
func hasSpread(path []*Node) bool {
	for i := range path[1:] {
		if many(path[i].Objects, path[i+1].Objects) {
			return true
		}
	}
	return false
}

// weight is what a node retains or, if others hold the node too, what its children retain.
func (w *holders) weight(n *Node) uint64 {
	v, ok := w.weights[n]
	if !ok {
		for _, c := range n.Children {
			v += w.weight(c)
		}
		v = max(v, n.Retained)
		w.weights[n] = v
	}
	return v
}

func (w *holders) line(n *Node, path []*Node) Holder {
	h := Holder{
		Path: pathOf(path), Type: n.Type, Retained: n.Retained, Objects: n.Below,
		Live: share(n.Retained, w.r.Live), Mark: (share(n.ScanBytes, w.r.ScanBytes) + share(n.Pointers, w.r.Pointers)) / 2,
	}
	var rest []*Node
	for m := n; ; {
		h.Unused += m.Unused
		if len(m.Children) == 0 || float64(m.Children[0].Retained) < 0.3*float64(n.Retained) || len(rest) == 6 {
			break
		}
		m = m.Children[0]
		rest = append(rest, m)
	}
	if len(rest) > 0 {
		h.Mostly = pathOf(rest) + " " + rest[len(rest)-1].Type
	}
	h.CPU, h.Duplicates = h.Mark*w.r.Collector.share(), n.Duplicates
	a, mark := w.r.remedy(path, rest, h.Unused, h.Duplicates), 0.0
	if a.unmarked {
		mark = h.Mark
	}
	if h.Remedy, h.Saves, h.Frees = a.do, a.saves, a.bytes; a.do != "" {
		h.Spares = w.r.Collector.spared(share(a.bytes, w.r.Live), mark)
	}
	return h
}

// saves describes everything that the remedy saves; "" if unknown.
func (h *Holder) saves() string {
	if h.Spares < 0.001 {
		return h.Saves
	}
	cpu := fmt.Sprintf("%.1f %% of CPU at the same peak", 100*h.Spares)
	if h.Saves == "" {
		return cpu
	}
	return h.Saves + "; " + cpu
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// pathOf joins labels: "main.server" ".sessions" "[]" becomes main.server.sessions[].
func pathOf(path []*Node) string {
	var b strings.Builder
	for i, n := range path {
		label := n.Label
		if label == "→" {
			label = " → " + cmp.Or(n.Type, "unknown")
		} else if i > 0 && strings.HasPrefix(n.Type, "func ") {
			label += " → " + n.Type
		}
		b.WriteString(label)
	}
	return strings.TrimSpace(b.String())
}

// A Document is what 'isobar heap --json' prints.
type Document struct {
	*Report
	Tree    *struct{} `json:"tree,omitempty"` // hides the report's tree
	Holders []Holder  `json:"holders"`
}

// Document returns the report with its holders instead of its tree.
func (r *Report) Document(share float64) Document {
	return Document{Report: r, Holders: r.Holders(share)}
}
