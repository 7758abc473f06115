package image

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/heap/target"
)

// words is a memory of words by address.
type words map[uint64]uint64

func (w words) Read(ranges []target.Range) error {
	for _, r := range ranges {
		for i := uint64(0); i+8 <= uint64(len(r.Data)); i += 8 {
			v, ok := w[r.Addr+i]
			if !ok {
				return errors.New("not mapped")
			}
			le.PutUint64(r.Data[i:], v)
		}
	}
	return nil
}

func (words) Threads() ([]target.Regs, error) { return nil, errors.ErrUnsupported }

// TestBitmapsWithoutSpans: bitmaps finds all lists of bits, including those without the bits of
// any span, but nothing else that a variable points to.
func TestBitmapsWithoutSpans(t *testing.T) {
	const variables, free, next, current, previous, older, other = 0x500000, 0x7f0000010000, 0x7f0000400000,
		0x7f0000800000, 0x7f0001200000, 0x7f0001600000, 0x7f0001a00000
	w := words{
		variables: 7, variables + 8: other, variables + 16: 0, // a lock
		variables + 24: free, variables + 32: next, variables + 40: current, variables + 48: previous,
		variables + 56: other,
	}
	for _, arena := range []uint64{free, next, current, previous, older} {
		w[arena+8] = 0
	}
	w[previous+8] = older
	w[older+8] = previous // the runtime's lists have no cycle
	r := &reader{im: &Image{mem: w, Modules: []Module{{noPtrBSS: variables, endNoPtrBSS: variables + 64}},
		Spans: []Span{{markAddr: next + 4096}, {markAddr: next + 16}}}}
	got := r.bitmaps()
	slices.SortFunc(got, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	var want []Extent
	for _, arena := range []uint64{free, next, current, previous, older} {
		want = append(want, Extent{arena, arena + 64<<10})
	}
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	r.im.Spans[0].markAddr, r.im.Spans[1].markAddr = other-8, other+1<<20
	if got := r.bitmaps(); got != nil {
		t.Errorf("%x without a span's bits behind a variable, want none", got)
	}
}
