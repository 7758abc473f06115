package gcctl

import (
	"math"
	"runtime"
	"time"
)

// Updates from a look at the runtime, made by the controller's goroutine.

func (l *loop) poll() {
	before := l.s
	began := time.Now()
	l.rt.read(&l.s)
	took := time.Since(began)
	l.counters.Polls++
	l.counters.PollTime += took
	l.cost = min(max(took, time.Microsecond), l.cost+time.Duration(policy.costRise*float64(l.cost))+1)
	elapsed := (l.now - l.readAt).Seconds()
	l.readAt = l.now
	l.least = min(l.least, l.s.overhead())
	if l.s.cycles != before.cycles {
		l.lowest = l.s.goal
	}
	l.lowest = min(l.lowest, l.s.goal)
	was := l.marking
	l.watchMarking()
	l.noticeForeign()
	if elapsed > 0 && l.counters.Polls > 1 {
		rate := float64(l.s.allocs-before.allocs) / elapsed
		l.rate += (rate - l.rate) * (1 - math.Exp(-elapsed/policy.tempo.Seconds()))
		l.peakRate = max(rate, l.rate)
	}
	if cycles := int(l.s.cycles - l.last.cycles); cycles > 0 {
		l.cyclesEnded(cycles)
	}
	l.brake(&before, was)
}

func (l *loop) cyclesEnded(cycles int) {
	gc := l.s.collectorCPU() - l.last.collectorCPU()
	ls := lawSample{
		at: l.now, cycles: cycles, gc: gc, mutator: l.s.usedCPU() - l.last.usedCPU() - gc,
		live: l.s.live, roots: l.s.stacks + l.s.globals, overhead: l.fullOverhead(cycles),
	}
	l.filling = float64(ls.live) > policy.growing*max(float64(l.last.live), l.st.live)
	if ls.gc > 0 && ls.mutator > 0 {
		l.gcCPU += (ls.gc/(ls.gc+ls.mutator) - l.gcCPU) * policy.smoothing
	}
	if elapsed := (l.now - l.cycleAt).Seconds(); elapsed > 0 {
		l.liveRate += (float64(l.s.live-l.last.live)/elapsed - l.liveRate) * (1 - math.Exp(-elapsed/policy.trend.Seconds()))
	}
	if automatic := l.s.automatic - l.last.automatic; automatic > 0 && l.holding() && l.c.gate.open() > 0 {
		l.counters.RuntimeStart += automatic
		l.emit(EventCut, "the runtime's limit started a collection despite %d sections", l.c.gate.open())
	}
	l.emit(EventCycle, "%d collections ended", cycles)
	if l.adopted.mode == Adaptive {
		was := l.st.percent
		if l.st = l.law.next(l.st, ls); l.st.percent != was {
			l.counters.PercentChanges++
		}
	}
	l.learn(cycles)
	l.last, l.cycleAt = l.s, l.now
	l.alarm(ls)
}

// watchMarking detects whether a collection is running. The runtime starts none
// before the heap is most of the way to its goal, so pauses counted until then
// beyond two per collection are normal. What counts is the lowest goal since the
// last collection: one that began under the brake goes on under a higher goal.
func (l *loop) watchMarking() {
	over := int64(l.s.pauses) - 2*int64(l.s.cycles)
	way := float64(l.lowest - l.s.live)
	if !l.running && float64(l.s.heap-l.s.live) < policy.noneBefore*way && way > policy.leastWay*float64(l.s.live) {
		l.extra = over
	}
	l.marking = over > l.extra
}

