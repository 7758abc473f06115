package attach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/tune"
)

// fake is a server under steady load. Collection costs 40 % of the work at GOGC=100, in
// proportion to 1/GOGC; a limit costs as much as the GOGC that reaches it.
type fake struct {
	found, now cell.GC
	at         time.Time
	state      State
	rng        *rand.Rand
	idle       bool
	refuse     func(cell.GC) bool
	noise      float64 // of this block
	other      int     // GOGC that somebody else sets, 0 for none
	restored   int
	fails      error
	settle     time.Duration
	until      time.Time // when it returns to found by itself
	rarely     bool      // collections are rare
	stuck      bool      // Restore does nothing
	lost       error     // returned by Restore
	// The machine stands still for this long at the fourth look after each Apply.
	still time.Duration
	looks int
	slow  time.Duration // Apply takes this long
	extra int64         // resident bytes that no limit bounds
}

const live = 100 << 20

func newFake() *fake {
	f := &fake{found: cell.GC{Percent: 100}, rng: rand.New(rand.NewPCG(1, 2)), at: time.Now(),
		settle: 50 * time.Millisecond, extra: 20 * mib}
	f.now, f.state = f.found, State{PID: 7, LiveBytes: live}
	return f
}

// heap is the goal at a setting, in bytes.
func heap(gc cell.GC) float64 {
	goal := live * (1 + float64(gc.Percent)/100)
	if gc.Percent < 0 {
		goal = 1e18
	}
	if gc.LimitBytes > 0 {
		goal = min(goal, float64(gc.LimitBytes))
	}
	return goal
}

func (f *fake) advance() {
	d := time.Since(f.at).Seconds()
	if f.at = time.Now(); f.at.After(f.until) {
		f.now = f.found
	}
	if f.idle {
		return
	}
	room := heap(f.now)/live - 1 // GOGC as a share
	f.state.CPU += d * (1 + 0.4/room) * f.noise
	f.state.AllocatedBytes += int64(d * (1 << 30))
	if f.state.Cycles == 0 || !f.rarely {
		f.state.Cycles += int64(d*10/room) + 1
	}
	f.state.ResidentBytes = int64(heap(f.now)) + f.extra
	f.state.MappedBytes, f.state.HeapBytes = int64(heap(f.now)), int64(heap(f.now))
}

func (f *fake) Look(context.Context) (State, error) {
	if f.looks++; f.still > 0 && f.looks == 4 {
		time.Sleep(f.still)
		f.at = time.Now()
	} else {
		f.advance()
	}
	s := f.state
	s.At, s.GC, s.Found = f.at, f.now, f.found
	if f.other != 0 && f.now != f.found {
		s.GC.Percent = f.other
	}
	return s, f.fails
}

func (f *fake) Apply(_ context.Context, gc cell.GC, hold time.Duration) error {
	time.Sleep(f.slow)
	f.advance()
	if f.refuse != nil && f.refuse(gc) {
		return fmt.Errorf("%w by the server", ErrRefused)
	}
	if hold <= 0 {
		return errors.New("held for no time")
	}
	f.now, f.noise, f.until, f.looks = gc, 1+0.01*f.rng.NormFloat64(), time.Now().Add(hold), 0
	return nil
}

func (f *fake) Restore(ctx context.Context) error {
	f.restored++
	if f.stuck || f.lost != nil {
		return f.lost
	}
	f.now = f.found
	return ctx.Err()
}

func (f *fake) Settle() (least, most time.Duration) { return f.settle, time.Minute }

func TestRunFindsWhatIsBest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a, err := Run(t.Context(), Config{Server: f, Budget: 3 * time.Minute, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		// Today 220 MiB at 1.4 s of CPU per GiB; within 440 MiB a limit of about 420
		// costs 1.13.
		best := a.Setting.GC
		if a.Outcome != tune.Recommended || best.Percent > 0 && best.Percent < 400 ||
			best.LimitBytes < 380*mib || best.LimitBytes > 440*mib {
			t.Errorf("%s: %v: %s", a.Outcome, best, a.Reason)
		}
		if c := a.Choices[0]; c.Name != tune.Fastest || c.CPU.Mid < 0.75 || c.CPU.Mid > 0.85 || c.Memory.Mid > 2.02 {
			t.Errorf("%+v", c)
		}
		if f.restored != 1 || f.now != f.found || a.Unit != "GiB allocated" {
			t.Errorf("restored %d times, now %v, unit %q", f.restored, f.now, a.Unit)
		}
		if a.Seconds > 190 || a.Seconds < 100 {
			t.Errorf("took %v s of a budget of 180", a.Seconds)
		}
		var b strings.Builder
		a.Today.LiveBytes = 683 << 10
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" GOMEMLIMIT=420MiB: ", "less CPU time", "CPU time is per GiB allocated",
			"today GOGC=100, 220 MiB resident, 683 KiB live", "restored; what larger heaps left resident falls", "proven in 6", a.Headline} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, &b)
			}
		}
	})
}

