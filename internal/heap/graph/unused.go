package graph

import (
	"math"
	"reflect"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// An extent is the part of an object that its references can reach, in bytes. The
// zero value is the whole object.
type extent struct {
	from uint32
	to   uint32 // end of the longest slice or string; 0 for the object's end
	end  uint32 // end of the largest capacity
}

// unseen is the extent of an object without references so far.
var unseen = extent{from: math.MaxUint32, to: 1, end: 1}

// add extends e to include x.
func (e *extent) add(x extent) {
	switch {
	case x.to == 0 || e.to == 0:
		*e = extent{}
	default:
		e.from, e.to, e.end = min(e.from, x.from), max(e.to, x.to), max(e.end, x.end)
	}
}

// A view is the extent of an object that a root reaches.
type view struct {
	slot uint32
	extent
}

// extentOf returns what a word of type t reaches of an object. into is its offset after the
// object's header, rest are the bytes after the word.
func extentOf(t *gotype.Type, into uint64, rest []byte) extent {
	switch {
	case t == nil || len(rest) < 8:
	case t.Kind == reflect.String:
		if n := into + le.Uint64(rest); n < math.MaxUint32 {
			return extent{uint32(into), max(1, uint32(n)), max(1, uint32(n))}
		}
	case t.Kind == reflect.Slice && t.Elem != nil && len(rest) >= 16:
		length, capacity := le.Uint64(rest), le.Uint64(rest[8:])
		if length > capacity || capacity > math.MaxUint32 {
			break
		}
		if end := into + capacity*t.Elem.Size; end < math.MaxUint32 {
			return extent{uint32(into), max(1, uint32(into+length*t.Elem.Size)), max(1, uint32(end))}
		}
	}
	return extent{}
}

// rootExtent returns what a root reaches of an object.
func (g *Graph) rootExtent(r *image.Root, into uint64) extent {
	w, ok := g.rootWord(r)
	if !ok {
		return extent{}
	}
	rest, _ := g.im.Read(r.Addr+8, 16)
	return extentOf(w.Type, into, rest)
}

// unused sums the bytes in objects that nothing can reach or that hold no value: before slices
// and strings, between a slice's length and capacity, after a string, and room in maps beyond
// their entries. It returns the extent of each object.
func (a *analysis) unused() []extent {
	g := a.g
	seen := make([]extent, len(a.slots))
	for i := range seen {
		seen[i] = unseen
	}
	for _, r := range g.views {
		seen[a.id[r.slot]-a.first].add(r.extent)
	}
	for i, slot := range a.slots {
		l := &g.layouts[g.state[slot]]
		g.pointers(slot, func(data []byte, at, value uint64) {
			t, span, into := g.im.Object(value)
			if span == nil || a.id[t] == 0 {
				return
			}
			w := l.at(at)
			if l.shape.form == mapTable && w.known {
				spare := g.mapSpare(l.shape.t, data)
				a.node[a.of[a.first+uint32(i)]].Unused += spare
				a.res.Unused += spare
			}
			x := extent{}
			if header := span.Header(); w.known && into >= header {
				x = extentOf(w.t, into-header, data[at+8:])
			}
			seen[a.id[t]-a.first].add(x)
		})
	}
	for i, slot := range a.slots {
		s := g.im.SpanOf(slot)
		n := seen[i].unused(s.Elem - s.Header())
		a.node[a.of[a.first+uint32(i)]].Unused += n
		a.res.Unused += n
	}
	return seen
}

// unused returns how many bytes of an object lie outside of the extent.
func (e *extent) unused(size uint64) uint64 {
	if e.to == 0 || e.from == math.MaxUint32 {
		return 0
	}
	n := uint64(e.from) + uint64(e.end-e.to)
	if tail := size - min(size, uint64(e.end)); tail > size/3 { // too much for the rounding of size classes
		n += tail
	}
	return min(n, size)
}

// mapSpare returns how many bytes a map's table is larger than a new one with the same entries.
func (g *Graph) mapSpare(t *gotype.Type, table []byte) uint64 {
	if uint64(len(table)) < g.im.Facts["internal/runtime/maps.table#"] {
		return 0
	}
	used := uint64(le.Uint16(table[g.im.Facts["internal/runtime/maps.table.used"]:]))
	capacity := uint64(le.Uint16(table[g.im.Facts["internal/runtime/maps.table.capacity"]:]))
	need := uint64(8)
	for need*7/8 < used {
		need *= 2
	}
	if t.Group == nil || need >= capacity {
		return 0
	}
	return (capacity - need) / 8 * t.Group.Size
}
