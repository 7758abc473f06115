package heap

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// ReadLedger says where the resident memory of a process is.
func ReadLedger(ctx context.Context, pid int, c Config) (*Ledger, error) {
	p, err := target.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	im, err := image.Read(ctx, source(p), c.image())
	if err != nil {
		return nil, err
	}
	defer im.Release()
	g, err := graph.Mark(ctx, im, gotype.NewTable(im), nil)
	if err != nil {
		return nil, err
	}
	return account(fmt.Sprintf("process %d", pid), p, im, g)
}

// account says where the resident memory of a process is whose heap is marked.
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
}

func (a *accounts) book(maps []target.Resident, name string) (*Ledger, error) {
	rss, swap, huge := uint64(0), uint64(0), uint64(0)
	for i := range maps {
		m := &maps[i]
		rss, swap, huge = rss+m.RSS, swap+m.Swap, huge+m.Huge
		if m.RSS == 0 {
			continue
		}
		if m.File == "" || strings.HasPrefix(m.File, "[anon:") {
			if err := a.anonymous(m); err != nil {
				return nil, err
			}
			continue
		}
		a.sum[a.named(m)] += m.RSS
	}
	a.spans()
	l := a.sum.result(name, a.p.Program.Path, rss)
	for _, line := range []Line{
		{Class: "swapped out", Bytes: swap}, {Class: "of it in transparent huge pages", Bytes: huge},
	} {
		if line.Bytes > 0 {
			l.Beside = append(l.Beside, line)
		}
	}
	return l, nil
}

// named returns the class of a mapping with a name.
func (a *accounts) named(m *target.Resident) string {
	file := strings.TrimSuffix(m.File, " (deleted)")
	switch {
	case file == a.p.Program.Path && m.Write:
		return "program: variables"
	case file == a.p.Program.Path:
		return "program: code and constants"
	case file == "[heap]":
		return "C heap"
	case strings.HasPrefix(file, "["):
		return "thread stack and kernel"
	case strings.Contains(file, ".so"):
		return "libraries"
	}
	return "mapped files"
}

// anonymous books a mapping without a file: pages of the heap by the span that
// they are in, others by whose they are.
func (a *accounts) anonymous(m *target.Resident) error {
	const other, structures = "other anonymous memory", "runtime structures"
	class := other
	bss := a.im.Modules[0].BSS
	switch {
	case m.Start <= bss && bss < m.End || m.Start < a.im.Modules[0].EndBSS && m.Start > a.im.Modules[0].Text:
		class = "program: variables"
	case strings.HasPrefix(m.File, "[anon: Go:"):
		class = structures
	}
	heap, seen := a.overlapsArena(m), uint64(0)
	if !heap && (class != other || !a.near(m.Start, m.End)) {
		a.sum[class] += m.RSS
		return nil
	}
	rest := "heap: free spans kept"
	if !heap {
		rest = other
	}
	err := a.p.Pages(m.Start, m.End, func(addr uint64) {
		seen += target.PageBytes
		switch s := a.im.Span(addr); {
		case s != nil:
			a.pages[s] += target.PageBytes
		case a.manual(addr):
			a.sum["goroutine stacks"] += target.PageBytes
		case a.im.Arena(addr):
			a.sum["heap: free spans kept"] += target.PageBytes
		case class == other && a.near(addr, addr+target.PageBytes):
			a.sum[structures] += target.PageBytes
		default:
			a.sum[class] += target.PageBytes
		}
	})
	if seen < m.RSS { // pages that came meanwhile
		a.sum[rest] += m.RSS - seen
	}
	return err
}

// near tells whether a range lies by the runtime's own structures. The kernel
// joins neighbouring mappings, so a mapping may be the runtime's in part; the
// runtime maps 256 KB at a time for its structures.
func (a *accounts) near(start, end uint64) bool {
	const chunk = 256 << 10
	all := a.im.Runtime
	i := sort.Search(len(all), func(i int) bool { return all[i]+chunk > start })
	return i < len(all) && all[i] < end+chunk
}

func (a *accounts) overlapsArena(m *target.Resident) bool {
	for addr := m.Start; addr < m.End; addr += 64 << 20 {
		if a.im.Arena(addr) {
			return true
		}
	}
	return a.im.Arena(m.End - 1)
}

// manual tells whether a page is in a span of stacks.
func (a *accounts) manual(addr uint64) bool {
	all := a.im.Manual
	i := sort.Search(len(all), func(i int) bool { return all[i].Start > addr }) - 1
	return i >= 0 && addr < all[i].Start+all[i].Pages*8192
}

// spans splits the resident bytes of used spans by what their slots hold.
func (a *accounts) spans() {
	for i := range a.im.Spans {
		s := &a.im.Spans[i]
		resident := a.pages[s]
		if resident == 0 {
			continue
		}
		live, used := a.g.LiveBytes(s), uint64(0)
		for n := range s.N {
			if a.im.Allocated(s.First+n, int32(i)) {
				used += s.Elem
			}
		}
		used = max(used, live)
		whole := s.Pages * 8192
		l, g := resident*live/whole, resident*(used-live)/whole
		a.sum["heap: live objects"] += l
		a.sum["heap: garbage not collected yet"] += g
		a.sum["heap: free slots in used spans"] += resident - l - g
	}
}
