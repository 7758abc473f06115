package eventloop

import "time"

// drowse announces a sleep and reports whether the loop should wait for its end.
// If not, there is something to do, or may be.
//
// A producer stores its task and then checks whether the loop is asleep; the
// loop announces its sleep and then checks for tasks. At least one of the two
// sees the other. docs/models/wakeup.pml models it.
//
// The loop neither spins nor yields first. A yield puts the loop behind all other
// goroutines, for whole time slices if the CPUs are busy; spinning takes the
// CPU from the goroutine that is about to submit, as BenchmarkRoundTrip shows.
func (l *Loop) drowse() bool {
	if l.ioDue() {
		return false
	}
	if l.config.Idle != nil && !l.asked {
		l.asked = true // even if Idle panics
		expect := int64(0)
		if due, ok := l.timers.next(); ok {
			expect = max(1, due-l.now())
		}
		l.config.Idle(time.Duration(expect))
	}
	timers := l.timers.live.Load() != 0
	l.sleeper.Announce(timers)
	if l.stopped() || l.fill() || l.ioDue() || (l.timers.live.Load() != 0) != timers {
		l.stay()
		return false
	}
	// Whoever adds a timer from here on sees that the loop is asleep.
	if timers {
		l.doze()
	}
	return !timers
}

// doze waits for a wake-up or the next timer.
func (l *Loop) doze() {
	due, ok := l.timers.next()
	wait := time.Duration(due - l.now())
	if !ok || wait <= 0 {
		l.stay()
		return
	}
	if l.alarm == nil {
		l.alarm = time.NewTimer(wait)
	} else {
		l.alarm.Reset(wait)
	}
	select {
	case <-l.sleeper.C():
		l.alarm.Stop()
	case <-l.alarm.C:
		if l.sleeper.Stop() {
			l.public.alarms.Add(1)
		}
	}
	l.asked = false
}

// stay cancels a sleep before its wait, which then does not count. If a wake-up
// is on its way, it takes it.
func (l *Loop) stay() {
	l.asked = false
	l.sleeper.Retract()
}

// signal tells the loop what to do.
func (l *Loop) signal(s uint32) {
	l.signals.Or(s)
	l.sleeper.Wake()
}

// Wake makes the loop run a turn if it is asleep; otherwise it does nothing.
// Submissions and timers wake the loop themselves.
func (l *Loop) Wake() { l.sleeper.Wake() }
