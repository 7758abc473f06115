//go:build !race && !386 && !arm && !mips && !mipsle

package latency

import "math/bits"

// A shard's counters have one writer at a time, the goroutine pinned to the
// shard's P, and one writer happens before the next, so plain additions lose
// nothing. Snapshot reads concurrently: on a 64-bit platform a counter is one
// machine word, and under the Go memory model such a read observes a value that
// was written.

func load(p *uint64) uint64 { return *p }

func increase(p *uint64) { *p++ }

func increase128(p *uint128, v uint64) {
	var carry uint64
	p.lo, carry = bits.Add64(p.lo, v, 0)
	p.hi += carry
}
