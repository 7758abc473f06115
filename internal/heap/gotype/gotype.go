// Package gotype reads the types of a Go program: from the type descriptors in its
// memory, stripped or not, and for variables from DWARF. Both become one model, which
// describes each word of a value.
package gotype

import (
	"encoding/binary"
	"reflect"
	"strings"
)

// A Type is a type of the program. It does not change once read.
type Type struct {
	Name   string
	Kind   reflect.Kind // Invalid if unknown
	Empty  bool         // it is an interface without methods
	Size   uint64
	Elem   *Type // of a pointer, map, channel, slice and array
	Group  *Type // of a map: eight keys and values
	Len    uint64
	Fields []Field
	NoPtr  bool // it has no pointers

	words   []Word
	entered bool // by appendWords: a type that contains itself is damaged
}

// A Field is a field of a struct.
type Field struct {
	Name   string
	Offset uint64
	Type   *Type
}

// A Word describes a word of a value that may point into the heap.
type Word struct {
	Offset uint64
	Path   string // ".sessions", ".list[].next"
	Type   *Type  // of the value that contains the word
}

// maxWords is the most pointers of one type that are told apart.
const maxWords = 1 << 17

// Words returns the pointer words of a value, by offset.
func (t *Type) Words() []Word {
	if t.words == nil && !t.NoPtr {
		t.words = t.appendWords(make([]Word, 0, 4), 0, "")
	}
	return t.words
}

func (t *Type) appendWords(to []Word, offset uint64, path string) []Word {
	if t == nil || t.NoPtr || t.entered || len(to) >= maxWords {
		return to
	}
	t.entered = true
	defer func() { t.entered = false }()
	switch t.Kind {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Func, reflect.Map, reflect.Chan, reflect.String, reflect.Slice:
		if t.Node() != nil {
			path = strings.TrimSuffix(path, ".root.v")
		}
		return append(to, Word{offset, path, t})
	case reflect.Interface:
		return append(to, Word{offset + 8, path, t})
	case reflect.Array:
		for i := range t.Len {
			if to = t.Elem.appendWords(to, offset+i*t.Elem.Size, path+"[]"); len(to) >= maxWords {
				break
			}
		}
	case reflect.Struct:
		held := t.held()
		for _, f := range t.Fields {
			typ := f.Type
			if held != nil && typ.Kind == reflect.UnsafePointer {
				typ = held
			}
			to = typ.appendWords(to, offset+f.Offset, path+t.label(f, path == ""))
		}
	}
	return to
}

// label returns what a field adds to a path: nothing for the parts of a sync.Map, and for the links of a
// node inside of another value, as in list.List: each of them leads to the whole list.
func (t *Type) label(f Field, outermost bool) string {
	if t.Name == "sync.Map" || !outermost && f.Type.To(t) {
		return ""
	}
	return "." + f.Name
}

// To reports whether t is a pointer to a type of the name of elem.
func (t *Type) To(elem *Type) bool {
	return t.Kind == reflect.Pointer && t.Elem != nil && t.Elem.Name == elem.Name && elem.Name != ""
}

// held returns the type of the pointer that an atomic.Pointer holds, or nil. Its first field, of
// length zero, says so; the pointer itself is an unsafe.Pointer. That of a weak.Pointer points to a
// handle.
func (t *Type) held() *Type {
	if strings.HasPrefix(t.Name, "weak.Pointer[") {
		return weakHandle
	}
	if !strings.HasPrefix(strings.TrimPrefix(t.Name, "sync/"), "atomic.Pointer[") || len(t.Fields) == 0 {
		return nil
	}
	if first := t.Fields[0].Type; first.Kind == reflect.Array && first.Len == 0 {
		return first.Elem
	}
	return nil
}

var weakHandle = &Type{Name: "*weak handle", Kind: reflect.Pointer, Size: 8,
	Elem: &Type{Name: "weak handle", Kind: reflect.Uintptr, Size: 8, NoPtr: true}}

// Direct reports whether the data word of an interface holds a value of the type
// itself, not a pointer to it.
func (t *Type) Direct() bool {
	for range 100 { // a type that contains itself is damaged
		switch {
		case t.Kind == reflect.Array && t.Len == 1:
			t = t.Elem
		case t.Kind == reflect.Struct && t.Size == 8 && len(t.Fields) == 1:
			t = t.Fields[0].Type
		default:
			return t.Kind == reflect.Pointer || t.Kind == reflect.UnsafePointer || t.Kind == reflect.Func ||
				t.Kind == reflect.Map || t.Kind == reflect.Chan
		}
	}
	return false
}

// A Reader reads memory of the program.
type Reader interface {
	Read(addr, n uint64) ([]byte, bool)
	IsType(addr uint64) bool
	// TypeBase returns the base of name offsets in the type at addr.
	TypeBase(addr uint64) uint64
	// Descriptors returns the blocks of memory, from and to, that have type descriptors and names.
	Descriptors() [][2]uint64
}

// A Table has the types read so far. It is not safe for concurrent use.
type Table struct {
	mem      Reader
	byAddr   map[uint64]*Type
	named    map[string]*Type // structs that were searched for
	itabs    map[uint64]*Type
	captured map[uint64]*Type // by address of the function
}

