// Package eventloop runs tasks one after another on one goroutine, with the
// turn structure of JavaScript hosts: timers, tasks, and after each of them the
// next-tick queue and the microtasks. Promises settle on the loop.
//
// [Loop.Run] runs the loop on the calling goroutine. [Loop.Submit] and
// [Loop.SubmitTask] hand it work from any goroutine, without a lock; a Task
// that exists already is submitted without allocation. A goroutine that submits
// much may do so through a [Producer] of its own. [Loop.Register] has a function
// called on the loop when a file descriptor is ready (Linux, macOS, BSD).
//
// # What is kept
//
// A submission that returned nil is run, unless Close drops it, and Close says
// how many it dropped. Tasks of one goroutine run in the order it submitted
// them. Submitting and closing are decided by the same atomic word: a
// submission takes its place in the queue from a counter whose highest bit says
// closed, and closing sets that bit and learns in the same step how many came
// before. So the loop knows exactly for how many tasks it has to wait, also for
// those whose producer is held up between its place and the store of the task.
//
// A task that panics, or calls runtime.Goexit, is reported and the loop goes on.
//
// # Concurrency
//
// Submit and its variants, After, Every, Timer.Cancel, Register, the methods of
// a Registration, Wake, Stats, Shutdown, Close and Promise.Await may be called
// by any number of goroutines. NextTick, QueueMicrotask and everything else
// about promises belong to the loop: call them from a task, a timer or a
// reaction, or while the loop is not running. Builds with the race detector or
// the isobar_debug tag panic elsewhere. A submission happens before its task
// runs.
//
// # What it does not do
//
// It starts no goroutine of its own, except [Go] for its function, the first
// Register to watch the descriptors, and Run to replace the goroutine that a
// task ended by Goexit. A task that blocks, or microtasks without end, hold up
// everything. It neither reads nor writes: it tells when that will not block.
package eventloop
