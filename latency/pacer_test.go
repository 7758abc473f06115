package latency

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// fakeClock advances by the cost of reading it, by the time slept plus
// oversleep, and by what operations add to it.
type fakeClock struct {
	at        time.Duration
	read      time.Duration
	oversleep func() time.Duration
	cancelAt  time.Duration // 0: never
	slept     time.Duration
}

func (c *fakeClock) now() time.Duration { c.at += c.read; return c.at }

func (c *fakeClock) sleep(d time.Duration) {
	if c.oversleep != nil {
		d += c.oversleep()
	}
	c.at += d
	c.slept += d
}

func (c *fakeClock) pause() {}

func (c *fakeClock) cancelled() bool { return c.cancelAt > 0 && c.at >= c.cancelAt }

func newPacer() *Pacer { return &Pacer{Response: NewRecorder(), Service: NewRecorder()} }

// This runs at full size: 100,000 operations a second for 10 s, one of which
// stalls for 50 ms.
func TestStallShowsInResponseTimeOnly(t *testing.T) {
	const count, stall = 1_000_000, 50 * time.Millisecond
	clock := &fakeClock{read: 200}
	p := newPacer()
	n := 0
	r := p.run(clock, Every(100_000, count), func() {
		clock.at += 2 * time.Microsecond
		if n++; n == count/2 {
			clock.at += stall
		}
	})
	if r.Due != count || r.Done != count || r.Backlog != 0 || n != count {
		t.Errorf("%+v of %d operations, %d ran", r, count, n)
	}
	response, service := p.Response.Snapshot(), p.Service.Snapshot()
	if response.Count() != count || service.Count() != count {
		t.Errorf("%d response and %d service times recorded", response.Count(), service.Count())
	}
	if got := response.Quantile(0.999); got < stall/2 || got > stall+stall/10 {
		t.Errorf("p99.9 of response time is %v: the stall of %v does not show", got, stall)
	}
	if got := service.Quantile(0.999); got > 3*time.Microsecond {
		t.Errorf("p99.9 of service time is %v: the stall shows", got)
	}
	if response.Max() < stall || service.Max() < stall || r.MaxLate < stall-20*time.Microsecond || r.MaxLate > stall {
		t.Errorf("longest response %v, service %v, lateness %v", response.Max(), service.Max(), r.MaxLate)
	}
	if want := int64(5000); r.MaxBacklog < want-want/100 || r.MaxBacklog > want {
		t.Errorf("largest backlog %d, want about %d", r.MaxBacklog, want)
	}
}

// This uses the system's clock, at the full rate for a shorter time. The
// assertions hold on a busy machine.
func TestPacerAccountsForAll(t *testing.T) {
	const rate = 100_000
	count := int64(rate)
	if testing.Short() {
		count /= 10
	}
	const stall = 50 * time.Millisecond
	p := newPacer()
	observed := NewRecorder()
	p.Observe = func(due, began, ended time.Duration) {
		if due > began || began > ended {
			t.Fatalf("due at %v, began at %v, ended at %v", due, began, ended)
		}
		observed.Record(ended - due)
	}
	n, before := int64(0), time.Now()
	r := p.Run(context.Background(), Every(rate, count), func() {
		if n++; n == count/2 {
			time.Sleep(stall)
		}
	})
	if r.Due != count || r.Done != count || r.Backlog != 0 || n != count {
		t.Errorf("%+v of %d operations, %d ran", r, count, n)
	}
	response, service := p.Response.Snapshot(), p.Service.Snapshot()
	if got := response.Quantile(0.999); got < stall/2 || got < service.Quantile(0.999) {
		t.Errorf("p99.9 of response time is %v, of service time %v: the stall of %v does not show", got, service.Quantile(0.999), stall)
	}
	if all := observed.Snapshot(); all.Count() != response.Count() || all.Mean() != response.Mean() || all.Max() != response.Max() {
		t.Errorf("observed %d operations, mean %v, longest %v; response times %d, %v, %v",
			all.Count(), all.Mean(), all.Max(), response.Count(), response.Mean(), response.Max())
	}
	if r.Start.Before(before) || time.Since(r.Start) < r.Elapsed {
		t.Errorf("started %v after the call", r.Start.Sub(before))
	}
	if r.Elapsed < Every(rate, count).(*every).last() {
		t.Errorf("the last operation ended %v after the start, before it was due", r.Elapsed)
	}
	t.Logf("%+v; response p50 %v p99.9 %v, service p50 %v p99.9 %v", r,
		response.Quantile(0.5), response.Quantile(0.999), service.Quantile(0.5), service.Quantile(0.999))
}

func (e *every) last() time.Duration {
	end := *e
	end.i = end.count - 1
	return end.due()
}

// times is a schedule given as a list.
type times []time.Duration

func (s *times) Next() (time.Duration, bool) {
	if len(*s) == 0 {
		return 0, false
	}
	due := (*s)[0]
	*s = (*s)[1:]
	return due, true
}

