package before

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
)

// What a call makes for itself, a pool could give.
func copyAll(w io.Writer, r io.Reader, n int) error {
	buf := make([]byte, 32<<10) // want `buf is made anew in each call`
	if _, err := r.Read(buf); err != nil {
		return err
	}
	sizes := make([]int, n) // want `sizes is made anew`
	for i := range sizes {
		n += sizes[i]
	}
	var line []byte // want `line grows anew in each call`
	line = append(line, buf[:n]...)
	w.Write(line)
	return nil
}

func compressed(w io.Writer, b []byte) error {
	zw := gzip.NewWriter(w) // want `gzip.NewWriter allocates a buffer in each call`
	if _, err := zw.Write(b); err != nil {
		return err
	}
	return zw.Close()
}

func lines(r io.Reader) (n int) {
	br := bufio.NewReader(r) // want `bufio.NewReader allocates a buffer`
	for {
		if _, err := br.ReadSlice('\n'); err != nil {
			return n
		}
		n++
	}
}

func sized(s string) []byte {
	buf := bytes.NewBuffer(make([]byte, 0, 128)) // want `take the buffer from a pool`
	buf.WriteString(s)
	buf.WriteString(s)
	return buf.Bytes()
}
