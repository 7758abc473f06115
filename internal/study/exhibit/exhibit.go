// Package exhibit holds the workloads that only restate a source document: its code, faults
// included, so that claims about it can be tested. A workload with a question of its own
// belongs in package workload.
//
// Each file registers its workloads in init, so a program imports this package
// to run them. Help lists them in a group of their own.
package exhibit

import "github.com/isobar-go/isobar/internal/lab/workload"

// register adds a workload as an exhibit.
func register(w *workload.Workload) {
	w.Exhibit = true
	workload.Register(w)
}
