package graph

import (
	"cmp"
	"context"
	"slices"
)

// A Node sums up the objects on one path, and everything below. It is also the node
// of a saved report.
type Node struct {
	Label string `json:"label"`
	Type  string `json:"type,omitempty"`
	// Retained is the bytes that would be garbage without the objects of this node, in slots that
	// they dominate; Below is the number of those objects.
	Retained uint64 `json:"retained_bytes"`
	Below    uint64 `json:"retained_objects"`
	Reached  uint64 `json:"reached_bytes"` // bytes of all objects first reached through the path
	Bytes    uint64 `json:"bytes"`         // of the objects of this node themselves
	Objects  uint64 `json:"objects"`
	Unused   uint64 `json:"unused_bytes,omitempty"` // bytes of them that are not in use: see unused
	// For this node and below: bytes of strings that exist elsewhere too (see strings), bytes
	// that the collector reads, and pointers that it follows.
	Duplicates uint64  `json:"duplicate_bytes,omitempty"`
	ScanBytes  uint64  `json:"scan_bytes"`
	Pointers   uint64  `json:"pointers"`
	Children   []*Node `json:"children,omitempty"` // those that retain most first

	shape  uint32
	parent *Node
	active int
	below  map[nodeKey]*Node
}

type nodeKey struct{ label, shape uint32 }

// A Type sums up the objects of one type.
type Type struct {
	Name      string `json:"name"`
	Bytes     uint64 `json:"bytes"`
	Objects   uint64 `json:"objects"`
	Retained  uint64 `json:"retained_bytes"`
	ScanBytes uint64 `json:"scan_bytes"`

	active int
}

// A Result is the result of Analyze.
type Result struct {
	Totals
	Root       *Node // its children are the roots' nodes
	Types      []*Type
	Goroutines []Goroutine // parallel to the image's
}

// Totals are sums over all objects, in bytes of slots.
type Totals struct {
	Live       uint64 `json:"live_bytes"`
	Objects    uint64 `json:"live_objects"`
	Garbage    uint64 `json:"garbage_bytes"`             // unreachable
	Untyped    uint64 `json:"untyped_bytes"`             // of live objects, as are the next three: of unknown type
	Unused     uint64 `json:"unused_bytes"`              // not in use: see unused
	Duplicates uint64 `json:"duplicate_bytes,omitempty"` // strings that exist elsewhere too; 0 unless counted
	Forever    uint64 `json:"forever_bytes"`             // held only by goroutines that wait for ever
	ScanBytes  uint64 `json:"scan_bytes"`                // read by a marking
	Pointers   uint64 `json:"pointers"`                  // followed by a marking
}

// Analyze computes who holds what, and if strings is set, which strings exist more than once. It
// releases the image's copied pages.
func (g *Graph) Analyze(ctx context.Context, strings bool) (*Result, error) {
	a := &analysis{g: g, res: &Result{Root: &Node{below: make(map[nodeKey]*Node)}},
		types: make(map[uint32]*Type), named: make(map[string]*Type)}
	a.number()
	a.garbage()
	a.edges()
	a.forever()
	a.trie()
	seen := a.unused()
	if strings {
		a.strings(ctx, seen)
	}
	seen = nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.im.Release()
	idom, preorder := a.graph.Dominators()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.graph = Digraph{}
	a.retain(idom, preorder)
	a.finish(a.res.Root, a.res.Live/leastShare)
	return a.res, nil
}

// An analysis is the state of one Analyze. Node 0 of its digraph is the entry; the roots follow,
// then the live objects in the order of their slots.
type analysis struct {
	g     *Graph
	res   *Result
	graph Digraph
	id    []uint32         // digraph node by slot; 0 for garbage
	slots []uint32         // slot of each object, by node less first
	first uint32           // node of the first object
	node  []*Node          // by index
	of    []uint32         // index into node, by node of the digraph
	scan  []uint32         // pointers of each object, by node less first
	types map[uint32]*Type // by shape
	named map[string]*Type
}

// number assigns a node to every live object.
func (a *analysis) number() {
	g := a.g
	a.first = uint32(1 + len(g.roots))
	a.id = make([]uint32, len(g.state))
	n := 0
	for _, s := range g.state {
		if s != unmarked {
			n++
		}
	}
	a.slots = make([]uint32, 0, n)
	for slot, s := range g.state {
		if s != unmarked {
			a.id[slot] = a.first + uint32(len(a.slots))
			a.slots = append(a.slots, uint32(slot))
		}
	}
}

// garbage sums the allocated objects that are unreachable.
func (a *analysis) garbage() {
	im := a.g.im
	for i := range im.Spans {
		s := &im.Spans[i]
		for n := range s.N {
			if a.g.state[s.First+n] == unmarked && s.Allocated(n) {
				a.res.Garbage += s.Elem
			}
		}
	}
}

