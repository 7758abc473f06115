package graph

import (
	"reflect"
	"strings"

	"github.com/isobar-go/isobar/internal/heap/gotype"
)

// A form says how to read an object's words.
type form uint8

const (
	unknown   form = iota
	value          // of type t; if array is set, several in a row
	mapHead        // internal/runtime/maps.Map of a map of type t
	mapDir         // array of tables of a map
	mapTable       // internal/runtime/maps.table
	mapGroups      // keys and values
	trie           // inner node of a hash trie, such as a sync.Map; t is made by trieType
	trieEntry      // key and value of one
	channel        // runtime.hchan of a channel of type t
	closure        // a function value; name is the function, t what it captures, if known
	text           // bytes of a string
)

// A shape is what is known about an object. The zero value knows nothing.
type shape struct {
	form  form
	array bool
	base  uint32 // offset of the first value in the object
	t     *gotype.Type
	name  string
}

// String returns the shape as a Go type.
func (s shape) String() string {
	switch s.form {
	case value:
		if s.array {
			return "[]" + s.t.Name
		}
		return s.t.Name
	case mapHead, channel, trie:
		return s.t.Name
	case trieEntry:
		return s.t.Name + " (entry)"
	case mapDir, mapTable, mapGroups:
		return s.t.Name + " (table)"
	case closure:
		return "func " + s.name
	case text:
		return "string"
	}
	return "unknown"
}

// size returns how many bytes of a slot of elem bytes the shape explains.
func (s shape) size(elem uint64) uint64 {
	switch {
	case s.form == unknown:
		return 0
	case s.form == value && !s.array:
		return s.t.Size
	}
	return elem
}

// Reserved shape numbers.
const (
	unmarked = 0
	unnamed  = 1 // marked, of unknown shape
)

// A layout is a shape prepared for following its pointers.
type layout struct {
	shape  shape
	period uint64 // bytes after which the words repeat; 0 if they do not
	words  map[uint32]word
	dense  []word // by word, if there are few; nil if words is used
}

// A word describes a pointer word of a shape.
type word struct {
	known  bool
	pooled bool
	label  uint32 // of the path from the object's start
	t      *gotype.Type
	to     shape // of the pointer's target, if the type determines it
}

// shapeID returns the number of a shape.
func (g *Graph) shapeID(s shape) uint32 {
	if s.form == unknown || s.form == value && (s.t == nil || s.t.Size == 0) {
		return unnamed
	}
	id, ok := g.shapes[s]
	if !ok {
		id = uint32(len(g.layouts))
		g.shapes[s] = id
		g.layouts = append(g.layouts, g.layout(s))
	}
	return id
}

// canonical returns the number of a shape without regard to where in an object it begins: large objects have
// a header, and share their path with small ones.
func (g *Graph) canonical(id uint32) uint32 {
	s := g.layouts[id].shape
	if s.base == 0 {
		return id
	}
	s.base = 0
	return g.shapeID(s)
}

func (g *Graph) label(text string) uint32 { return number(g.labelIDs, &g.labels, text) }

// layout prepares a shape.
func (g *Graph) layout(s shape) layout {
	l := layout{shape: s, words: make(map[uint32]word)}
	put := func(offset uint64, w word) {
		w.known = true
		l.words[uint32(offset/8)] = w
	}
	f := g.im.Facts
	switch s.form {
	case value:
		prefix := ""
		if s.array {
			l.period, prefix = s.t.Size, "[]"
		}
		for _, w := range s.t.Words() {
			put(w.Offset, word{label: g.label(prefix + w.Path), t: w.Type, to: pointee(w.Type), pooled: pooled(w)})
		}
	case mapHead:
		put(f["internal/runtime/maps.Map.dirPtr"], word{label: g.label("")})
	case mapDir:
		l.period = 8
		put(0, word{label: g.label(""), to: shape{form: mapTable, t: s.t}})
	case mapTable:
		put(f["internal/runtime/maps.table.groups"], word{label: g.label(""), to: shape{form: mapGroups, t: s.t}})
	case mapGroups:
		if s.t.Group != nil {
			l.period = s.t.Group.Size
			for _, w := range s.t.Group.Words() {
				put(w.Offset, word{label: g.label(entryPath(w.Path)), t: w.Type, to: pointee(w.Type)})
			}
		}
	case trie:
		for _, w := range s.t.Group.Words() {
			put(w.Offset, word{label: g.label(""), t: w.Type, to: pointee(w.Type)})
		}
	case trieEntry:
		for _, w := range s.t.Elem.Words() {
			if w.Type.Elem == s.t.Elem { // another with the same hash
				put(w.Offset, word{label: g.label(""), t: w.Type, to: s})
				continue
			}
			put(w.Offset, word{label: g.label(entryPath(w.Path)), t: w.Type, to: pointee(w.Type)})
		}
	case channel:
		if s.t.Elem != nil {
			put(f["runtime.hchan.buf"], word{label: g.label("<-"), to: shape{form: value, t: s.t.Elem, array: true}})
		}
	case closure:
		if s.t == nil {
			break
		}
		for _, w := range s.t.Words() {
			put(w.Offset, word{label: g.label(w.Path), t: w.Type, to: pointee(w.Type)})
		}
	}
	l.pack()
	return l
}

