package before

import (
	"container/list"
	"image"
	"sync"
)

// A condition, a list, and a rectangle that is the library's where it is empty.
type board struct {
	mu     sync.Mutex
	moved  *sync.Cond
	order  *list.List
	bounds *image.Rectangle
}

func newBoard(r image.Rectangle) *board {
	b := &board{order: list.New()} // want `order is an allocation of its own; hold it by value, its zero value is an empty list`
	b.moved = sync.NewCond(&b.mu)  // want `moved is an allocation of its own; hold it by value, and set its L`
	r = r.Inset(1)
	if r.Empty() {
		b.bounds = &image.ZR
	} else {
		b.bounds = &r // want `bounds is an allocation of its own`
	}
	return b
}

func (b *board) width() int {
	if b.bounds == nil {
		return 0
	}
	return b.bounds.Dx()
}

// A type with a method of the value is meant as one, though others take its
// address to read it.
type path struct {
	bytes []byte
	bits  int
}

func (p path) length() int { return len(p.bytes) * 8 }

func (p *path) last() byte { return p.bytes[p.length()/8-1] }

func (p *path) twice() byte { return 2 * p.last() }

func newPath(b []byte) *path {
	return &path{bytes: b, bits: len(b) * 8} // want `a path is allocated to be returned by its address`
}

// Up to 128 bytes are returned themselves.
type wideRow struct{ a, b, c, d, e, f, g, h, i int }

func row(n int) (*wideRow, error) {
	if n == 0 {
		return nil, nil
	}
	return &wideRow{a: n}, nil // want `a wideRow is allocated to be returned by its address`
}
