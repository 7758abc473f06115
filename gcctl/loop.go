package gcctl

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

// A loop is the controller's goroutine. It looks at the runtime as often as
// heap growth demands, and does everything that can be slow: setting GOGC to
// off, for one, waits for a running mark phase. That goroutine owns all fields.
type loop struct {
	c      *Controller // what callers read and request
	cfg    Config
	rt     engine
	detect func(int64) int64

	jobs     chan struct{}      // to the collector goroutine: start a collection
	finished chan time.Duration // from the collector goroutine: how long the collection took
	signals  chan os.Signal     // nil without FallbackSignals

	now      time.Duration // since creation
	s        sample        // the latest
	readAt   time.Duration
	cost     time.Duration // of reading a sample
	counters Stats         // the counters in that sample

	adopted wanted
	base    settings // what Close restores
	set     settings // what the controller has set
	budget  int64    // 0 for none

	rate     float64       // bytes allocated a second, average
	peakRate float64       // the larger of that and the latest
	last     sample        // at the last collection
	cycleAt  time.Duration // when its end was noticed
	liveRate float64       // growth of the live heap, bytes a second
	overhead float64       // of a full heap: the lowest seen, fading
	least    int64         // since the last collection
	gcCPU    float64
	perByte  float64       // seconds of collection per live byte, average
	took     time.Duration // time of a collection of ours not yet in perByte; 0 for none
	measured bool          // perByte includes a collection of ours

	filling bool  // the last collection found much more live than any recent one
	braking int64 // limit while a collection that may pass the budget is marking; 0 for none
	stopped bool  // under that limit goroutines must mark before they allocate
	lowest  int64 // goal since the last collection
	marking bool  // a collection was running at the last look, no matter who started it
	extra   int64 // pauses beyond two per collection with none running: some stop the world more often

	law  law
	st   lawState
	fit  fit
	shed time.Duration // when OnShed was last called

	held      bool          // sections were seen recently
	heldAt    time.Duration // when a section was last seen
	begunSeen uint32
	scanAt    time.Duration
	notes     []note        // by slot
	due       time.Duration // since when sections have held back a due collection; 0 for none

	running bool   // a collection of ours is running
	serving *batch // the callers it serves
}

type settings struct {
	percent int
	limit   int64
}

// A note says since when a slot has held the same section.
type note struct {
	word  uint32
	since time.Duration
}

// begin records the current settings and refuses a budget that is already
// exceeded.
func (l *loop) begin() error {
	l.rt.read(&l.s)
	l.base = settings{l.s.percent, l.s.limit}
	l.set = l.base
	l.perByte = policy.guess
	l.findBudget()
	if l.budget > 0 {
		need := func() int64 { return l.s.heap + int64(policy.startRoom*float64(l.s.heap)) + l.s.overhead() }
		if need() > l.budget { // much of it may be garbage
			l.rt.collect()
			l.rt.read(&l.s)
		}
		if need() > l.budget {
			return fmt.Errorf("gcctl: Start: limit %d is below the %d bytes in use after a collection; "+
				"raise LimitBytes, GOMEMLIMIT or the group's limit", l.budget, need())
		}
	} else if l.cfg.Mode == Off {
		return fmt.Errorf("gcctl: Start: %w", errUnlimited)
	}
	l.last, l.lowest = l.s, l.s.goal
	l.least = l.s.overhead()
	l.overhead = float64(l.least)
	l.extra = int64(l.s.pauses) - 2*int64(l.s.cycles)
	return nil
}

func (l *loop) findBudget() {
	l.budget = l.cfg.LimitBytes
	if l.budget == 0 {
		l.budget = l.detect(l.base.limit)
	}
	l.c.budgeted.Store(l.budget > 0)
	l.law = law{target: l.cfg.TargetCPU, budget: l.budget}
}

func (l *loop) run(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-l.c.quit:
			l.end()
			return
		case took := <-l.finished:
			l.ended(took)
		case sig := <-l.signals:
			l.emit(EventFallback, "requested by signal %v", sig)
			l.c.Fallback()
		case <-l.c.wake:
		case <-timer.C:
		}
		timer.Reset(l.turn())
	}
}

// turn looks, decides and acts once, and returns when to look next.
func (l *loop) turn() time.Duration {
	l.now = time.Since(l.c.born)
	fresh := l.counters.Polls == 0 || l.now-l.readAt >= policy.fresh
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

func (l *loop) adopt() {
	l.c.mu.Lock()
	if l.c.want.mode == Off && l.budget == 0 { // someone else has removed the limit
		l.c.want = wanted{fallback: true, serial: l.c.want.serial + 1}
	}
	want := l.c.want
	l.c.mu.Unlock()
	if want.serial == l.adopted.serial {
		return
	}
	first := l.adopted.serial == 0
	l.adopted = want
	if want.mode == Adaptive {
		percent := int(policy.plainPercent)
		if l.set.percent > 0 {
			percent = l.set.percent
		} else if l.base.percent > 0 {
			percent = l.base.percent
		}
		l.st = l.law.start(percent)
		now := lawSample{roots: l.s.stacks + l.s.globals, overhead: int64(l.overhead)}
		if limit := l.law.room(float64(l.s.live), now); limit < l.st.percent {
			l.st = l.law.start(int(limit))
		}
	}
	switch {
	case want.fallback:
		l.emit(EventFallback, "restored the settings found by Start")
	case !first:
		l.counters.ModeChanges++
		l.emit(EventModeChange, "mode %v", want.mode)
	}
}

// holding reports whether GOGC is off and the controller starts collections.
func (l *loop) holding() bool {
	if l.adopted.fallback || l.fit.alarm {
		return false
	}
	return l.adopted.mode == Hybrid || l.adopted.mode == Off || l.held
}

// goalPercent is the GOGC that the mode collects by, whether or not sections
// hold collections back; -1 for the budget only.
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
			return int(policy.plainPercent)
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
		reserved := policy.reserve * float64(l.budget)
		if l.filling {
			reserved = l.overhead + l.law.most(lawSample{overhead: int64(l.overhead)})
		}
		want.limit = int64(reserved)
	}
	if l.braking > 0 {
		want.limit = min(want.limit, l.braking)
	}
	if l.holding() {
		want.percent = -1
	}
	return want
}

// apply puts the settings in force. The previous value from the runtime reveals
// a change by someone else since the last look.
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

// end restores the settings and gives up the claim.
func (l *loop) end() {
	defer close(l.c.done)
	defer l.c.release()
	if l.signals != nil {
		signal.Stop(l.signals)
	}
	l.c.gate.set(quiet, true)
	l.c.gate.set(awaited, false)
	l.c.idle.from.Store(never)
	l.c.idle.late.Store(never)
	if l.running {
		l.ended(<-l.finished)
	}
	close(l.jobs)
	if was := l.rt.setPercent(l.base.percent); was != l.set.percent {
		l.foreignPercent(was)
		l.rt.setPercent(was)
	}
	if was := l.rt.setLimit(l.base.limit); was != l.set.limit {
		l.foreignLimit(was)
		l.rt.setLimit(was)
	}
	l.rt.read(&l.s)
	l.set = l.base
	l.adopted.mode = Default
	l.held = false
	l.publish()
}
