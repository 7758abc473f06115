package whennot

// The runes are written to, or kept.
func reversed(s string) string {
	rs := []rune(s)
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
	return string(rs)
}

var alphabet []rune

func learn(s string) { alphabet = []rune(s) }

// The copies of constants are changed.
func stamps(n int) (out [][]byte) {
	for range n {
		stamp := []byte("00:00")
		stamp[0]++
		out = append(out, stamp)
	}
	return out
}

// Go 1.22 and later copy nothing.
func appended(dst []byte, s string) []byte {
	n := copy(dst, []byte(s))
	return append(dst[:n], []byte(s)...)
}
