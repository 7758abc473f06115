package graph

import "slices"

// A Digraph has nodes 0 to N-1 with their successors in compressed rows: those of node i are
// To[Start[i]:Start[i+1]]. Node 0 is the entry.
type Digraph struct {
	Start []uint32
	To    []uint32
}

// N returns the number of nodes.
func (g *Digraph) N() int { return len(g.Start) - 1 }

// none marks a node without a dominator: the entry, or an unreachable one.
const none = ^uint32(0)

// Dominators returns the immediate dominator of every node, none for the entry and unreachable
// nodes, and the reachable nodes in preorder of a depth-first search. It is Semi-NCA, of
// Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005.
func (g *Digraph) Dominators() (idom, preorder []uint32) {
	n := g.N()
	order := make([]uint32, n) // preorder number + 1; 0 is unseen
	preorder = make([]uint32, 0, n)
	parent := make([]uint32, 0, n) // by preorder number, as all below
	stack := []uint32{0}
	next := slices.Clone(g.Start[:n])
	order[0], preorder, parent = 1, append(preorder, 0), append(parent, 0)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		if next[v] == g.Start[v+1] {
			stack = stack[:len(stack)-1]
			continue
		}
		w := g.To[next[v]]
		next[v]++
		if order[w] == 0 {
			preorder, parent = append(preorder, w), append(parent, order[v]-1)
			order[w] = uint32(len(preorder))
			stack = append(stack, w)
		}
	}
	stack, next = nil, nil
	preds := g.predecessors(order, len(preorder))
	dom := semiNCA(preds, parent)
	idom = slices.Repeat([]uint32{none}, n)
	for i, v := range preorder[1:] {
		idom[v] = preorder[dom[i+1]]
	}
	return idom, preorder
}

// predecessors returns the reverse of the reachable graph, by preorder numbers.
func (g *Digraph) predecessors(order []uint32, reached int) Digraph {
	r := Digraph{Start: make([]uint32, reached+1)}
	for v, o := range order {
		if o != 0 {
			for _, w := range g.To[g.Start[v]:g.Start[v+1]] {
				r.Start[order[w]]++ // order is the number plus one: the end of its row
			}
		}
	}
	for i := 1; i <= reached; i++ {
		r.Start[i] += r.Start[i-1]
	}
	r.To = make([]uint32, r.Start[reached])
	fill := slices.Clone(r.Start)
	for v, o := range order {
		if o != 0 {
			for _, w := range g.To[g.Start[v]:g.Start[v+1]] {
				r.To[fill[order[w]-1]] = o - 1
				fill[order[w]-1]++
			}
		}
	}
	return r
}

// semiNCA computes immediate dominators. All numbers are preorder numbers.
func semiNCA(preds Digraph, parent []uint32) []uint32 {
	n := len(parent)
	semi, label := make([]uint32, n), make([]uint32, n)
	ancestor := make([]uint32, n) // of the forest; parent until linked
	dom := slices.Clone(parent)
	for i := range n {
		semi[i], label[i], ancestor[i] = uint32(i), uint32(i), none
	}
	var path []uint32
	// eval returns the node of least semidominator on the forest's path to v.
	eval := func(v uint32) uint32 {
		if ancestor[v] == none {
			return v
		}
		path = path[:0]
		for u := v; ancestor[ancestor[u]] != none; u = ancestor[u] {
			path = append(path, u)
		}
		for i := len(path) - 1; i >= 0; i-- {
			u := path[i]
			a := ancestor[u]
			if semi[label[a]] < semi[label[u]] {
				label[u] = label[a]
			}
			ancestor[u] = ancestor[a]
		}
		return label[v]
	}
	for w := n - 1; w > 0; w-- {
		for _, v := range preds.To[preds.Start[w]:preds.Start[w+1]] {
			if s := semi[eval(v)]; s < semi[w] {
				semi[w] = s
			}
		}
		label[w] = uint32(w)
		ancestor[w] = parent[w]
	}
	for w := 1; w < n; w++ {
		d := dom[w]
		for d > semi[w] {
			d = dom[d]
		}
		dom[w] = d
	}
	return dom
}

// Retained returns, for every node, the sum of the sizes of what it dominates,
// including itself; 0 for unreachable nodes.
func Retained(idom, preorder []uint32, size []uint64) []uint64 {
	sum := make([]uint64, len(idom))
	for _, v := range preorder {
		sum[v] = size[v]
	}
	for i := len(preorder) - 1; i > 0; i-- { // a dominator comes before what it dominates
		v := preorder[i]
		sum[idom[v]] += sum[v]
	}
	return sum
}
