package before

import (
	"bytes"
	"sync"
)

var (
	bufs  = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	pages = sync.Pool{New: func() any { b := make([]byte, 0, 256); return &b }}
)

func marshal(s string) []byte {
	buf := bufs.Get().(*bytes.Buffer)
	defer bufs.Put(buf)
	buf.Reset()
	buf.WriteString(s)
	return buf.Bytes() // want `return or store a copy`
}

func encode(s string) []byte {
	bp := pages.Get().(*[]byte)
	defer func() {
		pages.Put(bp)
	}()
	b := append((*bp)[:0], s...)
	return b // want `goes back to the pool`
}

type message struct{ body []byte }

func (m *message) fill(s string) {
	buf := bufs.Get().(*bytes.Buffer)
	defer bufs.Put(buf)
	buf.WriteString(s)
	m.body = buf.Bytes() // want `goes back to the pool`
}

func after(s string) int {
	buf := bufs.Get().(*bytes.Buffer)
	buf.WriteString(s)
	b := buf.Bytes()
	bufs.Put(buf)
	return len(b) // want `b was put back into the pool`
}

func emptied(s string) {
	bp := pages.Get().(*[]byte)
	*bp = append(*bp, s...)
	pages.Put(bp)
	*bp = nil // want `bp was put back into the pool`
}
