package before

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
)

func check(h hash.Hash, blocks [][]byte, want []byte) (n int) {
	for _, b := range blocks {
		h.Reset()
		h.Write(b)
		sum := h.Sum(nil) // want `Sum of nil allocates`
		if bytes.Equal(sum, want) {
			n++
		}
		digits := strconv.AppendInt(nil, int64(n), 10) // want `AppendInt of nil allocates`
		n += len(digits)
	}
	return n
}

func reused(blocks [][]byte) (all [][]byte) {
	h := sha256.New()
	var buf []byte
	for _, b := range blocks {
		h.Write(b)
		buf := h.Sum(buf[:0])
		kept := h.Sum(nil)
		all = append(all, kept)
		_ = len(buf)
	}
	return all
}

// Named results, slices that are made and filled, and results that go
// straight into what reads them.
func squares(n int) (out []int) {
	out = make([]int, n)
	for i := range out {
		out[i] = i * i
	}
	return
}

func total(xs []int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}

func direct(ns []int) (n int) {
	for _, k := range ns {
		n += total(squares(k))         // want `squares allocates a slice that is done with at the end of the round`
		for _, x := range squares(k) { // want `squares allocates a slice that is done with at the end`
			n += x
		}
	}
	return n
}

func digest(h hash.Hash, blocks, sums [][]byte) (n int) {
	for i, b := range blocks {
		h.Reset()
		h.Write(b)
		if bytes.Equal(h.Sum(nil), sums[i]) { // want `Sum of nil allocates`
			n++
		}
	}
	return n
}

// Outside a loop, and where a copy is kept, only a profile can tell.
func Once(k int) int {
	xs := squares(k) // want `squares allocates a slice that is done with soon after`
	return len(xs)
}

type series struct{ values []int }

func trim(xs []int) []int { return xs[:len(xs)/2] }

func Keep(s *series, k int) {
	xs := squares(k) // want `squares allocates a slice that is done with soon after`
	xs = trim(xs)
	xs = append([]int{}, xs...)
	s.values = xs
}

// What appends to the nil that it is given could be given memory.
type entry struct{ key, value string }

func (e *entry) Marshal(dst []byte) []byte { return append(append(dst, e.key...), e.value...) }

func put(w io.Writer, es []*entry) {
	for _, e := range es {
		b := e.Marshal(nil) // want `Marshal of nil allocates .* at the end of the round`
		w.Write(b)
		w.Write(hex.AppendEncode(nil, b)) // want `AppendEncode of nil`
	}
}

func sum(h hash.Hash) string {
	return hex.EncodeToString(h.Sum(nil)) // want `Sum of nil`
}
