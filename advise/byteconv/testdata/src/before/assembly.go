package before

import "bytes"

// What ends in assembly copies still.
func find(lines [][]byte, key, other string) (n int) {
	for _, l := range lines {
		n += bytes.Index(l, []byte(key))       // want `ends in assembly`
		if bytes.HasPrefix(l, []byte(other)) { // read in Go: no copy
			n++
		}
	}
	return n
}
