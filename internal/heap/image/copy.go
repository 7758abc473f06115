package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/base/offheap"
	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// A Source is a target that can be copied.
type Source struct {
	Memory  target.Memory
	Program *target.Program
	// Stopped runs a function while the target is stopped; nil for a core.
	Stopped func(func() error) (time.Duration, error)
	// Forked runs a function on a fork. It fails with target.ErrNoFork if a fork is impossible,
	// or would stop the target for longer than the given time; nil for a core.
	Forked func(time.Duration, func() error) (time.Duration, error)
	Clock  func() uint64 // the target's monotonic clock in nanoseconds; nil for a core
}

// Config limits the cost of a copy.
type Config struct {
	MaxPause  time.Duration // of the target; 0 for no bound
	ForkAbove time.Duration // predicted pause from which on a fork is copied instead; 0 for never
	FreeBytes uint64        // available to the reading; 0 for no bound
}

// What a reading takes besides the copy, in bytes. The kernel would end the process that is read as
// likely as the one that reads. A test of package heap holds both.
const (
	slotBytes   = 64       // for each slot: marks, edges, dominators
	readerBytes = 40 << 20 // line tables, variables, types
)

// ErrPause is wrapped in the error of a copy that would take too long.
var ErrPause = errors.New("the pause would be too long")

// buffers holds the copies.
var buffers = offheap.For("heap image")

func newBuffer(size uint64) ([]byte, error) {
	b, err := buffers.Map(offheap.RoundUp(int(size), true), true)
	if errors.Is(err, errors.ErrUnsupported) {
		return make([]byte, size), nil
	}
	for i := 0; i < len(b); i += 4096 { // take our page faults now, not while the target is stopped
		b[i] = 0
	}
	return b, err
}

func freeBuffer(b []byte) {
	if b != nil && runtime.GOOS == "linux" {
		buffers.Unmap(b)
	}
}

// Read copies the heap of a target.
func Read(ctx context.Context, src Source, c Config) (*Image, error) {
	experiments := src.Program.Setting("GOEXPERIMENT")
	if strings.Contains(","+experiments, ",staticlockranking") { // every mutex of the runtime is larger
		return nil, fmt.Errorf("image: %s was built with GOEXPERIMENT=%s, which changes the runtime's structures: %w",
			src.Program.Path, experiments, layout.ErrUnknown)
	}
	facts, err := layout.Of(src.Program.Go, src.Program.Arch)
	if err != nil {
		return nil, fmt.Errorf("image: %s was built with %s, whose runtime this isobar does not know: %w",
			src.Program.Path, src.Program.Go, err)
	}
	im := &Image{Program: src.Program, Facts: facts, mem: src.Memory}
	im.green = !strings.Contains(experiments, "nogreenteagc") &&
		(!strings.HasPrefix(src.Program.Go, "go1.25") || strings.Contains(experiments, "greenteagc"))
	r := &reader{im: im, f: facts, src: src, ctx: ctx, reasons: facts.WaitReasons()}
	likely, err := r.prepare(c)
	if err != nil {
		return nil, err
	}
	if src.Stopped == nil {
		err = r.copy()
	} else {
		err = r.copyProcess(c, likely)
	}
	if err != nil {
		im.Release()
		return nil, err
	}
	if src.Clock != nil {
		im.Now = src.Clock()
	}
	im.Runtime = r.owned()
	for i := range im.Modules {
		im.Modules[i].search = nil
	}
	im.collector()
	im.waitsOn()
	im.stackRoots(r.stacks, r.regs)
	im.specialRoots(r.specials)
	im.finalizerQueue()
	im.globalRoots()
	return im, nil
}

// A reader is the state of one Read.
type reader struct {
	im       *Image
	f        layout.Facts
	src      Source
	ctx      context.Context
	heap     uint64 // runtime.mheap_
	allgs    uint64
	list     uint64   // of the spans' records
	records  []uint64 // addresses of the spans' records
	spare    []byte   // unused part of the buffer
	start    time.Time
	most     time.Duration // since start; 0 for no bound
	stacks   []stack
	specials []special
	regs     []target.Regs
	reasons  map[uint8]string
}

