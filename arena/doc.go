// Package arena allocates by moving an index and frees everything at once.
//
// Three kinds share the idea and differ in what they may hold:
//
//   - [Arena] holds bytes and values without pointers, by default in memory
//     that the garbage collector does not see. [New], [MakeSlice], [AppendTo],
//     [Arena.Bytes], [Arena.String] and [Arena.CopyString] take from it.
//   - [Concurrent] is an Arena for several goroutines, with a piece of a chunk
//     per processor.
//   - [Typed] holds values of one type that may have pointers, in memory that
//     the garbage collector scans.
//
// Reset frees everything and keeps the memory for the next round; Mark and
// Rewind free what came after a point; Release gives the memory back. Freed
// memory must not be used: in ordinary builds such a use reads or overwrites
// later allocations, as it does in C. Under the isobar_debug build tag and in
// race builds freed memory is poisoned, an off-heap chunk becomes inaccessible
// at Reset, and a write through a stale pointer panics when the memory is next
// handed out.
//
// What can be checked always is: a type with pointers is refused by Arena
// (memory-safe or a panic, decided from the type alone), as are marks of another
// arena or of a round before, use after Release, and absurd sizes. These panic.
// Running out, of [Config.LimitBytes] or of what the operating system gives, is
// no misuse: Reserve reports it as an error beforehand. An allocation that
// finds no memory panics with that error.
//
// Arena and Typed are for one goroutine at a time.
package arena
