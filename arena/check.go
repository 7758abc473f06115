package arena

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// This file's code runs in checking builds only (invariant.Enabled).

// poison fills freed memory.
const poison = 0xdb

func panicStaleWrite(freed invariant.Event) {
	panic(fmt.Sprintf("arena: allocation: memory was written to after it was freed (freed %v); drop every pointer "+
		"into an arena before Reset and Rewind", freed))
}

// check looks for writes to the memory of the next allocation, of size bytes.
func (a *Arena) check(size uintptr) {
	if size > a.end-a.off {
		a.mustAdvance(size)
	}
	a.handOut(a.off, a.off+size)
}

// handOut looks for writes to the part [from, stop) of the current chunk, which is no
// longer free.
func (a *Arena) handOut(from, stop uintptr) {
	c := &a.chunks[a.cur]
	if from < c.high {
		for _, b := range c.mem[from:min(stop, c.high)] {
			if b != poison {
				panicStaleWrite(a.freed)
			}
		}
	}
	c.high = max(c.high, stop)
}

// poisonAll makes everything handed out unusable. Off the heap it returns the pages, so
// that access faults; on the heap and in race builds it poisons them.
func (a *Arena) poisonAll() {
	if a.source.OnHeap() || invariant.Race {
		a.poisonFrom(0, 0)
		return
	}
	for _, c := range a.chunks {
		a.source.Give(c.mem)
	}
	a.chunks, a.oversize = nil, 0
	a.restart()
}

// poisonFrom poisons what is handed out beyond off in chunk i. What lies behind is free and
// keeps its poison, and with it the traces of stale writes.
func (a *Arena) poisonFrom(i int, off uintptr) {
	for ; i < len(a.chunks) && i <= a.cur; i++ {
		c := &a.chunks[i]
		stop := c.high
		if i == a.cur {
			stop = a.off
		}
		for j := off; j < stop; j++ {
			c.mem[j] = poison
		}
		off = 0
	}
}

// mustHold panics if b is not from this arena.
func (a *Arena) mustHold(b []byte) {
	if !invariant.Enabled || len(b) == 0 {
		return
	}
	p := uintptr(start(b))
	for _, c := range a.chunks {
		if from := uintptr(start(c.mem)); from <= p && p < from+uintptr(len(c.mem)) {
			return
		}
	}
	panic("arena: String: the bytes are not from this arena; use CopyString")
}
