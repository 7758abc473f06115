package before

import (
	"bytes"
	"io"
)

func written(w io.Writer, s string) {
	var buf bytes.Buffer // want `take the buffer from a pool and copy its Bytes where they outlive the call`
	buf.WriteString(s)
	w.Write(buf.Bytes())
}

func posted(post func(io.Reader), e *Event) {
	var buf bytes.Buffer // want `take the buffer from a pool`
	buf.WriteString(e.Name)
	post(&buf)
}

func encoded(s string) (*bytes.Buffer, error) {
	buf := &bytes.Buffer{} // want `let the caller give one`
	_, err := buf.WriteString(s)
	return buf, err
}
