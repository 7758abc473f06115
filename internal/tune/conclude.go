package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// conclude checks all predictions against all runs, and writes the headline.
func (t *tuning) conclude() {
	a := t.answer
	a.Measured = measuredOf(t.pilots)
	if t.timed {
		t.refuseTimed()
		a.Headline = a.Sentence()
		return
	}
	if m, err := NewModel(t.pilots); err == nil {
		t.predict(m)
	}
	for i := range a.Choices {
		a.Choices[i].Warnings = a.margin(a.Choices[i].Setting.GC)
	}
	first := func(doubt string) {
		if doubt != "" {
			a.Doubts = slices.Insert(a.Doubts, 0, doubt)
		}
	}
	var waits moments
	for _, p := range t.pilots {
		waits.add(p.Waiting)
	}
	if a.Waiting = waits.mean(); a.Waiting > muchWaiting && a.Outcome != SetsItself {
		contention := []string{fmt.Sprintf("contention: for %.0f %% of the time in which the program could run, it had "+
			"to wait for a CPU; such runs count less", 100*a.Waiting)}
		for _, w := range host.Disturbances(host.MeanNoise(t.noises)) {
			contention = append(contention, w.Text)
		}
		first(strings.Join(contention, "; "))
	}
	if gc := a.Setting.GC; gc.Percent < 0 && gc.LimitBytes == 0 {
		first("today's GOGC=off has no GOMEMLIMIT: on more input than here nothing bounds memory; set GOMEMLIMIT to what " +
			"the program may take")
	}
	if a.Outcome == Recommended && t.noLimitRuns() {
		first("the program ran under no GOMEMLIMIT that was tried: nothing bounds memory when live data grows")
	}
	if a.Outcome != SetsItself {
		first(cmp.Or(t.ownLimit(), t.unseenLimit()))
	}
	if !t.Objective.rises(isServed(t.Base)) {
		first(t.varies())
	}
	if t.unfilled != nil && !strings.HasPrefix(a.Reason, endsEarly) {
		first(t.short(*t.unfilled, ""))
	}
	if len(t.overload) > 0 {
		first(t.overload[0])
	}
	first(t.drifts())
	if grows := t.grows(); grows != a.Reason {
		first(grows)
	}
	if n := len(t.again); n > 0 {
		a.Doubts = append(a.Doubts, fmt.Sprintf("the program failed in %d of %d runs, which were repeated: %s", n, a.Runs+n,
			t.again[n-1]))
	}
	a.Headline = a.Sentence()
}

// beside returns the most bytes that a run occupied above its GOMEMLIMIT, such as memory from mmap. It is less than all
// of it if the run did not need its limit.
func (t *tuning) beside() (most int64) {
	for _, p := range t.pilots {
		if limit := p.GC.LimitBytes * int64(max(t.answer.Processes, 1)); limit > 0 {
			most = max(most, int64(p.PeakBytes)-limit)
		}
	}
	return most
}

// unbounded estimates the bytes beside the heap that no GOMEMLIMIT bounds, whether or not a run needed its limit.
// Memory that may be an untraced heap is none of them.
func (t *tuning) unbounded(m *Model) float64 {
	if m.foreign > 0 {
		return 0
	}
	return max(m.beside-m.usuallyBeyond()*float64(max(t.answer.Processes, 1)), 0)
}

// predict says what the model expects of each setting.
func (t *tuning) predict(m *Model) {
	a := t.answer
	if m.foreign == 0 {
		a.CliffBytes = m.Cliff()
	}
	a.GuardBytes = t.guard(m)
	a.BesideBytes = max(t.beside(), int64(t.unbounded(m)))
	settings := t.candidates(m)
	for _, s := range a.Measured {
		if !slices.Contains(settings, s.GC) {
			settings = append(settings, s.GC)
		}
	}
	for _, gc := range settings {
		p := m.Expect(gc)
		a.Predicted = append(a.Predicted, p)
		if gc == a.Setting.GC {
			a.Expected = p
		}
	}
	a.Frontier = frontier(a.Predicted)
	t.expectRow(t.Base.GOMAXPROCS, m)
	slices.SortStableFunc(a.Rows, func(x, y Row) int { return cmp.Compare(x.Procs, y.Procs) })
	if a.Outcome != SetsItself { // goals show that, whatever the model and times say
		a.Doubts = append(a.Doubts, m.doubts...)
		if why := m.contradicted(); why != "" {
			a.Doubts = append(a.Doubts, why)
		}
	}
}

// guardMargin is how far a guard lies above the most memory measured: live data may
// grow by that much before it acts.
const guardMargin = 1.25

// Guard returns the GOMEMLIMIT to set with a recommended GOGC above today's; bytes is the most
// memory that runs took. A higher GOGC lets memory grow by more when live data grows, which no
// run tested. The guard lies above what the runs took, so it changes nothing that was measured.
// It is 0 if no guard is needed.
func Guard(gc, today cell.GC, bytes float64) int64 {
	if gc.LimitBytes > 0 || today.Percent < 0 || gc.Percent <= today.Percent {
		return 0
	}
	return roundUp(int64(guardMargin * bytes))
}

// guard returns the guard of the answer. It also lies above the cliff, so that collections become
// more frequent when it acts but do not take over.
func (t *tuning) guard(m *Model) int64 {
	a := t.answer
	if a.Outcome != Recommended || a.Processes > 1 || t.noLimitRuns() { // of several, it would bound each, not their sum
		return 0
	}
	gc := a.Setting.GC
	r := m.expect(gc)
	used := r.peak + m.usuallyBeyond() // may be mapped and never touched
	for _, c := range a.Choices {
		if c.Setting.GC == gc {
			used = max(used, c.PeakBytes.Hi-t.unbounded(m))
		}
	}
	return Guard(gc, t.Base.GC, max(used, highMargin/guardMargin*float64(m.Cliff())))
}

// Applied returns the recommended setting with its guard: the one to put into force.
func (r *Answer) Applied() cell.Config {
	c := r.Setting
	if r.GuardBytes > 0 {
		c.GC.LimitBytes = r.GuardBytes
	}
	return c
}

// highMargin is how many times the cliff a limit must be to get no warning.
const highMargin = 1.5

// muchWaiting is the share of time waiting for a CPU above which that becomes the first doubt.
const muchWaiting = 0.10

// margin warns of a memory limit that leaves little room for growth.
func (r *Answer) margin(gc cell.GC) []string {
	margin := float64(gc.LimitBytes) / float64(max(r.CliffBytes, 1))
	if gc.LimitBytes == 0 || margin >= highMargin {
		return nil
	}
	if margin < 1 {
		return []string{fmt.Sprintf("its limit is below %s, under which collection is expected to take nearly half of the "+
			"CPU time: the program is slow, and slower if live data grows", bytesText(float64(r.CliffBytes)))}
	}
	return []string{fmt.Sprintf("its limit is %.2f times %s, below which collection is expected to take nearly half of "+
		"the CPU time: if live data grows by %.0f %%, the program may slow down", margin,
		bytesText(float64(r.CliffBytes)), 100*(margin-1))}
}
