package before

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"os"
)

func library(names []string, f *os.File, w *bufio.Writer) (n int) {
	for _, s := range names {
		sum := sha256.Sum256([]byte(s)) // want `ends in assembly`
		n += int(sum[0])
		f.Write([]byte(s)) // want `copies the string for .*File.*Write`
		w.Write([]byte(s)) // want `copies the string for .*Writer.*Write`
		n += len(base64.StdEncoding.EncodeToString([]byte(s)))
		r := []rune(s)
		if r[0] == 'x' {
			n += len(r)
		}
	}
	return n
}

type chunk struct{ body []byte }

func begin(ch chan chunk) {
	ch <- chunk{body: []byte("magic")}
}
