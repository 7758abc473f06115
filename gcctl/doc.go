// Package gcctl controls when the garbage collector runs, within a memory
// budget that holds in every mode.
//
// [Start] begins control of the process. There is one [Controller] at a time
// because there is one collector. Its [Mode] says when collections happen: at
// the runtime's discretion, near the memory limit only, between critical
// sections, in idle gaps, or with a GOGC that follows the load. In every mode
// the budget becomes the runtime's memory limit, and a watchdog allows
// collections despite critical sections when memory nears it.
//
// # Critical sections
//
//	defer c.Pause().End()
//
// No collection starts while a section is open. A collection that is already
// marking continues, and nobody waits for it. Sections nest and overlap across
// goroutines. The first section after a quiet second takes effect as soon as
// the controller's goroutine has run; in [Hybrid] and [Off] it takes effect at
// once, because the runtime starts no collections there. The watchdog cuts
// sections that last longer than MaxSection. It cuts all of them when memory
// nears the budget, or when there is no budget and a collection has been due
// for MaxSection. A cut section ends like any other, but no longer holds
// collections back.
//
// Collections cannot be enabled within a section: they would also run under the
// sections of other goroutines, which asked for none. [Controller.Force] waits
// for those sections instead.
//
// # What it does not do
//
// It does not make the collector cheaper, and a limit does not shrink the live
// heap. When the live heap leaves the collector no room, the controller calls
// OnShed: only the program can free that memory.
//
// # Concurrency
//
// Any number of goroutines may call any method. Pause, End and Idle do not
// allocate, lock or call the runtime; the controller's own goroutines change
// settings and start collections. Callbacks run on one of these goroutines:
// they must not block, and may call everything but Close and Force.
package gcctl
