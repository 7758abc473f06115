package whennot

import (
	"bytes"
	"errors"
	"sync"
)

var bufs = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Whoever gets it puts it back.
func get(fail bool) (*bytes.Buffer, error) {
	buf := bufs.Get().(*bytes.Buffer)
	if fail {
		bufs.Put(buf)
		return nil, errors.New("no")
	}
	return buf, nil
}

func text(s string) string {
	buf := bufs.Get().(*bytes.Buffer)
	defer bufs.Put(buf)
	buf.WriteString(s)
	return buf.String() // a copy
}

func again(s string) {
	buf := bufs.Get().(*bytes.Buffer)
	bufs.Put(buf)
	buf = bufs.Get().(*bytes.Buffer)
	buf.WriteString(s)
	bufs.Put(buf)
}

type typed struct{ sync.Pool }

func (p *typed) put(buf **bytes.Buffer) {
	p.Put(*buf)
	*buf = nil // the caller has it no more
}
