package gcctl

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// inForce returns the settings of this process.
func inForce() settings {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	return settings{int(int32(s[0].Value.Uint64())), int64(s[1].Value.Uint64())}
}

// eventually waits for a condition that soon becomes true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func begin(t *testing.T, cfg Config) *Controller {
	t.Helper()
	c, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRefusals(t *testing.T) {
	found := inForce()
	ballast := make([]*[1 << 20]byte, 40)
	for i := range ballast {
		ballast[i] = new([1 << 20]byte)
	}
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"negative percent":    {Config{Mode: Percent(-5)}, "percent -5 is out of range"},
		"percent 0":           {Config{Mode: Percent(0)}, "percent 0 is out of range"},
		"huge percent":        {Config{Mode: Percent(math.MaxInt32)}, "out of range"},
		"negative limit":      {Config{LimitBytes: -1}, "LimitBytes -1 is negative"},
		"limit below heap":    {Config{LimitBytes: 20 << 20}, "limit 20971520 is below"},
		"target over 1":       {Config{TargetCPU: 2}, "TargetCPU 2"},
		"target not a number": {Config{TargetCPU: math.NaN()}, "TargetCPU NaN"},
		"negative section":    {Config{MaxSection: -1}, "MaxSection -1ns"},
		"negative interval":   {Config{Interval: -1}, "Interval -1ns"},
	} {
		if c, err := Start(test.cfg); err == nil || !strings.HasPrefix(err.Error(), "gcctl: Start: ") ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
			if c != nil {
				c.Close()
			}
		}
	}
	runtime.KeepAlive(ballast)

	c := begin(t, Config{})
	if _, err := Start(Config{}); !errors.Is(err, ErrRunning) {
		t.Errorf("second controller: %v", err)
	}
	if err := c.SetMode(Percent(-1)); err == nil || !strings.Contains(err.Error(), "gcctl: SetMode: percent -1") {
		t.Error(err)
	}
	s := c.Pause()
	s.End()
	mustPanic(t, "already ended", s.End)
	mustPanic(t, "zero Section", Section{}.End)
	again := c.Pause() // reuses the slot of the one above
	mustPanic(t, "already ended", s.End)
	again.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Force(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if err := c.SetMode(Hybrid); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if now := inForce(); now != found {
		t.Errorf("settings %+v, found %+v", now, found)
	}
}

// TestStartFindsWork starts with a collection due at once; without a collector
// goroutine Start would not return.
func TestStartFindsWork(t *testing.T) {
	c, err := Start(Config{Mode: Hybrid, Interval: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for c.Stats().Scheduled == 0 {
		time.Sleep(time.Millisecond) // the test binary's timeout is the limit
	}
}

func TestOffNeedsABudget(t *testing.T) {
	_, err := start(Config{Mode: Off, MaxSection: time.Second}, newFake(mb, mb), noLimit)
	if !errors.Is(err, errUnlimited) {
		t.Error(err)
	}
	c := control(t, Config{}, newFake(mb, mb))
	defer c.Close()
	if err := c.SetMode(Off); !errors.Is(err, errUnlimited) {
		t.Error(err)
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Default, Off, Hybrid, Idle, Adaptive, Percent(1), Percent(200)} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	for _, s := range []string{"", "percent", "percent=", "percent=x", "percent=0", "percent=-1", "percent=9999999",
		"OFF"} {
		if m, err := ParseMode(s); err == nil || !strings.HasPrefix(err.Error(), "gcctl: ParseMode: ") {
			t.Errorf("%q: %v, %v", s, m, err)
		}
	}
}

func TestDuringEndsHoweverFEnds(t *testing.T) {
	found := inForce()
	c := begin(t, Config{Mode: Hybrid, LimitBytes: 1 << 30})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c.During(func() { c.During(func() {}) })
		})
		wg.Go(func() {
			defer func() { _ = recover() }()
			c.During(func() { c.During(func() { panic("injected") }) })
		})
		wg.Go(func() {
			c.During(func() { c.During(runtime.Goexit) })
		})
	}
	wg.Wait()
	if n := c.gate.state.Load() & countMask; n != 0 {
		t.Errorf("%d sections are open", n)
	}
	if in := inForce(); in.percent != -1 || in.limit != 1<<30 {
		t.Errorf("hybrid: %+v", in)
	}
	c.Close()
	if now := inForce(); now != found {
		t.Errorf("settings %+v, found %+v", now, found)
	}
}

func TestManySections(t *testing.T) {
	c := begin(t, Config{Mode: Hybrid, LimitBytes: 1 << 30, MaxSection: time.Hour})
	sections := make([]Section, 10_000)
	for i := range sections {
		sections[i] = c.Pause()
	}
	if n := c.Stats().Open; n != len(sections) {
		t.Errorf("%d open", n)
	}
	rand.Shuffle(len(sections), func(i, j int) { sections[i], sections[j] = sections[j], sections[i] })
	for _, s := range sections {
		s.End()
	}
	if n := c.Stats().Open; n != 0 {
		t.Errorf("%d open", n)
	}
	eventually(t, "all are counted", func() bool { return c.Stats().Begun == 10_000 })
}

