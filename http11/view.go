package http11

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/invariant"
)

// A View is a part of a request: the method, the path, the value of a header
// field. It is valid until the handler returns, or until the retained request
// is released; String, Clone and AppendTo copy out of it. Using it afterwards
// panics. The zero View is empty. Views may be copied.
type View struct {
	r    *region
	gen  uint32
	base uint32 // index into r.base
	span
}

const (
	baseHead = iota
	baseBody
	baseTrailer
	numBases
)

// view returns a view of the current generation.
func (r *region) view(base uint32, s span) View { return View{r: r, gen: r.gen, base: base, span: s} }

// bytes returns what v refers to.
func (v View) bytes(op string) []byte {
	if v.r == nil {
		return nil
	}
	if v.gen != v.r.gen {
		v.stale(op)
	}
	return v.of(v.r.base[v.base])
}

// stale panics. It is for views whose request has ended.
func (v View) stale(op string) {
	where := ""
	if invariant.Enabled {
		where = places.describe(v.r)
	}
	panic(fmt.Sprintf("http11: View.%s: the request has ended; copy with String or Clone before the handler returns, or Retain the request%s", op, where))
}

// Len returns the number of bytes.
func (v View) Len() int { return len(v.bytes("Len")) }

// String returns a copy as a string.
func (v View) String() string { return string(v.bytes("String")) }

// Clone returns a copy, nil if the view is empty.
func (v View) Clone() []byte { return append([]byte(nil), v.bytes("Clone")...) }

// AppendTo appends a copy to dst.
func (v View) AppendTo(dst []byte) []byte { return append(dst, v.bytes("AppendTo")...) }

// Equal reports whether the view has these bytes.
func (v View) Equal(s string) bool { return string(v.bytes("Equal")) == s }

// EqualFold reports whether the view has these bytes, ASCII letters of either
// case being equal.
func (v View) EqualFold(s string) bool { return sameName(v.bytes("EqualFold"), s) }

// UnsafeBytes returns the memory of the request itself. Nothing checks that it
// is used only while the request lasts: afterwards it holds another request.
// It must not be written to.
func (v View) UnsafeBytes() []byte { return v.bytes("UnsafeBytes") }
