package store

import (
	"bytes"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// The fields that cut takes out of a document, with the comma before them. Such
// bytes cannot stand inside a string, where quotes are escaped.
const (
	timelineKey = `,"timeline":`
	pausesKey   = `,"pauses":`
)

// cut takes a field out of a document, if it is there and parse understands
// all of it, and returns the document without it. Otherwise it returns the
// document as it is, for the general decoder.
func cut[T any](text []byte, key string, parse func(*scanner) T) (rest []byte, value T, ok bool) {
	before, after, found := bytes.Cut(text, []byte(key))
	if !found || len(before) == 0 || bytes.IndexByte([]byte("{[,: \t\r\n"), before[len(before)-1]) >= 0 {
		return text, value, false
	}
	s := scanner{rest: after}
	v := parse(&s)
	if s.bad || len(s.rest) == 0 || s.rest[0] != ',' && s.rest[0] != '}' {
		return text, value, false
	}
	return slices.Concat(before, s.rest), v, true
}

// A scanner reads a value from the beginning of rest. Once something is not as
// expected it is bad, and what it returns means nothing.
type scanner struct {
	rest []byte
	bad  bool
}

// has consumes the text if it is next.
func (s *scanner) has(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// want consumes the text, which must be next.
func (s *scanner) want(text string) { s.bad = !s.has(text) || s.bad }

// timeline reads {"at_ns":[…],…}, at least one column.
func (s *scanner) timeline() (line cell.Timeline) {
	columns := []struct {
		key    string
		values *[]int64
	}{
		{`"at_ns":`, &line.AtNs}, {`"heap_bytes":`, &line.HeapBytes}, {`"goal_bytes":`, &line.GoalBytes},
		{`"sys_bytes":`, &line.SysBytes}, {`"rss_bytes":`, &line.RSSBytes}, {`"cycles":`, &line.Cycles},
	}
	s.want("{")
	for !s.bad {
		known := false
		for _, c := range columns {
			if known = *c.values == nil && s.has(c.key); known {
				*c.values = s.ints()
				break
			}
		}
		if s.bad = s.bad || !known; s.has("}") {
			break
		}
		s.want(",")
	}
	return line
}

// ints reads [1,2,…], at least one of them.
func (s *scanner) ints() (values []int64) {
	s.want("[")
	values = make([]int64, 0, 1+bytes.Count(s.rest[:max(bytes.IndexByte(s.rest, ']'), 0)], []byte{','}))
	for !s.bad {
		values = append(values, s.int())
		if s.has("]") {
			break
		}
		s.want(",")
	}
	return values
}

// pauses reads [{"at_ns":1,"ns":2},…], at least one of them.
func (s *scanner) pauses() (pauses []cell.Pause) {
	s.want("[")
	for !s.bad {
		var p cell.Pause
		s.want(`{"at_ns":`)
		p.AtNs = s.int()
		s.want(`,"ns":`)
		p.Ns = s.int()
		s.want("}")
		pauses = append(pauses, p)
		if s.has("]") {
			break
		}
		s.want(",")
	}
	return pauses
}

// int reads a whole number of at most 18 digits as JSON writes it. Longer ones
// are left to the general decoder.
func (s *scanner) int() (v int64) {
	sign := int64(1)
	if s.has("-") {
		sign = -1
	}
	n := 0
	for n < min(len(s.rest), 18) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		v = 10*v + int64(s.rest[n]-'0')
		n++
	}
	if n == 0 || n > 1 && s.rest[0] == '0' || n < len(s.rest) && bytes.IndexByte([]byte(".eE0123456789"), s.rest[n]) >= 0 {
		s.bad = true
	}
	s.rest = s.rest[n:]
	return sign * v
}
