// Package gcctl controls when the garbage collector runs, within a memory
// budget that no mode can talk it out of.
//
// [Start] begins control of the process; there is one [Controller] at a time,
// because there is one collector. Its [Mode] says when collections happen:
// as the runtime has it, near the memory limit only, between critical
// sections, in idle gaps, or with a GOGC that follows the load. Whatever the
// mode, the budget is set as the runtime's memory limit, and a watchdog lets
// collections start in spite of critical sections when memory nears it.
//
// # Critical sections
//
//	defer c.Pause().End()
//
// No collection starts while a section is open. One that is already marking
// goes on, and nobody waits for it. Sections nest and overlap over any number
// of goroutines. The first one after a quiet second takes effect as soon as
// the controller's goroutine has run, except in [Hybrid] and [Off], where the
// runtime starts no collections anyway. The watchdog cuts sections: those that
// last longer than MaxSection, and all of them when memory nears the budget,
// or when a collection has been due for MaxSection and there is no budget.
// A cut section ends like any other, but no longer holds collections back.
//
// There is no way to enable collections within a section. It would have to
// collect under the sections of other goroutines, which is what those asked
// to be kept from. [Controller.Force] waits for them instead.
//
// # What it does not do
//
// It does not make the collector cheaper, and a limit does not make a live
// heap smaller. When what is live leaves the collector no room, OnShed is
// called: only the program can let go of memory. It frees nothing itself.
//
// # Concurrency
//
// All methods may be called by any number of goroutines. Pause, End and Idle
// do not allocate, lock or call the runtime; settings are changed and
// collections started by goroutines of the controller. Callbacks run on one
// of these: they must not block, and may call everything but Close and Force.
package gcctl
