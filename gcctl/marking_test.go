package gcctl

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleLeavesARunningCollectionAlone: while a collection of the runtime
// marks, Idle requests none. It would follow directly and repeat the work.
func TestIdleLeavesARunningCollectionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100*mb, 100*mb)
		f.perByte = 10e-9 // it marks for a second
		c := control(t, Config{Mode: Idle}, f)
		defer c.Close()
		asked, refused := 0, 0
		for range 2000 {
			time.Sleep(10 * time.Millisecond)
			f.mu.Lock()
			f.advance()
			marking, forced := f.marking, f.forced
			f.mu.Unlock()
			before, _, _ := f.collections()
			c.Idle(0)
			synctest.Wait()
			after, _, _ := f.collections()
			switch {
			case !marking:
				asked += after - before
			case !forced && after != before:
				t.Fatal("a collection was started while one of the runtime was marking")
			case !forced:
				refused++
			}
			if asked > 0 { // let the runtime start the next one
				time.Sleep(3 * time.Second)
			}
		}
		if asked == 0 || refused == 0 {
			t.Errorf("%d requests, %d refusals: want both above 0", asked, refused)
		}
	})
}

// TestPausesTellMarking: the pauses of the real runtime reveal whether a
// collection is running.
func TestPausesTellMarking(t *testing.T) {
	r, err := newRuntime()
	if err != nil {
		t.Fatal(err)
	}
	heap := list(1_000_000)
	defer runtime.KeepAlive(heap)
	var s sample
	over := func() int64 {
		r.read(&s)
		return int64(s.pauses) - 2*int64(s.cycles)
	}
	runtime.GC()
	normal := over()
	seen := 0
	for range 10 {
		done := make(chan struct{})
		go func() {
			runtime.GC()
			close(done)
		}()
		for running := true; running; {
			switch n := over(); {
			case n == normal+1:
				seen++
			case n < normal-1: // the runtime counts the collection before its last pause
				t.Fatalf("%d pauses less than two for each collection", normal-n)
			}
			select {
			case <-done:
				running = false
			default:
			}
		}
		n := over()
		if n < normal-1 || n > normal+1 { // the end may stop the world once more
			t.Fatalf("%d pauses more than before after a collection", n-normal)
		}
		normal = max(normal, n)
	}
	if seen == 0 {
		t.Error("never seen marking in 10 collections")
	}
}

// TestBrakes: while a collection is marking that has passed its goal, or that began in a
// filling heap and may not end within the budget, the runtime's limit is so low that its
// goal is below the heap. Afterwards the limit is restored.
func TestBrakes(t *testing.T) {
	const budget = 600 * mb
	for name, test := range map[string]struct {
		mode       Mode
		heap, goal int64
		filling    bool
		want       bool
	}{
		"within":              {Adaptive, 300 * mb, 340 * mb, false, false},
		"passed its goal":     {Adaptive, 341 * mb, 340 * mb, false, true},
		"far from the budget": {Adaptive, 201 * mb, 200 * mb, false, false},
		"may end within":      {Adaptive, 200 * mb, 340 * mb, true, false},
		"may pass the budget": {Adaptive, 330 * mb, 340 * mb, true, true},
		"not ours to set":     {Percent(300), 341 * mb, 340 * mb, false, false},
	} {
		l := loop{budget: budget, law: law{budget: budget}, filling: test.filling, marking: true, st: lawState{percent: 300}}
		l.adopted.mode = test.mode
		l.s = sample{heap: test.heap, live: 80 * mb, goal: test.goal, total: test.heap + 15*mb}
		last := l.s
		before := l.desired()
		l.brake(&last, true)
		during := l.desired()
		if got := during.limit < before.limit; got != test.want {
			t.Errorf("%s: limit %d MB, before %d", name, during.limit/mb, before.limit/mb)
		}
		goal := during.limit - 15*mb - max(0, l.s.memory()-during.limit) // as mgcpacer.go has it
		if test.want && float64(goal)*policy.overrun >= float64(test.heap) {
			t.Errorf("%s: a goal of %d MB leaves room above a heap of %d", name, goal/mb, test.heap/mb)
		}
		l.marking = false
		if l.brake(&last, true); l.desired() != before {
			t.Errorf("%s: %+v after the collection, want %+v", name, l.desired(), before)
		}
	}
}

