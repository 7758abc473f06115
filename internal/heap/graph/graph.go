// Package graph marks a copied heap from its roots, determines the type of each object, and
// computes what holds it: shortest paths of field names, dominators, and sums of both by path and
// type. It does not change the copy.
package graph

import (
	"context"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// A Graph is a marked heap. Objects are slots of the image.
type Graph struct {
	im        *image.Image
	types     *gotype.Table
	variables []gotype.Variable
	functions map[uint64]string
	maps      map[*gotype.Type]*gotype.Type // map types by the type of their groups
	tries     map[trieKey]*gotype.Type

	shapes   map[shape]uint32
	layouts  []layout // by shape number
	labels   []string
	labelIDs map[string]uint32

	roots   []rootNode
	rootIDs map[rootNode]uint32
	entries []entry // edges from roots to objects
	views   []view  // parts of objects that roots reach

	state  []uint32 // shape number of each slot
	parent []uint32 // number of the root, or slot plus number of roots, that first led here
	edge   []uint32 // offset of the pointer in the parent, in words; the label if the parent is a root
	queue  []uint32
	late   []uint32 // objects to be followed after what else is reached
	lately bool     // no more is put off
	allgs  uint32   // slot of the runtime's array of goroutines
}

// A rootNode is a variable or goroutine, whose roots are summed up together.
type rootNode struct {
	kind image.Kind
	name string
	g    int32 // goroutine, or -1
}

// An entry is an edge from a root to an object.
type entry struct{ root, slot uint32 }

var le = binary.LittleEndian

// A Rank orders roots, with their names, by a number from 0 to 7.
type Rank func(r *image.Root, name string) int

// ranks is the number of ranks.
const ranks = int(image.Kinds) + 3

// ByKind ranks the kinds that name a holder best first. What the runtime's functions hold the
// program's hold longer, and pools are no holders of what they are in.
func ByKind(r *image.Root, name string) int {
	passing := int(image.Finalizer)
	switch {
	case r.Kind >= image.Finalizer:
		return int(r.Kind) + 1
	case strings.HasPrefix(name, "sync.allPools"), strings.HasPrefix(name, "sync.oldPools"),
		strings.HasPrefix(r.Func, "runtime."), strings.HasPrefix(r.Func, "internal/runtime/"):
		return passing
	}
	return int(r.Kind)
}

// Mark marks everything that the image's roots reach. An object reached from several roots
// belongs to the one of lowest rank. variables name the globals; nil if unknown.
func Mark(ctx context.Context, im *image.Image, types *gotype.Table, variables []gotype.Variable,
	rank Rank) (*Graph, error) {
	g := &Graph{
		im: im, types: types, variables: variables, functions: make(map[uint64]string),
		maps: make(map[*gotype.Type]*gotype.Type), tries: make(map[trieKey]*gotype.Type),
		shapes: make(map[shape]uint32), labelIDs: make(map[string]uint32), rootIDs: make(map[rootNode]uint32),
		state: make([]uint32, im.Slots), parent: make([]uint32, im.Slots), edge: make([]uint32, im.Slots),
		layouts: make([]layout, 2),
	}
	g.allgs, _, _ = im.Object(im.Allgs)
	g.label("")
	g.nameRoots()
	var ranked [ranks][]*image.Root
	for i := range im.Roots {
		r := &im.Roots[i]
		at := rank(r, g.roots[g.rootOf(r)].name)
		ranked[at] = append(ranked[at], r)
	}
	finalizers := rank(&image.Root{Kind: image.Finalizer, G: -1}, "")
	for at, roots := range ranked {
		for _, r := range roots {
			g.follow(r, g.rootOf(r))
		}
		if err := g.drain(ctx); err != nil {
			return nil, err
		}
		if at == finalizers {
			g.queue, g.late, g.lately = g.late, nil, true
			if err := g.drain(ctx); err != nil {
				return nil, err
			}
			g.finalizable()
			if err := g.drain(ctx); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// follow marks what a root points to.
func (g *Graph) follow(r *image.Root, root uint32) {
	slot, span, offset := g.im.Object(r.To)
	if span == nil || r.Weak && !span.Allocated(slot-span.First) {
		return
	}
	s, path := g.rootShape(r)
	into := offset - min(offset, span.Header())
	g.views = append(g.views, view{slot, g.rootExtent(r, into)})
	g.entries = append(g.entries, entry{root, slot})
	queued := len(g.queue)
	g.reach(slot, span, offset, s, root, g.label(path))
	w, _ := g.rootWord(r)
	g.putOff(queued, slot, pooled(w))
}

// putOff moves what was queued last, if anything was, to be followed late: what leads from one part
// of the program to any other. The runtime's objects do so, as waiters and timers, and what a pool
// keeps. Longer paths name what they hold better.
func (g *Graph) putOff(queued int, slot uint32, late bool) {
	if g.lately || len(g.queue) == queued {
		return
	}
	s := &g.layouts[g.state[slot]].shape
	if late || s.form == value && strings.HasPrefix(s.t.Name, "runtime.") {
		g.late = append(g.late, g.queue[queued:]...)
		g.queue = g.queue[:queued]
	}
}

// pooled reports whether a word refers to what a sync.Pool keeps.
func pooled(w gotype.Word) bool {
	return w.Type != nil && w.Type.Kind == reflect.UnsafePointer &&
		(strings.HasSuffix(w.Path, ".local") || strings.HasSuffix(w.Path, ".victim"))
}

// reach marks an object, or improves its known shape.
func (g *Graph) reach(slot uint32, sp *image.Span, offset uint64, s shape, parent, edge uint32) {
	old := g.state[slot]
	n := slot - sp.First
	if old == unmarked {
		g.parent[slot], g.edge[slot] = parent, edge
		if h := sp.HeaderType(n); h != 0 {
			if t := g.types.At(h); t != nil && t.Size > 0 {
				if s.form != mapDir { // the directory's header names only the tables
					s = g.headed(t, sp.Elem-sp.Header())
				}
				s.base = uint32(sp.Header())
				offset = 0
			}
		}
	} else if s.form == unknown || g.layouts[old].shape.size(sp.Elem) >= s.size(sp.Elem) {
		return
	} else if sp.HeaderType(n) != 0 && old != unnamed {
		return
	}
	if offset != 0 && s.base == 0 {
		s = interior(s, offset)
	}
	if s.form == value && (s.t.Size == 0 || uint64(s.base)+s.t.Size > sp.Elem) {
		s = shape{}
	}
	if s.form == unknown && !sp.NoScan && sp.Elem <= 512 { // a function value starts with its function
		s = g.closure(le.Uint64(sp.Slot(n)))
	}
	id := g.shapeID(s)
	if id == old {
		return
	}
	g.state[slot] = id
	if !sp.NoScan {
		g.queue = append(g.queue, slot)
	}
}

// headed returns the shape of an object of the given size whose header names a type.
func (g *Graph) headed(t *gotype.Type, bytes uint64) shape {
	if _, name, ok := strings.Cut(t.Name, "map.group["); ok { // noalg. may be in front
		m := g.maps[t]
		if m == nil {
			m = &gotype.Type{Name: "map[" + name, Kind: reflect.Map, Size: 8, Group: t}
			g.maps[t] = m
		}
		return shape{form: mapGroups, t: m}
	}
	return shape{form: value, t: t, array: 2*t.Size <= bytes}
}

// interior adjusts a shape for a pointer into the middle of an object.
func interior(s shape, offset uint64) shape {
	switch {
	case s.form == text:
		return s
	case s.form != value || s.t.Size == 0:
		return shape{}
	case s.array:
		offset %= s.t.Size
	}
	s.base = uint32(offset)
	return s
}

// drain follows pointers until none is left.
func (g *Graph) drain(ctx context.Context) error {
	offset := uint32(len(g.roots))
	for head := 0; head < len(g.queue); head++ {
		slot := g.queue[head]
		if head&0xfffff == 0xfffff {
			if err := ctx.Err(); err != nil {
				return err
			}
			g.queue, head = append(g.queue[:0], g.queue[head:]...), 0
		}
		l := &g.layouts[g.state[slot]]
		g.pointers(slot, func(data []byte, at, to uint64) {
			target, span, into := g.im.Object(to)
			if span == nil {
				return
			}
			w := l.at(at)
			s := w.to
			if w.known && s.form == unknown {
				before := uint64(0)
				if at >= 8 {
					before = le.Uint64(data[at-8:])
				}
				s = g.dynamic(l, w, data, before, to)
			} else if !w.known && at >= 8 {
				s = g.hint(le.Uint64(data[at-8:]), to)
			}
			queued, waiter := len(g.queue), l.shape.form == channel && !w.known
			g.reach(target, span, into, s, offset+slot, uint32(at/8))
			g.putOff(queued, target, waiter || w.pooled || slot == g.allgs)
			l = &g.layouts[g.state[slot]] // reach may reallocate the layouts
		})
	}
	g.queue = g.queue[:0]
	return nil
}

// hint recognizes an empty interface by its type word, in an object of unknown shape.
func (g *Graph) hint(before, to uint64) shape {
	if before == 0 || !g.im.IsType(before) {
		return shape{}
	}
	return g.inInterface(g.types.At(before), to)
}

// pointers visits the non-nil pointer words of an object: visit gets its bytes, the
// word's offset in them, and its value.
func (g *Graph) pointers(slot uint32, visit func(data []byte, at, to uint64)) {
	s := g.im.SpanOf(slot)
	if s.NoScan {
		return
	}
	n := slot - s.First
	data := s.Slot(n)
	word := func(at uint64) {
		if to := le.Uint64(data[at:]); to != 0 {
			visit(data, at, to)
		}
	}
	if g.im.Bitmap(s, n, word) {
		return
	}
	if t := g.types.At(s.HeaderType(n)); t != nil && t.Size > 0 {
		words := t.Words()
		for base := s.Header(); base+t.Size <= s.Elem; base += t.Size {
			for i := range words {
				word(base + words[i].Offset)
			}
		}
		return
	}
	for at := s.Header(); at+8 <= s.Elem; at += 8 { // a type made by reflection, or a user arena
		word(at)
	}
}

// finalizable marks what objects with finalizers refer to, of those that nothing else refers to.
// The objects themselves are not live. Others hold by themselves what they refer to.
func (g *Graph) finalizable() {
	root := g.root(rootNode{kind: image.Finalizer, name: "objects with a finalizer", g: -1})
	for _, f := range g.im.Finalizable {
		slot, span, _ := g.im.Object(f.Object)
		if span == nil || span.NoScan || g.state[slot] != unmarked {
			continue
		}
		state := uint32(unmarked)
		if t := g.types.At(f.Type); t != nil && t.Kind == reflect.Pointer && t.Elem != nil {
			state = g.shapeID(shape{form: value, t: t.Elem, base: uint32(span.Header())})
		}
		l, holder := &g.layouts[state], g.layouts[state].shape.String()
		g.pointers(slot, func(_ []byte, at, to uint64) {
			if target, span, into := g.im.Object(to); span != nil {
				g.entries = append(g.entries, entry{root, target})
				g.views = append(g.views, view{slot: target})
				w, label := l.at(at), "[]"
				if w.known {
					label = ": " + holder + g.labels[w.label]
				}
				g.reach(target, span, into, w.to, root, g.label(label))
				l = &g.layouts[state]
			}
		})
	}
}

// Values calls visit with the bytes of every live object that is a single value of the named type.
func (g *Graph) Values(name string, visit func(t *gotype.Type, data []byte)) {
	for slot, state := range g.state {
		s := &g.layouts[state].shape
		if state == unmarked || s.form != value || s.array || s.base != 0 || s.t.Name != name {
			continue
		}
		if span := g.im.SpanOf(uint32(slot)); !span.NoScan && s.t.Size <= span.Elem {
			visit(s.t, span.Slot(uint32(slot) - span.First)[:s.t.Size])
		}
	}
}

// A Step is a reference on the way from a root to an object.
type Step struct {
	Type  string // of the referring object; "" for a root
	Label string // where in that object: ".sessions", "[]"; "" if unknown
}

// Way returns how an object was first reached: the root's kind, name and goroutine, and the
// references from the root on. ok is false for garbage.
func (g *Graph) Way(addr uint64) (kind image.Kind, name string, goroutine int32, steps []Step, ok bool) {
	slot, s, _ := g.im.Object(addr)
	if s == nil || g.state[slot] == unmarked {
		return 0, "", -1, nil, false
	}
	for {
		up := g.parent[slot]
		if up < uint32(len(g.roots)) {
			r := g.roots[up]
			steps = append(steps, Step{Label: g.labels[g.edge[slot]]})
			slices.Reverse(steps)
			return r.kind, r.name, r.g, steps, true
		}
		holder := up - uint32(len(g.roots))
		l := &g.layouts[g.state[holder]]
		step := Step{Type: l.shape.String()}
		if w := l.at(8 * uint64(g.edge[slot])); w.known {
			step.Label = g.labels[w.label]
		}
		steps, slot = append(steps, step), holder
	}
}

// LiveBytes returns the bytes of the marked slots of a span.
func (g *Graph) LiveBytes(s *image.Span) uint64 {
	n := uint64(0)
	for _, state := range g.state[s.First : s.First+s.N] {
		if state != unmarked {
			n += s.Elem
		}
	}
	return n
}
