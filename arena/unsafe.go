package arena

import "unsafe"

// A bump is memory at base whose part [off, end) is free.
//
// Why it is sound: base is the start of a chunk that its owner keeps alive (a
// byte slice in the Go heap, or a mapping), end is at most the chunk's length,
// and off is a multiple of 8 and at most end. Chunks start at multiples of 8,
// being pages or heap objects whose size is one. base is nil only where end is
// 0.
type bump struct {
	base     unsafe.Pointer
	off, end uintptr
}

func bumpOver(mem []byte, off uintptr) bump {
	return bump{base: unsafe.Pointer(unsafe.SliceData(mem)), off: off, end: uintptr(len(mem))}
}

// take returns size free bytes, or nil if there are fewer. size is a positive
// multiple of 8, so the pointer lies inside the chunk.
func (b *bump) take(size uintptr) unsafe.Pointer {
	if size > b.end-b.off {
		return nil
	}
	p := unsafe.Add(b.base, b.off)
	b.off += size
	return p
}

// extend resizes the allocation of old bytes at p to size bytes, if it is the
// latest. The result of Add lies inside the chunk, because off is at least old
// and old is positive.
func (b *bump) extend(p unsafe.Pointer, old, size uintptr) bool {
	if b.off < old || p != unsafe.Add(b.base, b.off-old) || size-old > b.end-b.off {
		return false
	}
	b.off += size - old
	return true
}

// at returns the memory at p as n values of T.
//
// p is aligned to 8, as much as any T needs. The memory is as large as n Ts,
// and T holds no pointers, so the garbage collector need not know what is
// there.
func at[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// zeroAt is at for one value, which it zeroes.
func zeroAt[T any](p unsafe.Pointer) *T {
	v := (*T)(p)
	*v = *new(T)
	return v
}

func sizeOf[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

func start[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// stringOver returns b's memory as a string. Nobody writes to b afterwards:
// either the caller made it or the caller's contract says so.
func stringOver(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the memory of s, which checking builds compare and poison.
// They write no pointers other than those a T had.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(start(s)), uintptr(len(s))*sizeOf[T]())
}

// rtype and ptrType are the start of the runtime's type descriptors
// (internal/abi.Type and PtrType). ptrBytes is how many of a value's bytes the
// garbage collector scans, 0 where T holds no pointers. init checks the layout
// against samples, so a runtime with another layout is noticed before anything
// is allocated.
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

// holdsPointers reports whether a T holds pointers that the garbage collector
// follows. The first word of an interface is its type descriptor, which is
// never freed. The compiler folds the whole function to a constant where T is
// known.
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
	all := holdsPointers[*int]() && holdsPointers[string]() && holdsPointers[any]() && holdsPointers[mixed]() &&
		holdsPointers[func()]()
	if none || !all {
		panic("arena: init: unknown type layout in this Go runtime; use a version of the module that supports it")
	}
}
