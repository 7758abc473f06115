package image

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/heap/target"
)

// Relevant states of a goroutine, without the scan bit.
const (
	statusRunning   = 2
	statusDead      = 6
	statusDeadExtra = 11 // an idle thread for callbacks from C, since Go 1.26
	statusScan      = 0x1000
)

// A stack is the copied part of a goroutine's stack.
type stack struct {
	g       int // index into Goroutines
	lo, hi  uint64
	start   uint64 // the address of data
	data    []byte
	pc, sp  uint64 // innermost frame
	defers  uint64 // the innermost runtime._defer
	running bool
}

// goroutines reads all goroutines and copies the stacks of those that are not dead.
func (r *reader) goroutines() error {
	head, err := r.read(r.allgs, 16)
	if err != nil {
		return err
	}
	r.im.Allgs = le.Uint64(head)
	list, err := r.read(r.im.Allgs, 8*le.Uint64(head[8:]))
	if err != nil {
		return err
	}
	f := r.f
	var ranges []target.Range
	for i := 0; i+8 <= len(list); i += 8 {
		addr := le.Uint64(list[i:])
		b, ok := r.im.Read(addr, f["runtime.g#"])
		if !ok {
			return fmt.Errorf("image: goroutine at %#x: %w", addr, errRuntime)
		}
		word := func(name string) uint64 { return le.Uint64(b[f["runtime.g."+name]:]) }
		status := uint32(word("atomicstatus")) &^ statusScan
		if status == statusDead || status == statusDeadExtra || status == 0 {
			continue
		}
		g := Goroutine{
			ID: word("goid"), Wait: r.wait(status, addr, b), Start: r.im.FuncAt(word("startpc")),
		}
		if fn, ok := r.im.function(word("gopc")); ok {
			g.Created = r.im.funcName(fn)
		}
		s := stack{g: len(r.im.Goroutines), lo: word("stack"), hi: le.Uint64(b[f["runtime.g.stack"]+8:])}
		s.pc, s.sp, s.defers = word("sched.pc"), word("sched.sp"), word("_defer")
		if sp := word("syscallsp"); sp != 0 {
			s.pc, s.sp = word("syscallpc"), sp
		}
		if status == statusRunning {
			r.running(&s, word("m"))
		}
		g.StackBytes = s.hi - s.lo
		r.im.Goroutines = append(r.im.Goroutines, g)
		s.start = s.sp
		if s.start < s.lo || s.start > s.hi {
			s.start = s.lo // no frame can be trusted: read everything
			s.pc = 0
		}
		if s.hi-s.start > 1<<30 || s.hi < s.start {
			return fmt.Errorf("image: goroutine %d has a stack from %#x to %#x: %w", g.ID, s.lo, s.hi, errRuntime)
		}
		s.data = make([]byte, s.hi-s.start)
		r.im.CopiedByte += s.hi - s.start
		ranges = append(ranges, target.Range{Addr: s.start, Data: s.data})
		r.stacks = append(r.stacks, s)
	}
	return r.src.Memory.Read(ranges)
}

// running sets the position of a running goroutine from its thread's registers,
// unless the thread is on another stack.
func (r *reader) running(s *stack, m uint64) {
	s.running = true
	b, ok := r.im.Read(m+r.f["runtime.m.procid"], 8)
	if !ok {
		return
	}
	for _, regs := range r.regs {
		if uint64(regs.Thread) == le.Uint64(b) && regs.SP >= s.lo && regs.SP < s.hi {
			s.pc, s.sp = regs.PC, regs.SP
			return
		}
	}
}

// stackRoots adds the roots in the copied stacks and registers.
func (im *Image) stackRoots(stacks []stack, regs []target.Regs) {
	lost := 0
	for i := range stacks {
		w := &walker{im: im, s: &stacks[i], seen: make(map[uint64]bool)}
		if !w.walk() {
			lost++
		}
	}
	if lost > 0 {
		im.Warnings = append(im.Warnings, fmt.Sprintf("%d of %d goroutines' stacks were read without their maps: "+
			"what they hold may be garbage", lost, len(stacks)))
	}
	for _, t := range regs {
		for _, v := range t.General {
			if im.Span(v) != nil {
				im.Roots = append(im.Roots, Root{Kind: Register, To: v, G: -1, Weak: true})
			}
		}
	}
}

// A special is a runtime.special, with the words that follow.
type special struct {
	kind   byte
	object uint64 // its owner
	data   []byte
}

// Kinds of special records.
const (
	specialFinalizer = 2
	specialWeak      = 3
	specialProfile   = 4
	specialCleanup   = 7

	specialHead = 24 // bytes of runtime.special, the start of all kinds
)

// mostSpecials exceeds what a span can have: less than 2^16 objects with one special record of
// each kind, except for cleanups.
const mostSpecials = 1 << 20

