package heap

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// ReadLedger reads where the resident memory of a process is.
func ReadLedger(ctx context.Context, pid int, c Config) (*Ledger, error) {
	p, err := target.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	name := fmt.Sprintf("process %d", pid)
	im, err := image.Read(ctx, source(p), c.Config)
	if errors.Is(err, layout.ErrUnknown) {
		l, failed := account(name, p, new(image.Image), nil)
		if failed != nil {
			return nil, errors.Join(err, failed)
		}
		l.Warnings = append(l.Warnings, err.Error())
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer im.Release()
	g, err := graph.Mark(ctx, im, gotype.NewTable(im), nil, graph.ByKind)
	if err != nil {
		return nil, err
	}
	return account(name, p, im, g)
}

// account builds the ledger of a process whose heap is marked. If the image has no
// spans, the heap is one line.
func account(name string, p *target.Process, im *image.Image, g *graph.Graph) (*Ledger, error) {
	maps, err := p.Resident()
	if err != nil {
		return nil, err
	}
	a := &accounts{p: p, im: im, g: g, sum: make(ledger), pages: make(map[*image.Span]uint64)}
	return a.book(maps, name)
}

// accounts is the state of one ReadLedger.
type accounts struct {
	p     *target.Process
	im    *image.Image
	g     *graph.Graph
	sum   ledger
	pages map[*image.Span]uint64 // resident bytes

	at     uint64 // address of window, the memory that word read last
	window []byte
}

func (a *accounts) book(maps []target.Resident, name string) (*Ledger, error) {
	rss, swap, own := uint64(0), uint64(0), uint64(0)
	huge := Line{Class: "of it in transparent huge pages", Remedy: "the setting madvise, or prctl(PR_SET_THP_DISABLE)"}
	for i := range maps {
		m := &maps[i]
		rss, swap, own = rss+m.RSS, swap+m.Swap, own+m.Anonymous
		if m.RSS == 0 {
			continue
		}
		if m.Huge > 0 {
			huge.Bytes, huge.Saves = huge.Bytes+m.Huge, huge.Saves+a.zero(m)
		}
		anonymous := m.File == "" || strings.HasPrefix(m.File, "[anon:")
		switch class := a.named(m); {
		case anonymous && i > 0 && guards(&maps[i-1], m):
			a.sum.add(threads, m.RSS, 0)
		case anonymous && i > 0 && maps[i-1].End == m.Start && maps[i-1].Write && a.named(&maps[i-1]) == libraries:
			a.sum.add(libraries, m.RSS, 0) // variables without an initial value
		case m.File == "[heap]" || anonymous && a.isArena(m.Start):
			a.sum.add("C heap", m.RSS, a.trimmed(m))
		case anonymous:
			if err := a.anonymous(m); err != nil {
				return nil, err
			}
		case class == "mapped files":
			a.sum.add(class, m.RSS, m.Clean)
			a.sum[class].parts[m.File] += m.RSS
		default:
			a.sum.add(class, m.RSS, 0)
		}
	}
	a.spans()
	if stacks := a.sum["goroutine stacks"]; stacks != nil {
		stacks.saves = uint64(float64(stacks.bytes) * burst(a.im.Goroutines))
	}
	l := a.sum.result(name, a.p.Program.Path, rss)
	for i := range l.Lines {
		if len(a.im.Spans) == 0 && l.Lines[i].Class == otherMemory {
			l.Lines[i].Remedy = "runtime structures, and what the program or its libraries map themselves: not told apart"
		}
	}
	l.Group = group(cgroup.ReadCharged(os.DirFS("/"), a.p.PID), own)
	for _, line := range append(a.purposes(), Line{Class: "swapped out", Bytes: swap}, huge) {
		if line.Bytes > 0 {
			l.Beside = append(l.Beside, line)
		}
	}
	return l, nil
}

// named returns the class of a mapping that has a name.
func (a *accounts) named(m *target.Resident) string {
	switch {
	case m.File == a.p.Program.Path && m.Write:
		return "program: variables"
	case m.File == a.p.Program.Path:
		return "program: code and constants"
	case strings.HasPrefix(m.File, "["):
		return threads
	case strings.Contains(m.File, ".so"):
		return libraries
	}
	return "mapped files"
}

// anonymous books a mapping without a file: pages of the heap by their span, others
// by their owner.
func (a *accounts) anonymous(m *target.Resident) error {
	const other, structures = otherMemory, "runtime structures"
	class := other
	switch {
	case a.variables(m):
		class = "program: variables"
	case len(a.im.Spans) == 0 && (strings.HasPrefix(m.File, "[anon: Go: heap") || a.afar(m)):
		class = wholeHeap
	case strings.HasPrefix(m.File, "[anon: Go:"):
		class = structures
	}
	heap := strings.HasPrefix(m.File, "[anon: Go: heap") || a.overlapsArena(m)
	if class == wholeHeap || !heap && (class != other || !a.near(m.Start, m.End)) {
		a.sum.add(class, m.RSS, 0)
		if class == other {
			a.sum[class].parts[stretch(m.Start, m.End)] = m.RSS
		}
		return nil
	}
	var addrs, own []uint64
	err := a.p.Pages(m.Start, m.End, func(addr uint64, alone bool) {
		addrs = append(addrs, addr)
		if alone {
			own = append(own, addr)
		}
	})
	if uint64(len(own))*target.PageBytes == m.RSS { // the others are the zero page, some of them mapped by our reading
		addrs = own
	}
	// Pages may have come or gone since m was read, and the zero page may go unrecognized: divide the
	// resident bytes among the pages found, except in the heap, which may have given pages back.
	n, total := uint64(len(addrs)), m.RSS
	if heap {
		total = min(total, n*target.PageBytes)
	}
	var unknown, first, end uint64 // pages of no known structure
	for i, addr := range addrs {
		page := total / n
		if uint64(i) < total%n {
			page++
		}
		switch s := a.im.Span(addr); {
		case s != nil:
			a.pages[s] += page
		case image.Overlaps(a.im.Manual, addr, addr+1):
			a.sum.add("goroutine stacks", page, 0)
		case heap: // the mapping continues into arenas without a span in use
			a.sum.add(freeSpans, page, page)
		case a.near(addr, addr+target.PageBytes):
			a.sum.add(structures, page, 0)
		default:
			if unknown == 0 {
				first = addr
			}
			unknown, end = unknown+page, addr+target.PageBytes
		}
	}
	if unknown > 0 {
		a.sum.add(other, unknown, 0)
		a.sum[other].parts[stretch(first, end)] = unknown
	}
	switch {
	case heap:
		a.sum.add(freeSpans, m.RSS-total, 0)
	case n == 0:
		a.sum.add(other, m.RSS, 0)
	}
	return err
}

// stretch names a part of the address space.
func stretch(start, end uint64) string { return fmt.Sprintf("%s at %#x", size(end-start), start) }

// purposes lists what the program's isobar libraries have mapped off-heap, as their package
// offheap counts it by purpose.
func (a *accounts) purposes() (all []Line) {
	if a.g == nil {
		return nil
	}
	a.g.Values("offheap.Account", func(t *gotype.Type, data []byte) {
		at := make(map[string]uint64)
		for _, f := range t.Fields {
			at[f.Name] = f.Offset
		}
		purpose, bytes := at["purpose"], at["bytes"]
		if bytes <= purpose || bytes+8 > uint64(len(data)) || purpose+16 > uint64(len(data)) {
			return // another type of the same name
		}
		word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
		if name, ok := a.im.Read(word(purpose), min(word(purpose+8), 100)); ok {
			all = append(all, Line{Class: "mapped off-heap for " + string(name), Bytes: word(bytes)})
		}
	})
	return all
}

// variables reports whether a mapping contains uninitialized variables of the program.
func (a *accounts) variables(m *target.Resident) bool {
	return slices.ContainsFunc(a.p.Program.ELF.Progs, func(part *elf.Prog) bool {
		start := part.Vaddr + a.p.Program.Bias
		return part.Type == elf.PT_LOAD && m.Start < start+part.Memsz && start < m.End
	})
}

// guards reports whether the mapping before m is the guard of m, a thread's stack, as C libraries create it.
func guards(before, m *target.Resident) bool {
	return before.End == m.Start && before.File == "" && !before.Read && before.End-before.Start <= 64<<10
}

// afar reports whether a mapping is far below the addresses that the kernel chooses
// by itself, as Go's arenas are.
func (a *accounts) afar(m *target.Resident) bool {
	i := slices.IndexFunc(a.p.Maps, func(m target.Mapping) bool { return m.File == "[vdso]" })
	return i >= 0 && m.Start+1<<40 < a.p.Maps[i].Start
}

// near reports whether a range overlaps the runtime's own structures. The kernel merges adjacent
// mappings, so only part of a mapping may be the runtime's.
func (a *accounts) near(start, end uint64) bool { return image.Overlaps(a.im.Runtime, start, end) }

func (a *accounts) overlapsArena(m *target.Resident) bool {
	for addr := m.Start; addr < m.End; addr += 64 << 20 {
		if a.im.Arena(addr) {
			return true
		}
	}
	return a.im.Arena(m.End - 1)
}

// spans splits the resident bytes of used spans by what their slots hold.
func (a *accounts) spans() {
	for i := range a.im.Spans {
		s := &a.im.Spans[i]
		resident := a.pages[s]
		if resident == 0 {
			continue
		}
		live := a.g.LiveBytes(s)
		used := max(s.AllocatedBytes(), live)
		whole := s.Bytes()
		l, g := resident*live/whole, resident*(used-live)/whole
		free, whole := resident-l-g, uint64(0)
		if live == 0 { // the next collection frees the whole span
			free, whole = 0, resident
		}
		a.sum.add(liveObjects, l, 0)
		a.sum.add("heap: garbage not collected yet", g, whole)
		a.sum.add(freeSlots, resident-l-g, free)
	}
}
