package after

import (
	"log"
	"runtime"
	"unsafe"
)

func open() unsafe.Pointer      { return nil }
func close_(raw unsafe.Pointer) {}

type Conn struct{ raw unsafe.Pointer }

func (c *Conn) do() {}

const debug = false

func NewConn() *Conn {
	c := &Conn{raw: open()}
	if debug {
		runtime.SetFinalizer(c, func(c *Conn) {
			if c.raw != nil {
				log.Printf("conn leaked: forgot Close()")
				close_(c.raw)
			}
		})
	}
	return c
}

func (c *Conn) Close() {
	if c.raw != nil {
		close_(c.raw)
		c.raw = nil
	}
}

func use() {
	for i := 0; i < 100; i++ {
		func() {
			c := NewConn()
			defer c.Close()
			c.do()
		}()
	}
}
