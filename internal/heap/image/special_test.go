package image

import (
	"context"
	"testing"

	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// counted counts the bytes read from a memory.
type counted struct {
	target.Memory
	bytes int
}

func (c *counted) Read(ranges []target.Range) error {
	for _, r := range ranges {
		c.bytes += len(r.Data)
	}
	return c.Memory.Read(ranges)
}

// TestSpecialRecordsAreReadOnce: the records of many spans lie in few pages, one list's across
// all of them. Reading them takes time while the program is stopped.
func TestSpecialRecordsAreReadOnce(t *testing.T) {
	f, err := layout.Of("go1.26.8", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	const spans, each, record, start, heap = 64, 200, 56, 0x7f0000000000, 0xc000000000
	memory := make(words)
	put := func(addr, value uint64, bytes int) {
		for i := range uint64(bytes) {
			at, shift := (addr+i)&^7, (addr+i)%8*8
			memory[at] = memory[at]&^(0xff<<shift) | value>>(8*i)&0xff<<shift
		}
	}
	size := uint64(spans*each*record+systemPage-1) &^ (systemPage - 1)
	for at := uint64(start); at < start+size; at += 8 {
		memory[at] = 0
	}
	address := func(span, n uint64) uint64 { return start + (n*spans+span)*record }
	mem := &counted{Memory: memory}
	r := &reader{im: new(Image), f: f, src: Source{Memory: mem}, ctx: context.Background()}
	for s := range uint64(spans) {
		for n := range uint64(each) {
			put(address(s, n)+f["runtime.special.offset"], 32*n, 8)
			put(address(s, n)+f["runtime.special.kind"], specialWeak, 1)
			put(address(s, n)+f["runtime.specialWeakHandle.handle"], 1000*s+n, 8)
			if n+1 < each {
				put(address(s, n)+f["runtime.special.next"], address(s, n+1), 8)
			}
		}
		r.im.Spans = append(r.im.Spans, Span{Start: heap + s*pageSize, specials: address(s, 0)})
	}
	if err := r.readSpecials(); err != nil {
		t.Fatal(err)
	}
	if len(r.specials) != spans*each {
		t.Errorf("%d records, want %d", len(r.specials), spans*each)
	}
	for _, s := range r.specials {
		span, n := (s.object-heap)/pageSize, (s.object-heap)%pageSize/32
		if got := le.Uint64(s.data[f["runtime.specialWeakHandle.handle"]:]); s.kind != specialWeak || got != 1000*span+n {
			t.Fatalf("object %#x has kind %d and handle %d, want %d", s.object, s.kind, got, 1000*span+n)
		}
	}
	if mem.bytes > int(size) {
		t.Errorf("read %d bytes of %d", mem.bytes, size)
	}
}
