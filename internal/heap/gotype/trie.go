package gotype

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
)

// Node returns the type of the head of what t points to if that is a node of a hash trie, as in sync.Map
// and package unique; else nil. The head tells whether the node is an inner one or an entry: pointers
// are to the head, but for that of the trie, which is to an inner node.
func (t *Type) Node() *Type {
	if t.Kind != reflect.Pointer || t.Elem == nil || t.Elem.Kind != reflect.Struct || len(t.Elem.Fields) == 0 {
		return nil
	}
	first := t.Elem.Fields[0]
	switch {
	case first.Name == "isEntry" && strings.Contains(t.Elem.Name, ".node["):
		return t.Elem
	case strings.Contains(t.Elem.Name, ".indirect["):
		if n := (&Type{Kind: reflect.Pointer, Elem: first.Type}); first.Name == "node" {
			return n.Node()
		}
	}
	return nil
}

// Entry returns the type of entries whose head is of type node; nil if the program has no descriptor of it.
func (t *Table) Entry(node *Type) *Type {
	return t.structNamed(strings.Replace(node.Name, ".node[", ".entry[", 1))
}

// structNamed searches the descriptors for a struct.
func (t *Table) structNamed(name string) *Type {
	if typ, ok := t.named[name]; ok {
		return typ
	}
	t.named[name] = nil
	for _, part := range t.mem.Descriptors() {
		b, _ := t.mem.Read(part[0], part[1]-part[0])
		for o := 0; o+headBytes <= len(b); o += 8 {
			at := uint64(le.Uint32(b[o+40:]))
			if reflect.Kind(b[o+23]&31) != reflect.Struct || at+3 >= uint64(len(b)) {
				continue
			}
			head, n := nameSize(b[at:])
			text := b[min(at+head, uint64(len(b))):min(at+head+n, uint64(len(b)))]
			if string(bytes.TrimPrefix(text, []byte("*"))) != name {
				continue
			}
			if typ := t.At(part[0] + uint64(o)); typ != nil && typ.Name == name {
				t.named[name] = typ
				return typ
			}
		}
	}
	return nil
}

// Field returns the field of a struct with the given name; nil if there is none, or t is nil.
func (t *Type) Field(name string) *Field {
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &t.Fields[i]
	}
	return nil
}
