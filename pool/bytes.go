package pool

import (
	"fmt"
	"math/bits"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/procpin"
)

// The size classes of [Bytes] are the powers of two from MinBytes to MaxBytes
// with three steps in between: 64, 80, 96, 112, 128, 160, and so on. A buffer
// above 64 bytes wastes less than a fifth of its size.
const (
	MinBytes = 64
	MaxBytes = 32 << 20
)

const (
	minShift   = 6  // log2 of MinBytes
	maxShift   = 25 // log2 of MaxBytes
	numClasses = (maxShift-minShift)*4 + 1

	// cachedBytes bounds the bytes of one class in a P's stack, but always allows
	// two buffers.
	cachedBytes = 4 << 20
)

// Bytes is a pool of byte buffers in size classes. It keeps idle buffers like a
// Cached pool. Make one with [NewBytes]; it must not be copied.
type Bytes struct {
	// Set up by NewBytes; each synchronizes what it holds.
	classes  [numClasses]bytesClass
	oversize tally // misses counts Gets above MaxBytes
	foreign  tally // counts Puts of buffers whose capacity is no class
	track    tracker[byte]
}

type bytesClass struct {
	cache[byte]
	tally tally
}

// NewBytes returns an empty pool.
func NewBytes() *Bytes {
	p := new(Bytes)
	for i := range p.classes {
		p.classes[i].init(max(2, cachedBytes/classSize(i)))
	}
	if invariant.Enabled {
		p.track.init("Bytes")
	}
	return p
}

// Get returns a buffer of length n with unspecified contents. Its capacity is
// the smallest class that holds n. Above MaxBytes it is an ordinary allocation.
func (p *Bytes) Get(n int) []byte {
	if uint(n) > MaxBytes {
		return p.getOversize(n)
	}
	i := classOf(n)
	c := &p.classes[i]
	if !invariant.Enabled {
		pid := procpin.Pin()
		if s := c.mine(pid); s != nil {
			if x := s.pop(); x != nil {
				s.hit()
				procpin.Unpin()
				return sliceOf(x, classSize(i))[:n]
			}
		}
		procpin.Unpin()
	}
	return p.get(i)[:n]
}

// get returns an idle buffer of class i, or makes one.
func (p *Bytes) get(i int) []byte {
	c := &p.classes[i]
	x := c.get()
	if x == nil {
		x = firstOf(make([]byte, classSize(i)))
		c.tally.misses.Add(1)
		if invariant.Enabled {
			p.track.create(x, classSize(i))
		}
	}
	b := sliceOf(x, classSize(i))
	if invariant.Enabled {
		p.track.take(x, b)
	}
	return b
}

func (p *Bytes) getOversize(n int) []byte {
	if n < 0 {
		panic(fmt.Sprintf("pool: Bytes.Get: length %d; want 0 or more", n))
	}
	p.oversize.misses.Add(1)
	return make([]byte, n)
}

// Put returns b to the pool; b must be a buffer that Get returned, or b[:n] of one. Anything else,
// such as b[n:] or the result of append to b, is misuse: debug and race builds panic, others
// discard it if its capacity is not that of a class. Oversize buffers are left to the collector.
func (p *Bytes) Put(b []byte) {
	if cap(b) > MaxBytes {
		return
	}
	x := firstOf(b)
	if invariant.Enabled {
		p.track.giveBack(x, cap(b))
		p.track.poison(x, b[:cap(b)])
	}
	i := classOf(cap(b))
	if classSize(i) != cap(b) {
		p.foreign.drop(1)
		return
	}
	c := &p.classes[i]
	pid := procpin.Pin()
	if s := c.mine(pid); s != nil && s.push(x, c.depth) {
		s.put()
		procpin.Unpin()
		return
	}
	procpin.Unpin()
	c.spill(x)
}

// Warm makes count new buffers that Get(n) will find.
func (p *Bytes) Warm(n, count int) {
	if n < 0 || n > MaxBytes || count < 0 || count > maxObjects {
		panic(fmt.Sprintf("pool: Bytes.Warm: %d buffers of length %d; want 0 to %d of 0 to %d", count, n, maxObjects,
			MaxBytes))
	}
	i := classOf(n)
	for range count {
		b := make([]byte, classSize(i))
		x := firstOf(b)
		if invariant.Enabled {
			p.track.create(x, len(b))
			p.track.poison(x, b)
		}
		p.classes[i].stow(x)
		p.classes[i].tally.warmed.Add(1)
	}
}

// Held lists the buffers that were taken and not given back, like [Pool.Held].
func (p *Bytes) Held() []Held {
	if !invariant.Enabled {
		return nil
	}
	return p.track.list()
}

// Stats returns the sum over all classes.
func (p *Bytes) Stats() Stats {
	var s Stats
	for i := range p.classes {
		c := &p.classes[i]
		c.addTo(&s, &c.tally, int64(classSize(i)))
	}
	p.foreign.addTo(&s)
	s.Oversize = p.oversize.misses.Load()
	s.derive()
	return s
}

// classOf returns the smallest class that holds n bytes, 0 <= n <= MaxBytes.
func classOf(n int) int {
	if n <= MinBytes {
		return 0
	}
	// The two bits below the leading one of n-1 select the step.
	m := uint(n - 1)
	shift := bits.Len(m) - 3
	return (shift+2-minShift)*4 + int(m>>shift)&3 + 1
}

// classSize returns the capacity of buffers of class i.
func classSize(i int) int {
	return (4 + i&3) << (minShift - 2 + i>>2)
}
