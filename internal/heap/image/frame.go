package image

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"
)

// Constants of package internal/abi, the same in all versions that layout knows.
const (
	pcdataStackMap  = 1
	funcdataArgs    = 0
	funcdataLocals  = 1
	funcdataObjects = 2

	flagTopFrame = 1
	flagSPWrite  = 2

	argsUnknown = -0x80000000
)

// A walker visits the frames of one stack as the collector does, and adds their
// pointers to the image's roots.
type walker struct {
	im           *Image
	s            *stack
	objects      []stackObject
	pointers     []uint64 // into the stack, to be visited
	seen         map[uint64]bool
	conservative bool
	left         int // defers that may follow: more mean an endless list
}

// A stackObject is a variable whose address was taken: it is live if a live pointer refers to it.
type stackObject struct {
	addr, size uint64
	ptrBytes   uint64
	mask       uint64 // address of the pointer mask
	function   string
}

// walk returns false if it could not read all frames by their maps.
func (w *walker) walk() bool {
	g := &w.im.Goroutines[w.s.g]
	pc, sp := w.s.pc, w.s.sp
	w.left = mostDefers
	w.conservative = w.s.running
	callee := ""
	complete := false
	for depth := 0; pc != 0 && sp >= w.s.start && sp < w.s.hi && depth <= len(w.s.data)/8; depth++ {
		f, ok := w.im.function(pc)
		if !ok {
			break
		}
		name := w.im.funcName(f)
		if len(g.Frames) < 64 {
			g.Frames = append(g.Frames, name)
		}
		delta, ok := w.im.pcvalue(f, w.info(f, "pcsp"), pc)
		if !ok {
			break
		}
		flag := f.info[w.im.Facts["runtime._func.flag"]]
		if flag&flagSPWrite != 0 && depth > 0 && callee != "runtime.cgocallback" {
			break
		}
		fr, next := w.unwind(frame{f: f, name: name, sp: sp, continuation: pc}, uint64(delta))
		if fr.fp > w.s.hi || fr.fp < sp {
			break
		}
		if callee == "runtime.sigpanic" {
			if fr.continuation = 0; w.info(f, "deferreturn") != 0 {
				fr.continuation = f.entry + uint64(w.info(f, "deferreturn")) + 1
			}
		}
		if !w.frame(fr) {
			break
		}
		w.deferred(fr.fp, name)
		if flag&flagTopFrame != 0 {
			complete = true
			break
		}
		callee, pc, sp = name, next, fr.fp
	}
	g.Start = started(g.Start, g.Frames)
	if !complete {
		w.block(sp, w.s.hi, "") // frames are lost from here on
	}
	w.deferred(w.s.hi, "")
	w.reachObjects()
	return complete
}

// mostDefers is how many deferred calls of one goroutine are read.
const mostDefers = 1 << 20

// deferred adds the deferred calls of the frames that end by fp. The map of a frame does not name its defers,
// and a function value on the stack is reached through them only.
func (w *walker) deferred(fp uint64, name string) {
	f := w.im.Facts
	word := func(d []byte, field string) uint64 { return le.Uint64(d[f["runtime._defer."+field]:]) }
	for ; w.s.defers != 0 && w.left > 0; w.left-- {
		at := w.s.defers
		d, ok := w.bytes(at, f["runtime._defer#"])
		if !ok {
			d, ok = w.im.copied(at, f["runtime._defer#"])
		}
		if !ok || word(d, "sp") >= fp {
			return
		}
		if d[f["runtime._defer.heap"]] != 0 {
			w.value(0, at, name, false)
		}
		w.value(at+f["runtime._defer.fn"], word(d, "fn"), name, false)
		w.s.defers = word(d, "link")
		w.value(at+f["runtime._defer.link"], w.s.defers, name, false)
	}
}

// started returns the first function of a goroutine, by its frames. A method Go, as of sync.WaitGroup, starts one
// that calls the function it is given: that one tells goroutines apart.
func started(first string, frames []string) string {
	i := slices.Index(frames, first)
	if i < 1 || !strings.HasSuffix(first, ").Go.func1") {
		return first
	}
	for _, runtime := range []string{"runtime.", "sync.", "internal/"} {
		if strings.HasPrefix(frames[i-1], runtime) {
			return first
		}
	}
	return frames[i-1]
}

