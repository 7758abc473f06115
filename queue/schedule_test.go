package queue

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func randomBytes(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// A scheduler runs threads one at a time and chooses at every step which one continues, so
// a seed determines one interleaving of atomic steps. Steps are the calls of yield: between
// operations, made by the test, and inside operations if invariant.Enabled.
type scheduler struct {
	choose  func(n int) int // returns a number in [0, n)
	limit   int             // end the threads after this many steps; 0 means no limit
	wake    []chan struct{} // by thread; the one that receives runs
	running int
	live    []int         // threads that have not ended
	yielded chan struct{} // the running thread stopped or ended
	expired bool          // threads end at their next step
}

// run runs the threads to their ends and reports whether they finished within
// the limit.
func (s *scheduler) run(threads []func()) bool {
	s.yielded = make(chan struct{})
	s.wake = make([]chan struct{}, len(threads))
	ended := make([]bool, len(threads))
	for i, body := range threads {
		s.wake[i] = make(chan struct{})
		s.live = append(s.live, i)
		go func() {
			defer func() {
				ended[i] = true
				s.yielded <- struct{}{}
			}()
			<-s.wake[i]
			body()
		}()
	}
	for steps := 1; len(s.live) > 0; steps++ {
		s.expired = steps == s.limit || s.expired
		at := s.choose(len(s.live))
		s.running = s.live[at]
		s.wake[s.running] <- struct{}{}
		<-s.yielded
		if ended[s.running] {
			s.live = append(s.live[:at], s.live[at+1:]...)
		}
	}
	return !s.expired
}

// yield stops the running thread until it is chosen again.
func (s *scheduler) yield() {
	me := s.running
	s.yielded <- struct{}{}
	<-s.wake[me]
	if s.expired {
		runtime.Goexit()
	}
}

// An episode is a few short scripts against one queue, and a schedule.
type episode struct {
	variant
	rng    *rand.Rand
	choose func(n int) int
	limit  int
}

// run runs the episode under the scheduler and returns what each thread did,
// and whether all ended within the limit.
func (e episode) run() (history [][]op, ended bool) {
	producers := 1
	if e.producers != 1 {
		producers = 2 + e.rng.IntN(2)
	}
	q := e.make()
	s := &scheduler{choose: e.choose, limit: e.limit}
	idle := yield
	yield = s.yield
	history = make([][]op, producers+1)
	threads := make([]func(), producers+1)
	clock, value := 0, uint64(0)
	record := func(thread int, o op, do func(*op)) {
		s.yield()
		clock++
		o.call = clock
		do(&o)
		clock++
		o.ret = clock
		history[thread] = append(history[thread], o)
	}
	if c, ok := q.(closer); ok && e.rng.IntN(2) == 0 {
		after := e.rng.IntN(30)
		history = append(history, nil)
		threads = append(threads, func() {
			for range after {
				s.yield()
			}
			record(producers+1, op{end: true}, func(o *op) { o.done = int(c.Close()) })
		})
	}
	for p := range producers {
		var batches []int
		for range 2 + e.rng.IntN(3) {
			batches = append(batches, max(1, e.rng.IntN(6)-2))
		}
		threads[p] = func() {
			for _, n := range batches {
				values := make([]uint64, n)
				for i := range values {
					value++
					values[i] = value
				}
				record(p, op{push: true, values: values}, func(o *op) {
					if n == 1 {
						o.done = n
						if !q.Push(values[0]) {
							o.done = 0
						}
					} else {
						o.done = q.PushBatch(values)
					}
				})
			}
		}
	}
	var wants []int
	for range 4 + e.rng.IntN(8) {
		wants = append(wants, max(1, e.rng.IntN(7)-3))
	}
	threads[producers] = func() {
		for _, n := range wants {
			record(producers, op{}, func(o *op) {
				if n == 1 {
					if v, ok := q.Pop(); ok {
						o.values = []uint64{v}
					}
				} else {
					buf := make([]uint64, n)
					o.values = buf[:q.Drain(buf)]
				}
			})
		}
	}
	ended = s.run(threads)
	yield = idle
	if !ended {
		return history, false
	}
	// Drain the rest when all threads have ended.
	buf := make([]uint64, 64)
	o := op{call: clock + 1, ret: clock + 2, rest: true}
	for n := q.Drain(buf); n > 0 && len(o.values) < 1000; n = q.Drain(buf) {
		o.values = append(o.values, buf[:n]...)
	}
	history[producers] = append(history[producers], o)
	return history, true
}

// biased prefers to repeat a choice for a while: reclamation breaks when a
// thread is delayed for long in the middle of an operation.
func biased(rng *rand.Rand) func(n int) int {
	stay, last := rng.IntN(8), 0
	return func(n int) int {
		if last >= n || rng.IntN(8) >= stay {
			last = rng.IntN(n)
		}
		return last
	}
}

func (v variant) episode(seed uint64) episode {
	rng := rand.New(rand.NewPCG(seed, 2))
	return episode{variant: v, rng: rng, choose: biased(rng)}
}

func TestLinearizable(t *testing.T) {
	episodes := uint64(3000)
	switch {
	case soaking:
		episodes = 20_000
		if invariant.Enabled {
			episodes = 1 << 62 // as many as time allows
		}
	case invariant.Race || testing.Short():
		episodes = 800
	}
	until := budgets(3 * time.Minute)
	forEach(t, func(t *testing.T, v variant) {
		end := until()
		for seed := range episodes {
			if over(end) {
				t.Logf("%d episodes", seed)
				return
			}
			e := v.episode(seed)
			if history, _ := e.run(); !linearizable(v, history) {
				t.Fatalf("seed %d: not linearizable:\n%s", seed, format(history))
			}
		}
	})
}

func FuzzLinearizable(f *testing.F) {
	f.Add(byte(0), uint64(1), []byte{1, 2, 3, 0, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, which byte, seed uint64, schedule []byte) {
		v := variants[int(which)%len(variants)]
		e := v.episode(seed)
		e.choose = func(n int) int {
			if len(schedule) == 0 {
				return 0
			}
			b := schedule[0]
			schedule = schedule[1:]
			return int(b) % n
		}
		if history, _ := e.run(); !linearizable(v, history) {
			t.Fatalf("not linearizable:\n%s", format(history))
		}
	})
}
