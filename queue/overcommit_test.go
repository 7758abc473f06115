package queue

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/overcommit"
)

// A producer that loses its CPU in the middle of Push delays the consumer, but not for
// long: throughput does not collapse with more Ps than CPUs.
func TestMorePsThanCPUs(t *testing.T) {
	for name, v := range map[string]struct {
		q         fifo
		producers int // at most
	}{
		"MPSC":     {NewMPSC[uint64](MPSCConfig{}), 1000},
		"MPSCRing": {NewMPSCRing[uint64](maxBacklog), 1000},
		"SPSC":     {NewSPSC[uint64](0), 1},
		"SPSCRing": {NewSPSCRing[uint64](maxBacklog), 1},
	} {
		channel := channelQueue(make(chan uint64, maxBacklog))
		overcommit.Check(t, name, handOver(v.q, v.producers), handOver(channel, v.producers))
	}
}

// A pipe is the part of a queue that TestMorePsThanCPUs needs.
type pipe interface {
	Push(uint64) bool
	Pop() (uint64, bool)
}

// handOver lets worker 0 take what others push, and counts what it gets.
func handOver(q pipe, producers int) overcommit.Worker {
	var pushed, popped atomic.Int64 // bound the backlog
	return func(worker int, taken *atomic.Int64, over *atomic.Bool) {
		for worker <= producers && !over.Load() {
			n := 0
			switch {
			case worker == 0:
				for _, ok := q.Pop(); ok; _, ok = q.Pop() {
					if n++; n == 64 {
						break
					}
				}
				popped.Add(int64(n))
				taken.Add(int64(n))
			case pushed.Load()-popped.Load() < maxBacklog/2:
				for n < 64 && q.Push(1) {
					n++
				}
				pushed.Add(int64(n))
			}
			if n == 0 {
				runtime.Gosched()
			}
		}
	}
}

type channelQueue chan uint64

func (c channelQueue) Push(v uint64) bool {
	select {
	case c <- v:
		return true
	default:
		return false
	}
}

func (c channelQueue) Pop() (v uint64, ok bool) {
	select {
	case v = <-c:
		return v, true
	default:
		return 0, false
	}
}
