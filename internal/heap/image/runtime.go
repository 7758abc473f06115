package image

import (
	"cmp"
	"slices"
	"sort"
)

// An Extent is a part of the address space.
type Extent struct{ Start, End uint64 }

// Sizes of the runtime's tables on 64-bit Linux, the same in all versions that layout
// knows. Each table is mapped whole; its pages in use may be anywhere, as the heap
// begins at a random address.
const (
	arenaBits  = 48 - arenaShift // in the number of an arena
	bitmapBits = 13              // in the index of a chunk of pages within its table
	bitmapSize = 128             // bytes of runtime.pallocData
	// chunkBytes is how much the runtime maps at a time for small structures.
	chunkBytes = 256 << 10
	hashBytes  = 8 * 179999 // of the hash table of profile records
)

// owned returns the runtime's own structures: its tables of arenas and pages, its
// chunks for small structures, and the surroundings of spans' records and bits and of
// whatever runtime.mheap_ points to.
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

// bitmaps returns the present and former bits of spans: the lists of runtime.gcBitsArenas, of which the
// second has the bits of the next cycle. The other lists may have no span's bits any more.
func (r *reader) bitmaps() (all []Extent) {
	const size = 64 << 10 // of runtime.gcBitsArena: bytes used, next arena, bits
	var marks []uint64
	for i := range r.im.Spans {
		marks = append(marks, r.im.Spans[i].markAddr)
	}
	slices.Sort(marks)
	for i := range r.im.Modules {
		b := r.im.variables(&r.im.Modules[i])
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

// arenaTables returns the map from arena numbers to arena facts, and those facts;
// heap is the runtime.mheap_.
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

// pageTables returns the tables of the page allocator.
func (r *reader) pageTables(heap []byte) (all []Extent) {
	part := func(name string, size uint64) []byte { return heap[r.f["runtime.mheap.pages."+name]:][:size] }
	for b := part("chunks", r.f["runtime.mheap.pages.chunks#"]); len(b) >= 8; b = b[8:] {
		if table := le.Uint64(b); table != 0 {
			all = append(all, Extent{table, table + bitmapSize<<bitmapBits})
		}
	}
	words := slices.Concat(part("summary", r.f["runtime.mheap.pages.summary#"]), part("scav.index.chunks", 24))
	for ; len(words) >= 24; words = words[24:] { // slices, whose capacity is the reserved size
		start, room := le.Uint64(words), le.Uint64(words[16:])
		all = append(all, Extent{start, start + 8*min(room, maxAddr)})
	}
	return all
}

// chunks returns the runtime's chunks for small structures: a list that starts in a variable
// without heap pointers, and contains all spans' records.
func (r *reader) chunks() []Extent {
	for i := range r.im.Modules {
		b := r.im.variables(&r.im.Modules[i])
		for ; len(b) >= 8; b = b[8:] {
			if all := r.chunksFrom(le.Uint64(b)); len(all) > 0 {
				return all
			}
		}
	}
	return nil
}

// chunksFrom follows a list of chunks. It returns nil if the list is invalid, or does
// not contain all spans' records.
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

// profile returns the table of profile records: a variable points to it, and it has
// only pointers into chunks.
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

// Overlaps reports whether a range overlaps one of the extents, which are sorted.
func Overlaps(all []Extent, start, end uint64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].End > start })
	return i < len(all) && all[i].Start < end
}

// within reports whether an address lies in one of the extents, which are sorted.
func within(all []Extent, addr uint64) bool { return Overlaps(all, addr, addr+1) }

// joined sorts extents, joins those that touch, and drops empty ones.
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
