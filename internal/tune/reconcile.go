package tune

import (
	"fmt"
	"math"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Measured summarizes the runs under one setting: the median, the least and the greatest of
// each figure.
type Measured struct {
	GC   cell.GC `json:"gc"`
	Runs int     `json:"runs"`
	Figures
}

// measuredOf summarizes pilots by setting, in the order of the first run of each.
func measuredOf(pilots []Pilot) (out []Measured) {
	for _, runs := range stat.Split(pilots, func(p Pilot) cell.GC { return p.GC }) {
		of := func(figure func(Pilot) float64) Interval {
			var values []float64
			for _, p := range runs {
				values = append(values, figure(p))
			}
			return spanOf(values)
		}
		out = append(out, Measured{runs[0].GC, len(runs), Figures{
			Wall:      of(func(p Pilot) float64 { return p.Wall }),
			CPU:       of(func(p Pilot) float64 { return p.CPU }),
			GCShare:   of(func(p Pilot) float64 { return p.GCSeconds / p.CPU }),
			PeakBytes: of(func(p Pilot) float64 { return p.PeakBytes }),
			Cycles:    int(of(func(p Pilot) float64 { return float64(p.Cycles) }).Mid),
		}})
	}
	return out
}

// A kind is a figure that is both predicted and measured.
type kind struct {
	name string
	of   func(*Figures) *Interval
	fit  func(*Model) *fit
}

const (
	cpuKind   = "CPU time"
	shareKind = "GC share"
)

var kinds = []kind{
	{cpuKind, func(f *Figures) *Interval { return &f.CPU }, func(m *Model) *fit { return &m.cpu }},
	{"wall time", func(f *Figures) *Interval { return &f.Wall }, func(m *Model) *fit { return &m.wall }},
	{shareKind, func(f *Figures) *Interval { return &f.GCShare }, func(m *Model) *fit { return &m.gc }},
	{"peak memory", func(f *Figures) *Interval { return &f.PeakBytes }, func(m *Model) *fit { return &m.peak }},
}

// Relative standard deviations before any run: of a run from others of its setting, and of the
// model from the mean of a setting. If runs wait for a CPU, wall time varies more, as do the
// collections in gctrace and heaps that no limit bounds; CPU time does not.
const (
	runNoise    = 0.08
	modelError  = 0.02
	gcError     = 0.08
	peakError   = 0.06
	chanceError = 0.12 // for a program that collects once
	memoryNoise = 0.02
	waitNoise   = 4.0
	outgrowing  = 0.18 // of peak memory, for a run that always waits
)

// Priors of factors, and of their change with each doubling away from the baseline.
var (
	gcPriors     = [terms]prior{{0, 0.5}, {-0.05, 0.04}}
	memoryPriors = [terms]prior{{0, 0.06}, {0, 0.02}}
)

// resident returns the memory that a run occupies according to a replay, in bytes.
func (m *Model) resident(r *replay) float64 {
	return max(m.beside+r.more+r.peak+grown(r.peak), leastOther)
}

// question is the input to a fit of a factor for a replay. is and was are the figure under the
// setting and under the baseline; off and noise are the deviations of the model and of a run.
func (m *Model) question(r *replay, is, was, off, noise float64) sample {
	cycles := float64(r.cycles) + 1
	at := place{math.Log2(m.resident(r)), math.Log2(cycles)}
	if off > 0 {
		off = math.Hypot(off, chanceError/math.Sqrt(cycles))
	}
	return sample{vector{1, math.Log2(max(is, 1e-9) / max(was, 1e-9))}, at, off, noise}
}

func (m *Model) askGC(r *replay, waiting float64) sample {
	noise := math.Hypot(waits(waiting), m.spread/math.Sqrt(max(float64(r.cycles), 1)))
	return m.question(r, r.seconds, m.first.seconds, math.Hypot(gcError, r.strain), noise)
}

// seconds returns the mean time of collections over many runs.
func (m *Model) seconds(r *replay) Interval {
	s := m.askGC(r, m.waiting)
	s.noise = 0
	return m.gc.times(r.seconds, s)
}

func (m *Model) askPeak(r *replay, limit int64, waiting float64) sample {
	is := m.resident(r)
	noise := math.Hypot(memoryNoise, mib/2/is)
	if limit == 0 || is <= binding*float64(limit) {
		noise = math.Hypot(noise, outgrowing*waiting)
	}
	return m.question(r, is, m.resident(&m.first), peakError, noise)
}

// binding is the share of a limit above which the limit determines memory.
const binding = 0.85

// askTime is the input to a fit of times. level is their median, noise that of a run, seconds the
// time that collections take, and more the waiting above the mean.
func (m *Model) askTime(r *replay, level, noise float64, seconds Interval, more float64) sample {
	s := m.question(r, 1, 1, 0, level*noise)
	s.error = math.Hypot(modelError*level, secondCosts*(seconds.Hi-seconds.Mid)/2)
	s.x = vector{1, seconds.Mid, m.resident(r), level * more}
	return s
}

// waits is the deviation of wall time and collections between runs with this share of waiting.
func waits(waiting float64) float64 { return runNoise * (1 + waitNoise*waiting) }

// times returns a figure of the replay times the factor that the fit expects.
func (f *fit) times(figure float64, s sample) Interval {
	if figure <= 0 {
		return Interval{}
	}
	mid, half := f.predict(s)
	return Interval{figure * math.Exp(mid), figure * math.Exp(mid-half), figure * math.Exp(mid+half)}
}

// learn fits the factors of collections and of memory, then the times, to all runs.
func (m *Model) learn() {
	replays := map[cell.GC]*replay{}
	for _, s := range m.seen {
		r := m.expect(s.GC)
		replays[s.GC] = &r
	}
	m.first = *replays[m.pilots[0].GC]
	var gcs, peaks []observation
	add := func(to *[]observation, is, was float64, s sample) {
		if is > 0 && was > 0 {
			*to = append(*to, observation{s, math.Log(is / was)})
		}
	}
	var cpus, walls []float64
	for _, p := range m.pilots {
		r := replays[p.GC]
		add(&gcs, p.GCSeconds, r.seconds, m.askGC(r, p.Waiting))
		add(&peaks, p.PeakBytes, m.resident(r), m.askPeak(r, p.GC.LimitBytes, p.Waiting))
		cpus, walls = append(cpus, p.CPU), append(walls, p.Wall)
	}
	m.gc, m.peak = newFit(gcs, gcPriors), newFit(peaks, memoryPriors)
	m.cpuLevel, m.wallLevel = stat.Median(cpus), stat.Median(walls)
	var cpu, wall []observation
	busy, procs := m.cpuLevel/m.wallLevel, 0.0
	for _, p := range m.pilots {
		r := replays[p.GC]
		seconds := m.seconds(r)
		more := p.Waiting - m.waiting
		cpu = append(cpu, observation{m.askTime(r, m.cpuLevel, runNoise, seconds, more), p.CPU})
		wall = append(wall, observation{m.askTime(r, m.wallLevel, waits(p.Waiting), seconds, more), p.Wall})
		procs = max(procs, float64(p.Procs))
	}
	priors := func(level, over, bytesOver, waits float64) [terms]prior {
		return [terms]prior{{level / 2, level}, {secondCosts / over, secondCostsSpread / over},
			{byteCosts / bytesOver, byteCostsSpread / bytesOver}, {waits, 0.3}}
	}
	m.cpu = newFit(cpu, priors(m.cpuLevel, 1, 1, 0))
	// Work on CPUs that the program leaves idle does not add to wall time.
	delay := secondCosts / secondDelays * max(busy, procs/2)
	m.wall = newFit(wall, priors(m.wallLevel, delay, busy, 1))
	// Fit again without a prior on the cost of a second of collection.
	loose := priors(m.cpuLevel, 1, 1, 0)
	loose[1].deviation = 100
	free := newFit(cpu, loose)
	b := free.coefficient(1)
	beyond := (b.mean - secondCosts) / math.Hypot(b.deviation, secondCostsSpread)
	m.misfit = len(m.pilots) > 2 && beyond > studentQuantile(0.99, float64(trust+len(m.pilots)-2)) ||
		m.cpu.coefficient(0).mean < leastWork*m.cpuLevel
}

// leastWork is the least share of CPU time that a program spends on its own work.
const leastWork = 0.05

// Expect predicts a run under the setting from all runs so far, and adds what runs under it
// measured. Figures whose interval is wider than vague are withheld, unless the setting ran.
func (m *Model) Expect(gc cell.GC) Prediction {
	r := m.expect(gc)
	p := Prediction{GC: gc, Figures: Figures{Cycles: r.cycles}}
	for _, s := range m.seen {
		if s.GC.Percent == gc.Percent && s.GC.LimitBytes == gc.LimitBytes {
			p.Measured = &s
		}
	}
	p.PeakBytes = m.memory(&r, gc)
	m.expectTimes(&p, &r)
	for _, k := range kinds {
		i := k.of(&p.Figures)
		if p.Measured != nil { // the interval must contain its own runs
			was := *k.of(&p.Measured.Figures)
			if i.Mid <= 0 {
				*i = was
			}
			i.Lo, i.Hi = min(i.Lo, was.Lo), max(i.Hi, was.Hi)
		} else if k.name != shareKind && (p.crawls || i.wide() > vague) {
			*i = Interval{}
			p.Withheld = append(p.Withheld, k.name)
		}
	}
	return p
}

// memory returns the resident memory at the peak of a run, in bytes.
func (m *Model) memory(r *replay, gc cell.GC) Interval {
	return m.peak.times(m.resident(r), m.askPeak(r, gc.LimitBytes, m.waiting))
}

// expectTimes sets CPU and wall time, the share of collections, and whether the
// program would crawl.
func (m *Model) expectTimes(p *Prediction, r *replay) {
	seconds := m.gc.times(r.seconds, m.askGC(r, m.waiting))
	usual := m.seconds(r)
	// The fit at the usual seconds of collection, plus the spread of those seconds and of later
	// runs: runs of one study agree by chance, and other programs come and go.
	time := func(f *fit, level, noise float64) Interval {
		mid, half := f.predict(m.askTime(r, level, 0, Interval{Mid: usual.Mid, Hi: usual.Mid}, 0))
		half = math.Hypot(half, level*max(f.wide*noise, f.usual*runNoise*(1+m.waiting)))
		cost := max(f.coefficient(1).mean, 0)
		less, more := math.Hypot(half, cost*(usual.Mid-usual.Lo)), math.Hypot(half, cost*(usual.Hi-usual.Mid))
		return Interval{max(mid, 0), max(mid-less, 0), max(mid+more, 0)}
	}
	p.CPU = time(&m.cpu, m.cpuLevel, runNoise)
	p.Wall = time(&m.wall, m.wallLevel, waits(m.waiting))
	share := func(v float64) float64 { return min(v/max(p.CPU.Mid, v, 1e-9), 1) }
	p.GCShare = Interval{share(seconds.Mid), max(share(seconds.Lo)-0.003, 0), min(share(seconds.Hi)+0.003, 1)}
	// The runtime's limiter would leave the program half of the time, and let the heap grow.
	p.crawls = r.starving || seconds.Mid > maxGCShare*p.CPU.Mid
	p.hopeless = seconds.Lo > maxGCShare*p.CPU.Mid
}

// ratios returns CPU and wall time under gc over those under base, each the mean of many runs,
// with 90 % intervals. No setting saves more than what collections and memory cost under base.
func (m *Model) ratios(gc, base cell.GC) (cpu, wall Interval) {
	to, from := m.expect(gc), m.expect(base)
	some, all := m.seconds(&to), m.seconds(&from)
	ratio := func(f *fit, level float64) Interval { // of means: the noise of a run cancels
		a, b := m.askTime(&to, level, 0, some, 0), m.askTime(&from, level, 0, all, 0)
		i := f.ratio(a, b)
		under, _ := f.predict(b)
		if under <= 0 {
			return i
		}
		saved := f.atMost(1)*all.Hi + f.atMost(2)*max(b.x[2]-a.x[2], 0)
		i.Lo = max(i.Lo, 1-saved/under)
		i.Mid = max(i.Mid, i.Lo)
		i.Hi = max(i.Hi, i.Mid)
		return i
	}
	return ratio(&m.cpu, m.cpuLevel), ratio(&m.wall, m.wallLevel)
}

// strange is the ratio of actual to expected deviation from which a figure's runs
// contradict the model.
const strange = 2.5

// contradicted names the figures for which runs contradict the model, and by how much; "" for none.
func (m *Model) contradicted() string {
	var names, times []string
	for _, k := range kinds {
		f := k.fit(m)
		if f.wide >= strange*f.usual {
			names, times = append(names, k.name), append(times, fmt.Sprintf("%.1f", f.wide/f.usual))
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s: the runs contradict the model, by %s times what is usual; intervals are wider by as much, "+
		"and what they would leave open is not predicted", strings.Join(names, ", "), strings.Join(times, ", "))
}
