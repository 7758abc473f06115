package http11

import (
	"math"
	"time"
)

// wheelSlots is a power of two. A slot is a sixteenth of the shortest time-out,
// so the slots span four of it.
const wheelSlots = 64

// A wheel finds sockets whose deadlines have passed, up to its width late. A
// socket stays in its slot when its deadline moves later, and moves to the
// right slot when that slot is examined; a request costs the wheel nothing.
type wheel struct {
	width time.Duration // of a slot; 0 without time-outs
	tick  int64         // slots up to this one were examined
	next  int64         // no socket is in a slot before this one
	count int           // sockets in slots
	slots [wheelSlots]*socket
}

// link puts s in the slot of its deadline.
func (w *wheel) link(s *socket, now time.Duration) {
	w.unlink(s)
	if w.width == 0 || s.deadline == 0 {
		return
	}
	if w.count == 0 {
		w.tick, w.next = int64(now/w.width), math.MaxInt64
	}
	at := int64((s.deadline + w.width - 1) / w.width)
	at = min(max(at, w.tick+1), w.tick+wheelSlots-1)
	i := at % wheelSlots
	s.slot = int8(i) + 1
	if s.next = w.slots[i]; s.next != nil {
		s.next.prev = s
	}
	w.slots[i] = s
	w.next = min(w.next, at)
	w.count++
}

// unlink removes s if it is in a slot.
func (w *wheel) unlink(s *socket) {
	if s.slot == 0 {
		return
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		w.slots[s.slot-1] = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.next, s.prev, s.slot = nil, nil, 0
	w.count--
}

// due removes each socket whose deadline has passed from its slot and calls
// late for it.
func (w *wheel) due(now time.Duration, late func(*socket)) {
	if w.count == 0 || int64(now/w.width) < w.next {
		return
	}
	end := int64(now / w.width)
	for w.tick = max(w.tick, end-wheelSlots); w.tick < end; {
		w.tick++
		i := w.tick % wheelSlots
		s := w.slots[i]
		w.slots[i] = nil
		for s != nil {
			next := s.next
			s.next, s.prev, s.slot = nil, nil, 0
			w.count--
			if s.deadline <= now {
				late(s)
			} else {
				w.link(s, now)
			}
			s = next
		}
	}
	w.next = math.MaxInt64
	for at := w.tick + 1; at < w.tick+wheelSlots && w.count > 0; at++ {
		if w.slots[at%wheelSlots] != nil {
			w.next = at
			break
		}
	}
}

// wake returns when due next has work; 0 means never.
func (w *wheel) wake() time.Duration {
	if w.count == 0 {
		return 0
	}
	return time.Duration(w.next) * w.width
}
