package tune

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const (
	mostRuns    = 20 // in total, unless --rounds asks for more
	mostPilots  = 12 // before the proof
	leastRounds = 4  // of the proof
	// twice is how many times the baseline's memory the fastest choice may take if no
	// bound is given.
	twice = 2.0
	// leastMargin is how many times the cliff a memory limit must be, unless a bound
	// on memory is given.
	leastMargin = 1.15
	// roomy is the least GOGC that goes with a limit, roomier its multiple of today's GOGC: the
	// heap can always reach twice today's memory.
	roomy, roomier = 800, 8
	// sameMemory is the ratio up to which memory counts as the same, or as twice; lessMemory is
	// the ratio below which it counts as less.
	sameMemory, lessMemory = 1.02, 0.95
)

// The bound parts are the limits to try, in 32nds of the memory that the user allows, less what limits do not bound. A
// process occupies about its limit, so coarser steps would waste memory where it matters most.
const mostBoundParts, leastBoundParts = 32, 26

// A Candidate is a setting in a race of measured rounds.
type Candidate struct {
	Prediction
	// Cost is the measured cost of the objective, as a ratio to the baseline's.
	Cost *Interval `json:"cost,omitempty"`
	// Out says why the setting is out of the race; "" while it is in.
	Out string `json:"out,omitempty"`
}

// A pick is a setting that the model expects to do what its name says.
type pick struct {
	name string
	Prediction
}

// candidates returns the settings to predict: those the user gave, else every GOGC, and each
// GOMEMLIMIT with a GOGC that lets the heap grow up to it. They are ordered by limit, then GOGC.
func (t *tuning) candidates(m *Model) []cell.GC {
	if len(t.Settings) > 0 {
		return t.Settings
	}
	var out []cell.GC
	for _, percent := range curvePercents {
		out = append(out, setting(percent, 0))
	}
	out = append(out, t.Base.GC)
	most := cmp.Or(t.MaxPeakBytes, twice*m.needs(t.Base.GC))
	clearance := leastMargin
	if t.MaxPeakBytes > 0 {
		clearance = 1
	}
	sizes := limits(m.Cliff(), clearance, min(m.roof(), int64(1.2*most)))
	for parts := int64(mostBoundParts); parts >= leastBoundParts; parts-- {
		if limit := (int64(t.MaxPeakBytes) - t.beside()) * parts / mostBoundParts / mib * mib; limit > 0 {
			sizes = append(sizes, limit)
		}
	}
	sizes = slices.DeleteFunc(sizes, func(limit int64) bool { return float64(limit) < m.foreign })
	for _, limit := range sizes {
		out = append(out, setting(t.roomy(), limit))
	}
	slices.SortStableFunc(out, func(a, b cell.GC) int {
		return cmp.Or(cmp.Compare(a.LimitBytes, b.LimitBytes), cmp.Compare(uint(a.Percent), uint(b.Percent)))
	})
	return slices.CompactFunc(out,
		func(a, b cell.GC) bool { return a.Percent == b.Percent && a.LimitBytes == b.LimitBytes })
}

// roomy returns the GOGC that goes with a limit.
func (t *tuning) roomy() int {
	if t.Base.GC.Percent < 0 {
		return -1
	}
	return max(roomy, roomier*t.Base.GC.Percent)
}

// allowed reports whether a setting keeps within the memory that the user allows, or
// without a bound within twice today's. The runs decide: a setting runs if the model
// expects it to keep the bound, and is chosen if its runs do. Of the upper half of
// their interval the share room must fit too.
func (t *tuning) allowed(p *Prediction, room float64) bool {
	peak := p.PeakBytes
	switch {
	case t.MemoryBytes > 0 && peak.Mid > 0.8*float64(t.MemoryBytes):
		return false
	case t.MaxPeakBytes == 0:
		return p.needs <= twice && p.memory <= 0.95*twice
	case p.Measured == nil:
		room = 0
	}
	return peak.Mid > 0 && peak.Mid+room*(peak.Hi-peak.Mid) <= t.MaxPeakBytes
}