// edges fills the digraph.
func (a *analysis) edges() {
	g := a.g
	n := int(a.first) + len(a.slots)
	a.graph.Start = make([]uint32, n+1)
	start := a.graph.Start
	start[1] = uint32(len(g.roots))
	for _, e := range g.entries {
		start[2+e.root]++
	}
	a.scan = make([]uint32, len(a.slots))
	for i, slot := range a.slots {
		g.pointers(slot, func(_ []byte, _, to uint64) {
			if t, s, _ := g.im.Object(to); s != nil && a.id[t] != 0 {
				a.scan[i]++
			}
		})
		start[a.first+uint32(i)+1] = a.scan[i]
	}
	for i := 1; i <= n; i++ {
		start[i] += start[i-1]
	}
	to := make([]uint32, start[n])
	for i := range g.roots {
		to[i] = uint32(1 + i)
	}
	fill := slices.Clone(start[1 : 1+len(g.roots)])
	for _, e := range g.entries {
		to[fill[e.root]] = a.id[e.slot]
		fill[e.root]++
	}
	at := start[a.first]
	for _, slot := range a.slots {
		g.pointers(slot, func(_ []byte, _, value uint64) {
			if t, s, _ := g.im.Object(value); s != nil && a.id[t] != 0 {
				to[at] = a.id[t]
				at++
			}
		})
	}
	a.graph.To = to
}

// trie assigns every root and object to the node of its path.
func (a *analysis) trie() {
	g := a.g
	a.of = make([]uint32, int(a.first)+len(a.slots))
	a.node = []*Node{a.res.Root}
	named := make(map[rootNode]uint32)
	for i, r := range g.roots {
		r.g = -1 // goroutines with the same start share a node
		at, ok := named[r]
		if !ok {
			n := &Node{Label: r.name, parent: a.res.Root, shape: unnamed, below: make(map[nodeKey]*Node)}
			at = uint32(len(a.node))
			a.node = append(a.node, n)
			a.res.Root.Children = append(a.res.Root.Children, n)
			named[r] = at
		}
		a.of[1+i] = at
	}
	index := make(map[*Node]uint32)
	var chain []uint32
	for i := range a.slots {
		chain = append(chain[:0], a.first+uint32(i))
		for { // up to a node that has its place
			up := a.up(chain[len(chain)-1])
			if a.of[up] != 0 {
				break
			}
			chain = append(chain, up)
		}
		for k := len(chain) - 1; k >= 0; k-- {
			if v := chain[k]; a.of[v] == 0 {
				a.of[v] = a.place(v, index)
			}
			chain = chain[:k]
		}
	}
}

// up returns the node from which an object was first reached.
func (a *analysis) up(v uint32) uint32 {
	parent := a.g.parent[a.slots[v-a.first]]
	if parent < uint32(len(a.g.roots)) {
		return 1 + parent
	}
	return a.id[parent-uint32(len(a.g.roots))]
}

// deepest is how far up a type is searched for, to fold recursive types.
const deepest = 24

// place returns the index of an object's node; its parent must have one.
func (a *analysis) place(v uint32, index map[*Node]uint32) uint32 {
	g := a.g
	slot := a.slots[v-a.first]
	up := a.up(v)
	label := g.edge[slot]
	if up >= a.first {
		parent := &g.layouts[g.state[a.slots[up-a.first]]]
		w := parent.at(uint64(label) * 8)
		if label = w.label; !w.known {
			label = g.label("→")
		}
	}
	at := a.of[up]
	n, s := a.node[at], g.canonical(g.state[slot])
	if s == unnamed && n.shape == unnamed && n.parent != a.res.Root || label == 0 && up >= a.first && !a.betters(s, n) {
		return at // nothing distinguishes it: part of its holder
	}
	for m, depth := n, 0; m.parent != nil && depth < deepest; m, depth = m.parent, depth+1 {
		if m.shape == s && s != unnamed {
			if i, ok := index[m]; ok {
				return i // a list or tree
			}
		}
	}
	key := nodeKey{label, s}
	child := n.below[key]
	if child == nil {
		child = &Node{Label: g.labels[label], Type: g.layouts[s].shape.String(), shape: s, parent: n,
			below: make(map[nodeKey]*Node)}
		n.below[key] = child
		n.Children = append(n.Children, child)
		index[child] = uint32(len(a.node))
		a.node = append(a.node, child)
	}
	return index[child]
}

// betters reports whether a shape says more than that of the node above: a hash trie of its holder.
func (a *analysis) betters(s uint32, n *Node) bool {
	return a.g.layouts[s].shape.form == trie && a.g.layouts[n.shape].shape.form == value
}

