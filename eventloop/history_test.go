package eventloop

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// An attempt is a submission, or Shutdown, between two readings of a clock that
// all goroutines share.
type attempt struct {
	call, ret int64
	lane      int // submissions on the same lane are ordered
	accepted  bool
	ran       int64 // its position among all tasks that ran, from 1; 0 if it did not run
}

// explain says why a history cannot be that of a queue that is closed once, or
// returns "" if it can. Every accepted task runs once; tasks of a lane run in
// an order in which they can have been submitted; and some instant during
// Shutdown lies before the end of every refusal and after the start of every
// acceptance.
func explain(history []attempt, shutdown attempt) string {
	firstRefusal, lastAccept := shutdown.ret, shutdown.call
	byLane := map[int][]attempt{}
	for _, e := range history {
		switch {
		case e.accepted != (e.ran != 0):
			return "accepted and not run, or run and refused"
		case e.accepted:
			lastAccept = max(lastAccept, e.call)
			byLane[e.lane] = append(byLane[e.lane], e)
		default:
			firstRefusal = min(firstRefusal, e.ret)
		}
	}
	if firstRefusal < lastAccept {
		return "accepted after a refusal or after Shutdown, or refused before Shutdown"
	}
	for _, events := range byLane {
		slices.SortFunc(events, func(a, b attempt) int { return int(a.ran - b.ran) })
		begun := int64(0) // the latest call among those that ran before
		for _, e := range events {
			if e.ret < begun {
				return "run after one that was submitted after it had returned"
			}
			begun = max(begun, e.call)
		}
	}
	return ""
}

// record runs producers against a loop that is shut down meanwhile.
func record(t *testing.T, make func() submitter, to func(submitter, int) func(f func()) error, lanes func(int) int, pause int) ([]attempt, attempt) {
	const producers, each = 4, 40
	l := make()
	var clock, ran atomic.Int64
	histories := [producers][each]attempt{}
	ended := newError()
	go func() { ended <- l.Run(context.Background()) }()
	var wg sync.WaitGroup
	for p := range producers {
		submit := to(l, p)
		wg.Go(func() {
			for i := range each {
				e := &histories[p][i]
				e.lane = lanes(p)
				e.call = clock.Add(1)
				e.accepted = submit(func() { e.ran = ran.Add(1) }) == nil
				e.ret = clock.Add(1)
				if i%3 == p%3 {
					runtime.Gosched()
				}
			}
		})
	}
	for range pause {
		runtime.Gosched()
	}
	down := attempt{call: clock.Add(1)}
	if err := l.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	down.ret = clock.Add(1)
	wg.Wait()
	<-ended
	var all []attempt
	for p := range histories {
		all = append(all, histories[p][:]...)
	}
	return all, down
}

// TestSubmitAndShutdownAreLinearizable checks many rounds for each way into the
// loop. It also checks that explain finds the fault of a loop that first asks
// whether it is open.
func TestSubmitAndShutdownAreLinearizable(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			lanes := func(int) int { return 0 }
			if way.name == "handles" {
				lanes = func(p int) int { return p }
			}
			both := 0 // rounds with an acceptance and a refusal
			for round := range rounds {
				history, down := record(t,
					func() submitter { return newLoop(Config{}, way.make()) },
					func(l submitter, _ int) func(func()) error { return way.to(l.(*Loop)).Submit },
					lanes, round%30)
				if why := explain(history, down); why != "" {
					t.Fatalf("round %d: %s\n%+v\n%+v", round, why, down, history)
				}
				accepted := func(e attempt) bool { return e.accepted }
				refused := func(e attempt) bool { return !e.accepted }
				if slices.ContainsFunc(history, accepted) && slices.ContainsFunc(history, refused) {
					both++
				}
			}
			if t.Logf("%d of %d rounds", both, rounds); both < rounds/10 {
				t.Errorf("Shutdown overlapped submissions in %d of %d rounds", both, rounds)
			}
		})
	}
	t.Run("fault=asks first", func(t *testing.T) {
		for round := range 50 * rounds {
			history, down := record(t,
				func() submitter {
					l := &checkFirst{in: newIngress(), done: newSignal()}
					var held atomic.Bool
					l.pause = func() { // one submission waits between the two steps until the loop has ended
						if held.CompareAndSwap(false, true) {
							<-l.done
						}
					}
					return l
				},
				func(l submitter, _ int) func(func()) error { return l.Submit },
				func(int) int { return 0 }, round%30)
			if explain(history, down) != "" {
				return
			}
		}
		t.Error("no round shows the fault")
	})
}

func TestExplain(t *testing.T) {
	down := attempt{call: 10, ret: 20}
	for name, tc := range map[string]struct {
		history []attempt
		ok      bool
	}{
		"nothing":                   {nil, true},
		"fine":                      {[]attempt{{1, 2, 0, true, 1}, {11, 14, 0, true, 2}, {12, 13, 0, false, 0}, {21, 22, 0, false, 0}}, true},
		"lost":                      {[]attempt{{1, 2, 0, true, 0}}, false},
		"run though refused":        {[]attempt{{11, 12, 0, false, 1}}, false},
		"refused before":            {[]attempt{{1, 2, 0, false, 0}}, false},
		"accepted after":            {[]attempt{{21, 22, 0, true, 1}}, false},
		"accepted after a refusal":  {[]attempt{{11, 12, 0, false, 0}, {13, 14, 1, true, 1}}, false},
		"at the same time":          {[]attempt{{11, 14, 0, false, 0}, {13, 16, 1, true, 1}}, true},
		"out of order":              {[]attempt{{1, 2, 0, true, 2}, {3, 4, 0, true, 1}}, false},
		"out of order, other lanes": {[]attempt{{1, 2, 0, true, 2}, {3, 4, 1, true, 1}}, true},
	} {
		if why := explain(tc.history, down); (why == "") != tc.ok {
			t.Errorf("%s: %q", name, why)
		}
	}
}
