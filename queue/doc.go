// Package queue passes values from many goroutines, or from one, to a single
// consumer, without locks.
//
//   - [MPSC]: unbounded, any number of producers. Push never waits.
//   - [SPSC]: unbounded, one producer. Push never waits.
//   - [MPSCRing]: bounded, any number of producers. Push reports a full ring.
//   - [SPSCRing]: bounded, one producer. Push reports a full ring.
//
// All are first in, first out, lose nothing and overwrite nothing. Memory is
// allocated by the constructors (4 to 10 KiB for an unbounded queue of small
// values, all of a ring) and, in unbounded queues, when the backlog grows;
// drained chunks are reused. Unbounded queues can be closed: Push then reports
// false, and Close returns how many values were accepted. Push and Pop move
// single values; PushBatch and Drain move many for the price of one handover.
//
// # Concurrency
//
// Push and PushBatch belong to the producers: any number of goroutines, but one
// for an SPSC or SPSCRing. Pop, Drain and Len belong to the consumer: one
// goroutine at a time. To change the consumer, synchronize the handover (a mutex,
// a channel). A second consumer, or a second producer where one is allowed, is a
// bug in the caller; builds with the race detector or the isobar_debug tag panic
// on it.
//
// A push happens before the pop that returns its value. A value becomes visible
// once every earlier value is: while a producer is held up inside Push, later
// values wait behind its own, and Pop reports false although Len is not 0. That
// producer needs no help to finish, and the consumer can do other work meanwhile.
//
// # What it does not do
//
// Nothing here blocks, spins or wakes: a caller that wants to sleep until there is work adds its
// own signal after Push. A consumer that polls again at once after it has caught up slows down
// producers on other CPUs; one that lets values gather for a microsecond or two moves more of
// them, but later (BenchmarkMPSC). There is no queue for several consumers; use a Go channel.
package queue
