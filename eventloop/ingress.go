package eventloop

import "github.com/isobar-go/isobar/queue"

// An ingress is a queue from the producers to the loop. It loses nothing, and
// keeps the order of each producer. It decides in one step whether a task comes
// before Close, and its place.
type ingress interface {
	Push(t Task) bool          // by any goroutine; false after Close
	PushBatch(ts []Task) int   // by any goroutine: all, or none after Close; keeps none of ts
	Close() (accepted uint64)  // by any goroutine, any number of times; how many tasks came before
	Pushed() (accepted uint64) // by any goroutine; how many tasks have come
	Drain(dst []Task) int      // by the loop; 0 if nothing is there, or not yet
}

// newIngress returns the lock-free queue. docs/adr/0005-ingress.md compares it
// with others, which the lab's workload ingress measures.
func newIngress() ingress { return queue.NewMPSC[Task](queue.MPSCConfig{}) }