// NewTable returns a table that reads from a program's memory.
func NewTable(mem Reader) *Table {
	return &Table{mem: mem, byAddr: make(map[uint64]*Type), named: make(map[string]*Type), itabs: make(map[uint64]*Type),
		captured: make(map[uint64]*Type)}
}

// Captured returns what values of the function at pc capture, as a struct; nil if DWARF does not say.
func (t *Table) Captured(pc uint64) *Type { return t.captured[pc] }

var le = binary.LittleEndian

const (
	flagExtraStar = 2
	headBytes     = 48 // of abi.Type
)

// sizes has the sizes of the kinds that have only one.
var sizes = [reflect.UnsafePointer + 1]uint64{reflect.Chan: 8, reflect.Func: 8, reflect.Interface: 16, reflect.Map: 8,
	reflect.Pointer: 8, reflect.Slice: 24, reflect.String: 16, reflect.UnsafePointer: 8}

// anyPointer is the type of every pointer in generic code.
const anyPointer = "go.shape.*uint8"

// At returns the type whose descriptor is at addr, nil if there is none.
func (t *Table) At(addr uint64) *Type {
	if typ, ok := t.byAddr[addr]; ok {
		return typ
	}
	if addr == 0 || addr%8 != 0 || !t.mem.IsType(addr) {
		return nil
	}
	b, ok := t.mem.Read(addr, headBytes+40)
	if !ok {
		if b, ok = t.mem.Read(addr, headBytes); !ok {
			return nil
		}
		b = append(b[:headBytes:headBytes], make([]byte, 40)...)
	}
	kind := reflect.Kind(b[23] & 31)
	typ := &Type{Kind: kind, Size: le.Uint64(b), NoPtr: le.Uint64(b[8:]) == 0}
	if kind == reflect.Invalid || kind > reflect.UnsafePointer || typ.Size > 1<<40 || le.Uint64(b[8:]) > typ.Size ||
		sizes[kind] != 0 && typ.Size != sizes[kind] {
		return nil
	}
	if typ.Name, ok = t.name(t.mem.TypeBase(addr) + uint64(le.Uint32(b[40:]))); !ok {
		return nil
	}
	if b[20]&flagExtraStar != 0 {
		typ.Name = strings.TrimPrefix(typ.Name, "*")
	}
	t.byAddr[addr] = typ // before its parts: types refer to themselves
	t.complete(typ, b)
	return typ
}

// complete reads what a descriptor has after its head, which depends on the kind.
func (t *Table) complete(typ *Type, b []byte) {
	word := func(i int) uint64 { return le.Uint64(b[headBytes+8*i:]) }
	switch typ.Kind {
	case reflect.Pointer, reflect.Chan, reflect.Slice:
		if typ.Elem = t.At(word(0)); typ.Name == anyPointer {
			typ.Kind, typ.Elem = reflect.UnsafePointer, nil
		}
	case reflect.Map:
		typ.Elem, typ.Group = t.At(word(1)), t.At(word(2))
	case reflect.Interface:
		typ.Empty = word(2) == 0
	case reflect.Array:
		typ.Elem, typ.Len = t.At(word(0)), word(2)
		if typ.Elem == nil || typ.Elem.Size == 0 || typ.Len > typ.Size/typ.Elem.Size {
			typ.Kind = reflect.Invalid
		}
	case reflect.Struct:
		t.fields(typ, word(1), word(2))
	}
}

func (t *Table) fields(typ *Type, addr, n uint64) {
	if n > 1<<16 {
		return
	}
	b, ok := t.mem.Read(addr, 24*n)
	if !ok {
		return
	}
	for i := range n {
		f := Field{Offset: le.Uint64(b[24*i+16:]), Type: t.At(le.Uint64(b[24*i+8:]))}
		if f.Type == nil || f.Type.Size > typ.Size || f.Offset > typ.Size-f.Type.Size {
			continue
		}
		f.Name, _ = t.name(le.Uint64(b[24*i:]))
		typ.Fields = append(typ.Fields, f)
	}
}

// name reads an abi.Name.
func (t *Table) name(addr uint64) (string, bool) {
	b, ok := t.mem.Read(addr, 3)
	if !ok {
		return "", false
	}
	head, n := nameSize(b)
	text, ok := t.mem.Read(addr+head, n)
	return string(text), ok
}

// nameSize returns the bytes of an abi.Name before its text, and those of the text.
func nameSize(b []byte) (head, n uint64) {
	if n = uint64(b[1] & 0x7f); b[1] < 0x80 {
		return 2, n
	}
	return 3, n | uint64(b[2]&0x7f)<<7
}

// InInterface returns the type of the value in an interface whose first word is word.
func (t *Table) InInterface(empty bool, word uint64) *Type {
	if word == 0 {
		return nil
	}
	if empty {
		return t.At(word)
	}
	if typ, ok := t.itabs[word]; ok {
		return typ
	}
	var typ *Type
	if b, ok := t.mem.Read(word, 16); ok && word%8 == 0 && t.mem.IsType(le.Uint64(b)) {
		typ = t.At(le.Uint64(b[8:]))
	}
	t.itabs[word] = typ
	return typ
}
