package http11

import (
	"bytes"
	"iter"
)

// Cookie returns the value of the first cookie of that name, and whether it
// exists. See Cookies.
func (q Request) Cookie(name string) (value View, ok bool) {
	if name == "" { // all cookies, for eachCookie
		q.check("Cookie")
		return View{}, false
	}
	q.eachCookie("Cookie", name, func(_, v View) bool {
		value, ok = v, true
		return false
	})
	return value, ok
}

// Cookies returns the names and values of the cookies, in order, as parts of
// the request as sent. They equal those of net/http's Request.Cookies: a cookie
// is skipped if its name is not a token, or its value contains a control, a
// quote, a backslash or a byte beyond ASCII; enclosing quotes are removed;
// nothing is decoded. Unlike net/http, only Server.MaxHeaderBytes bounds the
// number of cookies.
func (q Request) Cookies() iter.Seq2[View, View] {
	return func(yield func(name, value View) bool) { q.eachCookie("Cookies", "", yield) }
}

// eachCookie yields the cookies of that name, or all if it is empty.
func (q Request) eachCookie(op, only string, yield func(name, value View) bool) {
	for line, i, ok := q.lookup(op, "cookie", 0); ok; line, i, ok = q.lookup(op, "cookie", i+1) {
		v := q.r.part(q.epoch, baseHead, line)
		for at := 0; at < int(line.len); {
			text := v.bytes(op)
			part, next := nextPart(text, at, ';')
			name, value, ok := parseCookie(text, part, only)
			v.still(op)
			if at = next; ok && !yield(v.cut(name.off, name.len), v.cut(value.off, value.len)) {
				return
			}
		}
	}
}

// parseCookie reports false for a cookie that is skipped or whose name differs
// from a non-empty only.
func parseCookie(line []byte, part span, only string) (name, value span, ok bool) {
	name, value = splitPart(line, part.trim(line))
	name = name.trim(line)
	text := name.of(line)
	if len(text) == 0 || only != "" && string(text) != only {
		return name, value, false
	}
	for _, c := range text {
		if classOf[c]&isToken == 0 {
			return name, value, false
		}
	}
	text = value.of(line)
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		value = span{value.off + 1, value.len - 2}
		text = text[1 : n-1]
	}
	for _, c := range text {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' { // parts contain no semicolon
			return name, value, false
		}
	}
	return name, value, true
}

// trim returns s without surrounding white space.
func (s span) trim(buf []byte) span {
	text := bytes.TrimLeft(s.of(buf), " \t")
	s.off, s.len = s.off+s.len-uint32(len(text)), uint32(len(text))
	s.len = uint32(len(bytes.TrimRight(text, " \t")))
	return s
}
