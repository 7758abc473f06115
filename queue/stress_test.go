package queue

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// soaking selects the long versions of the tests.
var soaking = os.Getenv("ISOBAR_SOAK") != ""

// budgets shares out a time budget of d among the variants: until returns when the next one must end. This applies
// when soaking with the checks of a race or debug build, which are too slow to run by count. Otherwise until returns
// zero and the test ends by count.
func budgets(d time.Duration) (until func() time.Time) {
	if !soaking || !invariant.Enabled {
		return func() time.Time { return time.Time{} }
	}
	return func() time.Time { return time.Now().Add(d / time.Duration(len(variants))) }
}

func over(until time.Time) bool { return !until.IsZero() && time.Now().After(until) }

// stressOps returns how many values a stress test moves in total: 10^9 when soaking, or the number in
// ISOBAR_SOAK_OPS.
func stressOps(t *testing.T) int {
	if s := os.Getenv("ISOBAR_SOAK_OPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("ISOBAR_SOAK_OPS=%q: want a number of operations, 1 or more", s)
		}
		return n
	}
	switch {
	case soaking:
		return 1_000_000_000
	case testing.Short() || invariant.Race:
		return 200_000
	}
	return 2_000_000
}

// maxBacklog bounds the backlog that producers of an unbounded queue build up.
const maxBacklog = 1 << 16

// TestNothingLostNothingTwice moves values through each kind of queue, with producers and a consumer that stall at
// random. It checks that each value arrives exactly once and each producer's values in order. A value is producer<<40
// | sequence.
func TestNothingLostNothingTwice(t *testing.T) {
	total, until := stressOps(t), budgets(6*time.Minute)
	forEach(t, func(t *testing.T, v variant) {
		end := until()
		producers := 8
		if v.producers > 0 {
			producers = v.producers
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		q := v.make()
		const round = 1_000_000
		moved := 0
		for want := total / len(variants); moved < want && !over(end); {
			each := min(round, want-moved) / producers
			move(t, q, producers, max(1, each))
			moved += max(1, each) * producers
		}
		t.Logf("%d values", moved)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
			t.Errorf("%d bytes more in use when all is drained", kept)
		}
		runtime.KeepAlive(q)
	})
}

func move(t *testing.T, q fifo, producers, each int) {
	var wg sync.WaitGroup
	var drained atomic.Int64 // stored by the consumer; bounds the backlog
	for p := range producers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(p), 3))
			values := make([]uint64, 0, 40)
			for i := 0; i < each; {
				values = values[:0]
				for range min(1+rng.IntN(40)*rng.IntN(2), each-i) {
					values = append(values, uint64(p)<<40|uint64(i))
					i++
				}
				send(q, values, rng)
				for int64(i*producers)-drained.Load() > maxBacklog {
					runtime.Gosched() // the producer that is furthest behind never gets here
				}
			}
		})
	}
	next := make([]uint64, producers)
	rng := rand.New(rand.NewPCG(uint64(producers), 4))
	buf := make([]uint64, 256)
	for got := 0; got < producers*each; {
		n := receive(q, buf, rng)
		if n == 0 || rng.IntN(256) == 0 {
			runtime.Gosched()
		}
		for _, v := range buf[:n] {
			p := v >> 40
			if p >= uint64(producers) || v&(1<<40-1) != next[p] {
				t.Errorf("value %d of producer %d, want %d", v&(1<<40-1), p, next[min(p, uint64(producers-1))])
				os.Exit(1) // producers would wait forever
			}
			next[p]++
		}
		got += n
		drained.Store(int64(got))
	}
	wg.Wait()
	if v, ok := q.Pop(); ok || q.Len() != 0 {
		t.Errorf("Pop = %d, %v and Len = %d after all was drained", v, ok, q.Len())
	}
}

// send pushes the values one by one or as a batch, and sometimes stalls.
func send(q fifo, values []uint64, rng *rand.Rand) {
	for len(values) > 0 {
		n := 0
		if len(values) > 1 {
			n = q.PushBatch(values)
		} else if q.Push(values[0]) {
			n = 1
		}
		values = values[n:]
		if n == 0 || rng.IntN(512) == 0 {
			runtime.Gosched()
		}
	}
}

func receive(q fifo, buf []uint64, rng *rand.Rand) int {
	if rng.IntN(2) == 0 {
		return q.Drain(buf[:1+rng.IntN(len(buf))])
	}
	v, ok := q.Pop()
	if !ok {
		return 0
	}
	buf[0] = v
	return 1
}
