package whennot

import (
	"bytes"
	"io"
)

type writer struct {
	w   io.Writer
	out *bytes.Buffer
}

// What holds the buffer is returned.
func newWriter() *writer {
	var buf bytes.Buffer
	w := writer{w: &buf}
	return &w
}

// Once for all calls, in a field that is set but once.
func (w *writer) open() {
	w.out = new(bytes.Buffer)
	w.out.WriteString("begin")
}
