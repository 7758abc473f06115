package eventloop

import (
	"sync/atomic"
	"time"
)

// Stats are a loop's figures since it was made.
type Stats struct {
	Queued  uint64        // tasks submitted and not started
	Tasks   uint64        // tasks started, as of the last turn
	Turns   uint64        // turns of the loop, less up to 63 of the last; Tasks/Turns is how many tasks a turn runs
	Sleeps  uint64        // times the loop had nothing to do and waited, a wait in progress included
	Wakeups uint64        // times a sleeping loop was woken by another goroutine
	Panics  uint64        // panics and calls of Goexit that were contained
	Timers  int           // timers pending
	FDs     int           // descriptors registered
	Events  uint64        // callbacks of descriptors begun, as of the last time the loop looked for events
	Missed  uint64        // runs of intervals left out because the loop was late
	Lag     time.Duration // how late the last timer was run
	MaxLag  time.Duration // the largest Lag
}

// Figures calls add for each figure that a page of package monitor shows, in a
// fixed order. The key ends with the unit, as in runtime/metrics; figures of a
// chart share one; a counter only grows.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	const wakeups = "Loop: wake-ups"
	add("/loop/tasks:tasks", "Loop", "Tasks started.", true, float64(s.Tasks))
	add("/loop/queued:tasks", "Loop: queue", "Tasks submitted and not started.", false, float64(s.Queued))
	add("/loop/lag:seconds", "Loop: lag", "How late the last timer was run.", false, s.Lag.Seconds())
	add("/loop/wakeups:events", wakeups, "Wake-ups of the sleeping loop.", true, float64(s.Wakeups))
	add("/loop/panics:events", wakeups, "Panics in tasks.", true, float64(s.Panics))
	add("/loop/turns:turns", "Loop: turns", "Turns of the loop, less up to 63 of the last.", true, float64(s.Turns))
}

// counters publish the loop's counts; each by itself.
type counters struct {
	ran, turns  atomic.Uint64 // stored by the loop
	alarms      atomic.Uint64 // added by the loop: sleeps that a timer ended
	panics      atomic.Uint64 // added by the loop
	events      atomic.Uint64 // stored by the loop
	lag, maxLag atomic.Int64  // stored by the loop
}

const turnsApart = 64 // how many turns are published at once

// publish is called with each turn. An atomic store costs as much as a queue
// does, so what has not changed is not stored.
func (l *Loop) publish() {
	if l.ran != l.published {
		l.published = l.ran
		l.public.ran.Store(l.ran)
	}
	if l.turnCount%turnsApart == 1 {
		l.public.turns.Store(l.turnCount)
	}
}

// Stats returns the loop's figures. They are read one after another, while the
// loop goes on.
func (l *Loop) Stats() Stats {
	alarms := l.public.alarms.Load() // before the sleeps that they ended
	p := l.parked.Load()
	s := Stats{
		Tasks: l.public.ran.Load(), Turns: l.public.turns.Load(), Sleeps: p / sleepUnit,
		Wakeups: p/sleepUnit - p&asleep - alarms, Panics: l.public.panics.Load(),
		Timers: int(l.timers.live.Load()), FDs: int(l.io.count.Load()), Events: l.public.events.Load(), Missed: l.timers.missed.Load(),
		Lag: time.Duration(l.public.lag.Load()), MaxLag: time.Duration(l.public.maxLag.Load()),
	}
	if n := l.submitted(); n > s.Tasks {
		s.Queued = n - s.Tasks
	}
	return s
}

// submitted returns how many submissions there were.
func (l *Loop) submitted() uint64 {
	select {
	case <-l.shut:
		return l.accepted
	default:
	}
	return l.in.Pushed() + l.lanes.Load().pushed()
}
