package gcctl

import (
	"math"
	"time"
)

// The law of Adaptive mode. It is a function of its state and a sample, and
// knows neither the clock nor the runtime.
//
// With f the collector's share of the CPU time under GOGC G, f/(1-f) = k/G,
// because the work of a collection does not depend on G and their number
// falls with it. So k = f/(1-f)·G follows from what was measured under any G,
// and want = k·(1-u)/u is the GOGC with a share of u. The budget caps it: a
// heap that ends at live + (live+stacks+globals)·G/100 leaves a reserve.
// Lowering for memory happens at once. Raising is bounded to a factor a
// sample, since live heaps grow as a rule while they are being filled.
type law struct {
	target float64
	budget int64 // 0 for none
}

const (
	minPercent     = 10   // collecting more often than this is what an alarm is for
	maxPercent     = 1000 // beyond, faults on fresh memory cost more than collecting does
	reserve        = 0.85 // of the budget, that a heap may be planned to fill
	overfull       = 0.92 // of the budget, at whose expected use GOGC is lowered
	step           = 1.5  // largest raise
	band           = 1.15 // moves within this are ignored
	wideBand       = 1.3  // once settled, or after a change the other way
	newLoad        = 2    // moves beyond this mean that the load is another one
	raisePause     = time.Second
	settleAfter    = 15 * time.Second
	settledPause   = time.Minute
	smoothing      = 0.3 // weight of one collection in averages
	alarmCycles    = 3   // without room, until the alarm
	recoverPercent = 15  // room for so much, as often, ends the alarm
)

// A lawSample is what one or more collections have shown.
type lawSample struct {
	at          time.Duration // since any moment
	cycles      int           // collections since the sample before, at least 1
	gc, mutator float64       // CPU seconds since then
	live, roots int64
	overhead    int64
}

type lawState struct {
	percent float64 // in force
	k       float64 // average; 0 before anything was measured
	live    float64 // the larger of the last live heap and its average
	seen    int     // collections measured

	changed time.Duration // when percent changed last
	lower   bool          // which way
	rapid   bool          // raising may use every sample: nothing is known yet, or memory and not cost had lowered percent
}

// cap returns the largest GOGC that keeps the expected heap within share of
// the budget. It can be negative.
func (l law) cap(share, live float64, s lawSample) float64 {
	if l.budget == 0 {
		return maxPercent
	}
	return 100 * (share*float64(l.budget) - float64(s.overhead) - live) / max(live+float64(s.roots), 1<<20)
}

func (l law) start(percent int) lawState {
	return lawState{percent: math.Round(min(max(float64(percent), minPercent), maxPercent)), rapid: true}
}

func (l law) next(st lawState, s lawSample) lawState {
	weight := 1 - math.Pow(1-smoothing, float64(s.cycles))
	if s.gc > 0 && s.mutator > 0 {
		k := s.gc / s.mutator * st.percent
		if st.k == 0 {
			st.k = k
		}
		st.k += weight * (k - st.k)
		st.seen += s.cycles
	}
	live := float64(s.live)
	st.live = max(live, st.live+weight*(live-st.live))

	room := l.cap(reserve, st.live, s)
	want := st.percent
	if st.seen >= 3 {
		want = st.k * (1 - l.target) / l.target
	}
	goal := min(max(min(want, room), minPercent), maxPercent)

	if l.cap(overfull, live, s) < st.percent && goal < st.percent/band {
		st.rapid = true
		return st.move(goal, s.at)
	}
	ratio := goal / st.percent
	if st.rapid && ratio < band { // there
		st.rapid = false
	}
	if !st.may(ratio, s.at) {
		return st
	}
	return st.move(min(goal, step*st.percent), s.at)
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
// heap is too large for the alarm's end.
func (f fit) next(l law, s lawSample) (fit, int64) {
	room := l.cap(reserve, float64(s.live), s)
	switch {
	case l.budget == 0:
		return fit{}, 0
	case !f.alarm && room >= minPercent:
		return fit{}, 0
	case !f.alarm:
		f.cycles += s.cycles
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
	fits := (reserve*float64(l.budget) - float64(s.overhead)) / (1 + recoverPercent/100.0)
	return f, max(0, s.live-int64(fits))
}
