// Package memtest holds tests to what code may allocate and keep, so that a
// regression fails where it starts.
//
// [Allocs] and [Bytes] bound what one call allocates, [Growth] what the live
// heap gains with each call, [Scan] how much of a structure the garbage
// collector must look through, and [Watch] reports pooled objects that never
// came back. [Budget] holds a test to what it cost when its budget was written
// down, in testdata/memtest.budget: run the tests with -memtest.update, or with
// MEMTEST_UPDATE=1 in the environment where not every package imports this one,
// and review the change of that file like any other.
//
// The figures are counts and shares, never times, so that a test gives the same
// answer on any machine; of Scan see what it says about small objects. Runtime counters cover the whole process. What other
// goroutines allocate only ever adds, so every helper measures again until a
// measurement stays within the limit, and reports the least one when none
// does. Tests that use the helpers may therefore run in parallel with others;
// beside a test that allocates all the time, a limit of zero may fail.
//
// Under the race detector sync.Pool drops objects at random and fewer calls
// are inlined. Allocs, Bytes and Budget then run the function, log the figure
// and hold nobody to it; the other helpers work as usual.
//
// Every helper calls its function from the calling goroutine, at least twice:
// the first call warms caches up and is not counted. The helpers report with
// Errorf and go on.
package memtest
