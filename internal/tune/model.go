package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// An Interval is an estimate and the bounds that should hold 90 % of what is
// measured.
type Interval struct {
	Mid float64 `json:"mid"`
	Lo  float64 `json:"lo"`
	Hi  float64 `json:"hi"`
}

// A Prediction is what the model expects of a run under a setting.
type Prediction struct {
	GC        cell.GC  `json:"gc"`
	Wall      Interval `json:"wall_seconds"`
	CPU       Interval `json:"cpu_seconds"`
	GCShare   Interval `json:"gc_share"` // of the CPU time, 0 to 1
	PeakBytes Interval `json:"peak_bytes"`
	GoalBytes Interval `json:"goal_bytes"` // mean heap goal after the first cycle; 0 if there is none
	Cycles    int      `json:"cycles"`
	// Doubts say why the figures should be measured instead of believed.
	Doubts []string `json:"doubts,omitempty"`
	// MemoryDoubts say so of GoalBytes and PeakBytes alone.
	MemoryDoubts []string `json:"memory_doubts,omitempty"`
	// Measured is what the runs under this setting showed; nil without one. It
	// counts more than the prediction.
	Measured *Measured `json:"measured,omitempty"`
	// Withheld names the figures that runs contradict: their intervals are zero.
	Withheld []string `json:"withheld,omitempty"`

	x      vector // the regressors
	crawls bool   // how much longer the program takes is not predicted: the figures are the least
}

// z90 is the normal quantile of a two-sided interval of 90 %.
const z90 = 1.645

// Errors of the model itself that no repetition of a run shows, as relative
// standard deviations: at the setting of a pilot, and for each doubling of
// GOGC away from it. TestRecordedCoverage asks how wide they must be.
const (
	goalError, goalErrorPerOctave = 0.04, 0.027
	costError, costErrorPerOctave = 0.06, 0.05
	peakError, peakErrorPerOctave = 0.06, 0.018
	timeErrorPerOctave            = 0.004
	heapOverhead                  = 1.04 // resident bytes of a byte of heap
	leastOther                    = 3 * mib
	usualOther                    = 8 * mib
	noiseGuess                    = 0.05
	limitOvershoot                = 1.03 // of what GOMEMLIMIT allows
	smallHeap                     = 8 * mib
	fewCycles                     = 5
	// wideMemory is how wide, to either side, an interval of memory may be before the
	// model doubts it.
	wideMemory = 0.25
	// manyCPUs is how many CPUs the work of a program keeps busy if some of it
	// runs in parallel; a tenth is what the runtime's own threads may take.
	manyCPUs = 1.1
	// enoughRuns, of fewCycles collections or more, show by how much what is live
	// differs from run to run; two may agree by chance.
	enoughRuns = 3
)

// What an accounted second of collection costs in CPU time, and how long it
// delays a program that keeps one CPU busy; and what a byte costs that is
// touched for the first time. From the recorded programs (TestRecordedCosts):
// to these digits the first two are the same whichever program is left out.
const (
	secondCosts, secondCostsSpread   = 2.5, 1.0
	secondDelays, secondDelaysSpread = 1.7, 0.6
	byteCosts, byteCostsSpread       = 0.7e-9, 0.25e-9
)

// A Model predicts what settings cost a program, from the pilots it was fitted
// to. The derivation is in docs/tune.md. It is not changed after NewModel.
type Model struct {
	pilots []Pilot
	other  float64 // bytes beside the heap that count to GOMEMLIMIT
	beside float64 // resident bytes beside the heap; below 0 where a part of the heap is never touched
	kinds  []learned
	seen   []Measured // what the pilots measured
	cliff  int64
	wall   fit
	cpu    fit
	scale  float64 // measured GC seconds over replayed ones
	spread float64 // relative standard deviation of that
	doubts []string
	misfit bool // the pilots' CPU time grows by more than what they collected explains,
	idle   bool // or by so much that nothing is left for the program's own work
}

