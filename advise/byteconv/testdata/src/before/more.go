//go:build go1.21

package before

import "bytes"

func compare(a, b []string) (n int) {
	for i := range a {
		n += bytes.Compare([]byte(a[i]), []byte(b[i])) // want `for Compare` `for Compare`
	}
	return n
}
