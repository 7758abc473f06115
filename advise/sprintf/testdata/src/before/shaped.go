package before

import (
	"bytes"
	"fmt"
	"strings"
)

// With a shape of their own, a profile must say that it matters.
func shaped(id [8]byte, flags uint8, name string, n int) string {
	s := fmt.Sprintf("%.2x-%x", flags, id)      // want `fixed shape`
	s += fmt.Sprintf("%08d %-10s", n, name)     // want `fixed shape`
	return s + fmt.Sprintf("%6.2f", float64(n)) // want `fixed shape`
}

func float(f float64) string {
	return fmt.Sprintf("%v", f) + fmt.Sprintf("%.3f", f) + fmt.Sprint(f) // want `fixed shape` `fixed shape`
}

func filled(sb *strings.Builder, buf *bytes.Buffer, n int, name string) {
	fmt.Fprintf(sb, "%d: %s", n, name)
	fmt.Fprintf(buf, "%q", name)
}

func reflected(list []string, raw []byte) string {
	return fmt.Sprintf("%#v", list) + fmt.Sprintf("x=%s", raw) // want `fixed shape`
}
