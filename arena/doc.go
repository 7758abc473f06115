// Package arena allocates by advancing an index and frees everything at once.
//
// The three kinds differ in what they may hold:
//
//   - [Arena] holds bytes and pointer-free values, by default in memory that the
//     garbage collector does not see. Allocate with [New], [MakeSlice],
//     [AppendTo], [Arena.Bytes], [Arena.String] and [Arena.CopyString].
//   - [Concurrent] is an Arena for several goroutines, with a piece of a chunk
//     for each processor.
//   - [Typed] holds values of one type, which may have pointers, in memory that
//     the garbage collector scans.
//
// Reset frees everything and keeps the memory for the next round; Mark and Rewind free everything
// after a point; Release returns the memory. Freed memory must not be used: in ordinary builds
// such a use reads or overwrites later allocations, as in C. Under the isobar_debug build tag and
// in race builds, freed memory is poisoned, an off-heap chunk becomes inaccessible at Reset, and
// a write through a stale pointer panics when the memory is next handed out.
//
// Every build panics on the misuse it can detect: an Arena refuses a type with
// pointers (decided from the type alone, so it is memory-safe or panics), and all
// kinds refuse marks of another arena or an earlier round, use after Release, and
// absurd sizes. Running out of [Config.LimitBytes] or of system memory is not
// misuse: Reserve reports it as an error beforehand. An allocation that finds no
// memory panics with that error.
//
// Arena and Typed are for one goroutine at a time.
package arena
