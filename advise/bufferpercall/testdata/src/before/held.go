package before

import (
	"bytes"
	"io"
)

type printer struct {
	w      io.Writer
	indent int
}

func (p *printer) word(s string) { io.WriteString(p.w, s) }

// The buffer lies in what stays here.
func wordText(s string) string {
	var buf bytes.Buffer // want `take the buffer from a pool`
	p := printer{w: &buf, indent: 1}
	p.word(s)
	return buf.String()
}

func wordLength(s string) int {
	var buf bytes.Buffer // want `take the buffer from a pool`
	p := &printer{&buf, 1}
	p.word(s)
	return buf.Len()
}

type part struct {
	name string
	out  *bytes.Buffer
}

func fill(parts []*part, w io.Writer) {
	for _, p := range parts {
		p.out = new(bytes.Buffer)
		p.out.WriteString(p.name)
	}
	for _, p := range parts {
		w.Write(p.out.Bytes())
	}
}
