package eventloop

import (
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/base/park"
	"github.com/isobar-go/isobar/internal/base/release"
)

// Stats are a loop's figures since it was made.
type Stats struct {
	State   State         // what the loop was doing
	Queued  uint64        // tasks submitted but not started
	Tasks   uint64        // tasks started, as of the last turn
	Turns   uint64        // turns of the loop, less up to 63 of the last; Tasks/Turns is how many tasks a turn runs
	Sleeps  uint64        // times the loop waited for work, including a wait in progress
	Wakeups uint64        // times another goroutine woke the sleeping loop
	Panics  uint64        // panics and Goexit calls that were contained
	Timers  int           // timers pending
	FDs     int           // descriptors registered
	Events  uint64        // descriptor callbacks started, as of the last time the loop checked for events
	Missed  uint64        // runs of intervals skipped because the loop was late
	Lag     time.Duration // how late the last timer ran
	MaxLag  time.Duration // the largest Lag
	Parks   bool          // whether it waits without a channel: faster, with Go 1.26 and 1.27, not under the race detector
}

// Figures calls add for each figure that a page of package monitor shows, in a
// fixed order. The key ends with the unit, as in runtime/metrics. Figures with
// the same chart share one chart; a counter only grows.
func (s Stats) Figures(add func(key, chart, help string, counter bool, value float64)) {
	const wakeups = "Loop: wake-ups"
	add("/loop/tasks:tasks", "Loop", "Tasks started.", true, float64(s.Tasks))
	add("/loop/queued:tasks", "Loop: queue", "Tasks submitted but not started.", false, float64(s.Queued))
	add("/loop/lag:seconds", "Loop: lag", "How late the last timer ran.", false, s.Lag.Seconds())
	add("/loop/wakeups:events", wakeups, "Wake-ups of the sleeping loop.", true, float64(s.Wakeups))
	add("/loop/panics:events", wakeups, "Panics in tasks.", true, float64(s.Panics))
	add("/loop/turns:turns", "Loop: turns", "Turns of the loop, less up to 63 of the last.", true, float64(s.Turns))
}

// counters publish the loop's counts, each independently.
type counters struct {
	ran, turns  atomic.Uint64 // stored by the loop
	alarms      atomic.Uint64 // added by the loop: sleeps that a timer ended
	panics      atomic.Uint64 // added by the loop
	events      atomic.Uint64 // stored by the loop
	lag, maxLag atomic.Int64  // stored by the loop
}

const turnsApart = 64 // how many turns are published at once

// publish is called in every turn. It stores only what has changed.
func (l *Loop) publish() {
	if l.ran != l.published {
		l.published = l.ran
		release.Uint64(&l.public.ran, l.ran)
	}
	if l.turnCount%turnsApart == 1 {
		release.Uint64(&l.public.turns, l.turnCount)
	}
}

// Stats returns the loop's figures. It reads them one after another while the
// loop runs.
func (l *Loop) Stats() Stats {
	alarms := l.public.alarms.Load() // before the sleeps that they ended
	sleeps, asleep := l.sleeper.Sleeps()
	s := Stats{
		State: l.State(),
		Tasks: l.public.ran.Load(), Turns: l.public.turns.Load(), Sleeps: sleeps,
		Wakeups: sleeps - alarms, Panics: l.public.panics.Load(),
		Timers: int(l.timers.live.Load()), FDs: int(l.io.count.Load()),
		Events: l.public.events.Load(), Missed: l.timers.missed.Load(),
		Lag: time.Duration(l.public.lag.Load()), MaxLag: time.Duration(l.public.maxLag.Load()),
		Parks: park.Direct,
	}
	if asleep {
		s.Wakeups--
	}
	if n := l.submitted(); n > s.Tasks {
		s.Queued = n - s.Tasks
	}
	return s
}

// submitted returns how many submissions there have been.
func (l *Loop) submitted() uint64 {
	select {
	case <-l.shut:
		return l.accepted
	default:
	}
	return l.in.Pushed() + l.lanes.Load().total((*lane).Pushed)
}
