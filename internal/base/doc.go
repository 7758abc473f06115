// Package base is the wing of mechanisms that the public libraries build on without exporting them.
//
// In: the operating system and the runtime. Out: memory off the heap and in chunks, a pinned
// P, a parked and a yielding goroutine, waiting for descriptors, the limits of control groups,
// atomically written files, a test for addresses of this machine, redirects that stay on a host, and
// helpers for tests of memory and of many threads. Each package is one mechanism, with unsafe or system-dependent
// code in separate files. All wings may import this one; it imports none of them.
//
// Imports: none.
package base
