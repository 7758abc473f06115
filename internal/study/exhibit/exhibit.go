// Package exhibit holds the workloads that only restate a source document: its
// code with the faults it has, so that a claim can be tested on it. What answers
// a question of its own is in package workload.
//
// Each file registers its workloads in init; a program that runs them imports this
// package for that. They are listed in a group of their own.
package exhibit

import "github.com/isobar-go/isobar/internal/lab/workload"

// register adds a workload as an exhibit.
func register(w *workload.Workload) {
	w.Exhibit = true
	workload.Register(w)
}
