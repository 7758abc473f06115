package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// An Interval is an estimate with bounds that should hold 90 % of later measurements.
type Interval struct {
	Mid float64 `json:"mid"`
	Lo  float64 `json:"lo"`
	Hi  float64 `json:"hi"`
}

// spanOf returns the median, the least and the greatest of values; zero if there are none.
func spanOf(values []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	return Interval{stat.Median(values), slices.Min(values), slices.Max(values)}
}

// RatioOf returns the ratio of a comparison with its interval; zero without a pair.
func RatioOf(c stat.Comparison) Interval {
	if c.Pairs == 0 {
		return Interval{}
	}
	return Interval{c.Ratio, c.Lo, c.Hi}
}

// Figures are those of runs under a setting.
type Figures struct {
	Wall      Interval `json:"wall_seconds"`
	CPU       Interval `json:"cpu_seconds"`
	GCShare   Interval `json:"gc_share"` // of the CPU time, 0 to 1
	PeakBytes Interval `json:"peak_bytes"`
	Cycles    int      `json:"cycles"`
}

// A Prediction is what the model expects of a run under a setting.
type Prediction struct {
	GC cell.GC `json:"gc"`
	Figures
	// Measured summarizes the runs under this setting; nil if there are none. It
	// counts more than the prediction.
	Measured *Measured `json:"measured,omitempty"`
	// Withheld names the figures that the model cannot predict and that should be
	// measured. Their intervals are zero.
	Withheld []string `json:"withheld,omitempty"`

	// crawls: the limit leaves no room, or collections should take over half of the CPU time.
	// hopeless: they should do so even at the lower bound of their interval.
	crawls, hopeless bool
	// fills: the runs show a heap that filled up, as that of a server does sooner or later.
	fills bool
	// cost and cpu are the objective and CPU time over the baseline's, for the choice.
	cost, cpu Interval
	// Over the baseline's, from counts: peak memory, the cost of collections, and the memory
	// needed if collections keep up.
	memory, work, needs float64
}

const (
	heapOverhead = 1.04 // resident bytes per byte of heap
	leastOther   = 3 * mib
	usualOther   = 8 * mib
	// leastBeyond bytes, and the share liveBeyond of live data, count to GOMEMLIMIT beside the
	// heap's objects: the runtime's own memory, and room in partly used blocks.
	leastBeyond = 4.9 * mib
	liveBeyond  = 0.16
	// doublingResident is how many more bytes beside the heap are resident per doubling of the heap.
	doublingResident = 0.85 * mib
	// Standard deviations of the bytes that count to a limit beside the heap: between programs,
	// between settings of one, and between runs of a setting.
	beyondSpread, beyondError, beyondNoise = 1 * mib, 0.9 * mib, 0.4 * mib
	smallHeap                              = 8 * mib
	fewCycles                              = 5
	// vague is the relative half-width above which an interval says nothing.
	vague = 0.4
)

// The CPU time that a second of collection costs, the delay it causes a program that keeps one
// CPU busy, and the cost of first touching a byte. From the recorded programs (TestScanCosts);
// the spreads are between programs, docs/adr/0024.
const (
	secondCosts, secondCostsSpread = 1.6, 0.5
	secondDelays                   = 1.1
	byteCosts, byteCostsSpread     = 0.45e-9, 0.4e-9
)

// A Model predicts what settings cost a program, from the pilots it was fitted to. The derivation
// is in docs/tune.md. It does not change after NewModel.
type Model struct {
	pilots              []Pilot
	waiting             float64 // share of time, mean over the pilots
	beyond              fit     // of the bytes that count to a GOMEMLIMIT beside the heap's objects
	beside              float64 // resident bytes beside the heap; negative if part of the heap is never touched
	spread              float64 // of the cost of a cycle, relative standard deviation
	first               replay  // of the baseline
	cpuLevel, wallLevel float64 // medians, in seconds
	seen                []Measured
	cliff               int64
	// The fits of CPU and wall time are in seconds. The others are in logarithms of
	// measured over replayed.
	gc, peak, cpu, wall fit
	doubts              []string
	misfit              bool // CPU time of the pilots grows by more than collections explain, or foreign is set
	// Bytes of the largest process, and what the heaps in gctrace explain of them, if that is so little that another
	// heap must be beside them; otherwise 0. No smaller GOMEMLIMIT may be derived from the heaps.
	foreign, explained float64
}

// NewModel fits a model to at least one pilot.
func NewModel(pilots []Pilot) (*Model, error) {
	m := &Model{pilots: pilots, seen: measuredOf(pilots)}
	if len(m.sources()) == 0 {
		return nil, errNoCycles
	}
	for _, p := range pilots {
		if p.CPU <= 0 || p.Wall <= 0 {
			return nil, fmt.Errorf("tune: model: a pilot with %v s of wall and %v s of CPU time: the platform does not "+
				"account programs", p.Wall, p.CPU)
		}
		m.waiting += p.Waiting / float64(len(pilots))
	}
	m.fitMemory()
	m.learn()
	m.findForeign()
	m.doubt()
	m.cliff = m.findCliff()
	return m, nil
}

