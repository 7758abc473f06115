package whennot

import (
	"bytes"
	"hash"
	"io"
)

func sumBytes(b []byte) (n int) {
	for _, c := range b {
		n += int(c)
	}
	return n
}

func upper(b []byte) {
	for i := range b {
		b[i] &^= 0x20
	}
}

func all(w io.Writer, list []string) (n int) {
	for _, s := range list {
		n += sumBytes([]byte(s)) // read only: not copied
		upper([]byte(s))         // written to: must be copied
		sumBytes([]byte("constant"))
		var b bytes.Buffer
		b.Write([]byte(s)) // not an interface
		if _, err := w.Write(nil); err != nil {
			w.Write([]byte(err.Error()))
		}
	}
	return n
}

type message struct{ body []byte }

// What is kept must be copied, and so must what is written to; what is gone
// over is not copied.
func kept(m *message, s string) (n int) {
	m.body = []byte(s)
	own := []byte(s)
	upper(own)
	m.body = append(m.body, own...)
	for _, c := range []byte(s) {
		n += int(c)
	}
	seen := []byte(s)
	return n + sumBytes(seen) + len(append([]byte("x"), []byte(s)...))
}

func init() {
	var w io.Writer = io.Discard
	s := "x"
	w.Write([]byte(s))
}

func buffered(s string) *bytes.Buffer {
	return bytes.NewBufferString(s) // to be written to
}

type header struct{ name, magic []byte }

// Texts that are there anyway are copied to be held; nothing is made twice.
func (h *header) set(name string) {
	h.name = []byte(name)
	h.name = append(h.name, name...)
	fill([]byte("    "))
	b := []byte("0000")
	upper(b)
}

func fill(b []byte) {
	for i := range b {
		b[i] = '.'
	}
}

func both(s string) string {
	b := bytes.NewBufferString(s)
	b.WriteString(s) // written to
	return b.String()
}

// A hash takes no string, whatever io.WriteString is given.
func digest(h hash.Hash32, name string) uint32 {
	h.Write([]byte(name))
	h.Write([]byte("let"))
	return h.Sum32()
}

// cut returns a part of what it is given.
func cut(b []byte) []byte {
	if len(b) > 3 {
		return b[:3]
	}
	return b
}

func first(s string) string { return string(cut([]byte(s))) }
