package http11

import (
	"bytes"
	"errors"
	"iter"
	"net/url"
)

// Values are the names and values of a query or a form, in order. Each method
// scans the pairs; nothing is parsed in advance. A name or value that needs no
// decoding is a View of the request as sent. The first one that does creates a
// decoded copy of the whole query or form in request memory.
//
// They equal those of [url.ParseQuery]: a pair with a semicolon, or with a
// percent sign without two hexadecimal digits, is skipped, and Err reports it;
// a plus is a space; a name without "=" has an empty value. Unlike
// url.ParseQuery, only the size of the target or body bounds the number of
// pairs.
//
// Values are valid as long as a View; later use panics. The zero Values has no
// pairs. Values may be copied, and used by several goroutines at once.
type Values struct{ raw View }

// QueryValues returns the names and values of the query.
func (q Request) QueryValues() Values { return Values{q.headPart("QueryValues", &q.r.head.query)} }

// FormValues reads the rest of the body as Body does and returns the names and
// values of its form. If Content-Type is not application/x-www-form-urlencoded,
// it returns ErrNotForm before it reads anything. Other errors are those of
// Body.
func (c *Context) FormValues() (Values, error) {
	body, err := c.readWhole(c.receive(), "FormValues", true)
	return Values{body}, err
}

// isForm reports whether Content-Type announces a form, ignoring parameters.
// The caller has the turn.
func (r *region) isForm() bool {
	at, ok := lookup(r.head.fields, r.head.seen, r.base[baseHead], "content-type", 0)
	if !ok {
		return false
	}
	kind, _, _ := bytes.Cut(r.head.fields[at].value.of(r.base[baseHead]), []byte{';'})
	return equalFold(bytes.TrimRight(kind, " \t"), "application/x-www-form-urlencoded")
}

// Get returns the first value of that name, and whether it exists.
func (v Values) Get(name string) (View, bool) {
	src := v.raw.bytes("Values.Get")
	for at := 0; at < len(src); {
		pair, next := nextPart(src, at, '&')
		if rest, ok := cutName(src, pair, name); ok && pair.len > 0 {
			if value, ok := parseTerm(src, rest); ok {
				v.raw.still("Values.Get")
				return v.view("Values.Get", value), true
			}
		}
		at = next
	}
	v.raw.still("Values.Get")
	return View{}, false
}

// All returns names and values in order.
func (v Values) All() iter.Seq2[View, View] {
	return func(yield func(name, value View) bool) { v.each(yield) }
}

func (v Values) each(yield func(name, value View) bool) {
	const op = "Values.All"
	for at := 0; ; {
		src := v.raw.bytes(op)
		if at >= len(src) {
			return
		}
		pair, next := nextPart(src, at, '&')
		name, value, ok := parsePair(src, pair)
		v.raw.still(op)
		if at = next; ok && pair.len > 0 && !yield(v.view(op, name), v.view(op, value)) {
			return
		}
	}
}

var errSemicolon = errors.New("http11: Values: a semicolon in a pair; separate pairs by &, or send %3B")

// Err says why pairs were skipped, as url.ParseQuery does: with an error about
// a semicolon if a pair has one, otherwise with the first [url.EscapeError]. It
// is nil if none was skipped.
func (v Values) Err() error {
	src := v.raw.bytes("Values.Err")
	err := firstError(src)
	v.raw.still("Values.Err")
	return err
}

func firstError(src []byte) error {
	if bytes.IndexByte(src, ';') >= 0 {
		return errSemicolon
	}
	for at := 0; at < len(src); {
		pair, next := nextPart(src, at, '&')
		name, value := splitPart(src, pair)
		for _, s := range []span{name, value} {
			for text := s.of(src); len(text) > 0; {
				_, used, ok := decodeByte(text)
				if !ok {
					return url.EscapeError(text[:min(3, len(text))])
				}
				text = text[used:]
			}
		}
		at = next
	}
	return nil
}

// A term is a name or a value: a part of a query or form, and its decoded form.
type term struct {
	span
	coded   bool // decoding changes it
	decoded uint32
}

// view returns a view of t, decoded.
func (v Values) view(op string, t term) View {
	if !t.coded {
		return View{r: v.raw.r, tag: v.raw.tag, span: span{v.raw.off + t.off, t.len}}
	}
	return v.decode(op).cut(t.off, t.decoded)
}

func (v View) cut(off, n uint32) View {
	v.off, v.len = v.off+off, n
	return v
}

