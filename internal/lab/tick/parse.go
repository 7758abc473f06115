package tick

import (
	"bytes"
	"strconv"
	"time"
)

// cutField returns the field of line that starts at pos and the start of the
// next one, which is len(line)+1 after the last. It unquotes a quoted field in
// place. ok is false if quotes are misplaced.
func cutField(line []byte, pos int) (field []byte, next int, ok bool) {
	rest := line[pos:]
	if len(rest) > 0 && rest[0] == '"' {
		return cutQuoted(line, pos)
	}
	if i := bytes.IndexByte(rest, ','); i >= 0 {
		rest = rest[:i]
	}
	return rest, pos + len(rest) + 1, bytes.IndexByte(rest, '"') < 0
}

func cutQuoted(line []byte, pos int) (field []byte, next int, ok bool) {
	out := line[pos:pos] // never overtakes the read position
	for i := pos + 1; i < len(line); i++ {
		if line[i] != '"' {
			out = append(out, line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			out = append(out, '"')
			i++
			continue
		}
		return out, i + 2, i+1 == len(line) || line[i+1] == ','
	}
	return nil, len(line) + 1, false
}

// parseInt reads a whole number, with a sign only if it is negative. Up to 32
// bytes it allocates nothing.
func parseInt(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil && b[0] != '+'
}

// parseFloat reads a decimal number and refuses the other notations of strconv.
// Up to 32 bytes it allocates nothing.
func parseFloat(b []byte) (float64, bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil
}

// parseTime reads RFC 3339 with an upper-case T and Z and at most nine
// decimals, or nanoseconds since 1970. It refuses leap seconds and times that
// do not fit in int64 nanoseconds.
func parseTime(b []byte) (int64, bool) {
	const decimals = len("2006-01-02T15:04:05.") // where they begin
	if len(b) < decimals || b[4] != '-' {
		return parseInt(b)
	}
	if len(b) > decimals+9 && len(bytes.TrimLeft(b[decimals:decimals+10], "0123456789")) == 0 {
		return 0, false
	}
	var t time.Time
	if t.UnmarshalText(b) != nil {
		return 0, false
	}
	ns := t.UnixNano()
	return ns, time.Unix(0, ns).Equal(t)
}