// NewModel fits a model to one pilot or more. noise is the relative standard
// deviation of a run on this machine, 0 for a guess.
func NewModel(pilots []Pilot, noise float64) (*Model, error) {
	m := &Model{pilots: pilots}
	if noise <= 0 {
		noise = noiseGuess
	}
	if len(m.sources()) == 0 {
		return nil, errNoCycles
	}
	m.fitMemory()
	m.fitCycles()
	var walls, cpus []observation
	var usage, procs float64
	for _, p := range pilots {
		x := vector{1, p.GCSeconds, p.PeakBytes}
		if p.CPU <= 0 || p.Wall <= 0 {
			return nil, fmt.Errorf("tune: model: a pilot with %v s of wall and %v s of CPU time: the platform does not "+
				"account programs", p.Wall, p.CPU)
		}
		// A run that waited half of its time counts a quarter.
		walls = append(walls, observation{x, p.Wall, 4 * p.Waiting})
		cpus = append(cpus, observation{x, p.CPU, 2 * p.Waiting})
		usage += p.CPU / p.Wall / float64(len(pilots))
		procs = max(procs, float64(p.Procs))
	}
	work := prior{0, 1e3 * slices.MaxFunc(pilots, func(a, b Pilot) int { return cmp.Compare(a.CPU, b.CPU) }).CPU}
	m.cpu = newFit(cpus, [terms]prior{work, {secondCosts, secondCostsSpread}, {byteCosts, byteCostsSpread}}, noise)
	// Wall time is spared what CPUs do that the program leaves idle.
	busy := max(usage, procs/2)
	m.wall = newFit(walls, [terms]prior{work, {secondDelays / busy, secondDelaysSpread / busy},
		{byteCosts / usage, byteCostsSpread / usage}}, noise)
	// Whatever a second of collection may cost: what do the runs alone say?
	free := newFit(cpus, [terms]prior{work, {secondCosts, 1e3}, {byteCosts, byteCostsSpread}}, noise)
	beyond := (free.mean[1] - secondCosts) / math.Hypot(math.Sqrt(free.cov[1][1]), secondCostsSpread)
	m.misfit = len(pilots) > 2 && beyond > studentQuantile(0.99, float64(trust+len(pilots)-2))
	m.idle = m.cpu.mean[0] <= 0 || m.wall.mean[0] <= 0
	m.misfit = m.misfit || m.idle
	m.doubt()
	m.cliff = m.findCliff()
	m.learn()
	return m, nil
}

// untouched is from which share of the peak heap on what is not resident counts
// as never touched, and not as an error.
const untouched = 0.15

func (m *Model) fitMemory() {
	var sum, beside, heap, n float64
	for _, p := range m.sources() {
		r := p.replayAll(p.GC, 0, nil)
		w := p.weight() / (r.peak + 16*mib)
		sum += w * max(p.PeakBytes-heapOverhead*r.peak, leastOther)
		beside += w * (p.PeakBytes - heapOverhead*r.peak)
		heap += w * r.peak
		n += w
	}
	m.other = sum / n
	m.beside = m.other
	if beside < -untouched*heap {
		m.beside = beside / n
	}
}

// fitCycles calibrates replayed against measured GC time.
func (m *Model) fitCycles() {
	var logs, weights, spread float64
	for _, p := range m.sources() {
		r := p.replayAll(p.GC, m.other, nil)
		if r.seconds <= 0 || p.GCSeconds <= 0 {
			continue
		}
		w := p.weight()
		logs += w * math.Log(p.GCSeconds/r.seconds)
		weights += w
		var s float64
		for _, t := range p.streams {
			s = max(s, t.spread)
		}
		spread += w * s / math.Sqrt(float64(p.Cycles))
	}
	m.scale = 1
	if weights > 0 {
		m.scale = math.Exp(logs / weights)
		m.spread = spread / weights
	}
}

func (m *Model) doubt() {
	cycles, heap := 0, 0.0
	for _, p := range m.sources() {
		cycles = max(cycles, p.Cycles)
		heap = max(heap, p.PeakHeapBytes)
	}
	if cycles < fewCycles {
		m.doubts = append(m.doubts, fmt.Sprintf("only %d collections ran: a longer run tells more", cycles))
	}
	switch {
	case m.idle:
		m.doubts = append(m.doubts, "the runs differ by so much that nothing would be left for the program's own work: the "+
			"machine is busy, or the traced process is not the one that takes the time")
	case m.misfit:
		m.doubts = append(m.doubts, "CPU time grows with collections by more than these can cost: the program may start "+
			"others that collect untraced")
	}
}

// octaves is how far a setting is from the nearest pilot, in doublings of
// GOGC; off counts as 6400.
func (m *Model) octaves(gc cell.GC) float64 {
	near := math.Inf(1)
	for _, p := range m.pilots {
		near = min(near, math.Abs(math.Log2(percent(gc)/percent(p.GC))))
	}
	return near
}

func percent(gc cell.GC) float64 {
	if gc.Percent < 0 {
		return 6400
	}
	return float64(gc.Percent)
}

// Predict returns what a run under the setting is expected to show.
func (m *Model) Predict(gc cell.GC) Prediction {
	r := m.expect(gc)
	far := m.octaves(gc)
	p := Prediction{GC: gc, Cycles: r.cycles, Doubts: slices.Clone(m.doubts)}
	rss := max(m.beside+heapOverhead*r.peak, leastOther)
	p.x = vector{1, r.seconds, rss}
	p.PeakBytes = about(rss, math.Hypot(peakError+peakErrorPerOctave*far, heapOverhead*r.peakSpread/rss))
	if limit := float64(gc.LimitBytes); limit > 0 && !r.starving {
		// The runtime keeps what it maps below its limit; little else is resident.
		p.PeakBytes.Hi = min(p.PeakBytes.Hi, max(limitOvershoot*limit+leastOther, rss))
	}
	if r.goal > 0 {
		p.GoalBytes = about(r.goal, math.Hypot(goalError+goalErrorPerOctave*far, r.goalSpread/r.goal))
	}
	cpu := dot(m.cpu.mean, p.x)
	costSpread := m.spread + costError + costErrorPerOctave*far
	if r.starving {
		p.Doubts = append(p.Doubts, "the memory limit leaves no room above what is live")
	}
	if share := r.seconds / cpu; share > maxGCShare || cpu <= 0 {
		// The limiter leaves the program half of the time and lets the heap grow.
		p.crawls = true
		p.Doubts = append(p.Doubts, "the collector would take half of the CPU time: the program hardly advances; its time "+
			"is not predicted")
		p.x[1] = max(min(r.seconds, dot(m.cpu.mean, vector{1, 0, rss})), 0)
		cpu = dot(m.cpu.mean, p.x)
	}
	p.CPU = m.time(&m.cpu, p.x, far, costSpread)
	p.Wall = m.time(&m.wall, p.x, far, costSpread)
	share := min(p.x[1]/max(cpu, 1e-9), 1)
	p.GCShare = Interval{share, max(share*(1-z90*costSpread)-0.003, 0), min(share*(1+z90*costSpread)+0.003, 1)}
	m.doubtSetting(&p, r)
	return p
}

