package hint

import (
	"encoding/binary"
	"io"
	"net/netip"
)

type set struct {
	of      []int
	current []byte
	n       uint64
}

// The next value takes the place of the one before.
func (s *set) key() []byte {
	b := make([]byte, 8)
	binary.BigEndian.PutUint64(b, s.n)
	return b
}

func (s *set) Next() bool {
	s.n++
	s.current = s.key() // want `key allocates a slice that takes the place of that before in current`
	return s.n < 8
}

func (s *set) Step() bool {
	next := s.key() // want `key allocates a slice that takes the place of that before in current`
	if len(next) == 0 {
		return false
	}
	s.current = next
	return true
}

// Each caller gets a slice.
func (s *set) Of() []int {
	out := make([]int, len(s.of)) // want `Of allocates a slice for each caller`
	copy(out, s.of)
	return out
}

func (s *set) Pair() []uint64 {
	return []uint64{s.n, s.n + 1} // want `Pair allocates a slice for each caller`
}

func (s *set) Text() []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], s.n)
	return b[:] // want `Text allocates a slice for each caller`
}

type state struct {
	of []int
	n  uint64
}

func (s *set) state() state {
	of := make([]int, len(s.of)) // want `state copies of for each caller`
	copy(of, s.of)
	return state{of: of, n: s.n}
}

type lister interface{ Keys() []int }

func (s *set) Keys() []int {
	out := make([]int, 0, len(s.of)) // want `Keys allocates a slice for each caller`
	return append(out, s.of...)
}

func total(ls []lister) (sum int) {
	for _, l := range ls {
		for _, k := range l.Keys() { // want `Keys allocates a slice that is done with`
			sum += k
		}
	}
	return sum
}

// The caller gives the struct.
func (s *set) into(dst *state) state {
	if dst == nil {
		of := make([]int, len(s.of))
		copy(of, s.of)
		return state{of: of, n: s.n}
	}
	dst.of = append(dst.of[:0], s.of...)
	return *dst
}

// It makes another slice than the one that it is given.
func halves(of []int) []int {
	var out []int
	for i := range len(of) / 2 {
		out = append(out, of[2*i]+of[2*i+1])
	}
	return out
}

func (s *set) Shrink() {
	s.of = halves(s.of) // want `halves allocates a slice that takes the place of that before in of`
}

func texts(w io.Writer, addrs []netip.Addr) {
	for _, a := range addrs {
		b, _ := a.MarshalText() // want `MarshalText allocates a slice that is done with`
		w.Write(b)
	}
}
