package gcctl

import (
	"math/rand/v2"
	"sync"
	"time"
)

// fake simulates a garbage collector on the clock of a synctest bubble. A
// program on one of two CPUs allocates at a rate, some of that stays live, and
// a collection costs CPU time per live byte. Reading it advances it.
type fake struct {
	mu      sync.Mutex
	began   time.Time
	at      time.Duration
	live    func(time.Duration) float64 // bytes that are really live
	rate    func(time.Duration) float64 // bytes a second
	noise   *rand.Rand                  // nil for none
	perByte float64                     // CPU seconds of a collection

	percent           int
	limit             int64
	cycles, automatic uint64
	heap, marked      float64
	allocs            float64
	marking           bool
	forced            bool
	left, black       float64 // in the mark phase: CPU seconds left, bytes allocated so far
	gc, total, idle   float64
	seenGC            [3]float64 // gc, total, idle at the end of the last cycle
	peak              float64
	collects, sets    int
	lastStart         time.Duration
}

const fakeOverhead = 16 << 20

func constant(x float64) func(time.Duration) float64 { return func(time.Duration) float64 { return x } }

func newFake(live, rate float64) *fake {
	return &fake{
		began: time.Now(), live: constant(live), rate: constant(rate), perByte: 1e-9,
		percent: 100, limit: 1<<63 - 1, heap: live, marked: live, allocs: live,
	}
}

func (f *fake) goal() float64 {
	goal := 1e18
	if f.percent >= 0 {
		goal = max(policy.minHeap*float64(f.percent)/100, f.marked*(1+float64(f.percent)/100))
	}
	return min(goal, 0.97*(float64(f.limit)-fakeOverhead))
}

func (f *fake) advance() {
	const dt = 500 * time.Microsecond
	for now := time.Since(f.began); f.at+dt <= now; f.at += dt {
		f.step(dt.Seconds())
	}
}

func (f *fake) step(dt float64) {
	speed, live := 1.0, f.live(f.at)
	if f.noise != nil {
		speed += 0.5 * (f.noise.Float64() - 0.5)
		live *= 1 + 0.1*(f.noise.Float64()-0.5)
	}
	f.total += 2 * dt
	if f.marking {
		speed /= 2
		if room := max(0, f.goal()-f.heap) * dt / max(f.left, dt) / (f.rate(f.at)*dt + 1); room < speed { // allocation assists
			speed = room
		}
		f.left -= dt * (1.5 - speed)
		f.gc += dt * (1.5 - speed)
	} else {
		f.idle += dt
	}
	grown := speed * f.rate(f.at) * dt
	f.heap += grown
	f.allocs += grown
	if f.heap < live { // live bytes were allocated
		f.allocs += live - f.heap
		f.heap = live
	}
	f.peak = max(f.peak, f.heap+fakeOverhead)
	switch {
	case f.marking:
		if f.black += grown; f.left <= 0 {
			f.finish(live)
		}
	case f.forced || f.heap >= f.marked+0.9*(f.goal()-f.marked):
		f.marking, f.left, f.black, f.lastStart = true, live*f.perByte, 0, f.at
	}
}

func (f *fake) finish(live float64) {
	f.marked = live + f.black
	f.heap = f.marked
	f.marking = false
	f.cycles++
	if !f.forced {
		f.automatic++
	}
	f.forced = false
	f.seenGC = [3]float64{f.gc, f.total, f.idle}
}

func (f *fake) read(s *sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	pauses := 2 * f.cycles
	if f.marking {
		pauses++
	}
	*s = sample{
		cycles: f.cycles, pauses: pauses, automatic: f.automatic, heap: int64(f.heap), live: int64(f.marked), goal: int64(f.goal()),
		stacks: 1 << 16, globals: 1 << 16, allocs: int64(f.allocs), total: int64(f.heap) + fakeOverhead,
		percent: f.percent, limit: f.limit, gcCPU: f.seenGC[0], totalCPU: f.seenGC[1], idleCPU: f.seenGC[2],
	}
}

// await runs until collection number n or later has ended.
func (f *fake) await(n uint64) {
	for {
		f.mu.Lock()
		f.advance()
		ended := f.cycles >= n
		f.mu.Unlock()
		if ended {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *fake) setPercent(n int) int {
	f.mu.Lock()
	f.advance()
	was := f.percent
	f.percent = n
	f.sets++
	wait := f.cycles
	if n < 0 && f.marking { // as the runtime does
		wait++
	}
	f.mu.Unlock()
	f.await(wait)
	return was
}

func (f *fake) setLimit(n int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	was := f.limit
	f.limit = n
	return was
}

func (f *fake) collect() {
	f.mu.Lock()
	f.advance()
	f.collects++
	f.forced = true
	wait := f.cycles + 1
	if f.marking {
		f.forced = false
		wait++
	}
	f.mu.Unlock()
	f.await(wait - 1)
	f.mu.Lock()
	if f.cycles < wait {
		f.forced = true
	}
	f.mu.Unlock()
	f.await(wait)
}

func (f *fake) state() (percent int, limit int64, cycles uint64, peak float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	return f.percent, f.limit, f.cycles, f.peak
}

// collections returns how many collections the controller requested, how many
// the runtime started, and when the last one began.
func (f *fake) collections() (asked int, automatic uint64, lastStart time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	return f.collects, f.automatic, f.lastStart
}
