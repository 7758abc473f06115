// Package cputime adds CPU time to benchmarks: on a machine that is shared,
// elapsed time says more about the neighbours.
package cputime

import (
	"runtime"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/rusage"
)

// Process returns the CPU time that this process has used, in user mode and in
// the kernel, on all threads: the garbage collector's is part of it.
func Process() time.Duration { return time.Duration(rusage.Self().CPU() * float64(time.Second)) }

// Rounds runs round in b.Loop and reports, for each of the n things that one
// round does, its share of elapsed time as ns/<what> and of CPU time as
// cpu-ns/<what>. The time of one round is ns/op.
func Rounds(b *testing.B, n int, what string, round func()) {
	b.ReportAllocs()
	runtime.GC() // what the benchmark before left
	began := Process()
	for b.Loop() {
		round()
	}
	used := Process() - began
	things := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/things, "ns/"+what)
	b.ReportMetric(float64(used.Nanoseconds())/things, "cpu-ns/"+what)
}