// copyProcess copies a running program. It copies a fork if a long pause is likely and forking is
// safe. likely is the predicted time of a copy.
func (r *reader) copyProcess(c Config, likely time.Duration) (err error) {
	if c.ForkAbove > 0 && likely >= c.ForkAbove {
		if r.im.Stop, err = r.src.Forked(c.MaxPause, r.copy); !errors.Is(err, target.ErrNoFork) {
			r.im.Forked = true
			return err
		}
		r.im.Warnings = append(r.im.Warnings, err.Error())
	}
	if c.MaxPause > 0 && likely > 2*c.MaxPause {
		return errors.Join(err, fmt.Errorf("image: copying %d MB would take about %v, --max-pause is %v: %w",
			len(r.im.buffer)>>20, likely.Round(time.Millisecond), c.MaxPause, ErrPause))
	}
	r.most = c.MaxPause
	before := r.im.Stop
	r.im.Stop, err = r.src.Stopped(r.copy)
	r.im.Stop += before
	return err
}

// prepare finds the runtime's structures and allocates memory while the target runs. For a
// process it returns how long the copy will likely take.
func (r *reader) prepare(c Config) (time.Duration, error) {
	if err := r.im.readModules(); err != nil {
		return 0, err
	}
	var err error
	if r.heap, err = r.im.findHeap(); err != nil {
		return 0, err
	}
	if r.allgs, err = r.im.findGoroutines(); err != nil {
		return 0, err
	}
	spans, err := r.spans() // they may change before the copy: leave room
	for try := 0; err != nil && r.src.Stopped != nil && try < 3; try++ {
		spans, err = r.spans()
	}
	if err != nil {
		return 0, err
	}
	now, slots := uint64(0), uint64(0)
	for i := range spans {
		slots += uint64(spans[i].N)
		if !spans[i].NoScan {
			now += spans[i].Bytes()
		}
	}
	size, bss := now+now/8+16<<20, uint64(0)
	for i := range r.im.Modules {
		bss += min(r.im.Modules[i].endNoPtrBSS-r.im.Modules[i].noPtrBSS, 1<<40)
	}
	if whole := size + slots*slotBytes + bss + readerBytes; c.FreeBytes > 0 && whole > c.FreeBytes {
		return 0, fmt.Errorf("image: reading this heap takes up to %d MB, and %d MB are free here: "+
			"read a core file on another machine", whole>>20, c.FreeBytes>>20)
	}
	if r.im.buffer, err = newBuffer(size); err != nil {
		return 0, fmt.Errorf("image: no memory for the copy: %w", err)
	}
	r.spare = r.im.buffer
	if r.src.Stopped == nil {
		return 0, nil
	}
	return r.trial(spans, now), nil
}

// trial predicts the time of a copy of so many bytes of spans, and of the stacks, by copying some of
// them while the target runs.
func (r *reader) trial(spans []Span, now uint64) time.Duration {
	var parts []Extent
	for i := range spans {
		if s := &spans[i]; !s.NoScan {
			parts = append(parts, Extent{s.Start, s.Start + s.Bytes()})
		}
	}
	start, sum, most := time.Now(), uint64(0), min(64<<20, uint64(len(r.spare)))
	for _, e := range append(parts, r.im.Manual...) {
		n := min(e.End-e.Start, most-sum)
		if r.src.Memory.Read([]target.Range{{Addr: e.Start, Data: r.spare[sum:][:n]}}) == nil {
			sum += n
		}
		if sum == most {
			break
		}
	}
	if sum < 4<<20 {
		return 1 // too little to measure, and too little to matter
	}
	return time.Duration(float64(time.Since(start)) / float64(sum) * float64(now+r.im.StackSpans))
}

