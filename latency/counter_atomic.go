//go:build race || 386 || arm || mips || mipsle

package latency

import (
	"math/bits"
	"sync/atomic"
)

// The race detector does not know that Ps order the writers of a shard, and a
// 32-bit platform reads a counter in two halves: here every access is atomic. A
// load and a store suffice for an addition, since there is one writer at a
// time.

func load(p *uint64) uint64 { return atomic.LoadUint64(p) }

func increase(p *uint64) { atomic.StoreUint64(p, atomic.LoadUint64(p)+1) }

func increase128(p *uint128, v uint64) {
	lo, carry := bits.Add64(atomic.LoadUint64(&p.lo), v, 0)
	atomic.StoreUint64(&p.lo, lo)
	if carry != 0 {
		increase(&p.hi)
	}
}
