package gcctl

import (
	"fmt"
	"math"
	"os/signal"
	"runtime"
	"time"
)

// A loop is the controller's goroutine: it looks at the runtime as often as
// the growth of the heap demands, and does everything that can be slow.
// Setting GOGC to off, for one, waits for a running mark phase. All its fields
// belong to that goroutine.
type loop struct {
	*Controller
	detect func(int64) int64

	now      time.Duration // since born
	s        sample        // the last one
	readAt   time.Duration
	cost     time.Duration // of reading a sample
	counters Stats         // the counters in it

	adopted wanted
	base    settings // what Close restores
	set     settings // what the controller has set
	budget  int64    // 0 for none

	rate     float64       // bytes allocated a second, average
	peakRate float64       // the larger of that and the latest
	last     sample        // as of the last collection
	cycleAt  time.Duration // when its end was seen
	liveRate float64       // bytes a second that the live heap grows by
	overhead float64       // of a full heap: the least seen, but for what fades
	least    int64         // since the last collection
	gcCPU    float64
	perByte  float64       // seconds a collection takes for a byte that is live, average
	took     time.Duration // by a collection of ours that is not in perByte yet; 0 for none
	measured bool          // one is

	law  law
	st   lawState
	fit  fit
	shed time.Duration // when OnShed was last called

	held      bool          // sections were seen not long ago
	heldAt    time.Duration // when one was last seen
	begunSeen uint32
	scanAt    time.Duration
	notes     []note        // by slot
	due       time.Duration // since when a collection is due that sections hold back; 0 for not

	running bool   // a collection of ours
	serving *batch // by it
}

type settings struct {
	percent int
	limit   int64
}

// A note says since when a slot has been seen to hold the same section.
type note struct {
	word  uint32
	since time.Duration
}

const (
	heldFor   = time.Second            // GOGC stays off for so long after the last section
	tempo     = 500 * time.Millisecond // time constant of the allocation rate's average
	guess     = 0.5e-9                 // perByte before anything was measured
	shedPause = time.Second
	surgeCost = 2 // times perByte: on a quarter of the CPUs marking takes four times as long, with the program at half speed
)

// begin looks at what is found, and refuses a budget that is exceeded already.
func (l *loop) begin() error {
	l.rt.read(&l.s)
	l.base = settings{l.s.percent, l.s.limit}
	l.set = l.base
	l.perByte = guess
	l.findBudget()
	if l.budget > 0 {
		need := func() int64 { return l.s.heap + l.s.heap/20 + l.s.overhead() }
		if need() > l.budget { // much of it may be garbage
			l.rt.collect()
			l.rt.read(&l.s)
		}
		if need() > l.budget {
			return fmt.Errorf("gcctl: Start: limit %d is below the %d bytes that are in use after a collection; raise LimitBytes, GOMEMLIMIT or the group's limit", l.budget, need())
		}
	} else if l.cfg.Mode == Off {
		return fmt.Errorf("gcctl: Start: %w", errUnlimited)
	}
	l.last = l.s
	l.least = l.s.overhead()
	l.overhead = float64(l.least)
	return nil
}

func (l *loop) findBudget() {
	l.budget = l.cfg.LimitBytes
	if l.budget == 0 {
		l.budget = l.detect(l.base.limit)
	}
	l.budgeted.Store(l.budget > 0)
	l.law = law{target: l.cfg.TargetCPU, budget: l.budget}
}

func (l *loop) run(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-l.quit:
			l.end()
			return
		case took := <-l.finished:
			l.ended(took)
		case sig := <-l.signals:
			l.emit(EventFallback, "asked for by signal %v", sig)
			l.Fallback()
		case <-l.wake:
		case <-timer.C:
		}
		timer.Reset(l.turn())
	}
}

// turn looks, decides and acts once, and returns when to do so again.
func (l *loop) turn() time.Duration {
	l.now = time.Since(l.born)
	fresh := l.counters.Polls == 0 || l.now-l.readAt >= time.Millisecond
	if fresh {
		l.poll()
	}
	l.adopt()
	l.watchSections()
	l.apply()
	l.decide()
	l.publish()
	return l.pause()
}

