package queue

import (
	"testing"

	"github.com/isobar-go/isobar/internal/base/gctest"
)

// TestValuesSurviveCollections keeps values with pointers in each kind of
// queue, in slots of every age.
func TestValuesSurviveCollections(t *testing.T) {
	type queue interface {
		PushBatch([]gctest.Value) int
		Drain([]gctest.Value) int
	}
	gctest.Survive(t, func(collect func()) {
		const backlog = 100
		queues := map[string]queue{
			"MPSC":     NewMPSC[gctest.Value](MPSCConfig{Retain: 64}),
			"SPSC":     NewSPSC[gctest.Value](64),
			"MPSCRing": NewMPSCRing[gctest.Value](2 * backlog),
			"SPSCRing": NewSPSCRing[gctest.Value](2 * backlog),
		}
		in, out := 0, 0
		buf := make([]gctest.Value, backlog/2)
		push := func() {
			for i := range buf {
				buf[i] = gctest.New(in + i)
			}
			for name, q := range queues {
				if n := q.PushBatch(buf); n != len(buf) {
					t.Fatalf("%s: PushBatch = %d, want %d", name, n, len(buf))
				}
			}
			in += len(buf)
			clear(buf)
		}
		push()
		for range gctest.Rounds {
			push()
			collect()
			for name, q := range queues {
				if n := q.Drain(buf); n != len(buf) {
					t.Fatalf("%s: Drain = %d, want %d", name, n, len(buf))
				}
				for i := range buf {
					buf[i].Check(t, out+i)
				}
				clear(buf)
			}
			out += len(buf)
		}
	})
}
