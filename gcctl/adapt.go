package gcctl

import (
	"math"
	"time"
)

// The law of Adaptive mode. It is a function of its state and a sample, and
// knows neither the clock nor the runtime.
//
// With f the collector's share of the CPU time under GOGC G, what it slows the
// program down by included, f/(1-f) = k/G,
// because the work of a collection does not depend on G and their number
// falls with it. So k = f/(1-f)·G follows from what was measured under any G,
// and want = k·(1-u)/u is the GOGC with a share of u. The budget caps it: a
// heap that ends at live + (live+stacks+globals)·G/100 leaves a reserve, even
// if all of it turns out to be live. A heap that fills the budget anyway is left
// to the runtime's limit, which goes by the heap as it is and not by samples.
// Lowering for memory happens at once, also where only the reserve for what is
// allocated while all of it is marked has become short. Raising is bounded to a factor a
// sample, since live heaps grow as a rule while they are being filled.
type law struct {
	target float64
	budget int64 // 0 for none
}

const (
	minPercent     = 30   // below, the runtime's limit is what keeps the heap small: it follows the heap as it is
	tightPercent   = 10   // collecting more often than this is what an alarm is for
	maxPercent     = 1000 // beyond, faults on fresh memory cost more than collecting does
	reserve        = 0.96 // of the budget, that the heap may fill: the runtime neither counts nor promises all
	step           = 1.5  // largest raise
	stepBack       = 2.5  // largest raise once memory has become free
	band           = 1.15 // moves within this are ignored
	wideBand       = 1.3  // once settled, or after a change the other way
	newLoad        = 2    // moves beyond this mean that the load is another one
	raisePause     = time.Second
	settleAfter    = 15 * time.Second
	settledPause   = time.Minute
	trueCost       = 1.5  // of collecting, as a multiple of the CPU time that the runtime accounts to it: the program runs slower meanwhile
	smoothing      = 0.3  // weight of one collection in averages
	fitting        = 0.95 // of the budget, that tightPercent must fit into
	gone           = 0.75 // of the live heap that was: what is below, or as far above, is another load
	fading         = 0.1  // of what the live heap was larger than it is, forgotten in each collection
	alarmCycles    = 3    // without room, until the alarm
	shedPercent    = 100  // room for so much is what a program is asked to make: as the runtime has it by default
	recoverPercent = 15   // room for so much, as often, ends the alarm
)

// A lawSample is what one or more collections have shown.
type lawSample struct {
	at          time.Duration // since any moment
	cycles      int           // collections since the sample before, at least 1
	gc, mutator float64       // CPU seconds since then
	live, roots int64
	overhead    int64
	surge       float64 // bytes allocated while one is marked that was not expected to be live
}

type lawState struct {
	percent float64 // in force
	k       float64 // average; 0 before anything was measured
	seen    int     // collections measured

	live float64 // largest live heap, but for what fades
	last float64 // live heap, as the last sample has it; 0 before there was one

	changed  time.Duration // when percent changed last
	lower    bool          // which way
	squeezed bool          // memory and not cost determines percent
	rapid    bool          // raising may use every sample: nothing is known yet, or memory has become free
	freed    bool          // raising goes back to where percent was before memory was short
}

// cap returns the largest GOGC that keeps the expected heap within share of
// the budget. It can be negative.
func (l law) cap(share, live float64, s lawSample) float64 {
	if l.budget == 0 {
		return maxPercent
	}
	return 100 * (share*float64(l.budget) - float64(s.overhead) - live) / max(live+float64(s.roots), 1<<20)
}

// room is the cap to plan with: if all that is allocated until the next
// collection turned out to be live, what is allocated while that is marked
// would still fit. The runtime paces a collection for what it expects to mark,
// and lets it take longer when there is more.
func (l law) room(live float64, s lawSample) float64 {
	return l.cap(reserve, live, s) / (1 + s.surge)
}

func (l law) start(percent int) lawState {
	return lawState{percent: math.Round(min(max(float64(percent), minPercent), maxPercent)), rapid: true}
}

