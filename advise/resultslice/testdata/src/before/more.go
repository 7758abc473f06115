package before

import (
	"bytes"
	"crypto/sha256"
	"hash"
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
