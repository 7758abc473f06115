// Package heap says what of a Go program's heap is live, who holds it, and what
// of it is expensive to mark. It reads a process, a core file or a report saved
// before; the target needs no cooperation and no symbols.
//
//	target   memory of a process or core      layout   where the runtime keeps its facts
//	image    copies spans, stacks, globals    gotype   types, from descriptors and DWARF
//	graph    marks, dominators, paths         heap     holders, differences, the ledger
//
// Imports: base, show.
package heap
