package before

import (
	"fmt"
	"io"
)

// The document's code.
func formatPrefix(level string, ts int64) string {
	return fmt.Sprintf("[%s] %d ", level, ts) // want `appends? to a reused buffer`
}

func writeLog(w io.Writer, lvl string, ts int64, msg string) {
	io.WriteString(w, formatPrefix(lvl, ts))
	io.WriteString(w, msg)
}

func all(w io.Writer, ids []int, names map[string]bool, port uint16) {
	for _, id := range ids {
		io.WriteString(w, fmt.Sprintf("%d", id))         // want `fixed shape`
		io.WriteString(w, fmt.Sprintf("id=%v;", id*2))   // want `fixed shape`
		io.WriteString(w, "x"+fmt.Sprintf("%d:", id)+"") // want `fixed shape`
	}
	for name, on := range names {
		key := fmt.Sprintf("%q=%t%%", name, on)           // want `fixed shape`
		key += fmt.Sprintf("%s", name+"x" /* kept */)     // want `fixed shape`
		key += fmt.Sprintf("%d" /* hence no fix */, port) // want `fixed shape`
		key += fmt.Sprintf(":%d", port)                   // want `fixed shape`
		io.WriteString(w, key)
	}
}