// TestBrakesNextCollection: a collection that begins at once, after one under the brake or
// for another reason, gets a tenth above the live heap, and no more.
func TestBrakesNextCollection(t *testing.T) {
	for name, test := range map[string]struct {
		stopped, marking bool
		heap, live       int64
		want             bool
	}{
		"not seen yet":              {true, false, 400 * mb, 400 * mb, true},
		"seen":                      {true, true, 410 * mb, 400 * mb, true},
		"without a brake":           {false, true, 410 * mb, 400 * mb, true},
		"none":                      {false, false, 400 * mb, 400 * mb, false},
		"far from the budget":       {true, true, 110 * mb, 100 * mb, false},
		"began when it had to":      {false, true, 450 * mb, 400 * mb, false},
		"after one under the brake": {true, true, 450 * mb, 400 * mb, true},
	} {
		l := loop{budget: 600 * mb, stopped: test.stopped, marking: test.marking, st: lawState{percent: 30}}
		l.adopted.mode = Adaptive
		last := sample{cycles: 7, heap: test.heap, live: test.live, goal: 520 * mb}
		l.s = last
		if test.stopped || test.heap == 410*mb { // it has ended since the last look
			last.cycles--
		}
		calm := l.desired().limit
		l.brake(&last, test.stopped)
		if got := l.desired().limit < calm; got != test.want {
			t.Errorf("%s: limit %d MB, want it lower: %v", name, l.desired().limit/mb, test.want)
		}
		if tenth := int64(policy.overrun * float64(test.live)); test.want && l.desired().limit != tenth {
			t.Errorf("%s: limit %d MB, want %d", name, l.desired().limit/mb, tenth/mb)
		}
	}
}

// TestMarkingSurvivesAHigherGoal: a collection that began under a low limit is
// seen after that limit has been lifted.
func TestMarkingSurvivesAHigherGoal(t *testing.T) {
	l := loop{lowest: 400 * mb}
	l.s = sample{cycles: 15, pauses: 31, heap: 405 * mb, live: 400 * mb, goal: 480 * mb}
	if l.watchMarking(); !l.marking {
		t.Error("taken for a pause that belongs to no collection")
	}
}

// A request to collect that arrives while the controller decides is left for its next turn.
func TestIdleWhileDeciding(t *testing.T) {
	l := &loop{c: &Controller{}}
	l.c.mu.Lock()
	decided := make(chan bool)
	go func() {
		l.decide() // it looks for a request, then waits for mu
		close(decided)
	}()
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte(".forcing(")); {
		runtime.Gosched()
	}
	l.c.idle.asked.Store(true) // as Idle does, which then wakes the controller
	l.c.mu.Unlock()
	<-decided
	if !l.c.idle.asked.Load() {
		t.Error("the request is lost")
	}
}

// TestFilling: a heap is filling if more is live than in recent collections, not if that
// varies between collections.
func TestFilling(t *testing.T) {
	for name, test := range map[string]struct {
		largest float64
		before  int64
		live    int64
		want    bool
	}{
		"the first collection": {0, 50 * mb, 300 * mb, true},
		"a jump":               {60 * mb, 50 * mb, 300 * mb, true},
		"as large as of late":  {470 * mb, 420 * mb, 475 * mb, false},
		"beyond that":          {470 * mb, 420 * mb, 515 * mb, true},
		"the same":             {420 * mb, 420 * mb, 420 * mb, false},
	} {
		l := loop{budget: 600 * mb, law: law{target: 0.07, budget: 600 * mb}, st: lawState{percent: 100, live: test.largest}}
		l.adopted.mode = Adaptive
		l.last.live, l.s.live = test.before, test.live
		if l.cyclesEnded(1); l.filling != test.want {
			t.Errorf("%s: filling %v", name, l.filling)
		}
	}
}
