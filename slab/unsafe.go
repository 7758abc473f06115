package slab

import (
	"sync/atomic"
	"unsafe"
)

func chunkBytes[T any]() uintptr { return unsafe.Sizeof(chunk[T]{}) }

// chunkAt returns the chunk at the start of mem.
//
// mem is zeroed, as an unused chunk is, at least as large as a chunk, and
// aligned to 8, as slots are. It stays mapped as long as the slab refers to it.
// T holds no pointers, or mem would not have been mapped.
func chunkAt[T any](mem []byte) *chunk[T] { return (*chunk[T])(unsafe.Pointer(unsafe.SliceData(mem))) }

// tableAt returns an empty table of chunks in mem.
//
// mem is aligned to 8 and stays mapped as long as the slab lives. The pointers
// in it refer to mapped memory, which the garbage collector need not see.
func tableAt[T any](mem []byte) []*chunk[T] {
	return unsafe.Slice((**chunk[T])(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem))/ptrBytes)[:0]
}

// at returns slot i, which must be below bump: then it is in a chunk of the
// table, whose own check would slow BenchmarkGet.
func (s *Slab[T]) at(i uint32) *slot[T] {
	c := *(**chunk[T])(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.chunks)), uintptr(i>>chunkShift)*ptrBytes))
	return &c[i%chunkSlots]
}

const ptrBytes = unsafe.Sizeof(uintptr(0))

// loadMeta and storeMeta access slots that other goroutines read at the same
// time. meta is the first field with a size, in a struct aligned to 8.
func (s *slot[T]) loadMeta() meta { return meta(atomic.LoadUint64((*uint64)(&s.meta))) }

func (s *slot[T]) storeMeta(m meta) { atomic.StoreUint64((*uint64)(&s.meta), uint64(m)) }

// loadValue copies the value word by word with atomic loads, so a copy taken
// during a write is a mixture but not a data race.
//
// The value begins at offset 8 of a slot whose size is a multiple of 8, so the
// whole words that cover it lie inside the slot. T holds no pointers. The words
// are written to v as byte arrays, which need no alignment.
func (s *slot[T]) loadValue(v *T) {
	to := unsafe.Pointer(v)
	size := unsafe.Sizeof(*v)
	for off := uintptr(0); off < size; off += 8 {
		word := atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(s), 8+off)))
		bytes := (*[8]byte)(unsafe.Pointer(&word))
		if size-off >= 8 {
			*(*[8]byte)(unsafe.Add(to, off)) = *bytes
		} else {
			copy(unsafe.Slice((*byte)(to), size)[off:], bytes[:])
		}
	}
}

// storeValue is the reverse of loadValue. It zeroes the padding of the last
// word.
func (s *slot[T]) storeValue(v *T) {
	from := unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
	for off := 0; off < len(from); off += 8 {
		var word uint64
		copy((*[8]byte)(unsafe.Pointer(&word))[:], from[off:])
		atomic.StoreUint64((*uint64)(unsafe.Add(unsafe.Pointer(s), 8+off)), word)
	}
}

// hasWords reports whether T consists of whole words: more than may be in
// registers, and few enough to copy one by one.
func hasWords[T any]() bool {
	size := unsafe.Sizeof(*new(T))
	return unsafe.Alignof(*new(T)) == 8 && size > 32 && size <= 128
}

// setWords sets the value word by word. The compiler copies 16 bytes at once: if the value
// was just built word by word, the processor then waits until the words have reached the
// cache (BenchmarkInsertRemove in bench/slab).
//
// hasWords[T]() holds, so the size is a multiple of 8 and words are aligned. T holds no
// pointers. Builds that check pointers, such as with -asan, would make v escape to the heap.
//
//go:nocheckptr
func (s *slot[T]) setWords(v *T) {
	to, from := unsafe.Pointer(&s.value), unsafe.Pointer(v)
	for off := uintptr(0); off < unsafe.Sizeof(*v); off += 8 {
		*(*uint64)(unsafe.Add(to, off)) = *(*uint64)(unsafe.Add(from, off))
	}
}

// valueBytes returns the memory of the value, for checking builds. Either T
// holds no pointers, or only zeros are written.
func (s *slot[T]) valueBytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s.value)), unsafe.Sizeof(s.value))
}
