package arena

import "unsafe"

// A bump is memory of which the part [off, end) from base is free.
//
// What makes it sound: base is the start of a chunk that its owner keeps alive
// (a byte slice of the Go heap, or a mapping), end is at most the chunk's
// length, and off is a multiple of 8 and at most end. Chunks start at
// multiples of 8, being pages or heap objects of 4 KiB and more. base is nil
// only where end is 0.
type bump struct {
	base     unsafe.Pointer
	off, end uintptr
}

func bumpOver(mem []byte, off uintptr) bump {
	return bump{base: unsafe.Pointer(unsafe.SliceData(mem)), off: off, end: uintptr(len(mem))}
}

// take returns size free bytes, or nil if there are not as many. The size is a
// positive multiple of 8, so that the pointer lies inside of the chunk.
func (b *bump) take(size uintptr) unsafe.Pointer {
	if size > b.end-b.off {
		return nil
	}
	p := unsafe.Add(b.base, b.off)
	b.off += size
	return p
}

// extend makes the latest allocation, if it is the one of old bytes at p, size
// bytes long. The result of Add lies inside of the chunk, because off is at
// least old and old is positive.
func (b *bump) extend(p unsafe.Pointer, old, size uintptr) bool {
	if b.off < old || p != unsafe.Add(b.base, b.off-old) || size-old > b.end-b.off {
		return false
	}
	b.off += size - old
	return true
}

// at gives n values of T the memory at p.
//
// p is aligned to 8, as much as any T asks for; the memory is as large as n
// Ts, and T holds no pointers, so that the garbage collector need not know what
// lies there.
func at[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// zeroAt is at for one value, which it sets to zero.
func zeroAt[T any](p unsafe.Pointer) *T {
	v := (*T)(p)
	*v = *new(T)
	return v
}

func sizeOf[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

func start[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// stringOver returns b's memory as a string. Nobody writes to b afterwards:
// either the caller made it or its contract says so.
func stringOver(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the memory of s, for checking builds to compare and poison.
// The bytes written to it hold no pointers other than those that a T had.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(start(s)), uintptr(len(s))*sizeOf[T]())
}

// rtype and ptrType are the beginning of the run-time's type descriptors
// (internal/abi.Type and PtrType): ptrBytes is how many of a value's bytes the
// garbage collector looks at, 0 where T holds no pointers. init holds the layout
// to samples, so that a runtime with another one is noticed before anything is
// allocated.
type rtype struct {
	_        uintptr // size
	ptrBytes uintptr
	_        uint32   // hash
	_        [4]uint8 // flags, alignments, kind
	_        uintptr  // equal
	_        uintptr  // pointer mask
	_, _     int32    // name, type of pointer to this
}

type ptrType struct {
	_    rtype
	elem *rtype
}

// holdsPointers tells whether a T holds pointers that the garbage collector
// follows. The first word of an interface is its type descriptor, which is
// never freed; the compiler folds all of it to a constant where T is known.
func holdsPointers[T any]() bool {
	var p any = (*T)(nil)
	return (*(**ptrType)(unsafe.Pointer(&p))).elem.ptrBytes != 0
}

func init() {
	type mixed struct {
		_ [3]uint64
		_ string
	}
	none := holdsPointers[uint8]() || holdsPointers[[5]float64]() || holdsPointers[struct{}]() || holdsPointers[uintptr]()
	all := holdsPointers[*int]() && holdsPointers[string]() && holdsPointers[any]() && holdsPointers[mixed]() && holdsPointers[func()]()
	if none || !all {
		panic("arena: init: this Go runtime lays out its types in a way that is not known here; use a version of the module that knows it")
	}
}