// decodedBase is where decoded terms of a base are stored: each term at its
// offset in the source, where it is at least as long.
var decodedBase = [numBases]uint64{baseHead: baseQuery, baseBody: baseForm}

// decode returns the copy with decoded terms, creating it on first use. Whoever
// refers to it has had the turn since, or got the View from someone who had.
func (v Values) decode(op string) View {
	r, epoch := v.raw.r, v.raw.tag>>baseBits
	if !r.enter(epoch, true) {
		v.raw.stale(op)
	}
	defer r.pass()
	from := v.raw.tag & (1<<baseBits - 1)
	to := decodedBase[from]
	if r.base[to] == nil {
		src := v.raw.of(r.base[from])
		r.refer(to, decodePairs(r.extra(len(src)), src))
	}
	return r.part(epoch, to, span{})
}

// decodePairs copies src to dst of equal length and decodes every term in
// place.
func decodePairs(dst, src []byte) []byte {
	copy(dst, src)
	for at := 0; at < len(src); {
		var pair span
		pair, at = nextPart(src, at, '&')
		if name, value, ok := parsePair(src, pair); ok {
			name.decodeTo(dst, src)
			value.decodeTo(dst, src)
		}
	}
	return dst
}

// decodeTo writes the decoded term at the term's start.
func (t term) decodeTo(dst, src []byte) {
	if !t.coded {
		return
	}
	dst = dst[t.off:]
	src = t.of(src)
	for n := 0; len(src) > 0; n++ {
		c, used, _ := decodeByte(src)
		dst[n] = c
		src = src[used:]
	}
}

// nextPart returns the part at src[at:] up to the separator, which may be
// empty, and where the next one begins.
func nextPart(src []byte, at int, separator byte) (part span, next int) {
	n := bytes.IndexByte(src[at:], separator)
	if n < 0 {
		n = len(src) - at
	}
	return span{uint32(at), uint32(n)}, at + n + 1
}

// splitPart returns the name and the value of a pair.
func splitPart(src []byte, part span) (name, value span) {
	text := part.of(src)
	n := uint32(len(text))
	if i := bytes.IndexByte(text, '='); i >= 0 {
		n = uint32(i)
	}
	skip := min(n+1, part.len) // the "=", if any
	return span{part.off, n}, span{part.off + skip, part.len - skip}
}

// parsePair reports false for a pair that is skipped.
func parsePair(src []byte, pair span) (name, value term, ok bool) {
	n, v := splitPart(src, pair)
	if name, ok = parseTerm(src, n); ok {
		value, ok = parseTerm(src, v)
	}
	return name, value, ok
}

// parseTerm reports false for a term that makes its pair invalid.
func parseTerm(src []byte, s span) (t term, ok bool) {
	t = term{span: s, decoded: s.len}
	text := s.of(src)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ';':
			return t, false
		case '+':
			t.coded = true
		case '%':
			if !isEscape(text[i:]) {
				return t, false
			}
			t.coded = true
			t.decoded -= 2
			i += 2
		}
	}
	return t, true
}

// cutName returns the rest of a pair after name and "=", if the decoded pair
// begins with them.
func cutName(src []byte, pair span, name string) (rest span, ok bool) {
	text := pair.of(src)
	for i := range len(name) {
		if len(text) == 0 || text[0] == '=' {
			return rest, false
		}
		c, used, ok := decodeByte(text)
		if !ok || c != name[i] {
			return rest, false
		}
		text = text[used:]
	}
	if len(text) > 0 {
		if text[0] != '=' {
			return rest, false
		}
		text = text[1:]
	}
	return span{pair.off + pair.len - uint32(len(text)), uint32(len(text))}, true
}

// decodeByte decodes the first byte of a term, encoded in used bytes. It
// reports false if the byte makes its pair invalid.
func decodeByte(text []byte) (c byte, used int, ok bool) {
	switch c = text[0]; c {
	case ';':
		return c, 1, false
	case '+':
		return ' ', 1, true
	case '%':
		if !isEscape(text) {
			return c, 1, false
		}
		return hexValue(text[1])<<4 | hexValue(text[2]), 3, true
	}
	return c, 1, true
}

// isEscape reports whether text, which begins with a percent sign, begins with
// an escape.
func isEscape(text []byte) bool {
	return len(text) >= 3 && classOf[text[1]]&classOf[text[2]]&isHex != 0
}