// expect predicts a setting, and its ratios to the baseline. What shifts all runs, such as a busy
// machine, matters less for a ratio.
func (t *tuning) expect(m *Model, gc cell.GC) Prediction {
	p := m.Expect(gc)
	p.cpu, p.cost = m.ratios(gc, t.Base.GC)
	if t.Objective != Wall && (t.Objective != Throughput || isServed(t.Base)) {
		p.cost = p.cpu
	}
	is, was := m.expect(gc), m.expect(t.Base.GC)
	p.memory = m.memory(&is, gc).Mid / m.memory(&was, t.Base.GC).Mid
	p.needs = m.needs(gc) / m.needs(t.Base.GC)
	p.work = is.seconds / max(was.seconds, 1e-9)
	p.fills = !isServed(t.Base) || m.fills(gc)
	return p
}

// usable reports whether a setting may be chosen: its memory is bounded, it is not near the
// cliff, the program did not fail under it, and a server's load shows its memory.
func (t *tuning) usable(p *Prediction, cliff int64) bool {
	gc := p.GC
	switch {
	case gc.Percent < 0 && gc.LimitBytes == 0, slices.Contains(t.failed, gc), !p.fills:
		return false
	case t.MaxPeakBytes > 0: // the cliff is an estimate: let runs decide
		return p.runs(p.hopeless)
	case gc.LimitBytes > 0 && float64(gc.LimitBytes) < leastMargin*float64(cliff):
		return false
	}
	return p.runs(p.crawls)
}

// runs reports whether the program ran under the setting, or crawls is false, so that a comparison makes sense.
func (p *Prediction) runs(crawls bool) bool {
	return (!crawls || p.Measured != nil) && p.cost.Mid > 0 && p.cpu.Mid > 0
}

// eligible reports whether a setting may be compared with today's. It prefers a limit to raising GOGC, or to exceeding
// today's limit without one: a limit takes the same memory, and bounds it, unless no limit works.
func (t *tuning) eligible(p *Prediction, cliff int64, room float64) bool {
	raised := p.GC.LimitBytes == 0 && len(t.Settings) == 0 && !t.noLimitRuns() &&
		(percent(p.GC) > percent(t.Base.GC) || t.Base.GC.LimitBytes > 0 && p.needs > 1)
	return t.usable(p, cliff) && t.allowed(p, room) && p.GC != t.Base.GC && !raised
}

// pick chooses a setting for each name, the one for the objective first.
//
// Counts decide: what is live, what the collector marks, and how often. They are
// about the same on a quiet and on a busy machine. Times only exclude settings that
// the model expects to be slower than others.
func (t *tuning) pick(m *Model, all []Prediction) []pick {
	cliff := m.Cliff()
	var usable []Prediction
	for _, room := range []float64{0.5, 0} {
		for _, p := range all {
			if t.eligible(&p, cliff, room) {
				usable = append(usable, p)
			}
		}
		if len(usable) > 0 {
			break
		}
	}
	if t.unfilled = t.unseen(all, usable, cliff); t.unfilled != nil { // comparing what gains nothing would not tell
		usable = slices.DeleteFunc(usable, func(p Prediction) bool { return p.work >= 1 })
	}
	cost := func(p *Prediction) float64 { return p.cost.Mid }
	needs := func(p *Prediction) float64 { return p.needs }
	work := func(p *Prediction) float64 { return p.work }
	lowest := func(p *Prediction) float64 { return percent(p.GC) + float64(p.GC.LimitBytes)/(1<<62) }
	// of takes the settings within the tolerance of the least figure. Among them it prefers least
	// memory, then the lowest GOGC, then the lowest limit.
	of := func(name string, figure func(*Prediction) float64, may func(*Prediction) bool) *pick {
		p := least(usable, figure, may)
		if p == nil {
			return nil
		}
		most := figure(p) + t.Tolerance
		good := func(p *Prediction) bool { return may(p) && figure(p) <= most }
		p = least(usable, needs, good)
		memory := sameMemory * p.needs
		p = least(usable, lowest, func(p *Prediction) bool { return good(p) && p.needs <= memory })
		return &pick{name, *p}
	}
	var cheapest float64
	if p := least(usable, cost, func(*Prediction) bool { return true }); p != nil {
		cheapest = p.cost.Mid
	}
	chosen := []*pick{
		of(Fastest, work, func(p *Prediction) bool { return p.cost.Mid <= cheapest+slack }),
		of(SameMemory, work, func(p *Prediction) bool {
			return p.needs <= sameMemory && p.work < 1 && p.cpu.Mid < 1-t.Tolerance
		}),
		of(LeastMemory, needs, func(p *Prediction) bool { return p.needs < lessMemory && p.work <= 1 }),
	}
	if t.Objective == RSS {
		if chosen[2] == nil { // fall back on the closest
			chosen[2] = of(LeastMemory, work, func(p *Prediction) bool { return p.needs < 1 })
		}
		chosen[0], chosen[2] = chosen[2], chosen[0]
	}
	var out []pick
	for _, p := range chosen {
		if p != nil && !slices.ContainsFunc(out, func(o pick) bool { return o.GC == p.GC }) {
			out = append(out, *p)
		}
	}
	return out
}