func (l law) next(st lawState, s lawSample) lawState {
	weight := 1 - math.Pow(1-smoothing, float64(s.cycles))
	if s.gc > 0 && s.mutator > 0 {
		gc, used := trueCost*s.gc, s.gc+s.mutator
		k := gc / max(used-gc, used/20) * st.percent
		if st.k == 0 {
			st.k = k
		}
		st.k += weight * (k - st.k)
		st.seen += s.cycles
	}
	live := float64(s.live)
	st = st.remember(live, s.cycles)
	expected := st.live
	if st.last > 0 && live*gone > st.last { // it is being filled: as much again may follow
		expected += live - st.last
	}
	st.last = live

	room := l.room(expected, s)
	want := st.percent
	if st.seen >= 3 {
		want = st.k * (1 - l.target) / l.target
	}
	goal := min(max(min(want, room), minPercent), maxPercent)

	if short := l.cap(reserve, live, s) < st.percent || l.room(live, s) < st.percent/band; short && goal < st.percent/band {
		st.rapid, st.freed = false, false
		return st.move(goal, s.at)
	}
	ratio := goal / st.percent
	if st.squeezed && ratio >= newLoad { // memory has become free
		st.rapid, st.freed = true, true
	}
	st.squeezed = room < want
	if st.rapid && ratio < band { // there
		st.rapid, st.freed = false, false
	}
	if !st.may(ratio, s.at) {
		return st
	}
	largest := step
	if st.freed {
		largest = stepBack
	}
	return st.move(min(goal, largest*st.percent), s.at)
}

// remember takes a live heap into account. It counts as what it has been,
// lately: what is allocated while a collection marks counts as live, and that
// differs from one to the next.
func (st lawState) remember(live float64, cycles int) lawState {
	if live < gone*st.live { // what was there then is not
		st.live = live
	}
	st.live = max(live, live+(st.live-live)*math.Pow(1-fading, float64(cycles)))
	return st
}

// may says whether a move by ratio is worth it and its time has come.
func (st lawState) may(ratio float64, at time.Duration) bool {
	size, lower, since := ratio, false, at-st.changed
	if ratio < 1 {
		size, lower = 1/ratio, true
	}
	switch {
	case size < band:
		return false
	case size >= newLoad:
		return st.rapid || since >= raisePause
	case st.rapid:
		return true
	case since < raisePause:
		return false
	case since >= settleAfter:
		return size >= wideBand && since >= settledPause
	case lower != st.lower:
		return size >= wideBand
	}
	return true
}

func (st lawState) move(percent float64, at time.Duration) lawState {
	percent = math.Round(percent)
	if percent == st.percent {
		return st
	}
	st.lower = percent < st.percent
	st.percent, st.changed = percent, at
	return st
}

// fit follows whether the budget leaves the collector room at all.
type fit struct {
	alarm  bool
	cycles int // in a row that speak for a change; since the alarm's start while it lasts
	clear  int
}

// next takes a sample into account and returns the bytes by which the live
// heap is too large. Making just enough room for the alarm's end would leave a
// program that mostly collects.
func (f fit) next(l law, s lawSample) (fit, int64) {
	room := l.cap(fitting, float64(s.live), s)
	switch {
	case l.budget == 0:
		return fit{}, 0
	case !f.alarm && room >= tightPercent:
		return fit{}, 0
	case !f.alarm:
		f.cycles += s.cycles
		if room < 0 { // not even what is live fits
			f.cycles += s.cycles
		}
		f.alarm = f.cycles >= alarmCycles
	case room >= recoverPercent:
		f.cycles += s.cycles
		if f.clear += s.cycles; f.clear >= alarmCycles {
			return fit{}, 0
		}
	default:
		f.cycles += s.cycles
		f.clear = 0
	}
	fits := (reserve*float64(l.budget) - float64(s.overhead)) / (1 + shedPercent/100.0)
	return f, max(0, s.live-int64(fits))
}
