package before

import (
	"bytes"
	"reflect"
	"sync"
)

type span struct{ from, to int }

type index struct {
	mu    *sync.Mutex
	buf   *bytes.Buffer
	last  *span
	spans []*span
	names map[string]*span
}

func newIndex() *index {
	x := &index{mu: &sync.Mutex{}} // want `mu is an allocation of its own`
	x.buf = new(bytes.Buffer)      // want `buf is an allocation of its own`
	return x
}

func (x *index) add(name string, from, to int) {
	x.last = &span{from, to}                   // want `last is an allocation of its own`
	x.spans = append(x.spans, &span{from, to}) // want `a span is allocated to be appended by its address`
	x.names[name] = &span{from: from}          // want `a span is allocated to be held by its address`
	x.spans = []*span{&span{from, to}}         // want `a span is allocated to be listed by its address`
}

func (x *index) find(name string, to int) *span {
	if name == "" {
		return nil
	}
	return &span{0, to} // want `a span is allocated to be returned by its address`
}

func (x *index) first(name string) *int {
	n := len(name)
	if n == 0 {
		return nil
	}
	return &n // want `&n is an allocation for one value; return it itself`
}

var found []*int

func keep(n *int) { found = append(found, n) }

func passes(n, m int) {
	keep(pointer(n)) // want `pointer\(n\) is allocated to be passed by its address`
}

// Handed on, but only ever its own.
type lazy struct{ part *span }

func give(l *lazy) *span { return l.part }

func newLazy(n int) *lazy { return &lazy{part: &span{to: n}} } // want `part is an allocation of its own`

func encode(n byte, scaled bool) (prefix byte, scale *byte) {
	if scaled {
		value := n << 2
		scale = &value // want `&value is an allocation for one value; return it itself`
	}
	return n, scale
}

type source struct {
	r    *bytes.Reader
	iter *reflect.MapIter
}

func newSource(b []byte, m reflect.Value) *source {
	s := &source{iter: m.MapRange()} // want `iter is an allocation of its own; hold it by value, and Reset it`
	s.r = bytes.NewReader(b)         // want `r is an allocation of its own; hold it by value, and Reset it`
	return s
}
