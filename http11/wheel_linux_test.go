package http11

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The wheel reports every deadline after it has passed, late by at most a width
// plus the caller's wait, while sockets come, go, and move their deadlines.
func TestWheel(t *testing.T) {
	const width = 10
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := wheel{width: width}
		linked := map[*socket]bool{}
		now := time.Duration(rng.IntN(5000))
		for range 300 {
			for range rng.IntN(4) {
				s := &socket{deadline: now + 1 + time.Duration(rng.IntN(100*width))}
				w.link(s, now)
				linked[s] = true
			}
			for s := range linked {
				switch rng.IntN(10) {
				case 0: // a request: the deadline moves, the socket stays
					s.deadline += time.Duration(rng.IntN(50 * width))
				case 1: // an earlier one needs a link
					s.deadline = max(now+1, s.deadline-time.Duration(rng.IntN(50*width)))
					w.link(s, now)
				case 2:
					w.unlink(s)
					delete(linked, s)
				}
			}
			step := time.Duration(rng.IntN(5 * width))
			if rng.IntN(20) == 0 {
				step *= 100 // more than a turn
			}
			if wake := w.wake(); wake > 0 {
				for s := range linked {
					if s.deadline+width <= wake && wake > now+width {
						t.Fatalf("seed %d: the wheel wakes at %d, a deadline is %d", seed, wake, s.deadline)
					}
				}
			}
			now += step
			w.due(now, func(s *socket) {
				if s.deadline > now || !linked[s] {
					t.Fatalf("seed %d: told at %d of a deadline at %d, linked %v", seed, now, s.deadline, linked[s])
				}
				delete(linked, s)
			})
			for s := range linked {
				if s.deadline+width <= now {
					t.Fatalf("seed %d: the deadline %d was not told at %d", seed, s.deadline, now)
				}
			}
			if w.count != len(linked) {
				t.Fatalf("seed %d: %d sockets in slots, want %d", seed, w.count, len(linked))
			}
		}
	}
}
