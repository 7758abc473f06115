package before

import (
	"bytes"
	"io"
)

func written(w io.Writer, s string) {
	var buf bytes.Buffer // want `take the buffer from a pool`
	buf.WriteString(s)
	w.Write(buf.Bytes())
}

func posted(post func(io.Reader), e *Event) {
	var buf bytes.Buffer // want `take the buffer from a pool`
	buf.WriteString(e.Name)
	post(&buf)
}