// time is the interval of one run: of the mean, of the collector's CPU time
// that it rests on, and of the run itself.
func (m *Model) time(f *fit, x vector, far, costSpread float64) Interval {
	mid := dot(f.mean, x)
	own := f.mean[1] * x[1] * costSpread
	sd := math.Sqrt(f.variance(x, x) + own*own + math.Pow((f.noise+timeErrorPerOctave*far)*mid, 2))
	return Interval{max(mid, 0), max(mid-z90*sd, 0), max(mid+z90*sd, 0)}
}

// doubtSetting adds what is doubtful about this setting alone.
func (m *Model) doubtSetting(p *Prediction, r replay) {
	if p.GCShare.Mid > 0.33 && percent(p.GC) < m.least()*0.99 {
		p.Doubts = append(p.Doubts, "contention: a third or more of the CPU time goes to collection; below the measured "+
			"settings its cost is no longer proportional")
	}
	m.doubtMemory(p, r)
	if goal := p.GoalBytes.Mid; goal > 0 && goal < smallHeap && percent(p.GC) < m.least()*0.99 {
		p.Doubts = append(p.Doubts, "the heap has only a few MB, and gctrace rounds to whole ones")
	}
}

// doubtMemory adds why goal and peak may be off.
func (m *Model) doubtMemory(p *Prediction, r replay) {
	doubt := func(format string, args ...any) {
		p.MemoryDoubts = append(p.MemoryDoubts, fmt.Sprintf(format, args...))
	}
	if r.cycles < fewCycles && p.GC.Percent > 0 {
		doubt("about %d collections are expected: chance decides what they see", r.cycles)
	}
	above := p.GoalBytes.Mid > 1.05*minimumHeap*float64(p.GC.Percent)/100 // what is live matters
	if cpus, runs := m.parallel(); above && cpus > manyCPUs && runs < enoughRuns {
		doubt("the program keeps %.1f CPUs busy: what is live varies between runs, by an amount that "+
			"%s cannot show", cpus, text.Plural(runs, "run"))
	}
	if wide := max(p.GoalBytes.wide(), p.PeakBytes.wide()); wide > wideMemory {
		doubt("the interval is ±%.0f %%: chance, or live data that varies between runs", 100*wide)
	}
}

// wide is how far the interval reaches, as a share; 0 without one.
func (i Interval) wide() float64 {
	if i.Mid <= 0 {
		return 0
	}
	return i.Hi/i.Mid - 1
}

// least is the lowest GOGC measured.
func (m *Model) least() float64 {
	least := math.Inf(1)
	for _, p := range m.pilots {
		least = min(least, percent(p.GC))
	}
	return least
}

func about(mid, deviation float64) Interval {
	return Interval{mid, mid * max(1-z90*deviation, 0), mid * (1 + z90*deviation)}
}

// nearlyHalf is the share of CPU time at which the cliff is drawn: the runtime
// limits collection to half, and gives way on memory then.
const nearlyHalf = 0.45

// Cliff is the least GOMEMLIMIT, in bytes, under which collection takes less
// than nearlyHalf of the CPU time with GOGC off. It is never above what a run
// occupied or was limited to that did not crawl.
func (m *Model) Cliff() int64 { return m.cliff }

func (m *Model) findCliff() int64 {
	lo, hi := m.other, m.other+1.2*m.expect(cell.DisabledGC).peak+16*mib
	for range 16 {
		mid := (lo + hi) / 2
		p := m.Predict(cell.GC{Percent: -1, LimitBytes: int64(mid)})
		if p.GCShare.Mid > nearlyHalf || len(p.Doubts) > len(m.doubts) {
			lo = mid
		} else {
			hi = mid
		}
	}
	for _, p := range m.pilots {
		if p.CPU <= 0 || p.GCSeconds > nearlyHalf*p.CPU {
			continue
		}
		hi = min(hi, max(p.PeakBytes, leastOther))
		if limit := float64(p.GC.LimitBytes); limit > 0 {
			hi = min(hi, limit)
		}
	}
	return int64(hi)
}