// ownName returns the name of the choice that serves the objective.
func (t *tuning) ownName() string {
	if t.Objective == RSS {
		return LeastMemory
	}
	return Fastest
}

// least returns the prediction of least figure among those that may accepts, or nil.
func least(all []Prediction, figure func(*Prediction) float64, may func(*Prediction) bool) *Prediction {
	var best *Prediction
	for i := range all {
		if p := &all[i]; may(p) && (best == nil || figure(p) < figure(best)) {
			best = p
		}
	}
	return best
}

// explored is the result of the runs before the proof.
type explored struct {
	model *Model
	all   []Prediction
	picks []pick
	own   float64 // GOGC implied by the goals of the first run, if it is not the baseline's; else 0
}

// explore runs a second GOGC, to see whether the program obeys, and then what the
// model chooses. It ends when all of that has run or the proof needs the remaining
// runs, and sets an outcome if there is nothing to prove.
func (t *tuning) explore(first *cell.Record) (e explored, err error) {
	records := []*cell.Record{first}
	var pilots []Pilot
	if f := obeys(first); f.disobeys(tellingCycles) {
		e.own = f.percent
	}
	for {
		p, err := NewPilot(records[len(records)-1])
		if err != nil && !errors.Is(err, errNoCycles) {
			return e, err
		}
		pilots = append(pilots, p)
		if set, err := t.itself(records); set || err != nil {
			return e, err
		}
		m, err := NewModel(pilots)
		switch {
		case errors.Is(err, errNoCycles) && len(records) == 1 && (t.Base.GC != cell.DefaultGC || len(t.Calls) > 0):
		case errors.Is(err, errNoCycles):
			return e, t.noCycles(first)
		case err != nil:
			return e, err
		default:
			e.model, e.all = m, nil
			for _, gc := range t.candidates(m) {
				e.all = append(e.all, t.expect(m, gc))
			}
			e.picks = t.pick(m, e.all)
		}
		if err := t.affords(len(records)); err != nil {
			return e, err
		}
		next, ok := t.next(e, pilots)
		for ok {
			rec, err := t.measure(t.with(next), t.block, "looking at "+settingText(t.with(next)))
			if t.infeasible(rec) && next != t.Base.GC {
				t.drop(next, err)
				e.picks = t.pick(e.model, e.all)
				next, ok = t.next(e, pilots)
				continue
			}
			if err != nil {
				return e, err
			}
			records = append(records, rec)
			break
		}
		if !ok {
			return e, nil
		}
	}
}

// with returns the baseline with another setting.
func (t *tuning) with(gc cell.GC) cell.Config {
	c := t.Base
	c.GC = gc
	return c
}

// noLimitRuns reports whether the program ran under none of the limits that were tried.
func (t *tuning) noLimitRuns() bool {
	return slices.ContainsFunc(t.failed, func(gc cell.GC) bool { return gc.LimitBytes > 0 }) &&
		!slices.ContainsFunc(t.pilots, func(p Pilot) bool { return p.GC.LimitBytes > 0 })
}

// drop notes that the program does not run under a setting, and excludes settings
// that allow more memory.
func (t *tuning) drop(gc cell.GC, err error) {
	t.answer.Doubts = append(t.answer.Doubts, err.Error())
	for _, percent := range curvePercents {
		if other := setting(percent, 0); gc.LimitBytes == 0 && percent > gc.Percent {
			t.failed = append(t.failed, other)
		}
	}
	t.failed = append(t.failed, gc)
}

