package whennot

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
)

func tiny(b byte) []byte {
	var buf bytes.Buffer
	buf.WriteString("value ")
	buf.WriteByte(b)
	return buf.Bytes()
}

func small() string {
	var buf bytes.Buffer
	buf.Grow(32)
	return buf.String()
}

type response struct{ body *bytes.Buffer }

func stored(s string) response {
	buf := new(bytes.Buffer)
	buf.WriteString(s)
	return response{buf}
}

var banner = func() string {
	var buf bytes.Buffer
	buf.WriteString(small())
	return buf.String()
}()

type reader struct {
	br  *bufio.Reader
	buf []byte
}

// What is kept or returned cannot come from a pool; what is small and stays is
// on the stack.
func newReader(r io.Reader, n int) (*reader, []int) {
	sums := make([]int, n)
	buf := make([]byte, n)
	out := &reader{br: bufio.NewReader(r)}
	out.buf = buf
	var local [4]byte
	four := make([]byte, 4)
	r.Read(four)
	count := make([]int, 16)
	for i := range count {
		sums[0] += count[i] + int(local[i%4])
	}
	return out, sums
}

// What is spread into a call whose result refers to it is kept by that.
func group(a, b string) slog.Value {
	fields := make([]slog.Attr, 0, 5)
	fields = append(fields, slog.String("a", a), slog.String("b", b))
	return slog.GroupValue(fields...)
}
