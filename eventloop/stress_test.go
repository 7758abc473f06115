package eventloop

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

type numbered struct {
	producer, i int
	next        []int // by producer
	tb          testing.TB
}

func (n numbered) Run() {
	if n.next[n.producer] != n.i {
		n.tb.Errorf("producer %d: task %d ran when %d was due", n.producer, n.i, n.next[n.producer])
	}
	n.next[n.producer] = n.i + 1
	stall(uint64(n.i))
}

// stall holds up about one caller in a thousand.
func stall(i uint64) {
	switch i % 1021 {
	case 17:
		runtime.Gosched()
	case 500:
		if i%7 == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// Each task runs exactly once and in its producer's order, with stalls on both
// sides and collections in between.
func TestStress(t *testing.T) {
	const producers = 8
	each := 100_000
	switch {
	case os.Getenv("ISOBAR_SOAK") != "":
		each = 1_000_000_000 / producers / len(ways)
	case testing.Short() || invariant.Race:
		each = 10_000
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			next := make([]int, producers)
			l := newLoop(Config{}, way.make())
			startLoop(t, l)
			var wg sync.WaitGroup
			for p := range producers {
				to := way.to(l)
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(p), 1))
					for i := 0; i < each; {
						n := 1
						if r.IntN(100) == 0 {
							n = min(1+r.IntN(200), each-i)
							batch := make([]Task, n)
							for j := range batch {
								batch[j] = numbered{producer: p, i: i + j, next: next, tb: t}
							}
							if err := to.SubmitBatch(batch); err != nil {
								t.Error(err)
							}
						} else if err := to.SubmitTask(numbered{producer: p, i: i, next: next, tb: t}); err != nil {
							t.Error(err)
						}
						i += n
						stall(r.Uint64())
						if p == 0 && r.IntN(5000) == 0 {
							runtime.GC()
						}
						for i&1023 == 0 && l.Stats().Queued > 1<<20 {
							runtime.Gosched()
						}
					}
				})
			}
			wg.Wait()
			if err := l.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			for p, n := range next {
				if n != each {
					t.Errorf("producer %d: %d of %d tasks ran", p, n, each)
				}
			}
		})
	}
}