func (m *Model) fitMemory() {
	var beside moments
	live := 0.0
	for _, p := range m.sources() {
		live = max(live, p.mostLive())
	}
	var beyond []observation
	for _, p := range m.pilots {
		if p.Beyond > 0 {
			beyond = append(beyond, observation{askBeyond(p.GC, beyondNoise), p.Beyond})
		}
	}
	m.beyond = newFit(beyond, [terms]prior{{leastBeyond + liveBeyond*live, beyondSpread}})
	for _, p := range m.sources() {
		other, _ := m.beyondOf(p.GC)
		r := p.replayAll(p.GC, other)
		resident := r.peak + grown(r.peak) + other - m.usuallyBeyond()
		beside.weigh(p.weight(), p.PeakBytes-resident)
		for _, t := range p.streams {
			m.spread = max(m.spread, t.spread)
		}
	}
	m.beside = beside.mean()
}

// askBeyond is the input to the fit of bytes beside the heap. Settings of similar limits are
// similar; distance in GOGC counts a third as much. docs/adr/0028.
func askBeyond(gc cell.GC, noise float64) sample {
	at := place{math.Log2(float64(gc.LimitBytes)), math.Log2(percent(gc)) / 3}
	return sample{vector{1}, at, beyondError, noise}
}

// beyondOf returns the bytes that count to a setting's limit beside the heap, and
// their standard deviation.
func (m *Model) beyondOf(gc cell.GC) (bytes, deviation float64) {
	if gc.LimitBytes == 0 {
		return m.usuallyBeyond(), 0
	}
	mid, half := m.beyond.predict(askBeyond(gc, 0))
	return max(mid, leastOther), half / m.beyond.usual
}

// usuallyBeyond returns those bytes for a limit about which nothing is known.
func (m *Model) usuallyBeyond() float64 { return max(m.beyond.coefficient(0).mean, leastOther) }

// grown returns how many more bytes beside the heap are resident with a heap of the
// given size than with one of 24 MiB.
func grown(heap float64) float64 { return doublingResident * math.Log2((heap+usualOther)/(32*mib)) }

func (m *Model) doubt() {
	cycles, forced := 0, 0
	for _, p := range m.sources() {
		cycles, forced = max(cycles, p.Cycles), max(forced, p.forced())
	}
	switch {
	case cycles >= fewCycles:
	case forced > cycles:
		m.doubts = append(m.doubts, fmt.Sprintf("of %d collections the program forced %d: no setting changes those",
			cycles+forced, forced))
	default:
		m.doubts = append(m.doubts, fmt.Sprintf("only %d collections ran: a longer run tells more", cycles))
	}
	switch {
	case m.foreign > 0:
		m.doubts = append(m.doubts, fmt.Sprintf("gctrace explains %s of the %s that a process took: the program may start "+
			"others that collect untraced; no GOMEMLIMIT below that was tried", bytesText(m.explained), bytesText(m.foreign)))
	case m.misfit:
		m.doubts = append(m.doubts, "CPU time grows with collections by more than these can cost: they may disturb the "+
			"program, or it may start others that collect untraced")
	}
}

// findForeign looks for memory of a process that gctrace does not explain. A program that ran alone may have it outside
// the heap. Of several, one may collect untraced: then a run takes far more than the model expected before any run.
func (m *Model) findForeign() {
	first := &m.pilots[0]
	before := newFit(nil, memoryPriors)
	for _, p := range m.sources() {
		other, _ := m.beyondOf(p.GC)
		r := p.replayAll(p.GC, other)
		explained := max(r.peak, p.mostHeap) + grown(r.peak) + usualOther
		_, half := before.predict(m.askPeak(&r, p.GC.LimitBytes, p.Waiting))
		if p.Largest > explained*math.Exp(strange*half) {
			m.foreign, m.explained, m.misfit = cmp.Or(first.Largest, first.PeakBytes), explained, true
			return
		}
	}
}

func percent(gc cell.GC) float64 {
	if gc.Percent < 0 {
		return 6400
	}
	return float64(gc.Percent)
}

// wide returns the relative half-width of the interval; 0 for a zero interval.
func (i Interval) wide() float64 {
	if i.Mid <= 0 {
		return 0
	}
	return i.Hi/i.Mid - 1
}

// nearlyHalf is the share of CPU time that defines the cliff: the runtime limits collection to
// half, and exceeds the memory limit instead.
const nearlyHalf = 0.45

// Cliff returns the least GOMEMLIMIT, in bytes, under which collection takes less
// than nearlyHalf of the CPU time with GOGC off. It never exceeds the memory or the
// limit of a run that did not crawl.
func (m *Model) Cliff() int64 { return m.cliff }

func (m *Model) findCliff() int64 {
	lo := m.usuallyBeyond()
	hi := lo + 1.2*m.expect(cell.DisabledGC).peak + 16*mib
	for range 16 {
		mid := (lo + hi) / 2
		p := m.Expect(cell.GC{Percent: -1, LimitBytes: int64(mid)})
		if p.GCShare.Mid > nearlyHalf || p.crawls {
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
