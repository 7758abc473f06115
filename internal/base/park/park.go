// Package park lets one goroutine sleep until another wakes it, at a lower cost than a channel: the
// sleeper's state is one word, without a lock or a list of waiters. docs/adr/0019 has the measurement.
//
// It calls the runtime's gopark and goready in the versions of Go whose reason numbers it
// knows (direct.go). In others, and under the race detector, it sleeps on a channel. In a
// bubble of testing/synctest the sleeper is durably blocked either way.
package park

import "sync/atomic"

// A Sleeper is where one goroutine, its owner, sleeps, and others wake it. Call Init first;
// a Sleeper must not be copied.
//
// The owner announces a sleep, then looks for work, and then either waits or retracts.
// Others store work and then check whether a sleep is announced: at least one of the two
// sees the other. Whoever ends an announcement owes the owner a wake-up, unless it is the
// owner. So there is at most one wake-up, it goes only to an owner that waits or is about
// to, and the owner takes it before it announces again. docs/models/wakeup.pml models this.
//
// What precedes Wake happens before the end of the sleep that it ends.
type Sleeper struct {
	// The bits below and, above them, the number of sleeps announced and not retracted.
	// Stored by the owner; announced is cleared by whoever ends the sleep.
	word  atomic.Uint64
	g     uintptr       // of the parked owner; published by parked
	token chan struct{} // capacity 1: the wake-up of a sleep on the channel; constant
}

const (
	announced = 1 << iota // the owner sleeps or is about to
	parked                // the owner's goroutine waits in g
	channel               // the owner waits, or will wait, for token
	one                   // one sleep
)

// Init prepares s.
func (s *Sleeper) Init() { s.token = make(chan struct{}, 1) }

// Asleep reports whether a sleep is announced.
func (s *Sleeper) Asleep() bool { return s.word.Load()&announced != 0 }

// Sleeps returns the number of sleeps so far, including the present one, and whether there is one.
func (s *Sleeper) Sleeps() (n uint64, asleep bool) {
	v := s.word.Load()
	return v / one, v&announced != 0
}

// Announce announces a sleep, which ends with Retract, Wait or Stop. If the owner selects,
// its wake-up arrives on C.
func (s *Sleeper) Announce(selects bool) {
	v := (s.word.Load()/one+1)*one | announced
	if selects || !Direct {
		v |= channel
	}
	s.word.Store(v)
}

// C is the channel of the wake-up.
func (s *Sleeper) C() <-chan struct{} { return s.token }

// Wait sleeps until a wake-up and takes it. It is small enough to be inlined: after a
// switch between goroutines the processor mispredicts every return.
func (s *Sleeper) Wait() {
	if s.word.Load()&channel != 0 {
		<-s.token
	} else {
		s.park()
	}
}

// Stop ends a sleep that something other than Wake has interrupted. It returns true if it
// came before Wake; otherwise it takes the wake-up.
func (s *Sleeper) Stop() bool { return s.end(0) }

// Retract is Stop for a sleep that was only announced; it does not count.
func (s *Sleeper) Retract() bool { return s.end(one) }

func (s *Sleeper) end(uncount uint64) bool {
	v := s.word.Load()
	if v&announced != 0 && s.word.CompareAndSwap(v, v&^(announced|channel)-uncount) {
		return true
	}
	s.Wait()
	return false
}

// Wake ends an announced sleep; without one it does nothing. It never waits.
func (s *Sleeper) Wake() {
	if s.Asleep() {
		s.wake()
	}
}

func (s *Sleeper) wake() {
	v := s.word.Load()
	for v&announced != 0 {
		if s.word.CompareAndSwap(v, v&^(announced|parked)) {
			switch {
			case v&parked != 0:
				ready(s.g)
			case v&channel != 0:
				s.token <- struct{}{}
			}
			return
		}
		was := v
		if v = s.word.Load(); v != was|parked {
			return // someone else has ended that sleep
		}
	}
}
