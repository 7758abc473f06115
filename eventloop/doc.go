// Package eventloop runs tasks one after another on one goroutine, with the
// turn structure of JavaScript hosts: timers, then tasks, each followed by the
// next-tick queue and the microtasks. Promises settle on the loop.
//
// [Loop.Run] runs the loop on the calling goroutine. [Loop.Submit] and
// [Loop.SubmitTask] hand it work from any goroutine, without a lock; submitting
// an existing Task does not allocate. A goroutine that submits much may use its
// own [Producer]. [Loop.Register] calls a function on the loop when a file
// descriptor is ready (Linux, macOS, BSD).
//
// # Guarantees
//
// A submission that returned nil runs unless Close drops it, and Close returns
// how many it dropped. Tasks of one goroutine run in the order it submitted them.
// One atomic word decides both submission and closing: a submission takes its
// place in the queue from a counter whose highest bit means closed, and closing
// sets that bit and learns in the same step how many came before. So the loop
// knows exactly how many tasks to wait for, including those whose producer is
// held up between taking its place and storing the task.
//
// A task that panics or calls runtime.Goexit is reported, and the loop goes on.
//
// # Concurrency
//
// Any number of goroutines may call Submit and its variants, After, Every,
// Timer.Cancel, Register, the methods of a Registration, Wake, Stats, Shutdown,
// Close and Promise.Await. NextTick, QueueMicrotask and everything else about
// promises belong to the loop: call them from a task, a timer or a reaction, or
// while the loop is not running. Builds with the race detector or the
// isobar_debug tag panic elsewhere. A submission happens before its task runs.
//
// # What it does not do
//
// It starts goroutines in three cases only: [Go] for its function, the first
// Register to watch the descriptors, and Run to replace a goroutine that a task
// ended by Goexit. A task that blocks, or endless microtasks, hold up everything.
// It neither reads nor writes: it reports when doing so will not block.
package eventloop
