// Package lab is the wing of the experiment.
//
// In: factors with their levels. Out: verdicts that one can believe. Package plan
// makes cells of factors, in shuffled blocks; runner has each run in a process of
// its own, where a workload does the work with a strategy's memory, under load
// where it is a server; host describes the machine; the record of each cell goes
// to the store; stat makes summaries, paired comparisons and verdicts of what is
// stored. Nothing here shows anything. In the list below, kit is the public
// libraries.
//
// Imports: base, kit, gc.
package lab
