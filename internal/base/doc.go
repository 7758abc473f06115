// Package base is the wing of what the public libraries stand on and must not
// export.
//
// In: the operating system and the runtime. Out: memory off the heap and in
// chunks, a pinned P, waiting for descriptors, the limits of control groups, files
// that are whole or absent, and what tests of memory share. Each package is one
// mechanism, with the unsafe or system-dependent code in files of its own. All
// wings may import this one; it knows none of them.
//
// Imports: none.
package base
