// Package lab is the experiment wing: it turns factors and their levels into
// verdicts.
//
// Package plan turns factors into cells, in shuffled blocks. Package runner runs
// each cell in its own process, where a workload works in the memory of a strategy,
// under load if it is a server. Package host describes the machine. The record of
// each cell goes to the store, and stat turns records into summaries, paired
// comparisons and verdicts. Nothing here displays anything. In the list below, kit
// means the public libraries.
//
// Imports: base, kit, gc.
package lab
