package eventloop

import "time"

// The word parked.
const (
	asleep    = 1      // the loop sleeps or is about to, and wants a token
	sleepUnit = 1 << 1 // the bits above count the sleeps
)

// sleep waits for something to do. docs/models/wakeup.pml models it.
//
// A producer stores its task and then checks whether the loop is parked; the
// loop announces that it is parked and then checks for tasks. At least one of
// the two sees the other. Whoever clears asleep in parked sends the token,
// unless it is the loop. So there is at most one token, it goes only to a loop
// that waits or is about to, and the loop takes it before it parks again.
//
// sleep neither spins nor yields first. A yield puts the loop behind all other
// goroutines, for whole time slices if the CPUs are busy; spinning takes the
// CPU from the goroutine that is about to submit, as BenchmarkRoundTrip shows.
func (l *Loop) sleep() {
	if l.ioDue() {
		return
	}
	if l.config.Idle != nil && !l.asked {
		l.asked = true // even if Idle panics
		expect := int64(0)
		if due, ok := l.timers.next(); ok {
			expect = max(1, due-l.now())
		}
		l.config.Idle(time.Duration(expect))
	}
	l.sleeps++
	l.parked.Store(l.sleeps*sleepUnit | asleep)
	if l.stopped() || l.fill() || l.ioDue() {
		l.stay()
		return
	}
	var due int64
	timed := l.timers.live.Load() != 0 // whoever adds the first timer after this sees that the loop is parked
	if timed {
		due, timed = l.timers.next()
	}
	if !timed {
		<-l.wake
		l.asked = false
		return
	}
	wait := time.Duration(due - l.now())
	if wait <= 0 {
		l.stay()
		return
	}
	if l.alarm == nil {
		l.alarm = time.NewTimer(wait)
	} else {
		l.alarm.Reset(wait)
	}
	select {
	case <-l.wake:
		l.alarm.Stop()
		l.asked = false
	case <-l.alarm.C:
		l.asked = false
		if p := l.sleeps * sleepUnit; l.parked.CompareAndSwap(p|asleep, p) {
			l.public.alarms.Add(1)
		} else {
			<-l.wake
		}
	}
}

// stay cancels a parked state before its wait, which then does not count. If a
// wake-up is on its way, it takes it.
func (l *Loop) stay() {
	l.asked = false
	p := l.sleeps * sleepUnit
	if l.parked.CompareAndSwap(p|asleep, p-sleepUnit) {
		l.sleeps--
	} else {
		<-l.wake
	}
}

// unpark wakes the loop if it is parked and nobody else has woken it.
func (l *Loop) unpark() {
	if p := l.parked.Load(); p&asleep != 0 && l.parked.CompareAndSwap(p, p&^asleep) {
		l.wake <- struct{}{}
	}
}

// signal tells the loop what to do.
func (l *Loop) signal(s uint32) {
	l.signals.Or(s)
	l.unpark()
}

// Wake makes the loop run a turn if it is asleep; otherwise it does nothing.
// Submissions and timers wake the loop themselves.
func (l *Loop) Wake() { l.unpark() }
