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
	r.key = []byte(strconv.Itoa(n)) // want `strconv.AppendInt makes the bytes`
	*r = record{
		value: []byte(fmt.Sprintf("%d", n)), // want `fmt.Appendf makes the bytes`
	}
}

func keys(prefix string, ids [][]byte) (out [][]byte) {
	for _, id := range ids {
		out = append(out, append([]byte(prefix), id...)) // want `copied again where it grows`
		out = append(out, []byte(fmt.Sprint(len(id))))   // want `fmt.Append makes the bytes`
	}
	return out
}

func magic() []byte {
	return []byte("magic number") // want `the constant is copied each time`
}

func ping(w io.Writer) {
	b := []byte("ping") // want `the constant is copied each time`
	w.Write(b)
}

func (s *stream) reply() {
	s.write([]byte("OK")) // want `the constant is copied for each call of write, which hands it on`
}

type stream struct{ w io.Writer }

func (s *stream) write(b []byte) { s.w.Write(b) }

func scan(s string) *bufio.Scanner {
	r := bytes.NewBufferString(s) // want `strings.NewReader reads the string itself`
	return bufio.NewScanner(r)
}
