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

// parseInt reads a whole number, with a sign only if it is negative.
func parseInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
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
	if len(b) < 20 || b[4] != '-' {
		return parseInt(b)
	}
	year, ok1 := parseDigits(b[0:4])
	month, ok2 := parseDigits(b[5:7])
	day, ok3 := parseDigits(b[8:10])
	hour, ok4 := parseDigits(b[11:13])
	minute, ok5 := parseDigits(b[14:16])
	second, ok6 := parseDigits(b[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	if month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	ns, rest, ok := parseFraction(b[19:])
	if !ok {
		return 0, false
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day { // the month is too short
		return 0, false
	}
	return joinNs(t.Unix()-int64(offset), int64(ns))
}

// joinNs returns sec·1e9 + ns, for ns below 1e9, if that fits in an int64.
func joinNs(sec, ns int64) (int64, bool) {
	if sec < 0 && ns > 0 { // move towards zero, so that the product cannot overflow
		sec, ns = sec+1, ns-1e9
	}
	const maxSec = (1<<63 - 1) / 1_000_000_000
	if sec > maxSec || sec < -maxSec {
		return 0, false
	}
	total := sec*1e9 + ns
	return total, (total < 0) == (sec < 0 || sec == 0 && ns < 0)
}

func parseDigits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// parseFraction reads an optional fraction of a second.
func parseFraction(b []byte) (ns int, rest []byte, ok bool) {
	if b[0] != '.' {
		return 0, b, true
	}
	n := 1
	for scale := 100_000_000; n < len(b) && b[n] >= '0' && b[n] <= '9'; n++ {
		if scale == 0 {
			return 0, nil, false
		}
		ns += int(b[n]-'0') * scale
		scale /= 10
	}
	return ns, b[n:], n > 1
}

// parseOffset reads Z or ±hh:mm and returns seconds east of UTC.
func parseOffset(b []byte) (seconds int, ok bool) {
	if len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != 6 || b[3] != ':' || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hour, ok1 := parseDigits(b[1:3])
	minute, ok2 := parseDigits(b[4:6])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	seconds = hour*3600 + minute*60
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
