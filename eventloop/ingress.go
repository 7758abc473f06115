package eventloop

import "github.com/isobar-go/isobar/queue"

// An ingress is a queue from the producers to the loop. It loses nothing and
// keeps each producer's order. One step decides a task's place and whether it
// comes before Close.
type ingress interface {
	Push(t Task) bool          // any goroutine; false after Close
	PushBatch(ts []Task) int   // any goroutine: all, or none after Close; does not keep ts
	Close() (accepted uint64)  // any goroutine, any number of times; how many tasks came before
	Pushed() (accepted uint64) // any goroutine; how many tasks have come
	Drain(dst []Task) int      // the loop only; 0 if nothing is there yet
}

// newIngress returns the lock-free queue. docs/adr/0005-ingress.md compares it
// with others, which the lab's workload ingress measures.
func newIngress() ingress { return queue.NewMPSC[Task](queue.MPSCConfig{}) }
