package before

import "io"

func Separator(w io.Writer, n int) {
	for range n {
		w.Write([]byte("constant")) // want `copied for Write`
	}
}