// next returns the setting to run next; ok is false if the proof should begin.
func (t *tuning) next(e explored, pilots []Pilot) (gc cell.GC, ok bool) {
	used := t.answer.Runs
	if len(pilots) == 1 {
		gc := t.second(e, e.own)
		return gc, used < mostPilots && !slices.Contains(t.failed, gc)
	}
	rounds := max(t.Pairs, leastRounds)
	room := min(mostPilots, mostRuns-leastRounds*(1+max(len(e.picks), 1)))
	if t.Pairs > 0 {
		room = mostPilots
	}
	left := t.Budget.Seconds() - t.spent
	// Two runs show the memory, which is all that a race needs, and that the load is too much.
	if t.races() || e.model.foreign > 0 && t.Objective != RSS || t.overloaded() {
		return gc, false
	}
	if used >= max(room, 3) || used > 2 && left < float64((rounds*(1+len(e.picks))+1))*t.mean() {
		return gc, false
	}
	for _, p := range e.picks {
		if p.Measured == nil {
			return p.GC, true
		}
	}
	if len(e.picks) == 0 && t.MaxPeakBytes > 0 { // the setting of least memory shows whether any keeps the bound
		memory := func(p *Prediction) float64 { return p.memory }
		p := least(e.all, memory, func(p *Prediction) bool {
			return !slices.Contains(t.failed, p.GC) && (p.GC.LimitBytes == 0 || p.runs(p.crawls))
		})
		if p != nil && p.Measured == nil {
			return p.GC, true
		}
	}
	if m := e.model; m != nil && m.misfit && t.Objective != RSS && len(pilots) < 4 { // again, where most is collected
		t.block++
		return slices.MaxFunc(m.seen, func(a, b Measured) int {
			return cmp.Compare(m.expect(a.GC).seconds, m.expect(b.GC).seconds)
		}).GC, true
	}
	if len(pilots) < 3 { // the choice is settled: a third run shows what collections cost
		if gc, ok := t.costly(e); ok {
			return gc, true
		}
	}
	return gc, false
}

// second returns the setting of the second run: the best allowed GOGC away from today's, without
// a limit, so that goals show whether the program obeys. own is a GOGC to stay away from, or 0.
func (t *tuning) second(e explored, own float64) cell.GC {
	base := float64(t.Base.GC.Percent)
	// A program that seems to set its own GOGC must get one so far from it that gctrace, which
	// rounds to MiB, tells them apart in a small heap.
	differs := func(percent int, from, by float64) bool {
		return from <= 0 || math.Abs(math.Log(float64(percent)/from)) > by
	}
	apart := func(p *Prediction) bool {
		return p.GC.LimitBytes == 0 && p.GC.Percent > 0 && differs(p.GC.Percent, base, 0.4) && differs(p.GC.Percent, own, 0.9)
	}
	if e.model != nil {
		cost := func(p *Prediction) float64 { return p.cost.Mid }
		order := cost
		if t.Objective == RSS {
			order = func(p *Prediction) float64 { return p.memory }
		}
		if p := least(e.all, order, func(p *Prediction) bool {
			return p.runs(p.crawls) && apart(p) && !slices.Contains(t.failed, p.GC) && p.GCShare.Mid < 0.35 && t.allowed(p, 0)
		}); p != nil {
			return p.GC
		}
	}
	for _, percent := range []int{50, 100, 200, 400} {
		if differs(percent, base, 0.4) && differs(percent, own, 0.9) {
			return setting(percent, 0)
		}
	}
	return setting(800, 0)
}

// costly returns the GOGC that has not run under which collection takes most of the CPU time,
// among those with less than a third.
func (t *tuning) costly(e explored) (gc cell.GC, ok bool) {
	share := 0.0
	for _, p := range e.all {
		if p.Measured == nil && p.GC.LimitBytes == 0 && p.GC.Percent > 0 && p.GCShare.Mid > share &&
			p.GCShare.Mid < 0.33 {
			gc, share, ok = p.GC, p.GCShare.Mid, true
		}
	}
	return gc, ok
}