func (l *loop) poll() {
	before := l.s
	began := time.Now()
	l.rt.read(&l.s)
	took := time.Since(began)
	l.counters.Polls++
	l.counters.PollTime += took
	l.cost = min(max(took, time.Microsecond), l.cost+l.cost/64+1) // not the time that others took the CPU for
	elapsed := (l.now - l.readAt).Seconds()
	l.readAt = l.now
	l.least = min(l.least, l.s.overhead())
	l.noticeForeign()
	if elapsed > 0 && l.counters.Polls > 1 {
		rate := float64(l.s.allocs-before.allocs) / elapsed
		l.rate += (rate - l.rate) * (1 - math.Exp(-elapsed/tempo.Seconds()))
		l.peakRate = max(rate, l.rate)
	}
	if cycles := int(l.s.cycles - l.last.cycles); cycles > 0 {
		l.cyclesEnded(cycles)
	}
}

func (l *loop) cyclesEnded(cycles int) {
	gc := l.s.collectorCPU() - l.last.collectorCPU()
	ls := lawSample{
		at: l.now, cycles: cycles, gc: gc, mutator: l.s.usedCPU() - l.last.usedCPU() - gc,
		live: l.s.live, roots: l.s.stacks + l.s.globals, overhead: l.fullOverhead(cycles),
		surge: surgeCost * l.rate * l.perByte,
	}
	if ls.gc > 0 && ls.mutator > 0 {
		l.gcCPU += (ls.gc/(ls.gc+ls.mutator) - l.gcCPU) * smoothing
	}
	if elapsed := (l.now - l.cycleAt).Seconds(); elapsed > 0 {
		l.liveRate += (float64(l.s.live-l.last.live)/elapsed - l.liveRate) * smoothing
	}
	if automatic := l.s.automatic - l.last.automatic; automatic > 0 && l.holding() && l.gate.open() > 0 {
		l.counters.RuntimeStart += automatic
		l.emit(EventCut, "the runtime's limit started a collection in spite of %d sections", l.gate.open())
	}
	l.emit(EventCycle, "%d collections have ended", cycles)
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

// fullOverhead returns the overhead to expect when the heap is full next. A
// sweep leaves free slots between objects, which objects will fill: what was
// least lately is what they cannot.
func (l *loop) fullOverhead(cycles int) int64 {
	least := float64(l.least)
	l.overhead = min(least, least+(l.overhead-least)*math.Pow(1-fading, float64(cycles)))
	l.least = l.s.overhead()
	return int64(l.overhead)
}

// learn updates how long collections take: from one of ours that had the
// runtime to itself, or from the CPU time of others until there was one.
func (l *loop) learn(cycles int) {
	live := max(float64(l.s.live), 1<<20)
	switch {
	case l.took > 0 && cycles == 1:
		perByte := l.took.Seconds() / live
		if !l.measured {
			l.perByte, l.measured = perByte, true
		}
		l.perByte += (perByte - l.perByte) * smoothing
	case l.took == 0 && !l.measured:
		cpu := (l.s.gcCPU - l.last.gcCPU) / float64(cycles)
		l.perByte = min(max(cpu/float64(runtime.GOMAXPROCS(0))/live, guess/10), guess*10)
	}
	l.took = 0
}

func (l *loop) alarm(ls lawSample) {
	was := l.fit.alarm
	var excess int64
	l.fit, excess = l.fit.next(l.law, ls)
	switch {
	case l.fit.alarm && !was:
		l.counters.Alarms++
		l.emit(EventAlarm, "a live heap of %d bytes leaves the collector no room in %d", l.s.live, l.budget)
	case was && !l.fit.alarm:
		l.emit(EventAlarm, "there is room again: the alarm is over")
	}
	if l.fit.alarm && l.cfg.OnShed != nil && (!was || l.now-l.shed >= shedPause) {
		l.shed = l.now
		l.counters.Sheds++
		l.emit(EventShed, "%d bytes too much are live", excess)
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
	l.emit(EventForeignChange, "somebody else has set GOGC to %d; Close will leave it so", percent)
}

func (l *loop) foreignLimit(limit int64) {
	l.base.limit = limit
	l.counters.ForeignChanges++
	l.findBudget()
	l.emit(EventForeignChange, "somebody else has set the memory limit to %d; Close will leave it so", limit)
}

func (l *loop) adopt() {
	l.mu.Lock()
	want := l.want
	l.mu.Unlock()
	if want.serial == l.adopted.serial {
		return
	}
	first := l.adopted.serial == 0
	l.adopted = want
	if want.mode == Adaptive {
		percent := 100
		if l.set.percent > 0 {
			percent = l.set.percent
		} else if l.base.percent > 0 {
			percent = l.base.percent
		}
		l.st = l.law.start(percent)
		if limit := l.law.room(float64(l.s.live), lawSample{roots: l.s.stacks + l.s.globals, overhead: int64(l.overhead)}); limit < l.st.percent {
			l.st = l.law.start(int(limit))
		}
	}
	switch {
	case want.fallback:
		l.emit(EventFallback, "back to the settings that were found")
	case !first:
		l.counters.ModeChanges++
		l.emit(EventModeChange, "mode %v", want.mode)
	}
}

// holding says whether GOGC is off and the controller starts collections.
func (l *loop) holding() bool {
	if l.adopted.fallback || l.fit.alarm {
		return false
	}
	return l.adopted.mode == Hybrid || l.adopted.mode == Off || l.held
}

// goalPercent is the GOGC that collections go by, in the mode and whether or
// not sections hold them back; -1 for the budget only.
func (l *loop) goalPercent() int {
	switch m := l.adopted.mode; m.kind {
	case percentage:
		return m.percent
	case off:
		return -1
	case adaptive:
		return int(l.st.percent)
	case hybrid:
		if l.base.percent < 0 && l.budget == 0 {
			return 100
		}
	}
	return l.base.percent
}

func (l *loop) desired() settings {
	want := settings{l.goalPercent(), l.base.limit}
	if l.budget > 0 {
		want.limit = l.budget
	}
	if l.adopted.mode == Adaptive && l.budget > 0 && !l.fit.alarm {
		want.limit = int64(reserve * float64(l.budget))
	}
	if l.holding() {
		want.percent = -1
	}
	return want
}

// apply puts the settings in force. What the runtime says was there before
// shows a change that somebody else made after the last look.
func (l *loop) apply() {
	for l.set != l.desired() {
		want := l.desired()
		if want.percent != l.set.percent {
			was := l.rt.setPercent(want.percent)
			if was != l.set.percent {
				l.foreignPercent(was)
			}
			l.set.percent = want.percent
		}
		if want.limit != l.set.limit {
			was := l.rt.setLimit(want.limit)
			if was != l.set.limit {
				l.foreignLimit(was)
			}
			l.set.limit = want.limit
		}
	}
}

// end restores the settings and lets go.
func (l *loop) end() {
	defer close(l.done)
	defer l.release()
	if l.signals != nil {
		signal.Stop(l.signals)
	}
	l.gate.set(quiet, true)
	l.gate.set(awaited, false)
	l.idle.from.Store(never)
	l.idle.late.Store(never)
	if l.running {
		l.ended(<-l.finished)
	}
	close(l.jobs)
	if was := l.rt.setPercent(l.base.percent); was != l.set.percent {
		l.foreignPercent(was)
		l.rt.setPercent(was)
	}
	if was := l.rt.setLimit(l.base.limit); was != l.set.limit {
		l.base.limit = was
		l.counters.ForeignChanges++
		l.rt.setLimit(was)
	}
	l.rt.read(&l.s)
	l.set = l.base
	l.adopted.mode = Default
	l.held = false
	l.publish()
}