// retain sums sizes by dominators. An object counts once for a path, even if several
// objects of the path dominate it.
func (a *analysis) retain(idom, preorder []uint32) {
	size := make([]uint64, len(idom))
	for i, slot := range a.slots {
		v := a.first + uint32(i)
		s := a.g.im.SpanOf(slot)
		size[v] = s.Elem
		a.own(v, slot, s.Elem, s.NoScan)
	}
	bytes := Retained(idom, preorder, size)
	for i, r := range a.g.roots {
		if r.g >= 0 {
			a.res.Goroutines[r.g].Retained += bytes[1+i]
		}
	}
	for i := range size {
		size[i] = min(size[i], 1)
	}
	objects := Retained(idom, preorder, size)
	size = nil
	first, next := children(idom, preorder)
	// Walk the dominator tree without recursion.
	for v := uint32(0); ; {
		n, t := a.node[a.of[v]], a.typeOf(v)
		if n.active++; n.active == 1 {
			n.Retained += bytes[v]
			n.Below += objects[v]
		}
		if t != nil {
			if t.active++; t.active == 1 {
				t.Retained += bytes[v]
			}
		}
		if first[v] != none {
			v = first[v]
			continue
		}
		for {
			a.node[a.of[v]].active--
			if t := a.typeOf(v); t != nil {
				t.active--
			}
			if v == 0 {
				return
			}
			if next[v] != none {
				v = next[v]
				break
			}
			v = idom[v]
		}
	}
}

// own adds an object's own figures to its node and type.
func (a *analysis) own(v, slot uint32, elem uint64, noScan bool) {
	n := a.node[a.of[v]]
	n.Bytes += elem
	n.Objects++
	state := a.g.state[slot]
	t := a.types[state]
	if t == nil {
		name := a.g.layouts[state].shape.String()
		if t = a.named[name]; t == nil { // values that begin elsewhere in an object have another shape
			t = &Type{Name: name}
			a.named[name] = t
			a.res.Types = append(a.res.Types, t)
		}
		a.types[state] = t
	}
	t.Bytes += elem
	t.Objects++
	if !noScan {
		n.ScanBytes += elem
		t.ScanBytes += elem
		a.res.ScanBytes += elem
	}
	n.Pointers += uint64(a.scan[v-a.first])
	a.res.Pointers += uint64(a.scan[v-a.first])
	a.res.Live += elem
	a.res.Objects++
	if state == unnamed {
		a.res.Untyped += elem
	}
}

func (a *analysis) typeOf(v uint32) *Type {
	if v < a.first {
		return nil
	}
	return a.types[a.g.state[a.slots[v-a.first]]]
}

// children returns the first child and the next sibling of every node of the
// dominator tree.
func children(idom, preorder []uint32) (first, next []uint32) {
	first = slices.Repeat([]uint32{none}, len(idom))
	next = slices.Clone(first)
	for i := len(preorder) - 1; i > 0; i-- {
		v := preorder[i]
		next[v] = first[idom[v]]
		first[idom[v]] = v
	}
	return first, next
}

// leastShare bounds the tree: it drops nodes below 1/leastShare of the live heap.
const leastShare = 5000

// little is the label of the node for the roots that are each too small for the tree. The elements
// of an array are such roots if its variable has no name.
const little = "variables and goroutines that hold little each"

// finish sums what lies below each node, sorts the tree, and drops small nodes and
// the fields needed only to build it. Small roots become one.
func (a *analysis) finish(n *Node, least uint64) {
	n.below, n.parent, n.Reached = nil, nil, n.Bytes
	for _, c := range n.Children {
		a.finish(c, least)
		n.Reached += c.Reached
		n.ScanBytes += c.ScanBytes
		n.Pointers += c.Pointers
		n.Duplicates += c.Duplicates
	}
	rest := &Node{Label: little}
	n.Children = slices.DeleteFunc(n.Children, func(c *Node) bool {
		small := c.Retained < least && len(c.Children) == 0
		if small && n == a.res.Root {
			rest.add(c)
		}
		return small
	})
	if rest.Retained > 0 {
		n.Children = append(n.Children, rest)
	}
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Retained, a.Retained), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Type, b.Type))
	})
}

// add adds another node's sums.
func (n *Node) add(o *Node) {
	n.Retained, n.Below, n.Reached = n.Retained+o.Retained, n.Below+o.Below, n.Reached+o.Reached
	n.Bytes, n.Objects, n.Unused = n.Bytes+o.Bytes, n.Objects+o.Objects, n.Unused+o.Unused
	n.ScanBytes, n.Pointers, n.Duplicates = n.ScanBytes+o.ScanBytes, n.Pointers+o.Pointers, n.Duplicates+o.Duplicates
}
