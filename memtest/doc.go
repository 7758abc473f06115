// Package memtest limits what code may allocate and keep, so that a regression
// fails the test nearest to it.
//
// [Allocs] and [Bytes] bound the allocations of one call, [Growth] the growth of
// the live heap per call, [Scan] the share of a structure that the garbage
// collector must scan, and [Watch] reports pooled objects that never came back.
// [Budget] holds a test to the cost recorded in testdata/memtest.budget. To write
// that file, run the tests with -memtest.update, or with MEMTEST_UPDATE=1 in the
// environment if some packages do not import this one, and review its diff like
// any other.
//
// The figures are counts and shares, never times, so a test gives the same answer
// on any machine; Scan documents an exception for small objects. Runtime counters
// cover the whole process. Allocations by other goroutines only add to a figure,
// so every helper measures again until a measurement stays within the limit, and
// reports the least one if none does. Tests that use the helpers may therefore
// run in parallel with others; beside a test that allocates all the time, a limit
// of zero may fail.
//
// Under the race detector sync.Pool drops objects at random and fewer calls are
// inlined. Allocs, Bytes and Budget then run the function and log the figure
// without enforcing the limit; the other helpers work as usual.
//
// Every helper calls its function from the calling goroutine, at least twice: the
// first call warms up caches and is not counted. The helpers report with Errorf
// and continue.
package memtest
