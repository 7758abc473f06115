package workload

import (
	"fmt"

	"github.com/isobar-go/isobar/arena"
	"github.com/isobar-go/isobar/slab"
)

func init() {
	Register(&Workload{
		Name:    "graph",
		Summary: "build, walk and drop a binary tree while another one stays live",
		Params: WithBudget("0", "10s",
			Int("nodes", "1_000_000", "nodes of each tree", 1, 100_000_000),
			Choice("layout", "pointers", "pointers: one heap object per node; arena: typed chunks on the heap, freed at once; "+
				"slab: handles into memory that the collector does not scan", "pointers", "arena", "slab"),
		),
		New: newGraph,
	})
}

// graph separates the collector's cost of pointers from the program's cost of nodes: every layout
// builds the same balanced tree in the same order and walks it to the same sum. One tree lives as long
// as the task, so every cycle finds it. Each operation builds a second one, walks it and drops it.
type graph struct {
	Budgeted
	nodes int
	build treeBuilder
	live  func() uint64 // walks the tree that stays
	built uint64
}

// A treeBuilder makes a tree of n nodes with keys derived from seed. It returns functions that
// walk and drop the tree.
type treeBuilder func(n int, seed uint64) (walk func() uint64, drop func(), err error)

var treeBuilders = map[string]treeBuilder{"pointers": pointerTree, "arena": arenaTree, "slab": slabTree}

func newGraph(env Env) (Task, error) {
	t := &graph{Budgeted: env.Budget, nodes: env.Params.Int("nodes"), built: env.Seed,
		build: treeBuilders[env.Params.String("layout")]}
	var err error
	if t.live, _, err = t.build(t.nodes, t.built); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *graph) Loop(_ int, n int64) (sum uint64) {
	for range n {
		t.built++
		walk, drop, err := t.build(t.nodes, t.built)
		if err != nil {
			panic(fmt.Sprintf("workload: graph: %v", err))
		}
		sum += walk()
		drop()
	}
	return sum
}

// Close walks the remaining tree, which keeps it alive until here.
func (t *graph) Close() error {
	t.live()
	return nil
}

// key is the i-th key of a tree.
func key(seed uint64, i int) uint64 { return seed*0x9e3779b97f4a7c15 + uint64(i) }

type pointerNode struct {
	key         uint64
	left, right *pointerNode
}

// pointerTree has one heap object per node.
func pointerTree(n int, seed uint64) (func() uint64, func(), error) {
	root := growPointers(0, n, seed)
	return func() uint64 { return root.sum() }, func() { root = nil }, nil
}

func growPointers(from, to int, seed uint64) *pointerNode {
	if from == to {
		return nil
	}
	middle := (from + to) / 2
	n := &pointerNode{key: key(seed, middle)}
	n.left, n.right = growPointers(from, middle, seed), growPointers(middle+1, to, seed)
	return n
}

func (n *pointerNode) sum() uint64 {
	if n == nil {
		return 0
	}
	return n.left.sum() + n.key + n.right.sum()
}

// arenaTree has the same nodes in typed chunks, in an arena of its own.
func arenaTree(n int, seed uint64) (func() uint64, func(), error) {
	a, err := arena.OpenTyped[pointerNode](arena.TypedConfig{})
	if err != nil {
		return nil, nil, err
	}
	root := growArena(a, 0, n, seed)
	return func() uint64 { return root.sum() }, a.Release, nil
}

func growArena(a *arena.Typed[pointerNode], from, to int, seed uint64) *pointerNode {
	if from == to {
		return nil
	}
	middle := (from + to) / 2
	n := a.New()
	n.key = key(seed, middle)
	n.left, n.right = growArena(a, from, middle, seed), growArena(a, middle+1, to, seed)
	return n
}

type slabNode struct {
	key         uint64
	left, right slab.Handle[slabNode]
}

// slabTree links nodes by handle, in a slab of its own.
func slabTree(n int, seed uint64) (func() uint64, func(), error) {
	s, err := slab.New[slabNode](slab.Config{Purpose: "graph"})
	if err != nil {
		return nil, nil, err
	}
	root := growSlab(s, 0, n, seed)
	return func() uint64 { return sumSlab(s, root) }, s.Release, nil
}

func growSlab(s *slab.Slab[slabNode], from, to int, seed uint64) slab.Handle[slabNode] {
	if from == to {
		return 0
	}
	middle := (from + to) / 2
	h := s.Insert(slabNode{key: key(seed, middle)})
	left, right := growSlab(s, from, middle, seed), growSlab(s, middle+1, to, seed)
	n, _ := s.Get(h)
	n.left, n.right = left, right
	return h
}

func sumSlab(s *slab.Slab[slabNode], h slab.Handle[slabNode]) uint64 {
	n, ok := s.Get(h)
	if !ok {
		return 0
	}
	return sumSlab(s, n.left) + n.key + sumSlab(s, n.right)
}
