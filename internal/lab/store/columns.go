package store

import (
	"bytes"

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
func cut[T any](text []byte, key string, parse func([]byte) (T, []byte, bool)) (rest []byte, value T, ok bool) {
	before, after, found := bytes.Cut(text, []byte(key))
	if !found || len(before) == 0 || bytes.IndexByte([]byte("{[,: \t\r\n"), before[len(before)-1]) >= 0 {
		return text, value, false
	}
	value, after, ok = parse(after)
	if !ok || len(after) == 0 || after[0] != ',' && after[0] != '}' {
		var none T
		return text, none, false
	}
	rest = append(make([]byte, 0, len(before)+len(after)), before...)
	return append(rest, after...), value, true
}

// parseTimeline reads {"at_ns":[…],…} and returns what follows.
func parseTimeline(b []byte) (line cell.Timeline, rest []byte, ok bool) {
	columns := []struct {
		key    string
		values *[]int64
	}{
		{`"at_ns":`, &line.AtNs}, {`"heap_bytes":`, &line.HeapBytes}, {`"goal_bytes":`, &line.GoalBytes},
		{`"sys_bytes":`, &line.SysBytes}, {`"rss_bytes":`, &line.RSSBytes}, {`"cycles":`, &line.Cycles},
	}
	if b, ok = skip(b, "{"); !ok {
		return line, nil, false
	}
	for first := true; ; first = false {
		if after, ends := skip(b, "}"); ends && !first {
			return line, after, true
		}
		if !first {
			if b, ok = skip(b, ","); !ok {
				return line, nil, false
			}
		}
		known := false
		for _, c := range columns {
			if after, is := skip(b, c.key); is && *c.values == nil {
				if *c.values, b, known = parseInts(after); !known {
					return line, nil, false
				}
				break
			}
		}
		if !known {
			return line, nil, false
		}
	}
}

// parseInts reads [1,2,…], at least one of them, and returns what follows.
func parseInts(b []byte) (values []int64, rest []byte, ok bool) {
	if b, ok = skip(b, "["); !ok {
		return nil, nil, false
	}
	end := bytes.IndexByte(b, ']')
	if end < 0 {
		return nil, nil, false
	}
	values = make([]int64, 0, 1+bytes.Count(b[:end], []byte{','}))
	for {
		var v int64
		if v, b, ok = parseInt(b); !ok {
			return nil, nil, false
		}
		values = append(values, v)
		if after, ends := skip(b, "]"); ends {
			return values, after, true
		}
		if b, ok = skip(b, ","); !ok {
			return nil, nil, false
		}
	}
}

// parsePauses reads [{"at_ns":1,"ns":2},…], at least one of them, and returns
// what follows.
func parsePauses(b []byte) (pauses []cell.Pause, rest []byte, ok bool) {
	if b, ok = skip(b, "["); !ok {
		return nil, nil, false
	}
	for {
		var p cell.Pause
		if b, ok = skip(b, `{"at_ns":`); !ok {
			return nil, nil, false
		}
		if p.AtNs, b, ok = parseInt(b); !ok {
			return nil, nil, false
		}
		if b, ok = skip(b, `,"ns":`); !ok {
			return nil, nil, false
		}
		if p.Ns, b, ok = parseInt(b); !ok {
			return nil, nil, false
		}
		if b, ok = skip(b, "}"); !ok {
			return nil, nil, false
		}
		pauses = append(pauses, p)
		if after, ends := skip(b, "]"); ends {
			return pauses, after, true
		}
		if b, ok = skip(b, ","); !ok {
			return nil, nil, false
		}
	}
}

// skip returns what follows the prefix.
func skip(b []byte, prefix string) (rest []byte, ok bool) {
	if len(b) < len(prefix) || string(b[:len(prefix)]) != prefix {
		return b, false
	}
	return b[len(prefix):], true
}

// parseInt reads a whole number of at most 18 digits as JSON writes it, and
// returns what follows. Longer ones are left to the general decoder.
func parseInt(b []byte) (v int64, rest []byte, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		if n == 18 {
			return 0, nil, false
		}
		v = 10*v + int64(b[n]-'0')
		n++
	}
	if n == 0 || n > 1 && b[0] == '0' || n < len(b) && (b[n] == '.' || b[n] == 'e' || b[n] == 'E') {
		return 0, nil, false
	}
	if negative {
		v = -v
	}
	return v, b[n:], true
}
