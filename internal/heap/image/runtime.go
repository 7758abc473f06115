package image

import (
	"cmp"
	"slices"
	"sort"
)

// An Extent is a part of the address space.
type Extent struct{ Start, End uint64 }

// What the runtime's tables have on 64-bit Linux, the same in all versions that
// layout knows. Each is mapped whole, and the pages in use may be anywhere in it:
// the runtime begins the heap at a random address.
const (
	arenaBits  = 48 - arenaShift // of an arena's number
	bitmapBits = 13              // of the number of a chunk of pages in its table
	bitmapSize = 128             // bytes of runtime.pallocData
	// chunkBytes is what the runtime maps at a time for small structures.
	chunkBytes = 256 << 10
	hashBytes  = 8 * 179999 // of the table of profile records
)

// owned returns where the runtime's own structures are: its tables of arenas and of
// pages, its chunks for small structures, and what lies by spans' records and bits
// and by whatever runtime.mheap_ points at.
func (r *reader) owned() []Extent {
	pages := make(map[uint64]bool)
	for p := r.list; p < r.list+8*uint64(len(r.records)); p += 4096 {
		pages[p>>12] = true
	}
	for _, a := range r.records {
		pages[a>>12] = true
	}
	for i := range r.im.Spans {
		pages[r.im.Spans[i].allocAddr>>12] = true
	}
	var all []Extent
	if b, err := r.read(r.heap, r.f["runtime.mheap#"]); err == nil {
		all = append(r.arenaTables(b), r.pageTables(b)...)
		for ; len(b) >= 8; b = b[8:] {
			if v := le.Uint64(b); v%8 == 0 && v > 1<<20 && v < maxAddr {
				pages[v>>12] = true
			}
		}
	}
	for p := range pages {
		p <<= 12
		all = append(all, Extent{p - min(p, chunkBytes), p + chunkBytes})
	}
	chunks := r.chunks()
	return joined(slices.Concat(all, chunks, r.profile(chunks), r.bitmaps()))
}

// bitmaps returns where spans' bits are, and were: the lists of runtime.gcBitsArenas, of which the second has the bits
// of the next cycle. The others may have those of no span any more.
func (r *reader) bitmaps() (all []Extent) {
	const size = 64 << 10 // of runtime.gcBitsArena: how much of it is used, the one behind it, and bits
	var marks []uint64
	for i := range r.im.Spans {
		marks = append(marks, r.im.Spans[i].markAddr)
	}
	slices.Sort(marks)
	for i := range r.im.Modules {
		m := &r.im.Modules[i]
		b, _ := r.im.Read(m.noPtrBSS, m.endNoPtrBSS-m.noPtrBSS)
		for ; len(b) >= 32; b = b[8:] {
			next := le.Uint64(b[8:])
			k, _ := slices.BinarySearch(marks, next+16)
			if next == 0 || next%4096 != 0 || k == len(marks) || marks[k] >= next+size {
				continue
			}
			for lists := b[:32]; len(lists) > 0; lists = lists[8:] {
				seen := map[uint64]bool{}
				for arena := le.Uint64(lists); arena != 0 && arena%4096 == 0 && !seen[arena]; {
					seen[arena] = true
					all = append(all, Extent{arena, arena + size})
					arena, _ = r.im.Word(arena + 8)
				}
			}
			return all
		}
	}
	return nil
}

// arenaTables returns where the map from an arena's number to its facts is, and
// these facts; heap has the runtime.mheap_.
func (r *reader) arenaTables(heap []byte) []Extent {
	index := le.Uint64(heap[r.f["runtime.mheap.arenas"]:])
	list := heap[r.f["runtime.mheap.heapArenas"]:]
	numbers, err := r.read(le.Uint64(list), 8*min(le.Uint64(list[8:]), 1<<arenaBits))
	if index == 0 || err != nil {
		return nil
	}
	all := []Extent{{index, index + 8<<arenaBits}}
	for ; len(numbers) >= 8; numbers = numbers[8:] {
		n := le.Uint64(numbers)
		if facts, ok := r.im.Word(index + 8*n); ok && n < 1<<arenaBits && facts != 0 {
			all = append(all, Extent{facts, facts + r.f["runtime.heapArena#"]})
		}
	}
	return all
}

