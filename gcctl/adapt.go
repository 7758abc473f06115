package gcctl

import (
	"math"
	"time"
)

// The law of Adaptive mode: a function of its state and a sample that knows
// neither the clock nor the runtime.
//
// Let f be the collector's share of the CPU time under GOGC G, including what
// it slows the program down by. Then f/(1-f) = k/G, because the work of one
// collection does not depend on G and the number of collections falls with it.
// So a measurement under any G gives k = f/(1-f)·G, and want = k·(1-u)/u is the
// GOGC with a share of u. The budget caps it: a heap that ends at live +
// (live+stacks+globals)·G/100 leaves a reserve, even if all of it turns out to
// be live. If a heap fills the budget anyway, the runtime's limit takes over:
// it follows the heap itself, not samples. The law lowers GOGC for memory at
// once, even if only the reserve for allocation during a full mark runs short.
// It raises GOGC by at most a factor per sample, since live heaps usually grow
// while they fill.
type law struct {
	target float64
	budget int64 // bytes; 0 for none
}

// A lawSample describes one or more collections.
type lawSample struct {
	at          time.Duration // since any fixed moment
	cycles      int           // collections since the previous sample, at least 1
	gc, mutator float64       // CPU seconds since then
	live, roots int64
	overhead    int64
}

type lawState struct {
	percent float64 // in force
	k       float64 // average; 0 before the first measurement
	seen    int     // collections measured

	live float64 // largest live heap, fading
	last float64 // live heap in the last sample; 0 before the first

	changed  time.Duration // when percent changed last
	lower    bool          // the last change lowered percent
	squeezed bool          // memory and not cost determines percent
	rapid    bool          // every sample may raise: nothing is known yet, or memory has become free
	freed    bool          // raising returns to where percent was before memory ran short
}

// cap returns the largest GOGC that keeps the expected heap within share of
// the budget. It can be negative.
func (l law) cap(share, live float64, s lawSample) float64 {
	if l.budget == 0 {
		return policy.maxPercent
	}
	return 100 * (share*float64(l.budget) - float64(s.overhead) - live) / max(live+float64(s.roots), policy.leastLive)
}

// room is the cap to plan with. If a full heap turns out to be all live, which the runtime
// does not expect, the budget still holds what is allocated while it is marked, and the
// growth that the runtime then allows the next heaps.
func (l law) room(live float64, s lawSample) float64 {
	if l.budget == 0 {
		return policy.maxPercent
	}
	return 100 * (l.most(s) - live) / (1 + policy.surge) / max(live+float64(s.roots), policy.leastLive)
}

// most is the largest planned heap: even if all of it is live, the consecutive collections
// that follow end within the budget.
func (l law) most(s lawSample) float64 {
	return (policy.reserve*float64(l.budget) - float64(s.overhead)) / math.Pow(policy.overrun, policy.inARow)
}

// excess returns by how many bytes the live heap exceeds the largest one that allows GOGC
// to be shedPercent: according to room if the law plans, otherwise if the heap just fits.
func (l law) excess(s lawSample, plans bool) int64 {
	fits := (policy.reserve*float64(l.budget) - float64(s.overhead)) / (1 + policy.shedPercent/100)
	if plans {
		fits = l.most(s) / (1 + (1+policy.surge)*policy.shedPercent/100)
	}
	return max(0, s.live-int64(fits))
}

func (l law) start(percent int) lawState {
	return lawState{percent: math.Round(min(max(float64(percent), policy.minPercent), policy.maxPercent)), rapid: true}
}

func (l law) next(st lawState, s lawSample) lawState {
	weight := 1 - math.Pow(1-policy.smoothing, float64(s.cycles))
	if s.gc > 0 && s.mutator > 0 {
		gc, used := policy.trueCost*s.gc, s.gc+s.mutator
		k := gc / max(used-gc, policy.leastUsed*used) * st.percent
		if st.k == 0 {
			st.k = k
		}
		st.k += weight * (k - st.k)
		st.seen += s.cycles
	}
	live := float64(s.live)
	st = st.remember(live, s.cycles)
	expected := st.live
	if st.last > 0 && live*policy.gone > st.last { // filling: expect as much growth again
		expected += live - st.last
	}
	st.last = live

	room := l.room(expected, s)
	want := st.percent
	if st.seen >= policy.trustAfter {
		want = st.k * (1 - l.target) / l.target
	}
	goal := min(max(min(want, room), policy.minPercent), policy.maxPercent)

	low := st.percent / policy.band
	if (l.cap(policy.reserve, live, s) < st.percent || l.room(live, s) < low) && goal < low {
		st.rapid, st.freed = false, false
		return st.move(goal, s.at)
	}
	ratio := goal / st.percent
	if st.squeezed && ratio >= policy.newLoad { // memory has become free
		st.rapid, st.freed = true, true
	}
	st.squeezed = room < want
	if st.rapid && ratio < policy.band { // arrived
		st.rapid, st.freed = false, false
	}
	if !st.may(ratio, s.at) {
		return st
	}
	largest := policy.step
	if st.freed {
		largest = policy.stepBack
	}
	return st.move(min(goal, largest*st.percent), s.at)
}

// remember records a live heap. The recent maximum counts: objects allocated
// during marking count as live, and their number varies between collections.
func (st lawState) remember(live float64, cycles int) lawState {
	if live < policy.gone*st.live { // that load is gone
		st.live = live
	}
	st.live = max(live, live+(st.live-live)*math.Pow(1-policy.fading, float64(cycles)))
	return st
}

// may reports whether a move by ratio is worthwhile and due.
func (st lawState) may(ratio float64, at time.Duration) bool {
	size, lower, since := ratio, false, at-st.changed
	if ratio < 1 {
		size, lower = 1/ratio, true
	}
	switch {
	case size < policy.band:
		return false
	case size >= policy.newLoad:
		return st.rapid || since >= policy.raisePause
	case st.rapid:
		return true
	case since < policy.raisePause:
		return false
	case since >= policy.settleAfter:
		return size >= policy.wideBand && since >= policy.settledPause
	case lower != st.lower:
		return size >= policy.wideBand
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

// fit tracks whether the budget leaves the collector any room.
type fit struct {
	alarm  bool
	cycles int // consecutive cycles that call for a change; during an alarm, since its start
	clear  int
}

// next records a sample.
func (f fit) next(l law, s lawSample) fit {
	room := l.cap(policy.fitting, float64(s.live), s)
	switch {
	case l.budget == 0:
		return fit{}
	case !f.alarm && room >= policy.tightPercent:
		return fit{}
	case !f.alarm:
		f.cycles += s.cycles
		if room < 0 { // not even the live heap fits
			f.cycles += s.cycles
		}
		f.alarm = f.cycles >= policy.alarmCycles
	case room >= policy.roomyPercent:
		f.cycles += s.cycles
		if f.clear += s.cycles; f.clear >= policy.alarmCycles {
			return fit{}
		}
	default:
		f.cycles += s.cycles
		f.clear = 0
	}
	return f
}