// brake lowers the limit while a collection is marking that may exceed the budget: another
// byte for each byte of the heap does not fit, and the heap has passed its goal or is
// filling. The runtime then makes allocating goroutines mark first. By itself it does so only
// while it knows how much is left to mark, which it knows of a live heap that stays the same.
// Once it has counted that much, it lets everybody allocate, and no brake can undo that.
//
// A collection that ends under the brake leaves a goal that the heap has already reached,
// so that the next one begins at once. That one finds everything live that was allocated
// during the previous one, which the runtime does not expect, and no limit keeps it from
// growing the heap by a tenth. A limit that allows for this tenth lets the heap rest
// afterwards; without it one such collection follows another, up to the budget and beyond.
func (l *loop) brake(before *sample, wasMarking bool) {
	if l.adopted.mode != Adaptive || l.budget == 0 {
		l.braking, l.stopped = 0, false
		return
	}
	heap, live, overhead := float64(l.s.heap), float64(l.s.live), float64(l.s.overhead())
	near := 2*heap+overhead > policy.reserve*float64(l.budget)
	ended, start := l.s.cycles != before.cycles, float64(before.heap)
	if ended {
		start = live
	}
	began := l.marking && (ended || !wasMarking)
	switch {
	case near && (ended && l.stopped || began && start < policy.overrun*live):
		l.braking, l.stopped = int64(policy.overrun*live+overhead), false
	case ended || !l.marking:
		l.braking, l.stopped = 0, false
	case l.braking == 0 && near && (l.s.heap > l.s.goal || l.filling):
		// The runtime subtracts the excess over the limit from its goal once more.
		l.braking, l.stopped = int64(policy.brake*heap+float64(l.s.memory())+overhead)/2, true
	}
}

// fullOverhead returns the overhead to expect when the heap is next full. A
// sweep leaves free slots between objects that later objects fill; the recent
// minimum is the part they cannot fill.
func (l *loop) fullOverhead(cycles int) int64 {
	least := float64(l.least)
	l.overhead = min(least, least+(l.overhead-least)*math.Pow(1-policy.fading, float64(cycles)))
	l.least = l.s.overhead()
	return int64(l.overhead)
}

// learn updates how long collections take: from one of ours that had the
// runtime to itself or, until there is one, from the CPU time of others.
func (l *loop) learn(cycles int) {
	live := max(float64(l.s.live), policy.leastLive)
	switch {
	case l.took > 0 && cycles == 1:
		perByte := l.took.Seconds() / live
		if !l.measured {
			l.perByte, l.measured = perByte, true
		}
		l.perByte += (perByte - l.perByte) * policy.smoothing
	case l.took == 0 && !l.measured:
		cpu := (l.s.gcCPU - l.last.gcCPU) / float64(cycles)
		least, most := policy.guess/policy.guessWithin, policy.guess*policy.guessWithin
		l.perByte = min(max(cpu/float64(runtime.GOMAXPROCS(0))/live, least), most)
	}
	l.took = 0
}

func (l *loop) alarm(ls lawSample) {
	was := l.fit.alarm
	l.fit = l.fit.next(l.law, ls)
	switch {
	case l.fit.alarm && !was:
		l.counters.Alarms++
		l.emit(EventAlarm, "a live heap of %d bytes leaves the collector no room in %d", l.s.live, l.budget)
	case was && !l.fit.alarm:
		l.emit(EventAlarm, "the collector has room again: the alarm is over")
	}
	if l.fit.alarm && l.cfg.OnShed != nil && (!was || l.now-l.shed >= policy.shedPause) {
		l.shed = l.now
		l.counters.Sheds++
		excess := l.law.excess(ls, l.adopted.mode == Adaptive)
		l.emit(EventShed, "the live heap is %d bytes too large", excess)
		l.cfg.OnShed(Shed{LiveBytes: l.s.live, BudgetBytes: l.budget, ExcessBytes: excess, Cycles: l.fit.cycles})
	}
}

func (l *loop) noticeForeign() {
	if l.s.percent != l.set.percent {
		l.set.percent = l.s.percent
		l.foreignPercent(l.s.percent)
	}
	if l.s.limit != l.set.limit {
		l.set.limit = l.s.limit
		l.foreignLimit(l.s.limit)
	}
}

func (l *loop) foreignPercent(percent int) {
	l.base.percent = percent
	l.counters.ForeignChanges++
	l.emit(EventForeignChange, "someone else set GOGC to %d; Close will keep that", percent)
}

func (l *loop) foreignLimit(limit int64) {
	l.base.limit = limit
	l.counters.ForeignChanges++
	l.findBudget()
	l.emit(EventForeignChange, "someone else set the memory limit to %d; Close will keep that", limit)
}
