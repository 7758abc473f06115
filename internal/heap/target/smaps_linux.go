package target

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
)

// A Resident is the memory of one mapping, in bytes.
type Resident struct {
	Mapping
	RSS       uint64
	Anonymous uint64 // of RSS
	Clean     uint64 // of RSS, unchanged from disk
	Huge      uint64 // of RSS, in transparent huge pages
	Swap      uint64 // not in RSS
}

// Resident reads the mappings from /proc/PID/smaps.
func (p *Process) Resident() ([]Resident, error) {
	f, err := os.Open(p.path("smaps"))
	if err != nil {
		return nil, p.refused("read the mappings", err)
	}
	defer f.Close()
	var all []Resident
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if m, err := parseMapping(s.Text()); err == nil {
			all = append(all, Resident{Mapping: m})
			continue
		}
		var key string
		var kb uint64
		if n, _ := fmt.Sscanf(s.Text(), "%s %d", &key, &kb); n != 2 || len(all) == 0 {
			continue
		}
		switch last := &all[len(all)-1]; key {
		case "Rss:":
			last.RSS = kb << 10
		case "Anonymous:":
			last.Anonymous = kb << 10
		case "Shared_Clean:", "Private_Clean:":
			last.Clean += kb << 10
		case "AnonHugePages:":
			last.Huge = kb << 10
		case "Swap:":
			last.Swap = kb << 10
		}
	}
	return all, s.Err()
}

// PageBytes is the size of the pages that Pages visits.
const PageBytes = 4096

// Pages calls visit for every page in memory from start to end, by pagemap. alone is
// whether the page belongs to this process alone. The zero page, which backs memory
// that was read but never written, does not.
func (p *Process) Pages(start, end uint64, visit func(addr uint64, alone bool)) error {
	f, err := os.Open(p.path("pagemap"))
	if err != nil {
		return p.refused("read the page map", err)
	}
	defer f.Close()
	b := make([]byte, 8*4096)
	for start < end {
		n := min(uint64(len(b)/8), (end-start)/PageBytes)
		if n == 0 {
			return nil
		}
		if _, err := f.ReadAt(b[:8*n], int64(start/PageBytes*8)); err != nil {
			return p.refused("read the page map", err)
		}
		for i := range n {
			if bits := binary.LittleEndian.Uint64(b[8*i:]); bits>>63 != 0 {
				visit(start+i*PageBytes, bits>>56&1 != 0)
			}
		}
		start += n * PageBytes
	}
	return nil
}
