package before

import (
	"bufio"
	"io"
	"strings"
)

var lines, commas int

func processLine(s string) {
	lines++
	for i := 0; i < len(s); i++ {
		if s[i] == ',' {
			commas++
		}
	}
}

// The document's code.
func parseFile(r io.Reader) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		processLine(string(sc.Bytes())) // want `let it take a \[\]byte`
	}
}

func texts(r io.Reader, w *bufio.Writer, prefix []byte) (n int) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		processLine(sc.Text()) // want `let it take a \[\]byte`
		b := sc.Bytes()
		if strings.HasPrefix(string(b), "#") { // want `bytes.HasPrefix reads the slice`
			n++
		}
		if strings.Contains(string(b), string(prefix)) { // want `bytes.Contains`
			n++
		}
		w.WriteString(string(b)) // want `Write takes the slice`
	}
	return n
}
