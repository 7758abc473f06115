package before

import "fmt"

// With a shape of their own, a profile must say that it matters.
func shaped(id [8]byte, flags uint8, name string, n int) string {
	s := fmt.Sprintf("%.2x-%x", flags, id)  // want `fixed shape`
	s += fmt.Sprintf("%08d %-10s", n, name) // want `fixed shape`
	return s + fmt.Sprintf("%6.2f", float64(n))
}
