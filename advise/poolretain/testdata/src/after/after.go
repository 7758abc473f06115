package after

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
	return bytes.Clone(buf.Bytes())
}

func encode(s string) []byte {
	bp := pages.Get().(*[]byte)
	b := append((*bp)[:0], s...)
	out := bytes.Clone(b)
	*bp = b
	pages.Put(bp)
	return out
}