// copy reads everything that can change. The target is stopped meanwhile.
func (r *reader) copy() error {
	r.start = time.Now()
	spans, err := r.spans()
	if err != nil {
		return err
	}
	r.im.Spans = spans
	r.im.index()
	for _, step := range []func() error{r.pages, r.bits, r.globals, r.threads, r.goroutines, r.readSpecials} {
		if err := step(); err != nil {
			return err
		}
		if err := r.late(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) late() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.most > 0 && time.Since(r.start) > r.most {
		return fmt.Errorf("image: %w: let go after %v", ErrPause, time.Since(r.start).Round(time.Millisecond))
	}
	return nil
}

func (r *reader) read(addr, n uint64) ([]byte, error) {
	if n > 1<<32 {
		return nil, fmt.Errorf("image: %d bytes at %#x: %w", n, addr, errRuntime)
	}
	b := make([]byte, n)
	return b, r.src.Memory.Read([]target.Range{{Addr: addr, Data: b}})
}

// scattered reads size bytes at every address and calls visit for each. It reads whole pages, as
// the addresses lie close together.
func (r *reader) scattered(addrs []uint64, size func(i int) uint64, visit func(i int, b []byte)) error {
	var touched []Extent
	for i, a := range addrs {
		if a >= maxAddr {
			return fmt.Errorf("image: a pointer of the runtime's is %#x: %w", a, errRuntime)
		}
		e := Extent{a &^ (systemPage - 1), (a + size(i) + systemPage - 1) &^ (systemPage - 1)}
		if n := len(touched); n == 0 || touched[n-1] != e {
			touched = append(touched, e)
		}
	}
	touched = joined(touched)
	ranges := make([]target.Range, len(touched))
	for i, e := range touched {
		ranges[i] = target.Range{Addr: e.Start, Data: make([]byte, e.End-e.Start)}
	}
	if err := r.src.Memory.Read(ranges); err != nil {
		return err
	}
	for i, a := range addrs {
		at := sort.Search(len(touched), func(k int) bool { return touched[k].End > a })
		visit(i, ranges[at].Data[a-touched[at].Start:][:size(i)])
	}
	return nil
}

// pages has pages of the target that were read, by address.
type pages map[uint64][]byte

const systemPage = 4096

// load reads the pages with size bytes at every address, those that are not there yet.
func (p pages) load(mem target.Memory, addrs []uint64, size func(i int) uint64) error {
	var missing []target.Range
	for i, a := range addrs {
		if a >= maxAddr {
			return fmt.Errorf("image: a pointer of the runtime's is %#x: %w", a, errRuntime)
		}
		for at := a &^ (systemPage - 1); at < a+size(i); at += systemPage {
			if p[at] == nil {
				p[at] = make([]byte, systemPage)
				missing = append(missing, target.Range{Addr: at, Data: p[at]})
			}
		}
	}
	return mem.Read(missing)
}

// at returns n bytes, at most a page, that load has read.
func (p pages) at(addr, n uint64) []byte {
	page := addr &^ (systemPage - 1)
	b := p[page][addr-page:]
	if uint64(len(b)) < n {
		b = slices.Concat(b, p[page+systemPage])
	}
	return b[:n:n]
}

func fixed(n uint64) func(int) uint64 { return func(int) uint64 { return n } }

// States of a span.
const (
	spanInUse  = 1
	spanManual = 2
)

// spans returns all spans in use, by address, and records the spans of stacks.
func (r *reader) spans() ([]Span, error) {
	head, err := r.read(r.heap+r.f["runtime.mheap.allspans"], 24)
	if err != nil {
		return nil, err
	}
	list, err := r.read(le.Uint64(head), 8*le.Uint64(head[8:]))
	if err != nil {
		return nil, err
	}
	addrs := make([]uint64, len(list)/8)
	for i := range addrs {
		addrs[i] = le.Uint64(list[8*i:])
	}
	spans := make([]Span, 0, len(addrs))
	r.im.StackSpans, r.im.Manual = 0, nil
	err = r.scattered(addrs, fixed(r.f["runtime.mspan#"]), func(_ int, b []byte) {
		s, state := r.span(b)
		switch {
		case state == spanInUse && s.Elem > 0 && s.Pages > 0:
			spans = append(spans, s)
		case state == spanManual:
			r.im.StackSpans += s.Bytes()
			r.im.Manual = append(r.im.Manual, Extent{s.Start, s.Start + s.Bytes()})
		}
	})
	if err != nil {
		return nil, err
	}
	r.list, r.records = le.Uint64(head), addrs
	r.im.Manual = joined(r.im.Manual)
	return spans, checkSpans(spans)
}

// span reads a runtime.mspan.
func (r *reader) span(b []byte) (s Span, state uint8) {
	word := func(name string) uint64 { return le.Uint64(b[r.f["runtime.mspan."+name]:]) }
	short := func(name string) uint32 { return uint32(le.Uint16(b[r.f["runtime.mspan."+name]:])) }
	class := b[r.f["runtime.mspan.spanclass"]]
	s = Span{
		Start: word("startAddr"), Pages: word("npages"), Elem: word("elemsize"), N: short("nelems"),
		NoScan: class&1 != 0, class: class, freeIndex: short("freeindex"), allocAddr: word("allocBits"),
		markAddr: word("gcmarkBits"), specials: word("specials"), userArena: b[r.f["runtime.mspan.isUserArenaChunk"]] != 0,
	}
	if class>>1 == 0 && class&1 == 0 {
		s.LargeType = word("largeType")
	}
	return s, b[r.f["runtime.mspan.state"]]
}

// checkSpans sorts spans by address and checks that they are plausible.
func checkSpans(spans []Span) error {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	end := uint64(0)
	for i := range spans {
		s := &spans[i]
		bytes := s.Bytes()
		if s.Start < end || s.Start%pageSize != 0 || s.Pages > 1<<27 || s.Elem > bytes || uint64(s.N)*s.Elem > bytes ||
			s.Start+bytes >= maxAddr || !s.NoScan && (s.Elem == 0 || s.Elem%8 != 0) {
			return fmt.Errorf("image: a span at %#x of %d pages for %d objects of %d bytes: %w",
				s.Start, s.Pages, s.N, s.Elem, errRuntime)
		}
		end = s.Start + bytes
	}
	return nil
}

// pages copies the pages of all spans with pointers, by several goroutines.
func (r *reader) pages() error {
	var ranges []target.Range
	for i := range r.im.Spans {
		s := &r.im.Spans[i]
		if s.NoScan {
			continue
		}
		n := s.Bytes()
		if n > uint64(len(r.spare)) {
			return fmt.Errorf("image: the heap grew by over an eighth before it could be copied: try again")
		}
		part := r.spare[:n]
		s.Data, r.spare = part[:n:n], r.spare[n:]
		r.im.CopiedByte += n
		if k := len(ranges) - 1; k >= 0 && ranges[k].Addr+uint64(len(ranges[k].Data)) == s.Start &&
			len(ranges[k].Data) < 4<<20 { // the buffer continues where the range ends
			ranges[k].Data = ranges[k].Data[:uint64(len(ranges[k].Data))+n]
			continue
		}
		ranges = append(ranges, target.Range{Addr: s.Start, Data: part})
	}
	work := make(chan []target.Range, len(ranges)/64+1)
	for len(ranges) > 0 {
		n := min(64, len(ranges))
		work <- ranges[:n]
		ranges = ranges[n:]
	}
	close(work)
	errs := make([]error, min(4, runtime.GOMAXPROCS(0)))
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			for part := range work {
				if errs[i] = errors.Join(r.src.Memory.Read(part), r.late()); errs[i] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// bits copies the allocation bits of spans with free slots after their index.
func (r *reader) bits() error {
	var addrs []uint64
	var spans []*Span
	for i := range r.im.Spans {
		if s := &r.im.Spans[i]; s.freeIndex < s.N && s.allocAddr != 0 {
			addrs, spans = append(addrs, s.allocAddr), append(spans, s)
		}
	}
	return r.scattered(addrs, func(i int) uint64 { return uint64(spans[i].N+7) / 8 }, func(i int, b []byte) {
		spans[i].alloc = b
	})
}

// globals copies the modules' variables that contain pointers.
func (r *reader) globals() error {
	for i := range r.im.Modules {
		m := &r.im.Modules[i]
		for _, part := range []block{
			{m.Data, make([]byte, m.EndData-m.Data), m.dataMask}, {m.BSS, make([]byte, m.EndBSS-m.BSS), m.bssMask},
		} {
			if err := r.src.Memory.Read([]target.Range{{Addr: part.addr, Data: part.data}}); err != nil {
				return err
			}
			r.im.globals = append(r.im.globals, part)
		}
	}
	return nil
}

func (r *reader) threads() error {
	var err error
	r.regs, err = r.src.Memory.Threads()
	return err
}