// TestStorm makes random calls from eight goroutines, including panics;
// MaxSection is short, so the watchdog cuts all the time.
func TestStorm(t *testing.T) {
	calls := 1_000_000
	if testing.Short() || invariant.Race {
		calls /= 20
	}
	found := inForce()
	const limit = 1 << 30
	c := begin(t, Config{LimitBytes: limit, MaxSection: time.Millisecond, OnEvent: func(Event) {}})
	modes := []Mode{Default, Off, Hybrid, Idle, Adaptive, Percent(50), Percent(400)}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var open []Section
			for range calls / 8 {
				stormCall(t, c, rng, &open, modes)
			}
			for _, s := range open {
				s.End()
			}
		})
	}
	wg.Wait()
	// The watchdog counts a section as cut just before it knows that it is.
	eventually(t, "no section is open", func() bool { return c.Stats().Open == 0 })
	st := c.Stats()
	for _, m := range append(modes, Percent(123)) {
		if err := c.SetMode(m); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the last mode is in force", func() bool { return inForce() == settings{123, limit} })
	c.Close()
	if now := inForce(); now != found {
		t.Errorf("settings %+v, found %+v", now, found)
	}
	t.Logf("%d begun, %d cut, %d forced, %d mode changes", st.Begun, st.Cut, st.Forced, st.ModeChanges)
}

func stormCall(t *testing.T, c *Controller, rng *rand.Rand, open *[]Section, modes []Mode) {
	switch n := rng.IntN(1000); {
	case n < 400 && len(*open) < 50:
		*open = append(*open, c.Pause())
	case n < 800:
		if k := len(*open); k > 0 {
			i := rng.IntN(k)
			(*open)[i].End()
			*open = slices.Delete(*open, i, i+1)
		}
	case n < 850:
		c.During(func() {})
	case n < 900:
		func() {
			defer func() { _ = recover() }()
			c.During(func() { panic("injected") })
		}()
	case n < 950:
		c.Idle(time.Duration(rng.IntN(1e6)))
	case n < 990:
		if err := c.SetMode(modes[rng.IntN(len(modes))]); err != nil {
			t.Error(err)
		}
	case n < 995:
		c.Fallback()
	case n < 998:
		_ = c.Stats()
	default:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(2e6)))
		if err := c.Force(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}

func TestNoAllocations(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	for _, mode := range []Mode{Default, Hybrid, Idle} {
		c := begin(t, Config{Mode: mode, LimitBytes: 1 << 30})
		c.Pause().End()
		if n := testing.AllocsPerRun(1000, func() { c.Pause().End() }); n != 0 {
			t.Errorf("%v: Pause and End allocate %v times", mode, n)
		}
		if n := testing.AllocsPerRun(1000, func() { c.Idle(time.Nanosecond) }); n != 0 {
			t.Errorf("%v: Idle allocates %v times", mode, n)
		}
		c.Close()
	}
}

type node struct {
	next *node
	_    [6]uint64
}

func list(n int) *node {
	var head *node
	for range n {
		head = &node{next: head}
	}
	return head
}

// TestLimitHoldsOff: in Off, garbage far beyond the limit does not exceed it.
func TestLimitHoldsOff(t *testing.T) {
	c := begin(t, Config{Mode: Off, LimitBytes: 100 << 20, MaxSection: time.Hour})
	var s sample
	c.During(func() {
		r, err := newRuntime()
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			sink = list(100_000) // 5.6 MB
			r.read(&s)
			if s.memory() > 110<<20 {
				t.Fatalf("%d MB under a limit of 100", s.memory()>>20)
			}
		}
	})
	if s.cycles == 0 || c.Stats().Percent != -1 {
		t.Errorf("%d collections, stats %+v", s.cycles, c.Stats())
	}
}

var sink *node

// TestPauseDoesNotWaitForMarking: Pause does not wait for a running mark phase;
// SetGCPercent(-1) does.
func TestPauseDoesNotWaitForMarking(t *testing.T) {
	r, err := newRuntime()
	if err != nil {
		t.Fatal(err)
	}
	heap := list(1_000_000)
	defer runtime.KeepAlive(heap)
	found := debug.SetGCPercent(100)
	defer debug.SetGCPercent(found)
	// marking calls f while a collection marks. It reports whether it could, and
	// whether that collection went on when f had returned.
	marking := func(f func()) (called, goesOn bool) {
		var s sample
		runtime.ReadMemStats(new(runtime.MemStats)) // waits until the last pause of the collection before is counted
		r.read(&s)
		before := s
		done := make(chan struct{})
		go func() { runtime.GC(); close(done) }()
		for s.pauses == before.pauses && s.cycles == before.cycles { // until the world has stopped for its start
			r.read(&s)
		}
		if called = s.cycles == before.cycles; called {
			f()
			r.read(&s)
			goesOn = s.cycles == before.cycles
		}
		<-done
		return called, goesOn
	}
	waited, went := 0, 0
	for range 100 { // until each was seen: the machine may hold up any of them
		called, goesOn := marking(func() { debug.SetGCPercent(-1) })
		debug.SetGCPercent(100)
		switch {
		case goesOn:
			t.Fatal("SetGCPercent(-1) returned while a collection was marking")
		case called:
			waited++
		}
		c := begin(t, Config{})
		var s Section
		if called, goesOn = marking(func() { s = c.Pause() }); called {
			s.End()
		}
		c.Close()
		if goesOn {
			went++
		}
		if waited > 0 && went > 0 {
			return
		}
	}
	t.Errorf("%d calls of SetGCPercent waited for marking, and %d of Pause did not: want both above 0", waited, went)
}

func TestFallbackSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot signal itself")
	}
	found := inForce()
	c := begin(t, Config{Mode: Percent(321), FallbackSignals: []os.Signal{syscall.SIGHUP}})
	if in := inForce(); in.percent != 321 {
		t.Fatalf("GOGC %d", in.percent)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fallback", func() bool { return c.Stats().Fallback && inForce().percent == found.percent })
}

func TestLeastLimit(t *testing.T) {
	if got := leastLimit(math.MaxInt64, 1000); got != 900 {
		t.Error(got)
	}
	if got := leastLimit(800, 1000); got != 800 {
		t.Error(got)
	}
	if got := leastLimit(math.MaxInt64, 0); got != 0 {
		t.Error(got)
	}
}
