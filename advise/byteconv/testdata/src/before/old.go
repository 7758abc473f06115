//go:build go1.21

package before

func sumBytes(b []byte) (n int) {
	for _, c := range b {
		n += int(c)
	}
	return n
}

func sums(list []string) (n int) {
	for _, s := range list {
		n += sumBytes([]byte(s)) // want `let it take a string`
	}
	return n
}

func appended(dst []byte, s string) []byte {
	return append(dst, []byte(s)...)
}
