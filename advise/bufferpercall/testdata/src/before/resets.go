package before

import (
	"bytes"
	"crypto/sha256"
	"hash/fnv"
	"io"
	"os/exec"
	"text/tabwriter"
)

func sum(text string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, text)
	return h.Sum64()
}

func digest(b []byte) [32]byte {
	h := sha256.New()
	h.Write(b)
	return [32]byte(h.Sum(nil))
}

func output(name string) (string, error) {
	var out bytes.Buffer // want `take the buffer from a pool`
	cmd := exec.Command(name)
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

func copied(w io.Writer, r io.Reader) {
	io.CopyBuffer(w, r, make([]byte, 1<<15))
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 1, ' ', 0) }

func positive(in []int) (sum int) {
	var some []int
	for _, x := range in {
		if x > 0 {
			some = append(some, x)
		}
	}
	for _, x := range some {
		sum += x
	}
	return sum
}
