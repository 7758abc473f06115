package tick

import "strconv"

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
