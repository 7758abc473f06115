// Package lab is the wing of the experiment.
//
// In: factors with their levels. Out: reliable verdicts. Package plan turns
// factors into cells, in shuffled blocks. Package runner runs each cell in its
// own process, where a workload does the work with a strategy's memory, under
// load if it is a server. Package host describes the machine. The record of
// each cell goes to the store, and stat turns the records into summaries,
// paired comparisons and verdicts. Nothing here displays anything. In the list
// below, kit means the public libraries.
//
// Imports: base, kit, gc.
package lab