// TestJudgeNamesWhatIsSaved: a choice that saves memory but may cost CPU time is not the fastest.
func TestJudgeNamesWhatIsSaved(t *testing.T) {
	u := &tuning{Config: Config{Tolerance: 0.02}}
	cpu := stat.Comparison{Ratio: 1.07, Lo: 0.98, Hi: 1.15, Verdict: stat.NoDifference}
	for _, tc := range []struct {
		memory stat.Comparison
		want   string
	}{
		{stat.Comparison{Ratio: 0.89, Lo: 0.85, Hi: 0.9, Verdict: stat.Better}, tune.LeastMemory},
		{stat.Comparison{Ratio: 0.91, Lo: 0.82, Hi: 1.01, Verdict: stat.NoDifference}, tune.LeastMemory},
		{stat.Comparison{Ratio: 1.01, Lo: 0.99, Hi: 1.03, Verdict: stat.NoDifference}, tune.Fastest},
	} {
		if outcome, name, reason := u.judge(tune.Choice{}, cpu, tc.memory); outcome != tune.Inconclusive ||
			name != tc.want {
			t.Errorf("%s, %s: %s; want %s", outcome, name, reason, tc.want)
		}
	}
}

// TestOpenChoicesDiffer: of open choices of one name, only that of the least CPU time is listed; one that saves CPU time
// in the same memory has that name.
func TestOpenChoicesDiffer(t *testing.T) {
	for _, tc := range []struct {
		cpu, memory []float64
		want        []string
	}{
		{[]float64{1, 1.3, 1.05}, []float64{1, 0.9, 0.8}, []string{"least memory of 98: inconclusive"}},
		{[]float64{1, 0.95, 0.97}, []float64{1, 1.5, 1}, []string{"fastest of 99: inconclusive", "same memory of 98: inconclusive"}},
	} {
		u := &tuning{Config: Config{Tolerance: 0.02, MaxBytes: 400 * mib}, answer: &Answer{}, block: time.Second}
		for percent, cpu := range tc.cpu {
			a := &Arm{GC: cell.GC{Percent: 100 - percent}}
			for i := range 6 {
				a.CPU = append(a.CPU, cpu*(1+0.4*float64((i+percent)%3-1)))
				a.Bytes = append(a.Bytes, (100*tc.memory[percent]+float64(i))*mib)
			}
			u.arms = append(u.arms, a)
		}
		u.conclude(u.arms)
		var got []string
		for _, c := range u.answer.Choices {
			got = append(got, fmt.Sprintf("%s of %d: %s", c.Name, c.Setting.GC.Percent, c.Outcome))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestGuardOfAttached: a GOGC above today's comes with a limit above what Go took in its blocks, and the first line
// sets both. What a limit does not bound, such as memory from mmap, is no part of it.
func TestGuardOfAttached(t *testing.T) {
	for _, extra := range []int64{20 * mib, 300 * mib} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.extra = extra
			a, err := Run(t.Context(), Config{Server: f, Budget: 3 * time.Minute, Seed: 1, Settings: []cell.GC{{Percent: 200}}})
			if err != nil || a.Outcome != tune.Recommended {
				t.Fatal(a, err)
			}
			took := a.Choices[0].PeakBytes.Hi - float64(extra)
			if guard := float64(a.GuardBytes); a.Setting.GC.LimitBytes != 0 || guard < 1.25*took || guard > 1.5*took {
				t.Errorf("a guard of %.0f MiB, Go took %.0f", guard/mib, took/mib)
			}
			if want := "set GOGC=200 GOMEMLIMIT=" + cell.FormatBytes(a.GuardBytes); !strings.HasPrefix(a.Headline, want) {
				t.Errorf("%q, want %q", a.Headline, want)
			}
		})
	}
}

