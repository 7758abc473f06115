// Package monitor shows what the garbage collector does to a running process,
// on a page of its own:
//
//	mux.Handle("/debug/isobar/", monitor.Handler())
//
// The page has the heap beside its goal and limit, pauses, the CPU time of the
// collector by kind, allocation rates by size, scheduler latency and goroutines,
// minutes back and live. A [Monitor] made by [New] adds what a program has of
// its own: GC controllers, pools, event loops and HTTP servers by [Of], latencies
// by [Latency], anything else that is a [Source]. The program links none of these
// libraries unless it uses them. Package monitorprom gives the same figures to
// Prometheus.
//
// # Cost
//
// Figures are read once per Interval whether or not somebody looks
// (BenchmarkSample), without allocation. History is a table of fixed size, made
// by New. In a process at rest, each second and ten minutes back, that was 0.03 %
// of a CPU and 0.2 MB, 0.06 % and 0.3 MB with a viewer (BenchmarkRest).
//
// # Security
//
// The handler only reads: it answers GET and HEAD, nothing it serves changes
// the process. Put it behind your own authentication where others reach it. On a
// loopback address it refuses requests for other host names, so that a web
// page cannot reach it by rebinding its own name. It needs no network: scripts
// and styles come from the handler itself, under a policy that allows no others.
//
// # Concurrency
//
// A Monitor may be used by any number of goroutines. Sources are read by its
// own goroutine alone.
package monitor
