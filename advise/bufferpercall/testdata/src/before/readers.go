package before

import (
	"bytes"
	"io"
	"strings"
)

type decoder struct{ r io.Reader }

func (d *decoder) reset(r io.Reader) { d.r = r }

func decode(d *decoder, b []byte, s string) {
	d.reset(bytes.NewBuffer(b))   // want `bytes.NewBuffer allocates what is read once`
	d.reset(bytes.NewReader(b))   // want `bytes.NewReader allocates`
	d.reset(strings.NewReader(s)) // want `strings.NewReader allocates`
}

func held(d *decoder, b []byte) {
	r := bytes.NewReader(b) // want `bytes.NewReader allocates what is read once`
	d.reset(r)
}
