package http11

import (
	"io"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/release"
)

// A View is a part of a request: the method, the path, the value of a header
// field. It is valid until the handler returns, or until the retained request
// is released. Later use panics and never shows bytes of another request.
// String, Clone and AppendTo copy out of it. The zero View is empty. Views may
// be copied, and used by several goroutines at once.
type View struct {
	r   *region
	tag uint64 // epoch and base
	span
}

// The parts of a request that a View can refer to: indexes into region.base.
const (
	baseHead    = iota
	baseBody    // the whole body in memory
	baseTrailer // the trailer section
	baseQuery   // a copy of the query for decoding names and values; see values.go
	baseForm    // the same for the body
	baseContent // recalled response content
	numBases
)

const baseBits = 3

// part returns a view of span s of base, valid during epoch.
func (r *region) part(epoch uint64, base uint64, s span) View {
	return View{r: r, tag: epoch<<baseBits | base, span: s}
}

// bytes returns what v refers to. Once it has read them, the caller calls
// still.
func (v View) bytes(op string) []byte {
	if v.r == nil {
		return nil
	}
	if v.r.epoch() != v.tag>>baseBits {
		v.stale(op)
	}
	b := v.r.base[v.tag&(1<<baseBits-1)]
	// The slice is consistent if the epoch is still ours after the read.
	if release.LoadAfter(&v.r.turn)>>turnShift != v.tag>>baseBits || uint64(v.off)+uint64(v.len) > uint64(len(b)) {
		v.stale(op)
	}
	return v.of(b)
}

// still panics if the request has ended since bytes: the bytes read may be
// another request's.
func (v View) still(op string) {
	if v.r != nil && release.LoadAfter(&v.r.turn)>>turnShift != v.tag>>baseBits {
		v.stale(op)
	}
}

// stale panics for a view whose request has ended.
func (v View) stale(op string) {
	v.r.memory.late.Add(1)
	where := ""
	if invariant.Enabled {
		where = places.describe(v.r)
	}
	panic("http11: " + op + ": the request has ended; " +
		"copy with String or Clone before the handler returns, or Retain the request" + where)
}

// Len returns the number of bytes.
func (v View) Len() int { return len(v.bytes("View.Len")) }

// String returns a copy as a string.
func (v View) String() string {
	s := string(v.bytes("View.String"))
	v.still("View.String")
	return s
}

// Clone returns a copy, nil if the view is empty.
func (v View) Clone() []byte {
	b := append([]byte(nil), v.bytes("View.Clone")...)
	v.still("View.Clone")
	return b
}

// AppendTo appends a copy to dst.
func (v View) AppendTo(dst []byte) []byte {
	n := len(dst)
	dst = append(dst, v.bytes("View.AppendTo")...)
	if v.r != nil && release.LoadAfter(&v.r.turn)>>turnShift != v.tag>>baseBits {
		clear(dst[n:]) // may be another request's
		v.stale("View.AppendTo")
	}
	return dst
}

// Equal reports whether the view has these bytes.
func (v View) Equal(s string) bool {
	equal := string(v.bytes("View.Equal")) == s
	v.still("View.Equal")
	return equal
}

// EqualFold reports whether the view has these bytes, ignoring ASCII case.
func (v View) EqualFold(s string) bool {
	equal := sameName(v.bytes("View.EqualFold"), s)
	v.still("View.EqualFold")
	return equal
}

// WriteTo writes the bytes to w, which must not keep them. It copies piecewise,
// so that w never sees request memory.
func (v View) WriteTo(w io.Writer) (int64, error) {
	var buf [1 << 10]byte
	done := 0
	for done < int(v.len) {
		n := copy(buf[:], v.bytes("View.WriteTo")[done:])
		v.still("View.WriteTo")
		m, err := w.Write(buf[:n])
		done += m
		if err != nil {
			return int64(done), err
		}
	}
	return int64(done), nil
}

// UnsafeBytes returns the request memory itself. Nothing checks that it is used
// only during the request; afterwards it holds another request. Do not write to
// it.
func (v View) UnsafeBytes() []byte { return v.bytes("View.UnsafeBytes") }
