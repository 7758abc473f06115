package before

import "io"

func Lines(w io.Writer, lines []string) {
	for _, line := range lines {
		w.Write([]byte(line + "\n")) // want `the parts are joined for Write`
	}
}
