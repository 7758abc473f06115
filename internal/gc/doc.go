// Package gc is the wing that tells what the collector of a program did.
//
// In: the gctrace lines that a program prints, or its execution trace. Out:
// package trace has each collection with its times and heaps; package phase has
// which phase of the collector was on at any moment, and what operations
// overlapped. Nothing here runs a program or knows of the lab: records are made of
// these figures elsewhere.
//
// Imports: base.
package gc
