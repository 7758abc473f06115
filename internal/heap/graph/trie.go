package graph

import (
	"reflect"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/heap/gotype"
)

// A trieKey identifies a type made by trieType.
type trieKey struct {
	node *gotype.Type
	name string
}

// trieAt returns the shape of the node of a hash trie at an address, to which a link points. l is that
// of the object with the link, or nil.
func (g *Graph) trieAt(l *layout, link *gotype.Type, to uint64) shape {
	s := shape{form: trie}
	if l != nil && l.shape.form == trie {
		s.t = l.shape.t
	} else if link.Elem != link.Node() {
		s.t = g.trieType(link, to)
	}
	switch {
	case s.t == nil:
		return shape{}
	case link.Elem == link.Node() && g.isEntry(to):
		s.form = trieEntry
	}
	if s.form == trieEntry && s.t.Elem == nil {
		return shape{}
	}
	return s
}

// isEntry reports whether a node of a hash trie is an entry.
func (g *Graph) isEntry(addr uint64) bool {
	head, _ := g.im.Word(addr)
	return head&0xff != 0
}

// trieType returns the type of a hash trie whose first node is at an address. Its Group is the type of
// inner nodes, its Elem that of entries. Its name says what it holds, judged by one entry below each of
// the first node's children.
func (g *Graph) trieType(link *gotype.Type, at uint64) *gotype.Type {
	node, inner := link.Node(), link.Elem
	entry := g.types.Entry(node)
	pack, args, _ := strings.Cut(node.Name, ".node[")
	name := pack + ".Map"
	switch key, value := entry.Field("key"), entry.Field("value"); {
	case key == nil: // no entry was ever made
	case value == nil:
		name = "table of " + pack + ".Handle[" + args
	default:
		keys, values := "", ""
		for _, addr := range g.firstEntries(inner, at) {
			keys, values = common(keys, g.fieldType(key, addr)), common(values, g.fieldType(value, addr))
		}
		if keys != "" {
			name += " of " + keys + " to " + values
		}
	}
	t := g.tries[trieKey{node, name}]
	if t == nil {
		t = &gotype.Type{Name: name, Size: inner.Size, Elem: entry, Group: inner}
		g.tries[trieKey{node, name}] = t
	}
	return t
}

// firstEntries returns the address of an entry below each child of an inner node.
func (g *Graph) firstEntries(inner *gotype.Type, at uint64) []uint64 {
	all := g.children(inner, at)
	for i, child := range all {
		for depth := 0; depth < deepestTrie && !g.isEntry(child); depth++ {
			below := g.children(inner, child)
			if len(below) == 0 {
				break
			}
			child = below[0]
		}
		all[i] = child
	}
	return slices.DeleteFunc(all, func(addr uint64) bool { return !g.isEntry(addr) })
}

// Bounds of a hash trie: each inner node uses 4 bits of 64.
const (
	mostChildren = 16
	deepestTrie  = 16
)

// children returns the addresses of an inner node's children.
func (g *Graph) children(inner *gotype.Type, at uint64) (all []uint64) {
	words := inner.Words()
	for _, w := range words[:min(len(words), 1+mostChildren)] {
		if w.Type.Elem == inner { // its parent
			continue
		}
		if to, _ := g.im.Word(at + w.Offset); to != 0 {
			all = append(all, to)
		}
	}
	return all
}

// fieldType returns the name of the type of what a field holds in the value at an address.
func (g *Graph) fieldType(f *gotype.Field, at uint64) string {
	if f.Type.Kind != reflect.Interface {
		return f.Type.Name
	}
	head, _ := g.im.Word(at + f.Offset)
	if t := g.types.InInterface(f.Type.Empty, head); t != nil {
		return t.Name
	}
	return "nil"
}

// common returns the name of a type that has values of types a and b. The empty name has none.
func common(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return "any"
}
