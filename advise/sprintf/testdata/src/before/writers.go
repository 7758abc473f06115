package before

import (
	"fmt"
	"io"
)

func write(w io.Writer, name string, n int, v any, err error) (s string) {
	fmt.Fprintf(w, "%s %d", name, n)  // want `append to a reused buffer with strconv.Append…, and write that`
	fmt.Fprint(w, name, n)            // want `io.WriteString writes a string as it is`
	fmt.Fprintf(w, "done")            // want `append to a reused buffer`
	fmt.Sscanf(name, "%d", &n)        // want `fmt.Sscanf reads one character at a time`
	s = fmt.Sprint(name, n)           // want `fmt.Sprint boxes its arguments; a concatenation`
	s += fmt.Sprintf("nothing to do") // want `copies a text that is constant`
	return s + fmt.Sprintf("%v", v)   // want `finds out how to format each`
}
