// Package procpin pins the calling goroutine to its P, so that a library can
// keep one shard per P and touch it without contention.
//
// Between [Pin] and [Unpin] the goroutine can be neither preempted nor moved,
// and no stop-the-world phase can begin, so the section must be a handful of
// instructions. It must not block, allocate, panic, or call anything that
// might. A P passes from one thread to another with a happens-before edge, so
// the next pinned section on the same P sees plain writes by the previous one.
// Other Ps, and readers that are not pinned, get no such guarantee.
package procpin
