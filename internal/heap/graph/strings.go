package graph

import (
	"context"
	"hash/maphash"

	"github.com/isobar-go/isobar/internal/heap/target"
)

// stringBatch is how many bytes of strings are read at a time.
const stringBatch = 4 << 20

// A content identifies the contents of a string by hash and length.
type content struct{ hash, bytes uint64 }

// strings counts the bytes of duplicate strings: of n copies all but one, divided equally among
// them. It keeps only hashes of what it reads. The target may run meanwhile; a string that dies
// before it is read may count wrongly.
func (a *analysis) strings(ctx context.Context, seen []extent) {
	r := stringReader{a: a, seed: maphash.MakeSeed(), copies: make(map[content]uint32)}
	for i, slot := range a.slots {
		if a.g.layouts[a.g.state[slot]].shape.form != text {
			continue
		}
		s := a.g.im.SpanOf(slot)
		from, to := uint64(seen[i].from), min(uint64(seen[i].to), s.Elem)
		if to <= from {
			continue
		}
		addr := s.Start + uint64(slot-s.First)*s.Elem + from
		if err := r.add(uint32(i), addr, to-from); err != nil || ctx.Err() != nil {
			break
		}
	}
	if err := r.flush(); err != nil {
		a.g.im.Warnings = append(a.g.im.Warnings, "duplicated strings: "+err.Error())
	}
	for k, i := range r.objects {
		if n := uint64(r.copies[r.contents[k]]); n > 1 {
			elem := a.g.im.SpanOf(a.slots[i]).Elem
			a.node[a.of[a.first+i]].Duplicates += elem * (n - 1) / n
			a.res.Duplicates += elem * (n - 1) / n
		}
	}
}

// A stringReader reads and hashes strings in batches.
type stringReader struct {
	a        *analysis
	seed     maphash.Seed
	copies   map[content]uint32
	objects  []uint32 // parallel to contents
	contents []content
	batch    []target.Range
	bytes    uint64
	pending  []uint32 // objects of the current batch
}

func (r *stringReader) add(object uint32, addr, n uint64) error {
	r.batch = append(r.batch, target.Range{Addr: addr, Data: make([]byte, n)})
	r.pending = append(r.pending, object)
	if r.bytes += n; r.bytes < stringBatch {
		return nil
	}
	return r.flush()
}

func (r *stringReader) flush() error {
	err := r.a.g.im.Contents(r.batch)
	for i := range r.batch {
		if err == nil {
			b := r.batch[i].Data
			c := content{maphash.Bytes(r.seed, b), uint64(len(b))}
			r.copies[c]++
			r.objects, r.contents = append(r.objects, r.pending[i]), append(r.contents, c)
		}
	}
	r.batch, r.pending, r.bytes = r.batch[:0], r.pending[:0], 0
	return err
}
