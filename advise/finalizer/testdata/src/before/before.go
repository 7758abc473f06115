package before

import (
	"runtime"
	"unsafe"
)

func open() unsafe.Pointer      { return nil }
func close_(raw unsafe.Pointer) {}

type Conn struct{ raw unsafe.Pointer }

// The document's code.
func NewConn() *Conn {
	c := &Conn{raw: open()}
	runtime.SetFinalizer(c, func(c *Conn) { close_(c.raw) }) // want `explicit Close, with runtime.AddCleanup as a safety net`
	return c
}

func (c *Conn) do() {}

func use() {
	for i := 0; i < 100; i++ {
		c := NewConn()
		c.do()
	}
}

type file struct{ fd int }

func (f *file) Close() error { return nil }

func newFile(fd int) *file {
	f := &file{fd}
	runtime.SetFinalizer(f, (*file).Close) // want `a finalizer is slow`
	return f
}