// unwind sets the end of a frame of delta bytes, and returns its return address.
func (w *walker) unwind(fr frame, delta uint64) (frame, uint64) {
	end := fr.sp + delta
	fr.fp, fr.varp, fr.argp = end, end, end+8
	returns := fr.sp // arm64 saves its link register here
	if w.im.Program.Arch == "amd64" {
		returns, fr.fp = end, end+8
	}
	if fr.varp > fr.sp {
		fr.varp -= 8 // the frame pointer
	}
	next, _ := w.word(returns)
	return fr, next
}

// A frame is a function's part of the stack.
type frame struct {
	f                  frameFunc
	name               string
	sp, fp, varp, argp uint64
	continuation       uint64 // where it resumes; 0 if it does not
}

func (w *walker) info(f frameFunc, field string) uint32 {
	return le.Uint32(f.info[w.im.Facts["runtime._func."+field]:])
}

func (w *walker) word(addr uint64) (uint64, bool) { return word(w.bytes(addr, 8)) }

// bytes returns n bytes of the stack.
func (w *walker) bytes(addr, n uint64) ([]byte, bool) {
	if size := uint64(len(w.s.data)); addr < w.s.start || size < n || addr-w.s.start > size-n {
		return nil, false
	}
	return w.s.data[addr-w.s.start:][:n], true
}

// frame adds the pointers of one frame. It returns false if its maps make no sense.
func (w *walker) frame(fr frame) bool {
	args := int64(int32(w.info(fr.f, "args")))
	least := uint64(0)
	if w.im.Program.Arch == "arm64" {
		least = 16
	}
	locals := fr.varp > fr.sp+least
	// Such a frame holds registers of its caller, which is not at a call.
	preempted := fr.name == "runtime.asyncPreempt" || fr.name == "runtime.debugCallV2" ||
		locals && w.funcdata(fr.f, funcdataLocals) == 0 // assembly, such as gcWriteBarrier
	if w.conservative || preempted {
		w.block(fr.sp, fr.varp, fr.name)
		if args > 0 {
			w.block(fr.argp, fr.argp+uint64(args), fr.name)
		}
		w.conservative = preempted
		return true
	}
	if fr.continuation == 0 {
		return true
	}
	index := int32(-1)
	if pc := fr.continuation; pc != fr.f.entry {
		if at := w.pcdata(fr.f, pcdataStackMap); at != 0 {
			index, _ = w.im.pcvalue(fr.f, at, pc-1)
		}
	}
	index = max(index, 0)
	if locals {
		bits, n, ok := w.stackMap(fr.f, funcdataLocals, index)
		if !ok {
			return false
		}
		w.masked(fr.varp-8*n, bits, n, fr.name)
	}
	switch {
	case args == argsUnknown:
		w.block(fr.argp, min(fr.argp+128, w.s.hi), fr.name) // calls by reflection: their map is elsewhere
	case args > 0:
		bits, n, ok := w.stackMap(fr.f, funcdataArgs, index)
		if !ok {
			return false
		}
		w.masked(fr.argp, bits, n, fr.name)
	}
	w.addObjects(fr)
	return true
}

// stackMap reads the bitmap with the given index from a runtime.stackmap.
func (w *walker) stackMap(f frameFunc, kind int, index int32) (bits []byte, n uint64, ok bool) {
	at := w.funcdata(f, kind)
	if at == 0 {
		return nil, 0, false
	}
	head, ok := w.im.Read(at, 8)
	if !ok {
		return nil, 0, false
	}
	maps, nbit := int32(le.Uint32(head)), int32(le.Uint32(head[4:]))
	if maps <= 0 || nbit < 0 || nbit == 0 {
		return nil, 0, maps > 0 && nbit == 0
	}
	if index >= maps {
		return nil, 0, false
	}
	size := (uint64(nbit) + 7) / 8
	bits, ok = w.im.Read(at+8+size*uint64(index), size)
	return bits, uint64(nbit), ok
}

// masked adds the words that a bitmap marks as pointers.
func (w *walker) masked(addr uint64, bits []byte, n uint64, name string) {
	for i := range n {
		if bits[i/8]>>(i%8)&1 != 0 {
			w.pointer(addr+8*i, name, false)
		}
	}
}

// block adds all words of a block as possible pointers.
func (w *walker) block(from, to uint64, name string) {
	to = min(to, w.s.hi)
	for a := max(from, w.s.start) &^ 7; a < to && to-a >= 8; a += 8 { // the end may be that of the address space
		w.pointer(a, name, true)
	}
}

