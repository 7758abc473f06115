package eventloop

import "time"

// sleep waits for something to do. docs/models/wakeup.pml is the model of it.
//
// A producer stores its task and then looks whether the loop is parked; the
// loop says that it is parked and then looks whether there are tasks. At least
// one of the two sees the other. Whoever changes parked from 1 to 0 sends the
// token, unless it is the loop; so there is at most one, it is sent only to a
// loop that waits or is about to, and the loop takes it before it parks again.
//
// It neither spins nor yields before. A yield puts the loop behind all other
// goroutines, for whole time slices if the CPUs are busy; spinning takes the CPU
// from the goroutine that is to submit, as BenchmarkRoundTrip shows.
func (l *Loop) sleep() {
	if l.ioDue() {
		return
	}
	if l.config.Idle != nil && !l.asked {
		l.asked = true // also if Idle panics
		expect := int64(0)
		if due, ok := l.timers.next(); ok {
			expect = max(1, due-l.now())
		}
		l.config.Idle(time.Duration(expect))
	}
	l.parked.Store(1)
	if l.stopped() || l.fill() || l.ioDue() {
		l.stay()
		return
	}
	due, ok := l.timers.next()
	if !ok {
		l.public.sleeps.Add(1)
		<-l.wake
		l.asked = false
		return
	}
	wait := time.Duration(due - l.now())
	if wait <= 0 {
		l.stay()
		return
	}
	l.public.sleeps.Add(1)
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
		l.stay()
	}
}

// stay ends the state parked without a wake-up; if one is on its way, it takes it.
func (l *Loop) stay() {
	l.asked = false
	if !l.parked.CompareAndSwap(1, 0) {
		<-l.wake
	}
}

// unpark wakes the loop if it is parked and nobody else does.
func (l *Loop) unpark() {
	if l.parked.CompareAndSwap(1, 0) {
		l.public.wakeups.Add(1)
		l.wake <- struct{}{}
	}
}

// signal tells the loop what to do.
func (l *Loop) signal(s uint32) {
	l.signals.Or(s)
	l.unpark()
}

// Wake makes the loop do a turn if it is asleep, and nothing if it is awake.
// Submissions and timers wake the loop by themselves.
func (l *Loop) Wake() { l.unpark() }
