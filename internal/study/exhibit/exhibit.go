// Package exhibit holds the workloads that only restate a source document: its
// code with the faults it has, so that a claim can be tested on it. What answers
// a question of its own is in package workload.
//
// Each file registers its workloads with package workload; a program that runs
// them imports this package for that.
package exhibit
