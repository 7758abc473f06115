package after

import "strings"

func csvRow(fields []string) string {
	var b strings.Builder
	// Pre-size to avoid the geometric growth memcpys.
	total := 0
	for _, f := range fields {
		total += len(f) + 1
	}
	b.Grow(total)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f)
	}
	return b.String()
}
