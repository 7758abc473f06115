package tune

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// full is the share of its goal that a heap must reach to count as full.
const full = 0.85

// fills reports whether the heap fills up under a setting before the program ends: where it ran, in those runs, else
// in a replay. If it does not, its peak is not that of a server, which lives on, and its collections are too few.
func (m *Model) fills(gc cell.GC) bool {
	var peaks, goals moments
	other, _ := m.beyondOf(gc)
	for i := range m.pilots {
		if p := &m.pilots[i]; p.GC == gc {
			peaks.add(p.PeakHeapBytes)
		}
	}
	ran := peaks.n > 0
	for _, p := range m.replays() {
		goal := 0.0
		for _, s := range p.streams {
			goal = max(goal, s.goal(gc, other))
		}
		goals.weigh(p.weight(), goal)
		if !ran {
			peaks.weigh(p.weight(), p.replayAll(gc, other).peak)
		}
	}
	return peaks.mean() >= full*goals.mean()
}

// goal returns the heap goal at the end of the life.
func (t *trajectory) goal(gc cell.GC, other float64) float64 {
	live, roots := t.at(t.least)
	goal := percentGoal(gc.Percent, live, roots)
	if gc.LimitBytes > 0 {
		goal = min(goal, max(limitGoal(float64(gc.LimitBytes)-other), live))
	}
	return goal
}

// growth returns by how much the live data of a process would grow in half of a server's load, as a ratio, if they
// grew as they last did; 0 if no two collections under the load are far enough apart to tell.
func growth(cycles []cell.Cycle, points []point, rec *cell.Record) float64 {
	began := rec.Metrics[cell.LoadBegan]
	long := rec.Metrics[cell.WallTime] - began
	last := len(cycles) - 1
	at := func(i int) float64 { return float64(cycles[i].AtNs) / 1e9 }
	for i := last - 1; i >= 0 && began > 0 && at(i) >= began; i-- {
		if apart := at(last) - at(i); apart >= long/4 {
			if points[last].live-points[i].live < growing {
				return 1
			}
			return math.Pow(points[last].live/points[i].live, long/2/apart)
		}
	}
	return 0
}

// Live data grow if they do so by this many bytes, of which gctrace rounds one MiB away, and in most runs by the share
// muchGrowth in half of the load.
const growing, muchGrowth = 2 * mib, 0.2

// grown returns by what share live data grow in half of the load, and how many runs tell; 0 if not by much.
func (t *tuning) grown() (share float64, runs int) {
	var known []float64
	for _, p := range t.pilots {
		if p.grown > 0 {
			known = append(known, p.grown)
		}
	}
	if len(known) == 0 || stat.Median(known) < 1+muchGrowth {
		return 0, 0
	}
	return stat.Median(known) - 1, len(known)
}

// grows says that a server's live data grow for as long as its load lasts; "" if they do not, or if that is uncertain.
func (t *tuning) grows() string {
	share, runs := t.grown()
	if runs < leastRounds {
		return ""
	}
	return fmt.Sprintf("the server's live data grow for as long as the load lasts, by %.0f %% in half of it: no run "+
		"shows what a setting takes and costs once they have grown further; load it until they stay (--warmup, --for); "+
		"if they never do, it leaks", 100*share)
}

// unseen returns the setting that would be chosen instead of the usable ones if it filled its heap; nil if none.
func (t *tuning) unseen(all, usable []Prediction, cliff int64) *cell.GC {
	if t.Objective == RSS {
		return nil
	}
	work := func(p *Prediction) float64 { return p.work }
	least := func(of []Prediction, may func(*Prediction) bool) *Prediction { return least(of, work, may) }
	seen := least(usable, func(*Prediction) bool { return true })
	p := least(all, func(p *Prediction) bool {
		filled := *p
		filled.fills = true
		return !p.fills && (t.races() && t.usable(&filled, cliff) && t.allowed(&filled, 0) || t.eligible(&filled, cliff, 0))
	})
	if p == nil || p.work > 1-t.Tolerance || seen != nil && seen.work-p.work < t.Tolerance {
		return nil
	}
	return &p.GC
}

// unlike says why the runs do not show what the outcome, which rests on the setting, means for a server that lives on;
// "" if they do.
func (t *tuning) unlike(gc cell.GC) string {
	switch t.answer.Outcome {
	case DefaultGood:
		if t.unfilled != nil {
			return t.short(*t.unfilled, "")
		}
	case Recommended:
		if m, err := NewModel(t.pilots); isServed(t.Base) && err == nil && !m.fills(gc) {
			return t.short(gc, "it")
		}
		return t.grows()
	}
	return ""
}

// endsEarly begins what short says.
const endsEarly = "the load ends before the heap fills up once under "

// short says that a server's load ends too early for a setting, and what to give. name is how the text refers to the
// setting; "" writes it out.
func (t *tuning) short(gc cell.GC, name string) string {
	out := endsEarly + cmp.Or(name, settingText(t.with(gc))) + ", and so shows neither its memory nor its cost"
	m, err := NewModel(t.pilots)
	length, builtIn := t.Base.Params["for"]
	given, err2 := time.ParseDuration(length)
	if err != nil || err2 != nil || !builtIn || t.Base.Params["load"] != "" {
		return out + ": give a longer load"
	}
	other, _ := m.beyondOf(gc)
	more := 0.0 // seconds that fill the heap once
	for _, p := range m.replays() {
		for _, s := range p.streams {
			live, _ := s.at(s.least)
			more = max(more, (s.goal(gc, other)-live)/(s.total/p.Wall))
		}
	}
	rates := float64(1 + strings.Count(t.Base.Params["rate"], ":"))
	longer := time.Duration(math.Ceil(given.Seconds()+1.2*more/rates)) * time.Second
	out += fmt.Sprintf(": give --for %v", longer)
	run := t.mean() + rates*(longer-given).Seconds()
	if all := float64(mostRuns) * run; all > t.Budget.Seconds() {
		out += fmt.Sprintf(" --budget %v", time.Duration(math.Ceil(all/60))*time.Minute)
	}
	if share, runs := t.grown(); runs > 0 {
		out += fmt.Sprintf("; live data grew by %.0f %% in half of the load: if that goes on, the server leaks, and no "+
			"load is long enough", 100*share)
	}
	return out
}