// pageTables returns where the tables of the page allocator are.
func (r *reader) pageTables(heap []byte) (all []Extent) {
	part := func(name string, size uint64) []byte { return heap[r.f["runtime.mheap.pages."+name]:][:size] }
	for b := part("chunks", r.f["runtime.mheap.pages.chunks#"]); len(b) >= 8; b = b[8:] {
		if table := le.Uint64(b); table != 0 {
			all = append(all, Extent{table, table + bitmapSize<<bitmapBits})
		}
	}
	words := slices.Concat(part("summary", r.f["runtime.mheap.pages.summary#"]), part("scav.index.chunks", 24))
	for ; len(words) >= 24; words = words[24:] { // slices, whose capacity is what was reserved
		start, room := le.Uint64(words), le.Uint64(words[16:])
		all = append(all, Extent{start, start + 8*min(room, maxAddr)})
	}
	return all
}

// chunks returns the runtime's chunks for small structures: a list that begins in one
// of the variables without pointers to the heap, and has all spans' records.
func (r *reader) chunks() []Extent {
	for i := range r.im.Modules {
		m := &r.im.Modules[i]
		b, _ := r.im.Read(m.noPtrBSS, m.endNoPtrBSS-m.noPtrBSS)
		for ; len(b) >= 8; b = b[8:] {
			if all := r.chunksFrom(le.Uint64(b)); len(all) > 0 {
				return all
			}
		}
	}
	return nil
}

// chunksFrom follows a list of chunks. It returns nil if it is none, or a span's record
// lies in none of them.
func (r *reader) chunksFrom(chunk uint64) (all []Extent) {
	for seen := make(map[uint64]bool); chunk != 0; {
		next, ok := uint64(0), chunk%4096 == 0 && !seen[chunk]
		if ok {
			next, ok = r.im.Word(chunk)
		}
		if !ok {
			return nil
		}
		seen[chunk] = true
		all = append(all, Extent{chunk, chunk + chunkBytes})
		chunk = next
	}
	all = joined(all)
	for _, a := range r.records {
		if !within(all, a) {
			return nil
		}
	}
	return all
}

// profile returns where the table of profile records is, which a variable points at:
// all that it has are pointers into chunks.
func (r *reader) profile(chunks []Extent) []Extent {
	for _, part := range r.im.uninitialized() {
	candidate:
		for b := part.data; len(b) >= 8; b = b[8:] {
			table := le.Uint64(b)
			if table == 0 || table%4096 != 0 || within(chunks, table) {
				continue
			}
			words, records := []byte(nil), 0
			for words, _ = r.im.Read(table, hashBytes); len(words) >= 8; words = words[8:] {
				record := le.Uint64(words)
				if record == 0 {
					continue
				}
				if records++; !within(chunks, record) {
					continue candidate
				}
			}
			if records > 0 {
				return []Extent{{table, table + hashBytes}}
			}
		}
	}
	return nil
}

// Overlaps tells whether a range overlaps one of the extents, which are in order.
func Overlaps(all []Extent, start, end uint64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].End > start })
	return i < len(all) && all[i].Start < end
}

// within tells whether an address lies in one of the extents, which are in order.
func within(all []Extent, addr uint64) bool { return Overlaps(all, addr, addr+1) }

// joined sorts extents and joins those that touch. Empty ones go.
func joined(all []Extent) []Extent {
	slices.SortFunc(all, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	out := all[:0]
	for _, e := range all {
		switch n := len(out); {
		case e.Start >= e.End:
		case n > 0 && out[n-1].End >= e.Start:
			out[n-1].End = max(out[n-1].End, e.End)
		default:
			out = append(out, e)
		}
	}
	return out
}
