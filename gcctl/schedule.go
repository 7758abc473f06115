package gcctl

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// watchSections tracks open sections and cuts those that last too long.
func (l *loop) watchSections() {
	begun := l.c.gate.begun()
	delta := begun - l.begunSeen
	l.begunSeen = begun
	l.counters.Begun += uint64(delta)
	idle := l.adopted.fallback || l.fit.alarm
	if l.c.gate.open() > 0 || delta > 0 {
		l.held, l.heldAt = true, l.now
	} else if l.held && l.now-l.heldAt >= policy.heldFor {
		l.held = false
	}
	l.c.gate.set(quiet, l.held || idle || l.holding())
	if !l.held && l.c.gate.open() > 0 { // one began before quiet was cleared and woke nobody
		l.held, l.heldAt = true, l.now
		l.c.gate.set(quiet, true)
	}
	if l.c.gate.open() > 0 && !idle && l.now-l.scanAt >= l.cfg.MaxSection/policy.sectionLooks {
		l.scanAt = l.now
		if n := l.scan(false); n > 0 {
			l.emit(EventCut, "%d sections lasted longer than %v", n, l.cfg.MaxSection)
		}
	}
}

// scan cuts the sections that have lasted too long, or all.
func (l *loop) scan(all bool) int {
	cut, base := 0, 0
	for k := range int(l.c.gate.made.Load()) {
		chunk := *l.c.gate.chunks[k].Load()
		if len(l.notes) < base+len(chunk) {
			l.notes = append(l.notes, make([]note, base+len(chunk)-len(l.notes))...)
		}
		for i := range chunk {
			word, n := chunk[i].word.Load(), &l.notes[base+i]
			if word&slotMask != slotOpen {
				continue
			}
			if n.word != word {
				*n = note{word, l.now}
			}
			if (all || l.now-n.since >= l.cfg.MaxSection) && l.c.gate.cut(&chunk[i], word) {
				cut++
			}
		}
		base += len(chunk)
	}
	l.counters.Cut += uint64(cut)
	return cut
}

// goals returns the heap size at which the next collection should have ended,
// by mode and budget together and by the budget alone.
func (l *loop) goals() (goal, ceiling float64) {
	goal, ceiling = math.Inf(1), math.Inf(1)
	live := float64(l.s.live)
	if p := float64(l.goalPercent()); p >= 0 {
		goal = max(policy.minHeap*p/100, live+(live+float64(l.s.stacks+l.s.globals))*p/100)
	}
	if l.budget > 0 {
		ceiling = policy.runway * float64(l.budget-l.s.overhead())
	}
	return min(goal, ceiling), ceiling
}

// trigger returns the heap size at which a collection must start to end by
// goal, no later than the share latest of the way there.
func (l *loop) trigger(goal, latest float64) float64 {
	live := float64(l.s.live)
	way := goal - live
	if way <= 0 || math.IsInf(way, 1) {
		return goal
	}
	return min(max(goal-l.peakRate*l.cycleTime().Seconds(), live+policy.earliest*way), live+latest*way)
}

func (l *loop) cycleTime() time.Duration {
	return time.Duration(max(float64(l.s.live), policy.leastLive) * l.perByte * float64(time.Second))
}

// decide starts a collection if one is due and nothing stands against it.
func (l *loop) decide() {
	if l.running {
		l.c.gate.set(awaited, false)
		return
	}
	goal, ceiling := l.goals()
	heap := float64(l.s.heap)
	gain := heap-float64(l.s.live) >= max(policy.leastGain*float64(l.s.live), policy.minHeap/4)
	told := l.c.idle.asked.Load()
	asked := told && !l.marking
	forced := l.c.forcing()

	due := false
	if l.holding() && l.adopted.mode != Off {
		due = gain && heap >= l.trigger(goal, policy.latest)
		due = due || l.adopted.mode == Hybrid && l.cfg.Interval > 0 && l.now-l.cycleAt >= l.cfg.Interval
	}
	switch {
	case l.holding() && l.c.gate.open() > 0 && gain && heap >= l.trigger(ceiling, policy.cutAt):
		l.emit(EventCut, "%d sections, because memory nears the budget", l.scan(true))
		l.c.gate.set(collecting, true)
		l.counters.Watchdog++
		l.collect()
		return
	case due && l.due > 0 && l.now-l.due >= l.cfg.MaxSection && l.budget == 0:
		l.emit(EventCut, "%d sections: they overlap endlessly, and there is no budget to end them", l.scan(true))
	}
	if !due {
		l.due = 0
	} else if l.due == 0 {
		l.due = l.now
	}
	l.c.gate.set(awaited, due || forced)
	if !(due || forced || asked) || !l.c.gate.close() {
		if told { // otherwise it may come just now, for the next turn
			l.c.idle.asked.Store(false)
		}
		return
	}
	switch {
	case forced:
		l.counters.Forced++
	case due:
		l.counters.Scheduled++
	default:
		l.counters.Idle++
	}
	l.collect()
}

// collect hands over a collection; the gate is already closed.
func (l *loop) collect() {
	l.c.gate.set(awaited, false)
	l.running, l.due = true, 0
	l.serving = l.c.takeBatch()
	l.jobs <- struct{}{}
}

func (l *loop) ended(took time.Duration) {
	l.running = false
	l.c.gate.set(collecting, false)
	l.c.idle.asked.Store(false)
	if l.serving != nil {
		close(l.serving.done)
		l.serving = nil
	}
	l.readAt = min(l.readAt, time.Since(l.c.born)-policy.fresh) // look again
	l.took = took
}

