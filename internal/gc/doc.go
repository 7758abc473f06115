// Package gc is the wing that determines what a program's collector did.
//
// In: the gctrace lines that a program prints, or its execution trace. Out:
// package trace returns each collection with its times and heap sizes; package
// phase returns the collector's phase at any moment and which operations
// overlapped it. Nothing here runs a program or knows the lab, which turns
// these figures into records.
//
// Imports: base.
package gc
