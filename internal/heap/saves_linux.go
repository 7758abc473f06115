package heap

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// zeroSample is about how many pages zero reads; it may read up to twice as many.
const zeroSample = 1 << 15

// zero returns the bytes of a mapping's resident pages that were never written: without huge
// pages they would not exist. It samples large mappings.
func (a *accounts) zero(m *target.Resident) (sum uint64) {
	addrs, _ := a.resident(m) // on an error fewer are counted
	none, page := make([]byte, target.PageBytes), make([]byte, target.PageBytes)
	step := len(addrs)/zeroSample | 1 // odd: a program may use one page in a power of two
	for i := 0; i < len(addrs); i += step {
		if a.p.Read([]target.Range{{Addr: addrs[i], Data: page}}) == nil && bytes.Equal(page, none) {
			sum += uint64(step) * target.PageBytes
		}
	}
	return sum
}

// resident returns the pages of a mapping that are in memory.
func (a *accounts) resident(m *target.Resident) (addrs []uint64, err error) {
	err = a.p.Pages(m.Start, m.End, func(addr uint64, _ bool) { addrs = append(addrs, addr) })
	return addrs, err
}

// burst returns the largest share of stack bytes that the goroutines of one go statement have.
func burst(all []image.Goroutine) float64 {
	by, sum, most := make(map[string]uint64), uint64(0), uint64(0)
	for i := range all {
		g := &all[i]
		by[g.Created] += g.StackBytes
		sum, most = sum+g.StackBytes, max(most, by[g.Created])
	}
	return share(most, sum)
}

// Glibc's malloc: arenas of threads begin at multiples of arenaBytes with a pointer to the
// arena's state, which lies in the first part of the arena.
const (
	arenaBytes  = 64 << 20
	stateBytes  = 2200 // of struct malloc_state, or up to 16 fewer
	chunkBytes  = 48   // of struct malloc_chunk, while free
	prevInUse   = 1
	chunkFlags  = 7
	windowBytes = 1 << 20
)

// isArena reports whether an arena of glibc's malloc begins at start.
func (a *accounts) isArena(start uint64) bool {
	if start%arenaBytes != 0 {
		return false
	}
	state, ok := a.word(start)
	if !ok || state%arenaBytes > target.PageBytes || state%arenaBytes == 0 {
		return false
	}
	first, ok := a.word(state &^ (arenaBytes - 1))
	return ok && first == state
}

// word reads a word of the process, through a window that moves with the walk.
func (a *accounts) word(addr uint64) (uint64, bool) {
	if addr < a.at || addr+8 > a.at+uint64(len(a.window)) {
		for size := uint64(windowBytes); ; size /= 16 {
			a.at, a.window = addr, make([]byte, max(size, 8))
			if a.p.Read([]target.Range{{Addr: addr, Data: a.window}}) == nil {
				break
			}
			if a.window = nil; size < 8 {
				return 0, false
			}
		}
	}
	return binary.LittleEndian.Uint64(a.window[addr-a.at:]), true
}

// trimmed returns the bytes of a part of C's heap that malloc_trim would give back: resident
// pages within free chunks. It is 0 if the chunks are not glibc's.
func (a *accounts) trimmed(m *target.Resident) uint64 {
	start := m.Start
	if state, ok := a.word(m.Start); ok && m.File != "[heap]" && state&^(arenaBytes-1) == m.Start {
		start = state + stateBytes
	}
	resident, err := a.resident(m)
	if err != nil {
		return 0
	}
	for end := start + 128; start < end; start += 8 { // the first chunk is near
		if saved, ok := a.chunks(m, start, resident); ok {
			return saved
		}
	}
	return 0
}

// chunks walks the chunks; ok is false if they do not end where the mapping does.
func (a *accounts) chunks(m *target.Resident, addr uint64, resident []uint64) (saved uint64, ok bool) {
	for addr < m.End {
		n, ok := a.word(addr + 8)
		if next := addr + n&^chunkFlags; ok && n&^chunkFlags >= 32 && next%16 == addr%16 && next <= m.End {
			free := next == m.End && m.File == "[heap]" // malloc_trim frees the end of the main arena
			if next < m.End {
				after, ok := a.word(next + 8)
				free = ok && after&prevInUse == 0
			}
			const page = target.PageBytes
			for p := (addr + chunkBytes + page - 1) &^ (page - 1); free && p+page <= next; p += page {
				if _, is := slices.BinarySearch(resident, p); is {
					saved += page
				}
			}
			addr = next
			continue
		}
		return 0, false
	}
	return saved, addr == m.End
}