// pointer adds the word at addr if it points into the heap or this stack.
func (w *walker) pointer(addr uint64, name string, weak bool) {
	if v, ok := w.word(addr); ok {
		w.value(addr, v, name, weak)
	}
}

// value is like pointer, for a word that has the value v.
func (w *walker) value(addr, v uint64, name string, weak bool) {
	switch {
	case v == 0:
	case v >= w.s.lo && v < w.s.hi:
		w.pointers = append(w.pointers, v)
	case w.im.Span(v) != nil:
		w.im.Roots = append(w.im.Roots, Root{Kind: Stack, Addr: addr, To: v, G: int32(w.s.g), Func: name, Weak: weak})
	}
}

// addObjects records a frame's stack objects.
func (w *walker) addObjects(fr frame) {
	at := w.funcdata(fr.f, funcdataObjects)
	if at == 0 {
		return
	}
	n, ok := w.im.Word(at)
	if !ok || n > 1<<16 {
		return
	}
	records, ok := w.im.Read(at+8, 16*n)
	if !ok {
		return
	}
	for i := range n {
		r := records[16*i:]
		off := int64(int32(le.Uint32(r)))
		base := fr.varp
		if off >= 0 {
			base = fr.argp
		}
		if addr := base + uint64(off); addr >= fr.sp {
			w.objects = append(w.objects, stackObject{
				addr: addr, size: uint64(le.Uint32(r[4:])), ptrBytes: uint64(le.Uint32(r[8:])),
				mask: fr.f.m.rodata + uint64(le.Uint32(r[12:])), function: fr.name,
			})
		}
	}
}

// reachObjects adds the pointers of stack objects that pointers refer to.
func (w *walker) reachObjects() {
	sort.Slice(w.objects, func(i, j int) bool { return w.objects[i].addr < w.objects[j].addr })
	for len(w.pointers) > 0 {
		p := w.pointers[len(w.pointers)-1]
		w.pointers = w.pointers[:len(w.pointers)-1]
		i := sort.Search(len(w.objects), func(i int) bool { return w.objects[i].addr > p }) - 1
		if i < 0 || p >= w.objects[i].addr+w.objects[i].size || w.seen[w.objects[i].addr] {
			continue
		}
		o := w.objects[i]
		w.seen[o.addr] = true
		words := o.ptrBytes / 8
		if bits, ok := w.im.Read(o.mask, (words+7)/8); ok {
			w.masked(o.addr, bits, words, o.function)
		}
	}
}

// pcdata returns the offset of a table in pctab, or 0.
func (w *walker) pcdata(f frameFunc, table uint32) uint32 {
	at := w.im.Facts["runtime._func#"] + 4*uint64(table)
	if table >= w.info(f, "npcdata") || at+4 > uint64(len(f.info)) {
		return 0
	}
	return le.Uint32(f.info[at:])
}

// funcdata returns the address of a function's table, or 0.
func (w *walker) funcdata(f frameFunc, table int) uint64 {
	if table >= int(f.info[w.im.Facts["runtime._func.nfuncdata"]]) {
		return 0
	}
	at := w.im.Facts["runtime._func#"] + 4*uint64(w.info(f, "npcdata")) + 4*uint64(table)
	if at+4 > uint64(len(f.info)) {
		return 0
	}
	off := le.Uint32(f.info[at:])
	if off == ^uint32(0) {
		return 0
	}
	return f.m.gofunc + uint64(off)
}

// pcvalue looks up a program counter in a table of pctab.
func (im *Image) pcvalue(f frameFunc, table uint32, target uint64) (int32, bool) {
	if table == 0 || uint64(table) >= uint64(len(f.m.pctab)) {
		return -1, false
	}
	quantum := uint64(1)
	if im.Program.Arch == "arm64" {
		quantum = 4
	}
	b, pc, value := f.m.pctab[table:], f.entry, int32(-1)
	for first := true; ; first = false {
		change, n := binary.Uvarint(b)
		if n <= 0 || change == 0 && !first {
			return -1, false
		}
		value += int32(change>>1) ^ -int32(change&1)
		b = b[n:]
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return -1, false
		}
		b = b[n:]
		if pc += step * quantum; target < pc {
			return value, true
		}
	}
}
