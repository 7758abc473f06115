package whennot

import (
	"container/list"
	"sync"
)

// Its methods change it: the caller wants its address.
type cursor struct{ at, end int }

func (c cursor) done() bool { return c.at == c.end }

func (c *cursor) next() { c.at++ }

func (c *cursor) skip() { c.next() }

func newCursor(end int) *cursor { return &cursor{end: end} }

// Made to be used as it is.
func waits(mu *sync.Mutex) *sync.Cond { return sync.NewCond(mu) }

func listed(n int) *list.List {
	l := list.New()
	l.PushBack(n)
	return l
}

// Too large to be returned by value.
type page struct{ words [40]int }

func pageOf(n int) *page {
	if n == 0 {
		return nil
	}
	return &page{words: [40]int{n}}
}
