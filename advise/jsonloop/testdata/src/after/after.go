package after

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

type Msg struct{ N int }

func (m *Msg) MarshalJSON_into(buf *bytes.Buffer) error { return nil }

func send(w io.Writer, msgs []Msg) error {
	enc := json.NewEncoder(w) // reuses internal buffer across Encode calls
	for _, m := range msgs {
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

var bufPool = sync.Pool{New: func() any { return &bytes.Buffer{} }}

func generated(w io.Writer, msgs []Msg) error {
	buf := bufPool.Get().(*bytes.Buffer)
	defer func() { buf.Reset(); bufPool.Put(buf) }()
	for _, m := range msgs {
		buf.Reset()
		if err := m.MarshalJSON_into(buf); err != nil {
			return err
		} // generated
		buf.WriteByte('\n')
		if _, err := w.Write(buf.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