// readSpecials follows the lists of special records of all spans in parallel, one step at a time.
// The records of a list lie in few pages: each is read once.
func (r *reader) readSpecials() error {
	type item struct{ addr, span uint64 }
	var items []item
	for i := range r.im.Spans {
		if s := &r.im.Spans[i]; s.specials != 0 {
			items = append(items, item{s.specials, s.Start})
		}
	}
	sizes, known := r.specialSizes(), make(pages)
	var found []uint64
	for step := 0; len(items) > 0; step++ {
		if step > mostSpecials {
			return fmt.Errorf("image: the special records do not end: %w", errRuntime)
		}
		addrs := make([]uint64, len(items))
		for i := range items {
			addrs[i] = items[i].addr
		}
		if err := known.load(r.src.Memory, addrs, fixed(specialHead)); err != nil {
			return err
		}
		next := items[:0]
		for _, it := range items {
			b := known.at(it.addr, specialHead)
			if kind := b[r.f["runtime.special.kind"]]; sizes[kind] > 0 {
				object := it.span + le.Uint64(b[r.f["runtime.special.offset"]:])
				r.specials = append(r.specials, special{kind: kind, object: object})
				found = append(found, it.addr)
			}
			if n := le.Uint64(b[r.f["runtime.special.next"]:]); n != 0 {
				next = append(next, item{n, it.span})
			}
		}
		items = next
		if err := r.late(); err != nil {
			return err
		}
	}
	size := func(i int) uint64 { return sizes[r.specials[i].kind] }
	err := known.load(r.src.Memory, found, size)
	for i := 0; i < len(found) && err == nil; i++ {
		r.specials[i].data = known.at(found[i], size(i))
	}
	return err
}

// specialSizes returns how many bytes to read for each kind of special record that
// has roots or a stack.
func (r *reader) specialSizes() map[byte]uint64 {
	sizes := map[byte]uint64{
		specialFinalizer: r.f["runtime.specialfinalizer.fn"] + finalizerType + 8,
		specialWeak:      r.f["runtime.specialWeakHandle.handle"] + 8,
		specialProfile:   specialHead + 8,
		specialCleanup:   r.f["runtime.specialCleanup.fn"] + 8,
	}
	if at, ok := r.f["runtime.specialCleanup.cleanup"]; ok {
		sizes[specialCleanup] = at + r.f["runtime.cleanupFn#"]
	}
	return sizes
}

// finalizerType is the offset from runtime.specialfinalizer.fn to .ot, the same in all versions.
const finalizerType = 24

// specialRoots turns special records into roots.
func (im *Image) specialRoots(specials []special) {
	f := im.Facts
	add := func(kind Kind, s special, offset uint64) *Root {
		if offset+8 > uint64(len(s.data)) {
			return new(Root)
		}
		im.Roots = append(im.Roots, Root{Kind: kind, To: le.Uint64(s.data[offset:]), G: -1})
		return &im.Roots[len(im.Roots)-1]
	}
	names := make(map[uint64]string) // of functions, by function value
	name := func(function uint64) string {
		if _, ok := names[function]; !ok {
			pc, _ := im.Word(function)
			names[function] = im.FuncAt(pc)
		}
		return names[function]
	}
	for _, s := range specials {
		switch s.kind {
		case specialFinalizer:
			add(Finalizer, s, f["runtime.specialfinalizer.fn"])
			object := Finalizable{Object: s.object}
			if at := f["runtime.specialfinalizer.fn"] + finalizerType; at+8 <= uint64(len(s.data)) {
				object.Type = le.Uint64(s.data[at:])
			}
			im.Finalizable = append(im.Finalizable, object)
		case specialWeak:
			add(Weak, s, f["runtime.specialWeakHandle.handle"])
		case specialProfile:
			im.Sampled = append(im.Sampled, Sample{Object: s.object, bucket: le.Uint64(s.data[specialHead:])})
		case specialCleanup:
			if at, ok := f["runtime.specialCleanup.cleanup"]; ok {
				add(Finalizer, s, at) // an adapter, the function, and its argument
				function := add(Finalizer, s, at+8).To
				add(Finalizer, s, at+16).Func = name(function)
			} else if at, ok := f["runtime.specialCleanup.fn"]; ok {
				add(Finalizer, s, at)
			}
		}
	}
}

// finalizerQueue adds the finalizers that are ready to run, if symbols say where the queue is.
func (im *Image) finalizerQueue() {
	at, f := im.Program.Symbol("runtime.allfin"), im.Facts
	if _, known := f["runtime.finBlock.fin"]; at == 0 || !known {
		return
	}
	block, _ := im.Word(at)
	for seen := make(map[uint64]bool); block != 0 && !seen[block]; {
		seen[block] = true
		head, ok := im.Read(block, f["runtime.finBlock.fin"])
		if !ok {
			return
		}
		count := uint64(le.Uint32(head[f["runtime.finBlock.cnt"]:]))
		size := f["runtime.finalizer#"]
		fins, ok := im.Read(block+f["runtime.finBlock.fin"], count*size)
		if !ok || count > 1000 {
			return
		}
		for i := range count {
			for _, w := range []uint64{0, 8, 24, 32} {
				im.Roots = append(im.Roots, Root{Kind: Finalizer, To: le.Uint64(fins[i*size+w:]), G: -1})
			}
		}
		block = le.Uint64(head[f["runtime.finBlock.alllink"]:])
	}
}

// globalRoots adds every pointer word of the globals.
func (im *Image) globalRoots() {
	for _, g := range im.globals {
		for w := 0; 8*w+8 <= len(g.data) && w/8 < len(g.mask); w++ {
			if g.mask[w/8]>>(w%8)&1 == 0 {
				continue
			}
			if to := le.Uint64(g.data[8*w:]); im.Span(to) != nil {
				im.Roots = append(im.Roots, Root{Kind: Global, Addr: g.addr + uint64(8*w), To: to, G: -1})
			}
		}
	}
}
