package fates

import (
	"bytes"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
)

type item struct {
	name string
	buf  []byte
}

var kept *item
var names []string

// Nobody of these packages is an oracle, so what it does is not known.
type oracle interface {
	ask(x *item) bool
	wrap(x *item) *item
}

func askedThenKept(o oracle) {
	x := &item{} // composite literal: package variable kept
	o.ask(x)
	kept = x
}

func askedThenReturned(o oracle) *item {
	x := &item{} // composite literal: what oracle.ask does with it, at o.ask(x)
	o.ask(x)
	return x
}

// The branch alone decides, as the first doubt is of a method that types of the package have, which only reads.
type judge interface{ judge(x *item) bool }

type strict struct{}

func (strict) judge(x *item) bool { return x.name == "" }

type lenient struct{}

func (lenient) judge(x *item) bool { return true }

func judgedThenKept(j judge) {
	x := &item{} // composite literal: whether that line runs, at kept = x
	if j.judge(x) {
		kept = x
	}
}

// One answer of the second settles it, and one of the first does not.
func packedOrKept(o oracle, w wrapper, which bool) {
	x := &item{} // composite literal: whether that line runs, at kept = x
	y := w.pack(x)
	if which {
		kept = x
	}
	o.ask(y)
}

// All that may keep it comes by way of the choice.
type wrapper interface{ pack(x *item) *item }

type whole struct{}

func (whole) pack(x *item) *item { return x }

type copied struct{}

func (copied) pack(x *item) *item { return &item{name: x.name} } // composite literal: the caller, as a result

func packed(w wrapper, o, p oracle) {
	x := &item{} // composite literal: what wrapper.pack does with it, at y := w.pack(x)
	y := w.pack(x)
	o.ask(y)
	p.ask(y)
}

// A doubt deep in a callee is named where it is.
func hands(o oracle, x *item) bool { return o.ask(x) }

func handed(o oracle) bool {
	return hands(o, &item{}) // composite literal: what oracle.ask does with it, at func hands(o oracle, x *item) bool { return o.ask(x) }
}

// What the library calls during the call alone, and keeps no longer.
func sorted(n int) int {
	list := make([]*item, 0, n) // make: dies
	for range n {
		list = append(list, &item{}) // composite literal: dies; append: dies
	}
	slices.SortFunc(list, func(a, b *item) int { return strings.Compare(a.name, b.name) })
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name }) // closure: dies; boxing: dies
	return len(list)
}

func sortedAndKept(n int) {
	list := make([]*item, 0, n) // make: dies
	for range n {
		list = append(list, &item{}) // composite literal: package variable kept; append: dies
	}
	slices.SortFunc(list, func(a, b *item) int {
		kept = a
		return strings.Compare(a.name, b.name)
	})
}

func sortedBy(n int, by func(a, b *item) int) int {
	list := make([]*item, 0, n) // make: dies
	for range n {
		list = append(list, &item{}) // composite literal: what by does with it, at slices.SortFunc(list, by); append: dies
	}
	slices.SortFunc(list, by)
	return len(list)
}

func found(n int, name string) *item {
	list := make([]*item, 0, n) // make: dies
	for range n {
		list = append(list, &item{}) // composite literal: the caller, as a result; append: dies
	}
	i := slices.IndexFunc(list, func(x *item) bool { return x.name == name }) // closure: dies
	return list[i]
}

func mapped(s string) int {
	seen := make(map[rune]bool)          // map made: dies
	t := strings.Map(func(r rune) rune { // closure: dies
		seen[r] = true
		return r
	}, s)
	return len(t)
}

func fields(b []byte) int {
	n := 0
	for _, f := range bytes.FieldsFunc(b, func(r rune) bool { n++; return r == ' ' }) { // closure: dies
		n += len(f)
	}
	return n
}

func walked(root string) int {
	all := make([]int, 0, 8)                                                   // make: dies
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // closure: dies
		all = append(all, len(path)) // append: dies
		return err
	})
	return len(all)
}

func once(o *sync.Once) int {
	b := make([]byte, 16)     // make: dies
	o.Do(func() { b[0] = 1 }) // closure: dies
	return len(b)
}

func ranged(m *sync.Map) int {
	n := 0
	m.Range(func(k, v any) bool { // closure: dies
		n++
		return true
	})
	return n
}

func stored(m *sync.Map, k string) {
	m.Store(k, &item{}) // composite literal: what parameter m refers to; boxing: what parameter m refers to
}

func loaded2(m *sync.Map, k string) bool {
	_, ok := m.Load(k + "x") // concatenation: dies; boxing: dies
	return ok
}

func keysOf(m map[string]*item) int {
	n := 0
	for k := range maps.Keys(m) {
		n += len(k)
	}
	return n
}

func keyed(n int) int {
	m := make(map[string]*item) // map made: dies
	for range n {
		m["x"] = &item{} // composite literal: dies
	}
	return keysOf(m)
}

func valuesKept(n int) {
	m := make(map[string]*item) // map made: dies
	for range n {
		m["x"] = &item{} // composite literal: package variable kept
	}
	for v := range maps.Values(m) {
		kept = v
	}
}

// Functions of the package that call what they are given.
func each2(list []*item, do func(*item)) {
	for _, x := range list {
		do(x)
	}
}

func eachRead(n int) (sum int) {
	each2([]*item{{}, {}}, func(x *item) { sum += len(x.name) }) // composite literal: dies; composite literal: dies; composite literal: dies; closure: dies
	return sum
}

func eachKept(n int) {
	each2([]*item{{}}, func(x *item) { kept = x }) // composite literal: dies; composite literal: package variable kept
}

func keep(x *item) { kept = x }

func eachNamed(n int) {
	each2([]*item{{}}, keep) // composite literal: dies; composite literal: package variable kept
}

type visitor struct{ last *item }

func (v *visitor) visit(x *item) { v.last = x }

func eachMethod(v *visitor) {
	each2([]*item{{}}, v.visit) // composite literal: dies; composite literal: field visitor.last; method value: dies
}

// A method of a function type calls its receiver, and another one returns an iterator. The
// parameters of the interface are one less.
type sink interface {
	put(x *item)
	each() func(yield func(*item) bool)
}

type putter func(*item)

func (f putter) put(x *item) { f(x) }

func (f putter) each() func(yield func(*item) bool) {
	return func(yield func(*item) bool) { yield(&item{}) }
}

func sunk(s sink) {
	x := &item{} // composite literal: what sink.put does with it, at s.put(x)
	s.put(x)
}

func sunkEach(s sink) {
	x := &item{} // composite literal: package variable kept
	s.each()(func(y *item) bool { kept = x; return y != nil })
}
