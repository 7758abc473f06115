package before

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

type record struct{ key, value []byte }

// The texts are made for the bytes alone.
func (r *record) set(n int) {
	r.key = []byte(strconv.Itoa(n))
	*r = record{
		value: []byte(fmt.Sprintf("%d", n)),
	}
}

func keys(prefix string, ids [][]byte) (out [][]byte) {
	for _, id := range ids {
		out = append(out, append([]byte(prefix), id...))
		out = append(out, []byte(fmt.Sprint(len(id))))
	}
	return out
}

func magic() []byte {
	return []byte("magic number")
}

func ping(w io.Writer) {
	b := []byte("ping")
	w.Write(b)
}

func (s *stream) reply() {
	s.write([]byte("OK")) // want `the constant is copied for each call of write, which hands it on`
}

type stream struct{ w io.Writer }

func (s *stream) write(b []byte) { s.w.Write(b) }

func scan(s string) *bufio.Scanner {
	r := bytes.NewBufferString(s)
	return bufio.NewScanner(r)
}
