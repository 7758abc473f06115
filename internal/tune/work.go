package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// sameWork bounds a program that does the same work each time: the most that one run under
// today's setting may allocate is at most this many times the least of another.
const sameWork = 1.5

// varies says that the program does not do the same work each time; "" if it does.
func (t *tuning) varies() string {
	runs, least, most := 0, math.Inf(1), 0.0
	for _, p := range t.pilots {
		if p.GC == t.Base.GC && p.Cycles >= fewCycles {
			runs, least, most = runs+1, min(least, p.most), max(most, p.least)
		}
	}
	if runs < leastRounds || most < sameWork*least {
		return ""
	}
	return fmt.Sprintf("the program does not do the same work each time: under %s it allocates at most %s in one run and "+
		"at least %s in another", settingText(t.Base), bytesText(least), bytesText(most))
}

// Under a steady load, response times in the two halves of a load differ by at most the share
// unsteady, or by chance by at most surely standard errors of the mean over the runs.
const unsteady, surely = 0.03, 3

// drifts says that the server is not warm when its load is measured; "" if it is, or
// if that is uncertain.
func (t *tuning) drifts() string {
	d := &t.drift
	far := math.Abs(d.mean())
	if d.n < leastRounds || far < unsteady || far < surely*d.deviation()/math.Sqrt(d.n-1) {
		return ""
	}
	fell := "is not warm when its load is measured: response times fell"
	if d.mean() > 0 {
		fell = "is not warm, or hardly keeps up, when its load is measured: response times rose"
	}
	return fmt.Sprintf("the server %s by %.0f %% from the first half of the load to the second, over %.0f runs; memory "+
		"and CPU time are of that state, too: --warmup TIME loads it for longer before", fell,
		100*math.Abs(math.Expm1(d.mean())), d.n)
}

// Runs take a fixed time if some certainly allocate moreWork more than others and take equally
// long: wall time rises by less than the share follows of the extra allocation, at 95 %, and
// falls by less. Random work makes both rise alike. Other programs that starve a run of fixed
// time make it do least, and take a little longer. Settings that change what gctrace shows of
// fixed work end it much sooner if collection costs less. Where all take equally long to the share
// sameTime, whatever the setting, an estimate of what they allocate is certain enough.
const moreWork, follows, sameTime = 0.05, 0.5, 0.03

// timedCycles is the least number of collections of a run to count: with fewer, most of the
// allocation may follow the last one, where gctrace shows nothing.
const timedCycles = 3

// fixedTime says that runs end after a fixed time and not when their work is done; "" if they do
// not, or if that is uncertain. gctrace rounds down to MiB, by chance or alike in each cycle, so
// half a MiB per cycle is in doubt. Where live data grow, much is allocated after the last cycle.
func fixedTime(pilots []Pilot) string {
	// least is the smallest upper bound of what a run allocated, most the largest lower bound.
	least, most, estimated := math.Inf(1), 0.0, math.Inf(1)
	var allocated, walls []float64
	for _, p := range pilots {
		if p.Cycles < timedCycles {
			continue
		}
		doubt := float64(p.Cycles) * mib / 2
		least, most = min(least, max(p.allocated, min(p.steadily, p.most))+doubt), max(most, p.least-doubt)
		estimated = min(estimated, p.allocated+doubt)
		allocated, walls = append(allocated, math.Log(p.allocated)), append(walls, math.Log(p.Wall))
	}
	if len(walls) > 0 && slices.Max(walls)-slices.Min(walls) < sameTime {
		least = estimated
	}
	if len(walls) < 3 || most < (1+moreWork)*least {
		return ""
	}
	slope, deviation := regress(allocated, walls)
	if slope < -follows || slope+studentQuantile(0.95, float64(len(walls)-2))*deviation > follows {
		return ""
	}
	return fmt.Sprintf("the program runs for a fixed time and not for fixed work: each run takes %.2f to %.2f s, and it "+
		"allocates %s in one and %s in another; where collection costs less it does more, which neither wall nor CPU "+
		"time shows", math.Exp(slices.Min(walls)), math.Exp(slices.Max(walls)), bytesText(least), bytesText(most))
}

// regress returns the least-squares slope of y over x, and its standard error.
func regress(x, y []float64) (slope, deviation float64) {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	var xx, xy, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	slope = xy / xx
	return slope, math.Sqrt(max(yy-slope*xy, 0) / (n - 2) / xx)
}

// endsByTime reports whether the objective says nothing because runs take a fixed time. Rates,
// and figures that a load prints, are measured as they are. The built-in load takes a fixed time for fixed work: the
// requests that are due.
func (t *tuning) endsByTime() bool {
	due := isServed(t.Base) && t.Base.Params["load"] == ""
	t.timed = !t.races() && (t.overloaded() || !due && fixedTime(t.pilots) != "")
	return t.timed
}

// keepsUp notes whether the server kept up with the load, and how its response times changed.
func (t *tuning) keepsUp(rec *cell.Record) {
	overloaded := slices.IndexFunc(rec.Warnings, func(w cell.Warning) bool { return w.Code == "overload" })
	if drift := rec.Metrics[cell.LoadDrift]; overloaded >= 0 {
		t.overload = append(t.overload, rec.Warnings[overloaded].Text)
	} else if drift > 0 {
		t.drift.add(math.Log(drift))
	}
}

// overloaded reports whether the server failed to keep up with the load in most runs.
func (t *tuning) overloaded() bool { return 2*len(t.overload) > t.answer.Runs }

// refuseTimed sets the outcome for runs of a fixed time.
func (t *tuning) refuseTimed() {
	a := t.answer
	a.Outcome, a.Setting, a.Choices, a.Gains = Inconclusive, t.Base, nil, nil
	if t.overloaded() {
		a.Reason = t.overload[0] + "; give a lower --rate or more --connections, or --objective throughput to tune for " +
			"what it gets done"
		return
	}
	figures := "print a figure of it, such as {\"done\": 123} at the end, or do a fixed amount"
	if len(t.figures) > 0 {
		figures = "--objective max:" + t.figures[0]
		if strings.HasSuffix(t.figures[0], "/op") {
			figures = "--objective " + t.figures[0]
		}
		if more := t.figures[1:]; len(more) > 0 {
			figures += " (it also prints " + strings.Join(more[:min(len(more), 4)], ", ") + ")"
		}
	}
	a.Reason = fixedTime(t.pilots) + "; tune for what it gets done: " + figures
}
