package before

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

type point struct {
	name string
	x    int
	y    uint32
}

// The result only goes into something that can be appended to.
func appends(points []point, on bool) (buf []byte, text string, b bytes.Buffer) {
	var sb strings.Builder
	for _, pt := range points {
		buf = append(buf, fmt.Sprintf("%s=%d,%d;", pt.name, pt.x, pt.y)...) // want `fixed shape`
		sb.WriteString(fmt.Sprintf("%q:%d %t", pt.name, pt.x, on))          // want `fixed shape`
		b.WriteString(fmt.Sprintf("<%d|%q>", pt.x, pt.name))                // want `fixed shape`
	}
	return buf, sb.String(), b
}

func line(w *bufio.Writer, ids []int64, seq int) {
	for _, id := range ids {
		switch {
		case id > 0:
			w.WriteString(fmt.Sprintf("%d-%v\n", id, seq)) // want `fixed shape`
		default:
			n, _ := w.WriteString(fmt.Sprintf("%d.", id)) // want `fixed shape`
			seq += n
		}
	}
}

// What is computed could see the target half filled.
func computed(sb *strings.Builder, ids []int) {
	for range ids {
		sb.WriteString(fmt.Sprintf("%d:", sb.Len())) // want `fixed shape`
	}
}
