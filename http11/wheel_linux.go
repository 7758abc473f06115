package http11

import (
	"math"
	"time"
)

// wheelSlots is a power of two. At a sixteenth of the shortest time-out each,
// they reach over four of it.
const wheelSlots = 64

// A wheel tells when the deadlines of sockets pass, up to its width late. A
// socket stays in its slot while its deadline moves away, and is put in the
// right one when the slot is looked at; a request costs the wheel nothing.
type wheel struct {
	width time.Duration // of a slot; 0 if there are no time-outs
	tick  int64         // the slots up to this one were looked at
	next  int64         // no slot before this one has a socket
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

// due calls late for each socket whose deadline has passed; it is in no slot
// then.
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

// wake returns when due has something to look at; 0 is never.
func (w *wheel) wake() time.Duration {
	if w.count == 0 {
		return 0
	}
	return time.Duration(w.next) * w.width
}
