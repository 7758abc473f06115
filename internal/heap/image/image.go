// Package image copies what the collector of another Go program would look at, from one moment at
// which the program is stopped: its spans with pointers, globals, stacks and specials. It finds
// the runtime's structures by symbol, or in stripped programs by their shape.
package image

import (
	"encoding/binary"
	"sort"
	"time"

	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// Constants of the heap, the same in all versions that layout knows.
const (
	pageShift  = 13
	pageSize   = 1 << pageShift
	arenaShift = 26
	// bitmapMax is the largest element, in bytes, whose pointer bitmap is in its
	// span; larger ones have a header.
	bitmapMax  = 512
	inlineMark = 128 // bytes of runtime.spanInlineMarkBits
	maxAddr    = 1 << 57
)

// A Span is a run of pages in use for objects of one size.
type Span struct {
	Start     uint64
	Pages     uint64
	Elem      uint64 // bytes per slot
	N         uint32 // slots
	First     uint32 // number of the first slot, counted over all spans
	NoScan    bool   // its objects have no pointers
	LargeType uint64 // address of the type, for a large object with pointers
	Data      []byte // its copied pages; nil if NoScan

	class     uint8
	freeIndex uint32
	allocAddr uint64
	markAddr  uint64
	alloc     []byte // allocation bits
	specials  uint64
	userArena bool
}

// A Root is a word or block outside of the heap that keeps objects alive.
type Root struct {
	Kind Kind
	Addr uint64 // of the word that contains the pointer; 0 for a register
	To   uint64
	G    int32  // index into Goroutines for a root on a stack, else -1
	Func string // of the frame; of a cleanup's argument, the function that gets it
	Weak bool   // found conservatively: may not be a pointer
}

// Kind says where a root is.
type Kind uint8

// The kinds of roots, those that name a holder best first.
const (
	Global Kind = iota
	Stack
	Finalizer // function of a finalizer or cleanup, and what its object refers to
	Weak      // the handle of a weak pointer
	Register
	Kinds // number of kinds
)

// A Goroutine is one of runtime.allgs that is not dead.
type Goroutine struct {
	ID         uint64
	Wait       Wait
	Created    string   // function with the go statement
	Start      string   // first function
	Frames     []string // innermost first
	StackBytes uint64
}

// A Finalizable is an object with a finalizer. It is not live by itself, but what it refers to is.
type Finalizable struct {
	Object uint64 // its address
	Type   uint64 // address of the type of pointers to it
}

// An Image is a copy. It does not change after Read.
type Image struct {
	Program     *target.Program
	Facts       layout.Facts
	Spans       []Span // by address
	Slots       uint32 // slots of all spans
	Roots       []Root
	Goroutines  []Goroutine
	Allgs       uint64 // address of the runtime's array of goroutines
	Modules     []Module
	Now         uint64 // by the target's monotonic clock in nanoseconds; 0 for a core
	Collector   Collector
	Stop        time.Duration // how long the program was stopped; 0 for a core
	Forked      bool          // the copy is of a fork
	CopiedByte  uint64        // size of the copy
	StackSpans  uint64        // bytes of spans that hold stacks
	Manual      []Extent      // the spans that hold stacks, by address
	Runtime     []Extent      // the runtime's own structures, by address, without overlaps
	Warnings    []string
	Finalizable []Finalizable
	// Sampled has the objects in the program's own memory profile.
	Sampled []Sample

	mem     target.Memory
	buffer  []byte             // backs all Span.Data
	arenas  map[uint64][]int32 // index into Spans plus 1, by page of each arena; 0 for none
	globals []block
	green   bool // mark bits of small objects are in their spans
}

// A block is copied memory with a mask of its pointer words.
type block struct {
	addr uint64
	data []byte
	mask []byte
}

var le = binary.LittleEndian

// A Sample is an object of the program's memory profile.
type Sample struct {
	Object uint64 // its address
	bucket uint64 // address of the runtime.bucket that has its stack
}

// The words of a runtime.bucket, the same in all versions that layout knows: the
// stack follows its length.
const (
	bucketDepth = 40
	bucketStack = 48
	mostFrames  = 1024 // above what GODEBUG=profstackdepth allows
)

// Stack returns the return addresses at the object's allocation, innermost first; nil
// if they cannot be read.
func (im *Image) Stack(s Sample) []uint64 {
	n, ok := im.Word(s.bucket + bucketDepth)
	if !ok || n == 0 || n > mostFrames {
		return nil
	}
	b, ok := im.Read(s.bucket+bucketStack, 8*n)
	if !ok {
		return nil
	}
	stack := make([]uint64, n)
	for i := range stack {
		stack[i] = le.Uint64(b[8*i:])
	}
	return stack
}

// Span returns the span in use that contains an address, or nil.
func (im *Image) Span(addr uint64) *Span {
	pages := im.arenas[addr>>arenaShift]
	if pages == nil {
		return nil
	}
	i := pages[addr>>pageShift&(1<<(arenaShift-pageShift)-1)] - 1
	if i < 0 {
		return nil
	}
	return &im.Spans[i]
}

// index builds the table from pages to spans.
func (im *Image) index() {
	im.arenas = make(map[uint64][]int32)
	im.Slots = 0
	for i := range im.Spans {
		s := &im.Spans[i]
		s.First = im.Slots
		im.Slots += s.N
		for p := range s.Pages {
			addr := s.Start + p<<pageShift
			pages := im.arenas[addr>>arenaShift]
			if pages == nil {
				pages = make([]int32, 1<<(arenaShift-pageShift))
				im.arenas[addr>>arenaShift] = pages
			}
			pages[addr>>pageShift&(1<<(arenaShift-pageShift)-1)] = int32(i + 1)
		}
	}
}

// Collector is what the runtime knows about its collections up to the last one. It is
// zero for a program without symbols.
type Collector struct {
	CPU  time.Duration `json:"cpu_ns"`  // of collections, without work on idle CPUs but with waiting for a CPU
	Used time.Duration `json:"used_ns"` // of everything that ran, collections included
	GOGC int32         `json:"gogc"`    // negative if off
}

// collector reads the figures if symbols say where they are.
func (im *Image) collector() {
	work, control := im.Program.Symbol("runtime.work"), im.Program.Symbol("runtime.gcController")
	if work == 0 || control == 0 {
		return
	}
	stat := func(name string) time.Duration {
		v, _ := im.Word(work + im.Facts["runtime.workType.cpuStats."+name])
		return time.Duration(v)
	}
	idle := stat("GCIdleTime")
	im.Collector.CPU = stat("GCTotalTime") - idle
	im.Collector.Used = stat("TotalTime") - stat("IdleTime") - idle
	percent, _ := im.Word(control + im.Facts["runtime.gcControllerState.gcPercent"])
	im.Collector.GOGC = int32(percent)
}

// Object returns the slot that contains an address, its span, and the offset in the
// slot; s is nil if there is none.
func (im *Image) Object(addr uint64) (slot uint32, s *Span, offset uint64) {
	if s = im.Span(addr); s == nil {
		return 0, nil, 0
	}
	n := (addr - s.Start) / s.Elem
	if n >= uint64(s.N) {
		return 0, nil, 0
	}
	return s.First + uint32(n), s, addr - s.Start - n*s.Elem
}

// Allocated reports whether slot n of the span holds an object: conservative roots
// may point to free slots.
func (s *Span) Allocated(n uint32) bool {
	return n < s.freeIndex || int(n/8) < len(s.alloc) && s.alloc[n/8]>>(n%8)&1 != 0
}

// AllocatedBytes returns the bytes of slots that hold objects.
func (s *Span) AllocatedBytes() (sum uint64) {
	for n := range s.N {
		if s.Allocated(n) {
			sum += s.Elem
		}
	}
	return sum
}

// Bytes returns the size of the span.
func (s *Span) Bytes() uint64 { return s.Pages << pageShift }

// SpanOf returns the span of a slot.
func (im *Image) SpanOf(slot uint32) *Span {
	after := sort.Search(len(im.Spans), func(i int) bool { return im.Spans[i].First > slot })
	return &im.Spans[after-1]
}

// Header returns the offset of an object's data in its slot: the size of the type header, or 0.
func (s *Span) Header() uint64 {
	if !s.NoScan && !s.userArena && s.Elem > bitmapMax && s.class>>1 != 0 {
		return 8
	}
	return 0
}

// HeaderType returns the address of the type in a slot's header, or 0.
func (s *Span) HeaderType(n uint32) uint64 {
	switch {
	case s.NoScan || s.userArena:
		return 0
	case s.class>>1 == 0:
		return s.LargeType
	case s.Header() > 0:
		return le.Uint64(s.Data[uint64(n)*s.Elem:])
	}
	return 0
}

// Slot returns the copied bytes of slot n of the span, header included.
func (s *Span) Slot(n uint32) []byte { return s.Data[uint64(n)*s.Elem:][:s.Elem:s.Elem] }

// Bitmap calls visit with the offset of every pointer word in the slot of an object whose bitmap
// is in the span. It returns false if there is no bitmap.
func (im *Image) Bitmap(s *Span, n uint32, visit func(offset uint64)) bool {
	if s.NoScan || s.Elem > bitmapMax || s.userArena || s.class>>1 == 0 {
		return false
	}
	base := uint64(pageSize - pageSize/64)
	if im.green && s.Elem >= 16 {
		base -= inlineMark
	}
	bits := s.Data[base:]
	first := uint64(n) * s.Elem / 8
	for w := range s.Elem / 8 {
		if b := first + w; bits[b/8]>>(b%8)&1 != 0 {
			visit(w * 8)
		}
	}
	return true
}

// Read returns n bytes at an address: from the copy if possible, else from the target
// as it is now.
func (im *Image) Read(addr uint64, n uint64) ([]byte, bool) {
	if b, ok := im.copied(addr, n); ok {
		return b, true
	}
	if n > 1<<28 {
		return nil, false
	}
	b := make([]byte, n)
	if im.mem == nil || im.mem.Read([]target.Range{{Addr: addr, Data: b}}) != nil {
		return nil, false
	}
	return b, true
}

// copied returns bytes from the copy only.
func (im *Image) copied(addr, n uint64) ([]byte, bool) {
	if s := im.Span(addr); s != nil && s.Data != nil {
		if o := addr - s.Start; n <= uint64(len(s.Data))-o {
			return s.Data[o : o+n], true
		}
	}
	return im.global(addr, n)
}

// global returns bytes of the modules' variables that contain pointers.
func (im *Image) global(addr, n uint64) ([]byte, bool) {
	for _, g := range im.globals {
		if size := uint64(len(g.data)); addr >= g.addr && n <= size && addr-g.addr <= size-n {
			return g.data[addr-g.addr:][:n], true
		}
	}
	return nil, false
}

// Global returns the word at an address in the modules' variables that contain pointers.
func (im *Image) Global(addr uint64) (uint64, bool) { return word(im.global(addr, 8)) }

// Contents reads uncopied memory, from the target as it is now.
func (im *Image) Contents(ranges []target.Range) error { return im.mem.Read(ranges) }

// Word returns the word at an address, like Read.
func (im *Image) Word(addr uint64) (uint64, bool) { return word(im.Read(addr, 8)) }

func word(b []byte, ok bool) (uint64, bool) {
	if !ok {
		return 0, false
	}
	return le.Uint64(b), true
}

// Release frees the copied pages; afterwards only methods that need no Data work.
func (im *Image) Release() {
	freeBuffer(im.buffer)
	im.buffer = nil
	for i := range im.Spans {
		im.Spans[i].Data = nil
	}
}

// Arena reports whether an address lies in an arena that has spans in use.
func (im *Image) Arena(addr uint64) bool { return im.arenas[addr>>arenaShift] != nil }
