// Package heap reports what is live in a Go program's heap, who holds it, and which
// parts are expensive to mark. It reads a process, a core file or a saved report; the
// target needs no cooperation and no symbols.
//
//	target   memory of a process or core      layout   offsets in the runtime's structs
//	image    copies spans, stacks, globals    gotype   types, from descriptors and DWARF
//	graph    marks, dominators, paths         heap     holders, differences, the ledger
//
// Imports: base, show.
package heap
