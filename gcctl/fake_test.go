package gcctl

import (
	"math/rand/v2"
	"sync"
	"time"
)

// fake simulates a garbage collector on the clock of a synctest bubble. A
// program on one of two CPUs allocates at a rate, what it allocates stays live
// up to a bound, and a collection costs CPU time per live byte. It is paced as
// in mgcpacer.go. Reading it advances it.
type fake struct {
	mu       sync.Mutex
	began    time.Time
	at       time.Duration
	live     func(time.Duration) float64 // bytes that the program keeps
	rate     func(time.Duration) float64 // bytes a second
	noise    *rand.Rand                  // nil for none
	perByte  float64                     // CPU seconds of a collection
	counts   float64                     // scan work for each byte marked; an allocated one counts 1
	late     func() time.Duration        // how long a reader waits for a CPU; nil for none
	overhead float64                     // memory without objects

	percent           int
	limit             int64
	cycles, automatic uint64
	heap, marked      float64
	held              float64 // bytes that the program keeps now
	allocs            float64
	marking           bool
	forced            bool
	gc, total, idle   float64
	seenGC            [3]float64 // gc, total, idle at the end of the last cycle
	peak              float64
	collects, sets    int
	lastStart         time.Duration

	left, black float64 // in the mark phase: bytes left, bytes allocated so far
	triggered   float64 // heap at its start
	work, scan  float64 // scan work done, and counted by allocation before it
	expected    float64 // scan work of the phase before
	credit      float64 // bytes that the program may allocate without marking
}

func constant(x float64) func(time.Duration) float64 { return func(time.Duration) float64 { return x } }

func newFake(live, rate float64) *fake {
	return &fake{
		began: time.Now(), live: constant(live), rate: constant(rate), perByte: 1e-9, counts: 1, overhead: 16 * mb,
		percent: 100, limit: 1<<63 - 1, heap: live, marked: live, held: live, allocs: live, scan: live, expected: live,
	}
}

func (f *fake) goal() float64 {
	goal := 1e18
	if f.percent >= 0 {
		goal = max(policy.minHeap*float64(f.percent)/100, f.marked*(1+float64(f.percent)/100))
		if f.marking {
			goal = max(goal, f.triggered+64<<10)
		}
	}
	limit := float64(f.limit)
	return min(goal, max(f.marked, 0.97*(limit-f.overhead-max(0, f.heap+f.overhead-limit))))
}

// assist returns how much scan work the program does for each byte.
func (f *fake) assist() float64 {
	goal, expected := f.goal(), f.expected
	if f.work > expected {
		most := goal * (1 + float64(max(f.percent, 0))/100)
		goal = min((goal-f.triggered)/expected*f.scan+f.triggered, most)
		expected = f.scan
	}
	if f.heap > goal {
		goal *= 1.1
		expected = f.scan
	}
	return max(expected-f.work, 1000) / max(goal-f.heap, 1)
}

func (f *fake) advance() {
	const dt = 500 * time.Microsecond
	for now := time.Since(f.began); f.at+dt <= now; f.at += dt {
		f.step(dt.Seconds())
	}
}

func (f *fake) step(dt float64) {
	rate := f.rate(f.at)
	if f.noise != nil {
		rate *= 1 + 0.5*(f.noise.Float64()-0.5)
	}
	grown := rate * dt
	f.total += 2 * dt
	if f.marking {
		grown = f.mark(rate, dt)
	} else {
		f.idle += dt
	}
	f.heap += grown
	f.allocs += grown
	f.scan += grown
	f.held = min(f.live(f.at), f.held+grown)
	f.peak = max(f.peak, f.heap+f.overhead)
	switch {
	case f.marking:
		if f.black += grown; f.left <= 0 {
			f.finish()
		}
	case f.forced || f.heap >= f.marked+0.9*(f.goal()-f.marked):
		f.marking, f.left, f.black, f.lastStart = true, f.held, 0, f.at
		f.triggered, f.work, f.credit = f.heap, 0, 0
	}
}

// mark marks for a moment and returns the bytes allocated meanwhile. One CPU marks anyway.
// The program runs at half speed, and must mark before it allocates more than that CPU's
// work and its own credit pay for.
func (f *fake) mark(rate, dt float64) float64 {
	ratio, paid := f.assist(), f.counts*dt/f.perByte
	own := ratio * f.perByte / f.counts // seconds for each byte
	grown := min(rate*dt/2, (dt+paid*f.perByte/f.counts)/(2/(rate+1)+own))
	if f.credit > 0 {
		grown = rate * dt / 2
		f.credit -= grown
	} else {
		f.credit += max(0, 64<<10/ratio-grown) // at least that much work at a time
	}
	spent := dt * (1.5 - grown/(rate*dt+1))
	f.gc += spent
	f.left -= spent / f.perByte
	f.work += f.counts * spent / f.perByte
	f.scan -= grown // is not counted while marking
	return grown
}

func (f *fake) finish() {
	f.held = min(f.live(f.at), f.held)
	f.marked = min(f.heap, f.held+f.black)
	if f.noise != nil {
		f.marked = min(f.heap, f.marked*(1+0.1*(f.noise.Float64()-0.5)))
	}
	f.heap = f.marked
	f.expected, f.scan = f.work, f.work
	f.marking = false
	f.cycles++
	if !f.forced {
		f.automatic++
	}
	f.forced = false
	f.seenGC = [3]float64{f.gc, f.total, f.idle}
}

// wait waits for a CPU: until the world restarts after a collection, or at most the given time.
func (f *fake) wait(most time.Duration) {
	_, _, cycles, _ := f.state()
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(500 * time.Microsecond) {
		if _, _, now, _ := f.state(); now != cycles {
			return
		}
	}
}

func (f *fake) read(s *sample) {
	if f.late != nil {
		f.wait(f.late())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	pauses := 2 * f.cycles
	if f.marking {
		pauses++
	}
	*s = sample{
		cycles: f.cycles, pauses: pauses, automatic: f.automatic, heap: int64(f.heap), live: int64(f.marked), goal: int64(f.goal()),
		stacks: 1 << 16, globals: 1 << 16, allocs: int64(f.allocs), total: int64(f.heap + f.overhead),
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
	if f.late != nil { // the program goes on between a look and what follows from it
		f.step(500e-6)
		f.at += 500 * time.Microsecond
	}
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