// TestRunResumes keeps every record, and runs again from some of them.
func TestRunResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []*cell.Record
		first := newFake()
		c := Config{Server: first, Seed: 1, Budget: time.Minute}
		c.Keep = func(_ cell.Config, _ int, measure func() (*cell.Record, error)) (*cell.Record, error) {
			rec, err := measure()
			kept = append(kept, rec)
			return rec, err
		}
		whole, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, known := range []int{1, 7, len(kept)} {
			f, next, measured := newFake(), 0, 0
			f.state.ResidentBytes = 3 * live // grown since
			c.Server = f
			c.Keep = func(_ cell.Config, _ int, measure func() (*cell.Record, error)) (*cell.Record, error) {
				if next++; next <= known {
					return kept[next-1], nil
				}
				measured++
				return measure()
			}
			a, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if a.Today.ResidentBytes != whole.Today.ResidentBytes || a.MaxBytes != whole.MaxBytes || a.Runs != next-1 ||
				measured != next-known {
				t.Errorf("%d records kept: %d runs, %d measured, %+v; want today's as it was, %+v", known, a.Runs, measured,
					a.Today, whole.Today)
			}
			if known == len(kept) && (measured > 0 || a.Headline != whole.Headline) {
				t.Errorf("all kept: %d measured, %q; want %q", measured, a.Headline, whole.Headline)
			}
		}
	})
}

func TestRunRestoresWhateverHappens(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fake)
		want   string
	}{
		"no load":        {func(f *fake) { f.idle, f.state.ResidentBytes = true, 2*live }, "tune it under its load"},
		"work is none":   {func(f *fake) { f.state.Work = 5 }, "tune it under its load"},
		"another hand":   {func(f *fake) { f.other = 55 }, "somebody else"},
		"today's fails":  {func(f *fake) { f.refuse = func(cell.GC) bool { return true } }, "refused"},
		"small a budget": {nil, "give a --budget of "},
		"all others fail": {func(f *fake) { f.refuse = func(gc cell.GC) bool { return gc != f.found } },
			"no setting can be tried: GOGC=off:420MiB was refused by the server"},
		"nothing is left": {func(f *fake) { f.state.LiveBytes, f.found.Percent = 100*live, 1 },
			"nothing to compare GOGC=1 with"},
		"it stays set":    {func(f *fake) { f.stuck = true }, "is in force, and not today's 100"},
		"it cannot reset": {func(f *fake) { f.lost = errors.New("gone") }, "GOGC=100 could not be restored: gone"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := Config{Server: f}
			if tc.change != nil {
				tc.change(f)
			} else {
				c.Budget = time.Second
			}
			_, err := Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), tc.want) || f.restored != 1 {
				t.Errorf("%s: %v, restored %d times; want %q and once", name, err, f.restored, tc.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // the failed restore outweighs the interruption
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake()
		f.lost = errors.New("gone")
		time.AfterFunc(20*time.Second, cancel)
		if _, err := Run(ctx, Config{Server: f}); errors.Is(err, context.Canceled) || !errors.Is(err, f.lost) {
			t.Errorf("interrupted, and lost: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake()
		time.AfterFunc(20*time.Second, cancel)
		if _, err := Run(ctx, Config{Server: f}); !errors.Is(err, context.Canceled) || f.restored != 1 || f.now != f.found {
			t.Errorf("interrupted: %v, restored %d times, now %v", err, f.restored, f.now)
		}
	})
}

// TestBlocksOutlastTheHold: a setting is set again while its block lasts.
func TestBlocksOutlastTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a, err := Run(t.Context(), Config{Server: f, Seed: 1, Budget: 4 * time.Hour, Settings: []cell.GC{{Percent: 300}}})
		if err != nil || a.Outcome != tune.Recommended || f.now != f.found {
			t.Errorf("%+v, %v; now %v", a, err, f.now)
		}
	})
}

// TestMachineStandsStill: if the whole machine stands still for longer than a block, as a virtual
// one may, the block goes on after that. The server is not reported as idle.
func TestMachineStandsStill(t *testing.T) {
	for _, rarely := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.still, f.rarely = 3*time.Second, rarely
			a, err := Run(t.Context(), Config{Server: f, Seed: 1, Budget: 18 * time.Second, Settings: []cell.GC{{Percent: 300}}})
			if err != nil || len(a.Arms) != 2 || len(a.Arms[1].CPU) != exploring {
				t.Fatalf("%+v, %v", a, err)
			}
			for _, cpu := range slices.Concat(a.Arms[0].CPU, a.Arms[1].CPU) {
				if cpu < 1.1 || cpu > 1.5 { // seconds per GiB: 1.4 under GOGC=100, 1.13 under 300
					t.Errorf("blocks of %.2f and %.2f", a.Arms[0].CPU, a.Arms[1].CPU)
					break
				}
			}
		})
	}
}

