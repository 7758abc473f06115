package ingress

const ablation = "ablation"

// The switches of the ablation. With all off it is the document's Main, except that the
// loop is woken only if it sleeps.
const (
	switchArena    = "arena"    // tasks in an arena, their addresses in the queue
	switchLockFree = "lockfree" // a lock-free list of nodes in place of chunks under a mutex
	switchClearing = "clearing" // clear used slots once, not again when their memory is released
	switchPadding  = "padding"  // a cache line for each field that is written often
	switchBatching = "batching" // the loop takes up to 256 tasks at once, not one
)

func init() {
	// The five differences that the document names, switched individually.
	Register(ablation, newAblation)
}

func newAblation(c Config) (Loop, error) {
	s := c.Switches
	var q fifo[Task]
	if s[switchArena] {
		q = newCelled(ablated[*cell](s), c.Producers)
	} else {
		q = ablated[Task](s)
	}
	return start(q, options{single: !s[switchBatching]}), nil
}

// ablated returns the queue that the lockfree, padding and clearing switches select.
func ablated[V any](s map[string]bool) fifo[V] {
	lean := s[switchClearing]
	switch {
	case s[switchLockFree] && s[switchPadding]:
		return newLinked[V, padded](lean)
	case s[switchLockFree]:
		return newLinked[V, tight](lean)
	case s[switchPadding]:
		return newChunks[V, padded](lean)
	}
	return newChunks[V, tight](lean)
}
