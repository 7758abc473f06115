// Package slab keeps objects of one type behind 64-bit handles instead of
// pointers, in memory that the garbage collector need not scan.
//
// A [Handle] names an object for as long as it lives. Once the object is
// removed, the handle is stale: [Slab.Get] and [Slab.Remove] return ok=false
// for it and never another object, even after the memory is reused. A slot is
// retired after 2^32 objects, so this always holds. Graphs link their nodes by
// handles:
//
//	type node struct {
//		left, right slab.Handle[node]
//		key         uint64
//	}
//
// [Slab] is for one goroutine at a time and hands out pointers to objects.
// [Concurrent] is for several, hands out copies, and its readers take no lock.
//
// Objects lie in chunks of 1,024 that never move. By default chunks are mapped
// from the operating system and a type with pointers is refused, which keeps
// this memory-safe. With [Config.OnHeap] a Slab may hold any type; the garbage
// collector then scans it if it has pointers.
//
// A pointer from Get must not be used after its object is removed, nor after
// Clear or Release. Under the isobar_debug build tag and in race builds, removed
// objects are poisoned, a write to one panics when its slot is reused, and
// released memory is inaccessible.
package slab