// TestPacerAgainstModel runs random schedules, operations, deadlines and
// cancellations against a simulation that knows all times.
func TestPacerAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		var s times
		due := time.Duration(0)
		for range 1 + random.IntN(6000) {
			due += time.Duration(random.ExpFloat64() * 1000)
			s = append(s, due)
		}
		p := Pacer{Response: NewRecorder()}
		clock := &fakeClock{read: 10}
		if random.IntN(2) == 0 {
			p.Deadline = 1 + time.Duration(random.Int64N(int64(due)+2))
		}
		if random.IntN(2) == 0 {
			clock.cancelAt = 1 + time.Duration(random.Int64N(int64(due)+2))
		}
		mean := 2000 * random.Float64()
		var began []time.Duration
		all := s
		r := p.run(clock, &s, func() {
			began = append(began, clock.at)
			clock.at += time.Duration(mean * random.ExpFloat64())
		})
		want, late := simulate(all, began, r.Due)
		if r.Done != int64(len(began)) || r.Due != r.Done+r.Backlog || r.MaxLate != late {
			t.Fatalf("seed %d: %+v; %d ran, at most %v late", seed, r, len(began), late)
		}
		if r.MaxBacklog > want || r.MaxBacklog < want-want/512 {
			t.Fatalf("seed %d: largest backlog %d, want %d", seed, r.MaxBacklog, want)
		}
		for i, at := range began {
			if at < all[i] || p.Deadline > 0 && at >= p.Deadline || clock.cancelAt > 0 && at >= clock.cancelAt {
				t.Fatalf("seed %d: operation %d, due at %v, began at %v, with deadline %v and the end at %v", seed, i, all[i], at, p.Deadline, clock.cancelAt)
			}
		}
		if r.Due < int64(len(all)) {
			due := all[r.Due]
			beyond := p.Deadline > 0 && due >= p.Deadline || clock.cancelAt > 0 && due >= clock.cancelAt
			if !beyond {
				t.Fatalf("seed %d: operation %d was due at %v, before the deadline %v and the end at %v, and is not counted", seed, r.Due, due, p.Deadline, clock.cancelAt)
			}
		}
	}
}

func simulate(due, began []time.Duration, counted int64) (backlog int64, late time.Duration) {
	j := int64(0)
	for i, at := range began {
		late = max(late, at-due[i])
		for j < counted && due[j] <= at {
			j++
		}
		backlog = max(backlog, j-int64(i)-1)
	}
	return max(backlog, counted-int64(len(began))), late
}

// Late sleeps make the margin grow, so operations still begin on time. With
// punctual sleeps, most of the waiting is asleep.
func TestMarginFollowsOversleep(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, most := range []time.Duration{time.Microsecond, 100 * time.Microsecond, 2 * time.Millisecond} {
		clock := &fakeClock{read: 50, oversleep: func() time.Duration { return most/2 + time.Duration(random.Int64N(int64(most/2))) }}
		p := newPacer()
		r := p.run(clock, Every(100, 1000), func() {})
		if got := p.Response.Snapshot().Quantile(0.9); got > most/10+time.Microsecond {
			t.Errorf("oversleep up to %v: p90 of lateness is %v", most, got)
		}
		if spent := r.Elapsed - clock.slept; spent > 1000*(2*most+time.Microsecond)+maxMargin*10 {
			t.Errorf("oversleep up to %v: %v of %v spent awake", most, spent, r.Elapsed)
		}
	}
}

func TestPacerStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := newPacer()
	n := 0
	r := p.Run(ctx, Every(1e6, math.MaxInt64), func() {
		if n++; n == 100 {
			cancel()
		}
	})
	if r.Done != 100 || r.Due != r.Done+r.Backlog {
		t.Errorf("%+v after a cancellation in operation 100", r)
	}
	// An operation an hour away does not delay the end.
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	s := times{time.Hour}
	if r := new(Pacer).Run(ctx, &s, func() { t.Error("ran") }); r != (Result{Start: r.Start}) {
		t.Errorf("%+v", r)
	}
}

func TestEveryIsExact(t *testing.T) {
	for _, rate := range []float64{1, 3, 7, 1000, 100_000, 1e9, 0.1, 1.0 / 3, 1500.5, 99_999.999, 123456.789, 1e-9, 1e-300, 5e-324, math.Pi * 1e8} {
		exact := new(big.Rat).SetFloat64(rate)
		for _, i := range []uint64{0, 1, 2, 3, 12345, 1e6, 1e9 + 7, 1 << 40, math.MaxInt64} {
			due := new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).Mul(new(big.Int).SetUint64(i), big.NewInt(1e9))), exact)
			want := int64(math.MaxInt64)
			if q := new(big.Int).Quo(due.Num(), due.Denom()); q.IsInt64() {
				want = q.Int64()
			}
			e := Every(rate, math.MaxInt64).(*every)
			e.i = i
			if got := e.due(); int64(got) != want {
				t.Errorf("rate %v: operation %d is due at %d, want %d", rate, i, got, want)
			}
		}
	}
}

func TestEveryCounts(t *testing.T) {
	for _, count := range []int64{0, 1, 1000} {
		s, n := Every(10, count), int64(0)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
			n++
		}
		if n != count {
			t.Errorf("%d operations of %d", n, count)
		}
	}
}

func TestEveryRefuses(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		count int64
	}{{0, 1}, {-1, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {2e9, 1}, {1, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Every(%v, %d) did not panic", c.rate, c.count)
				}
			}()
			Every(c.rate, c.count)
		}()
	}
}

func TestScheduleThatGoesBackIsRefused(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("checked in race and isobar_debug builds")
	}
	defer func() {
		if recover() == nil {
			t.Error("a schedule with decreasing due times was accepted")
		}
	}()
	s := times{2, 1}
	new(Pacer).run(&fakeClock{read: 1}, &s, func() {})
}