// pause returns when to look next: halfway to the next event.
func (l *loop) pause() time.Duration {
	wait, least := policy.slowPoll, policy.plainPoll
	holding, open := l.holding(), l.c.gate.open() > 0
	if l.marking && l.adopted.mode == Adaptive && l.budget > 0 {
		least = policy.quickPoll
	}
	switch {
	case l.adopted.mode == Idle: // its callers go by the last look
		wait = policy.holdPoll
	case l.rate < policy.resting && l.adopted.mode != Adaptive:
		wait = policy.restingPoll
	}
	at := float64(l.s.goal)
	if holding {
		wait, least = policy.holdPoll, policy.quickPoll
		goal, ceiling := l.goals()
		if at = l.trigger(goal, policy.latest); l.due > 0 || l.running || l.adopted.mode == Off {
			at = l.trigger(ceiling, policy.cutAt)
		}
	}
	watched := holding || l.adopted.mode == Adaptive || l.adopted.mode == Idle ||
		l.budget > 0 && float64(l.s.live) > policy.watchFrom*float64(l.budget)
	if left := (at - float64(l.s.heap)) * policy.halfway / max(l.peakRate, 1); watched && left < wait.Seconds() {
		wait = time.Duration(left * float64(time.Second))
	}
	if l.adopted.mode == Hybrid && l.cfg.Interval > 0 && !l.running && l.due == 0 {
		wait = min(wait, l.cycleAt+l.cfg.Interval-l.now)
	}
	if open && !l.adopted.fallback {
		wait = min(wait, l.cfg.MaxSection/policy.sectionLooks)
	}
	if l.held && !open {
		wait = min(wait, l.heldAt+policy.heldFor-l.now)
	}
	return max(wait, least, policy.pollShare*l.cost)
}

// publish stores what Stats and Idle read.
func (l *loop) publish() {
	goal, ceiling := l.goals()
	holding := l.holding()
	l.publishIdle(goal, holding)
	st := l.counters
	st.Alarm, st.Holding = l.fit.alarm, holding
	st.Percent, st.LimitBytes = l.set.percent, l.set.limit
	st.GoalPercent = l.goalPercent()
	st.FoundPercent, st.FoundLimitBytes = l.base.percent, l.base.limit
	st.BudgetBytes, st.MemoryBytes = l.budget, l.s.memory()
	st.HeapBytes, st.LiveBytes = l.s.heap, l.s.live
	st.GCCPU, st.Cycles = l.gcCPU, l.s.cycles
	growth := l.liveRate
	if since := l.now - l.cycleAt; since > policy.tempo { // the live heap cannot have grown by more than was allocated
		growth = min(growth, float64(l.s.allocs-l.last.allocs)/since.Seconds())
	}
	st.TimeToLimit = timeTo(ceiling-float64(l.s.live), growth)
	if l.due > 0 || holding && l.adopted.mode == Off {
		st.TimeToLimit = timeTo(ceiling-float64(l.s.heap), l.rate)
	}
	l.c.mu.Lock()
	l.c.stats = st
	l.c.mu.Unlock()
}

func timeTo(distance, rate float64) time.Duration {
	seconds := max(distance, 0) / rate
	if !(rate > 0) || seconds > math.MaxInt64/1e9 {
		return -1
	}
	return time.Duration(seconds * 1e9)
}

func (l *loop) publishIdle(goal float64, holding bool) {
	from, late := int64(never), int64(never)
	m := l.adopted.mode
	if (m == Idle || m == Hybrid || m == Adaptive) && !l.adopted.fallback && !l.fit.alarm && !l.marking {
		if !holding {
			goal = float64(l.s.goal)
		}
		live := float64(l.s.live)
		reach := func(part float64) int64 {
			left := (live + part*(goal-live) - float64(l.s.heap)) / max(l.rate, 1)
			if !(left < 1e9) { // seconds: forever
				return never
			}
			return int64(l.now) + int64(left*1e9)
		}
		from, late = reach(policy.worthwhile), reach(policy.earliest)
	}
	l.c.idle.from.Store(from)
	l.c.idle.late.Store(late)
	l.c.idle.cost.Store(int64(l.cycleTime()))
}

// emit reports an event to any listeners.
func (l *loop) emit(kind EventKind, format string, args ...any) {
	if l.cfg.Logger == nil && l.cfg.OnEvent == nil {
		return
	}
	e := Event{
		Time: time.Now(), Kind: kind, Message: fmt.Sprintf(format, args...),
		Mode: l.adopted.mode, Percent: l.set.percent, LimitBytes: l.set.limit, BudgetBytes: l.budget,
		HeapBytes: l.s.heap, LiveBytes: l.s.live, Cycles: l.s.cycles, Sections: l.c.gate.open(), GCCPU: l.gcCPU,
	}
	if l.cfg.OnEvent != nil {
		l.cfg.OnEvent(e)
	}
	if l.cfg.Logger == nil {
		return
	}
	level := slog.LevelWarn
	switch kind {
	case EventCycle:
		level = slog.LevelDebug
	case EventModeChange:
		level = slog.LevelInfo
	}
	l.cfg.Logger.Log(context.Background(), level, "gcctl: "+kind.String(),
		"message", e.Message, "mode", e.Mode.String(), "gogc", e.Percent,
		"limit_bytes", e.LimitBytes, "budget_bytes", e.BudgetBytes,
		"heap_bytes", e.HeapBytes, "live_bytes", e.LiveBytes, "cycles", e.Cycles, "sections", e.Sections, "gc_cpu", e.GCCPU)
}
