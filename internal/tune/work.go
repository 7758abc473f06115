package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// sameWork is how many times what one run under today's setting allocates at most another
// allocates at least, of a program that does the same each time.
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

// Response times of a server that is loaded steadily differ between the halves of a load by
// unsteady at most, and by chance: by surely standard errors of the mean over the runs.
const unsteady, surely = 0.03, 3

// drifts says that runs of a server end before it is warm; "" if they do not, or if that is
// not sure.
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

// Runs are of a fixed time where some allocate moreWork more than others for sure, and those
// that do take as long: of how much more they allocate, their wall time rises by less than a
// share, follows, at 95 %, and falls by less. Of runs of random work it rises as much; where
// other programs starve a run of a fixed time, it does least and takes a little longer; and
// where settings change what gctrace shows of fixed work, collection that costs less ends
// it much sooner.
const moreWork, follows = 0.05, 0.5

// timedCycles are the collections of a run that counts there: with fewer, what follows the last
// one, which no line says, is most of what was allocated.
const timedCycles = 3

// fixedTime says that runs end after a time and not when their work is done; "" if they do
// not, or if that is not sure. gctrace rounds down to MiB, by chance or alike in each cycle:
// half a MiB of each cycle is in doubt.
func fixedTime(pilots []Pilot) string {
	// Of what was allocated: the most for sure, and the least.
	least, most := math.Inf(1), 0.0
	var allocated, walls []float64
	for _, p := range pilots {
		if p.Cycles < timedCycles {
			continue
		}
		doubt := float64(p.Cycles) * mib / 2
		least, most = min(least, p.allocated+doubt), max(most, p.least-doubt)
		allocated, walls = append(allocated, math.Log(p.allocated)), append(walls, math.Log(p.Wall))
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

// regress returns the slope of the line by least squares through y over x, and its standard error.
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

// endsByTime reports whether the objective says nothing because runs are of a fixed time. What
// the load on a server prints, or its rate, is measured as it is.
func (t *tuning) endsByTime() bool {
	t.timed = !t.races() && (t.overloaded() || fixedTime(t.pilots) != "")
	return t.timed
}

// overloaded reports whether the server kept up with the load in few runs.
func (t *tuning) overloaded() bool { return 2*len(t.overload) > t.answer.Runs }

// refuseTimed concludes so.
func (t *tuning) refuseTimed() {
	a := t.answer
	a.Outcome, a.Setting, a.Choices, a.Gains = Inconclusive, t.Base, nil, nil
	if t.overloaded() {
		a.Reason = t.overload[0] + "; give a lower --rate, or --objective throughput to tune for what it gets done"
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