// TestWindow: a window holds whole collections if two end in it, everything if they are unknown
// or too rare, and never what came before the setting.
func TestWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		whole    bool
		cycles   []int64
		from, to float64
		complete bool
	}{
		"behind one":     {true, []int64{5, 5, 6, 6, 7, 7}, 0, 4, true},
		"amid one":       {false, []int64{5, 5, 6, 6, 7, 7}, 2, 4, true},
		"one ends":       {false, []int64{5, 5, 6, 6}, 2, 3, false},
		"none ends":      {true, []int64{5, 5, 5, 5}, 0, 3, false},
		"each look":      {false, []int64{5, 7, 9, 11}, 1, 3, true},
		"none are known": {false, []int64{0, 0, 0, 0}, 0, 3, true},
	} {
		var w window
		for i, cycles := range tc.cycles {
			s := State{CPU: float64(i), Cycles: cycles, ResidentBytes: 100, FreeBytes: int64(10 * i)}
			if i == 0 {
				w = window{from: s, last: s, whole: tc.whole}
			} else {
				w.see(s)
			}
		}
		if from, to := w.span(); from.CPU != tc.from || to.CPU != tc.to || w.complete() != tc.complete ||
			w.used != 90 || w.resident != 100 {
			t.Errorf("%s: %v to %v, %d used; want %v to %v", name, from.CPU, to.CPU, w.used, tc.from, tc.to)
		}
	}
}

// TestShortBlocks: blocks without a collection say nothing of the cost of collections.
func TestShortBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.rarely = true
		a, err := Run(t.Context(), Config{Server: f, Seed: 1, Settings: []cell.GC{{Percent: 300}}})
		if err != nil || a.Outcome != tune.Inconclusive || !strings.Contains(a.Headline, "saw no whole collection") {
			t.Errorf("%v: %+v", err, a)
		}
	})
}

// TestAsksForTime: if blocks leave the answer open, it asks for longer blocks, not for more.
func TestAsksForTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := Run(t.Context(), Config{Server: newFake(), Seed: 1, Settings: []cell.GC{{Percent: 106}}})
		if err != nil || a.Outcome != tune.Inconclusive || !strings.Contains(a.Headline, "m may tell") ||
			strings.Contains(a.Headline, "--rounds") {
			t.Errorf("%v: %+v", err, a)
		}
	})
}

// TestUsualBudget has a server that takes longer to settle than a block of the
// default budget lasts.
func TestUsualBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.settle = 5 * time.Second
		a, err := Run(t.Context(), Config{Server: f, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if a.Outcome != tune.Recommended || a.Seconds < 180 || a.Seconds > 420 {
			t.Errorf("%s after %v s: %s", a.Outcome, a.Seconds, a.Reason)
		}
	})
}

func TestRunLeavesOutWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.refuse = func(gc cell.GC) bool { return gc.Percent == -1 }
		settings := []cell.GC{{Percent: -1, LimitBytes: 1 << 30}, {Percent: 100}, {Percent: 101}}
		a, err := Run(t.Context(), Config{Server: f, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		if a.Outcome == tune.Recommended || len(a.Arms) != 3 || a.Arms[1].Refused == "" || a.Setting.GC != f.found {
			t.Errorf("%s: %v, arms %+v", a.Outcome, a.Setting.GC, a.Arms)
		}
		var b strings.Builder
		err = a.Write(&b)
		if err != nil || !strings.Contains(b.String(), "off:1GiB was refused") ||
			!strings.Contains(b.String(), "no recommendation: ") {
			t.Errorf("%v\n%s", err, &b)
		}
	})
}

func TestCandidatesKeepTheirDistance(t *testing.T) {
	s := State{Found: cell.GC{Percent: 100}, LiveBytes: 100 * mib, HeapBytes: 150 * mib, MappedBytes: 210 * mib,
		ResidentBytes: 220 * mib}
	for _, gc := range Candidates(s, 440*mib) {
		if gc.LimitBytes <= 125*mib || gc.LimitBytes > 440*mib {
			t.Errorf("%v: a limit out of bounds", gc)
		}
	}
	s.LiveBytes = 215 * mib
	for _, gc := range Candidates(s, 230*mib) {
		t.Errorf("%v, though nearly everything is live", gc)
	}
	// A known GOGC bounds how much may be live.
	for _, gc := range Candidates(State{Found: cell.GC{Percent: 25}, ResidentBytes: 500 * mib}, 1000*mib) {
		if gc.LimitBytes < 500*mib {
			t.Errorf("%v, though 400 MiB may be live", gc)
		}
	}
	s = State{Found: cell.GC{Percent: -1, LimitBytes: 1 << 30}, ResidentBytes: 900 * mib}
	if n := len(Candidates(s, 1<<30)); n != 5 {
		t.Errorf("%d candidates for a process of which only the memory is known, want 5", n)
	}
}