// pack turns a small map of words into an array.
func (l *layout) pack() {
	most := uint32(0)
	for at := range l.words {
		most = max(most, at+1)
	}
	if most > 4096 {
		return
	}
	l.dense = make([]word, most)
	for at, w := range l.words {
		l.dense[at] = w
	}
	l.words = nil
}

// at returns the word at an offset in the object.
func (l *layout) at(offset uint64) word {
	base := uint64(l.shape.base)
	if offset < base {
		return word{}
	}
	if offset -= base; l.period > 0 {
		offset %= l.period
	}
	if l.dense == nil {
		return l.words[uint32(offset/8)]
	}
	if offset/8 < uint64(len(l.dense)) {
		return l.dense[offset/8]
	}
	return word{}
}

// entryPath turns a path in a map's group into that of a key or value.
func entryPath(path string) string {
	for _, p := range []struct{ in, out string }{
		{".slots[].elem", "[]"}, {".slots[].key", "[key]"}, {".elems[]", "[]"}, {".keys[]", "[key]"},
		{".value", "[]"}, {".key", "[key]"},
	} {
		if rest, ok := strings.CutPrefix(path, p.in); ok {
			return p.out + rest
		}
	}
	return path
}

// pointee returns the shape of what a word of type t points to, as far as the type determines it.
func pointee(t *gotype.Type) shape {
	switch t.Kind {
	case reflect.Pointer:
		if t.Elem != nil && t.Node() == nil {
			return shape{form: value, t: t.Elem}
		}
	case reflect.Slice:
		if t.Elem != nil {
			return shape{form: value, t: t.Elem, array: true}
		}
	case reflect.String:
		return shape{form: text}
	case reflect.Map:
		return shape{form: mapHead, t: t}
	case reflect.Chan:
		return shape{form: channel, t: t}
	}
	return shape{}
}

// dynamic returns the shape of what a word points to if its type does not determine
// it: an interface's value, a closure, the parts of a map or hash trie. before is the preceding
// word, holder the object that contains it; l may be nil if w has a type.
func (g *Graph) dynamic(l *layout, w word, holder []byte, before, to uint64) shape {
	switch {
	case w.t == nil && l.shape.form == mapHead:
		n := g.im.Facts["internal/runtime/maps.Map.dirLen"]
		if n+8 <= uint64(len(holder)) && le.Uint64(holder[n:]) == 0 {
			return shape{form: mapGroups, t: l.shape.t}
		}
		return shape{form: mapDir, t: l.shape.t}
	case w.t == nil:
		return w.to
	case w.t.Node() != nil:
		return g.trieAt(l, w.t, to)
	case w.t.Kind == reflect.Interface:
		return g.inInterface(g.types.InInterface(w.t.Empty, before), to)
	case w.t.Kind == reflect.Func:
		return g.closureAt(to)
	case w.t.Kind == reflect.UnsafePointer: // an interface taken apart, as package sync does
		return g.hint(before, to)
	}
	return w.to
}

// inInterface returns the shape of what the data word of an interface points to.
func (g *Graph) inInterface(t *gotype.Type, to uint64) shape {
	if t == nil {
		return shape{}
	}
	if !t.Direct() {
		return shape{form: value, t: t}
	}
	words := t.Words()
	if len(words) != 1 {
		return shape{}
	}
	if words[0].Type.Kind == reflect.Func {
		return g.closureAt(to)
	}
	return pointee(words[0].Type)
}

// closureAt returns the shape of the function value at an address.
func (g *Graph) closureAt(to uint64) shape {
	if pc, ok := g.im.Word(to); ok {
		return g.closure(pc)
	}
	return shape{}
}

// closure returns the shape of a function value whose first word is pc.
func (g *Graph) closure(pc uint64) shape {
	if name := g.functionAt(pc); name != "" {
		return shape{form: closure, name: name, t: g.types.Captured(pc)}
	}
	return shape{}
}

// functionAt returns the name of the function that begins at pc, "" if none does.
func (g *Graph) functionAt(pc uint64) string {
	name, ok := g.functions[pc]
	if !ok {
		name = g.im.FuncAt(pc)
		g.functions[pc] = name
	}
	return name
}
