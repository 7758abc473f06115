package before

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
)

// What a call makes for itself, a pool could give.
func copyAll(w io.Writer, r io.Reader, n int) error {
	buf := make([]byte, 32<<10)
	if _, err := r.Read(buf); err != nil {
		return err
	}
	sizes := make([]int, n)
	for i := range sizes {
		n += sizes[i]
	}
	var line []byte
	line = append(line, buf[:n]...)
	w.Write(line)
	return nil
}

func compressed(w io.Writer, b []byte) error {
	zw := gzip.NewWriter(w)
	if _, err := zw.Write(b); err != nil {
		return err
	}
	return zw.Close()
}

func lines(r io.Reader) (n int) {
	br := bufio.NewReader(r)
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