// TestMost: a server never gets more than its control group allows, and without a
// bound no more than its own limit.
func TestMost(t *testing.T) {
	s := State{ResidentBytes: 600 * mib, MappedBytes: 580 * mib}
	for name, tc := range map[string]struct{ limit, group, asked, want int64 }{
		"twice": {0, 0, 0, 1200}, "asked": {0, 0, 700, 700}, "its limit": {800, 0, 0, 820},
		"asked beyond": {800, 0, 1000, 1000},
		"its group":    {0, 1000, 0, 900}, "not asked beyond it": {0, 1000, 2000, 900}, "a group of room": {0, 4000, 0, 1200},
	} {
		s.Found.LimitBytes, s.GroupBytes = tc.limit*mib, tc.group*mib
		if got := s.most(float64(tc.asked * mib)); got != float64(tc.want*mib) {
			t.Errorf("%s: %.0f MiB, want %d", name, got/mib, tc.want)
		}
	}
	f := newFake()
	f.state.GroupBytes = 500 * mib
	_, err := Run(t.Context(), Config{Server: f, Settings: []cell.GC{{Percent: -1, LimitBytes: 480 * mib}}})
	if err == nil || !strings.Contains(err.Error(), "allows 500 MiB") {
		t.Errorf("a limit beyond the group: %v", err)
	}
}

// TestSlowRestarts: the log says after the first round that blocks take longer than planned, if they do.
func TestSlowRestarts(t *testing.T) {
	for slow, want := range map[time.Duration]string{0: "", 4 * time.Second: "all 18 may take 1m22s; Ctrl-C ends it"} {
		synctest.Test(t, func(t *testing.T) {
			f, said := newFake(), []string(nil)
			f.slow = slow
			log := func(text string) {
				if strings.Contains(text, "Ctrl-C") {
					said = append(said, text)
				}
			}
			c := Config{Server: f, Seed: 1, Budget: 18 * time.Second, Settings: []cell.GC{{Percent: 300}}, Log: log}
			if _, err := Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("restarts of %v: %q, want %q once", slow, got, want)
			}
		})
	}
}

// TestFreshServers: a restarted server that takes much less than before is doubted.
func TestFreshServers(t *testing.T) {
	for before, doubted := range map[int64]bool{220: false, 280: false, 400: true} {
		u := &tuning{Config: Config{Tolerance: 0.02}, answer: &Answer{Today: State{ResidentBytes: before * mib}}}
		bytes := []float64{219 * mib, 220 * mib, 221 * mib}
		u.arms = []*Arm{{GC: cell.GC{Percent: 100}, CPU: []float64{1, 1, 1}, Bytes: bytes}}
		u.conclude([]*Arm{{GC: cell.GC{Percent: 100}}})
		if doubts := strings.Join(u.answer.Doubts, "\n"); strings.Contains(doubts, "longer --settle") != doubted {
			t.Errorf("%d MiB before: %q", before, doubts)
		}
		u.answer.Doubts, u.answer.Today.LiveBytes = nil, 1
		if u.conclude([]*Arm{{GC: cell.GC{Percent: 100}}}); len(u.answer.Doubts) > 0 {
			t.Errorf("it was not restarted: %q", u.answer.Doubts)
		}
	}
}

// TestLeaveIsProven: a few blocks in which nothing did better prove nothing; fresh rounds of the closest setting do.
func TestLeaveIsProven(t *testing.T) {
	for percent, want := range map[int]string{50: tune.DefaultGood, 99: tune.Inconclusive} {
		synctest.Test(t, func(t *testing.T) {
			settings := []cell.GC{{Percent: percent}, {Percent: 40}}
			a, err := Run(t.Context(), Config{Server: newFake(), Seed: 2, Settings: settings, Tolerance: 0.001})
			if err != nil || a.Outcome != want || len(a.Choices) != 1 || a.Choices[0].Setting.GC.Percent != percent {
				t.Errorf("%v: %+v; want %s of GOGC=%d", err, a, want, percent)
			}
		})
	}
}
