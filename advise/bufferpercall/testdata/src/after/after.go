package after

import (
	"bytes"
	"encoding/binary"
	"sync"
)

type Event struct {
	ID   int64
	Name string
	Tags []string
}

func (e *Event) AppendBinary(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.ID))
	dst = append(dst, e.Name...)
	for _, t := range e.Tags {
		dst = append(dst, t...)
	}
	return dst
}

var bufPool = sync.Pool{New: func() any { b := make([]byte, 0, 256); return &b }}

func (e *Event) MarshalBinary() ([]byte, error) {
	bp := bufPool.Get().(*[]byte)
	buf := (*bp)[:0]
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.ID))
	buf = append(buf, e.Name...)
	for _, t := range e.Tags {
		buf = append(buf, t...)
	}
	out := bytes.Clone(buf) // caller owns this; safe to keep
	*bp = buf
	bufPool.Put(bp)
	return out, nil
}
