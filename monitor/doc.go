// Package monitor shows on a live page what the garbage collector does to a
// running process:
//
//	mux.Handle("/debug/isobar/", monitor.Handler())
//
// The page charts the heap with its goal and limit, pauses, the collector's CPU
// time by kind, allocation rates by size, scheduler latency and goroutines,
// live and some minutes back. A [Monitor] made by [New] adds figures of the
// program: GC controllers, pools, event loops and HTTP servers through [Of],
// latencies through [Latency], anything else through a [Source]. The program
// links none of these libraries unless it uses them. Package monitorprom
// exports the same figures to Prometheus.
//
// # Cost
//
// A Monitor reads its figures once per Interval, with or without viewers
// (BenchmarkSample), and does not allocate. History is a fixed-size table made
// by New. In an idle process, sampling every second with ten minutes of history
// took 0.03 % of a CPU and 0.2 MB; with a viewer, 0.06 % and 0.3 MB
// (BenchmarkRest).
//
// # Security
//
// The handler only reads: it answers GET and HEAD, and nothing it serves
// changes the process. Put it behind your own authentication where others can
// reach it. On a loopback address it refuses requests for other host names, so
// that a web page cannot reach it by DNS rebinding. It needs no network: the
// handler itself serves scripts and styles, under a policy that allows no
// others.
//
// # Concurrency
//
// Any number of goroutines may use a Monitor. Only its own goroutine reads
// sources.
package monitor
