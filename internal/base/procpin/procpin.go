// Package procpin pins the calling goroutine to its P, so that a library can
// keep one shard per P and touch it without contention.
//
// Between [Pin] and [Unpin] the goroutine can be neither preempted nor moved,
// and no stop-the-world phase can begin: the section must be a handful of
// instructions. It must not block, allocate, panic, or call anything that
// might. A P is handed from one thread to another with a happens-before edge,
// so plain writes made by one pinned section are seen by the next one on the
// same P; other Ps, and readers that are not pinned, get no such promise.
package procpin
