package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Figure is one metric of one benchmark before and after a fix: the medians,
// the median of the ratios paired by block with its interval, and the
// verdict beyond the noise floor of the same blocks.
type Figure struct {
	Package   string  `json:"package"`
	Benchmark string  `json:"benchmark"` // "" for the geometric mean of all that were run
	Metric    string  `json:"metric"`    // time/op, B/op, allocs/op
	Before    float64 `json:"before"`
	After     float64 `json:"after"`
	Ratio     factor  `json:"ratio"`
	Lo        factor  `json:"lo"`
	Hi        factor  `json:"hi"`
	Floor     factor  `json:"floor"`
	Verdict   string  `json:"verdict"`
}

// A factor is null in JSON where it is not finite: something against nothing.
type factor float64

func (r factor) MarshalJSON() ([]byte, error) {
	if !r.finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}

func (r factor) finite() bool { return !math.IsInf(float64(r), 0) && !math.IsNaN(float64(r)) }

// String is the factor as a change in percent.
func (r factor) String() string {
	if !r.finite() {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(r)-1))
}

// units are the metrics that are compared, by their names in the benchmark
// format.
var units = []struct{ unit, metric, name string }{
	{"allocs/op", cell.OpAllocs, "allocs/op"}, {"B/op", cell.OpBytes, "B/op"}, {"sec/op", cell.OpTime, "time/op"},
}

// The sides of a comparison. The twin is the side before once more: what they
// differ by is the noise floor.
const (
	sideOld = iota
	sideTwin
	sideFixed
	sides
)

// samples are the values of one metric of one benchmark, by side.
type samples [sides]stat.Series

// A measurement holds samples by package, benchmark and metric.
type measurement struct {
	order  []sampleKey
	values map[sampleKey]*samples
}

type sampleKey struct{ pkg, benchmark, metric string }

func (m *measurement) add(key sampleKey, side, block int, v float64) {
	s := m.values[key]
	if s == nil {
		s = &samples{}
		m.values[key] = s
		m.order = append(m.order, key)
	}
	s[side].Metric = key.metric
	s[side].Blocks, s[side].Values = append(s[side].Blocks, block), append(s[side].Values, v)
}

// A contest is a judge and the binaries of both sides.
type contest struct {
	judge
	old, fixed string
	times      string // how often it runs: the same for all sides and blocks
}

// The blocks of a comparison: as few as allow a verdict where the counts are the
// same in all of them, and more than asked for where it is close.
const (
	fewestBlocks = 4
	closer       = 4 // times the blocks that were asked for
)

// compare runs the sides in interleaved blocks, in an order shuffled by a fixed
// seed, and returns the figures. A close call has more blocks.
func (v *verifier) compare(ctx context.Context, contests []contest) ([]Figure, error) {
	for i := range contests {
		if err := v.calibrate(ctx, &contests[i]); err != nil {
			return nil, err
		}
	}
	m := &measurement{values: map[sampleKey]*samples{}}
	rng := rand.New(rand.NewPCG(1, 0))
	for block := 0; ; block++ {
		for _, at := range rng.Perm(len(contests) * sides) {
			con, side := contests[at/sides], at%sides
			v.Progress(fmt.Sprintf("%s, block %d", con.name, block+1))
			results, err := v.bench(ctx, &con, side == sideFixed)
			if err != nil {
				return nil, err
			}
			for _, res := range results {
				for _, u := range units {
					if value, ok := res.Value(u.unit); ok {
						m.add(sampleKey{con.pkg.ImportPath, res.Name.String(), u.metric}, side, block, value)
					}
				}
			}
		}
		done := block + 1
		if done < v.Blocks && (done < fewestBlocks || v.AcceptTime || !m.exact()) {
			continue
		}
		if figures := m.figures(); m.exact() || done >= closer*v.Blocks || !isClose(figures) {
			return figures, nil
		}
	}
}

// fewest and longest bound the iterations of a benchmark whose time allows more or fewer.
const (
	fewestIterations = 16
	longestRun       = 2 * time.Second
)

// calibrate chooses how many iterations each run has, from a run of the side
// without the remedy. With one number for all runs, what a benchmark does once
// costs all of them alike, however busy the machine is.
func (v *verifier) calibrate(ctx context.Context, con *contest) error {
	con.times = v.BenchTime
	want, err := time.ParseDuration(v.BenchTime)
	if err != nil {
		return nil // a number of iterations
	}
	if con.test() {
		con.times = "1x"
	}
	results, err := v.bench(ctx, con, false)
	if err != nil {
		return err
	}
	round := 0.0 // seconds for one iteration of all its parts
	for _, res := range results {
		seconds, _ := res.Value("sec/op")
		round += seconds
	}
	n := 1e9
	if round > 0 {
		n = float64(len(results)) * want.Seconds() / round
		n = max(n, min(fewestIterations, longestRun.Seconds()/round))
	}
	con.times = fmt.Sprintf("%dx", max(1, int(n)))
	return nil
}

// bench runs one side of a contest once.
func (v *verifier) bench(ctx context.Context, con *contest, fixed bool) (results []*benchfmt.Result, err error) {
	binary := con.old
	if fixed {
		binary = con.fixed
	}
	if con.test() {
		return v.repeat(ctx, con, binary)
	}
	out, err := command{con.pkg.Dir, v.env}.run(ctx, binary, append(con.flags(con.times), "-test.benchmem",
		"-test.timeout=10m")...)
	if err != nil {
		return nil, fmt.Errorf("benchmarks of %s: %w", con.pkg.ImportPath, err)
	}
	reader := benchfmt.NewReader(bytes.NewReader(out), con.pkg.ImportPath)
	for reader.Scan() {
		if res, ok := reader.Result().(*benchfmt.Result); ok {
			results = append(results, res.Clone())
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("benchmarks of %s: %w", con.pkg.ImportPath, err)
	}
	return results, nil
}

// repeat runs a test again and again. A profile counts all that it allocates but for what
// the program does before its tests.
func (v *verifier) repeat(ctx context.Context, con *contest, binary string) ([]*benchfmt.Result, error) {
	begun := time.Now()
	p, err := v.observe(ctx, con.judge, binary, con.times)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	j := &joiner{timings: v.timings, benchmarks: true}
	if err := j.samples(con.name, p); err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(con.times, "x"))
	if err != nil {
		return nil, err
	}
	each := func(unit string, all float64) benchfmt.Value {
		return benchfmt.Value{Value: all / float64(n), Unit: unit}
	}
	values := []benchfmt.Value{each("allocs/op", float64(j.total.Objects)), each("B/op", float64(j.total.Bytes)),
		each("sec/op", took.Seconds())}
	return []*benchfmt.Result{{Name: benchfmt.Name(con.name), Iters: n, Values: values}}, nil
}

// exact reports whether the counts of each side are the same in all blocks, and
// those of both sides without the remedy.
func (m *measurement) exact() bool {
	for key, s := range m.values {
		if key.metric == cell.OpTime {
			continue
		}
		for side := range s {
			first := &s[side]
			if side == sideTwin {
				first = &s[sideOld]
			}
			if slices.ContainsFunc(s[side].Values, func(x float64) bool { return x != first.Values[0] }) {
				return false
			}
		}
	}
	return true
}

// figures judges each metric of each benchmark, and the geometric mean of the
// times.
func (m *measurement) figures() []Figure {
	var out []Figure
	times := &samples{}
	n := 0
	for _, key := range m.order {
		s := m.values[key]
		if key.metric == cell.OpTime {
			n++
			times.gather(s)
		}
		out = append(out, s.figure(key))
	}
	if n > 0 {
		for side := range times {
			for i, v := range times[side].Values {
				times[side].Values[i] = math.Exp(v / float64(n))
			}
		}
		out = append(out, times.figure(sampleKey{"", "", cell.OpTime}))
	}
	return out
}

// gather adds the logarithms of a benchmark's times, block by block.
func (s *samples) gather(other *samples) {
	for side := range s {
		if s[side].Values == nil {
			s[side].Metric, s[side].Blocks = other[side].Metric, other[side].Blocks
			s[side].Values = make([]float64, len(other[side].Values))
		}
		for i := range min(len(s[side].Values), len(other[side].Values)) {
			s[side].Values[i] += math.Log(max(other[side].Values[i], 1e-12))
		}
	}
}

func (s *samples) figure(key sampleKey) Figure {
	group := func(side int) *stat.Group {
		return &stat.Group{Key: fmt.Sprint(side), Series: map[string]stat.Series{key.metric: s[side]}}
	}
	noise := stat.Compare(group(sideOld), group(sideTwin), key.metric, 1)
	floor := 1.0
	if noise.Pairs > 0 {
		floor = min(max(1, noise.Hi, 1/noise.Lo), 10)
	}
	c := stat.Compare(group(sideOld), group(sideFixed), key.metric, floor)
	f := Figure{
		Package: key.pkg, Benchmark: key.benchmark, Before: c.AValue, After: c.BValue,
		Ratio: factor(c.Ratio), Lo: factor(c.Lo), Hi: factor(c.Hi), Floor: factor(c.Floor), Verdict: string(c.Verdict),
	}
	for _, u := range units {
		if u.metric == key.metric {
			f.Metric = u.name
		}
	}
	return f
}

// What a fix must gain, and may lose, as ratios.
const (
	worthwhile = 0.99
	tolerated  = 1.05
)

// outcomeOf decides on a fix by its figures: its outcome, and why. Allocations and
// bytes decide; time does where acceptTime says so and they stay the same.
func outcomeOf(figures []Figure, acceptTime bool) (outcome, reason string) {
	var gain, loss, hope, fear, total *Figure
	for i := range figures {
		f := &figures[i]
		switch {
		case f.Benchmark == "":
			total = f
		case f.Metric == "time/op":
		case f.Verdict == string(stat.Better) && f.Ratio <= worthwhile:
			gain = f.further(gain)
		case f.Verdict == string(stat.Worse) && f.Ratio >= tolerated:
			loss = f.further(loss)
		case f.Ratio <= worthwhile:
			hope = f.further(hope)
		case f.Ratio >= tolerated:
			fear = f.further(fear)
		}
	}
	faster := total != nil && total.Verdict == string(stat.Better) && total.Ratio <= worthwhile
	switch {
	case total == nil:
		return Dropped, "its benchmarks print no figures"
	case loss != nil:
		return Dropped, "more " + loss.what() + ": " + loss.change()
	case fear != nil:
		return Unproven, "perhaps more " + fear.what() + ": " + fear.change() + "; equal runs differ as much"
	case gain != nil && total.Verdict == string(stat.Worse) && total.Ratio >= tolerated:
		return Kept, "less " + gain.what() + ": " + gain.change() + "; but more time: " + total.change()
	case gain != nil:
		return Kept, "less " + gain.what() + ": " + gain.change()
	case faster && acceptTime:
		return Kept, "less time: " + total.change()
	case hope != nil:
		return Unproven, "perhaps less " + hope.what() + ": " + hope.change() + "; equal runs differ as much"
	case faster:
		return Dropped, "time falls (" + total.change() + ") and allocations do not; --accept-time keeps such fixes"
	}
	return Dropped, "neither allocations nor bytes fall beyond noise"
}

// further returns the one of two figures whose ratio is further from 1.
func (f *Figure) further(other *Figure) *Figure {
	if other != nil && math.Abs(math.Log(float64(other.Ratio))) >= math.Abs(math.Log(float64(f.Ratio))) {
		return other
	}
	return f
}

// isClose reports whether more blocks could change what the counts say: the
// interval of a figure without a verdict reaches to where it would decide.
func isClose(figures []Figure) bool {
	return slices.ContainsFunc(figures, func(f Figure) bool {
		decided := f.Verdict == string(stat.Better) && f.Ratio <= worthwhile ||
			f.Verdict == string(stat.Worse) && f.Ratio >= tolerated
		return f.Metric != "time/op" && !decided && (f.Lo <= worthwhile || f.Hi >= tolerated)
	})
}

func (f *Figure) what() string { return f.Metric + " in " + path.Base(f.Package) + "." + f.Benchmark }

// change is the ratio as a person reads it, with its interval.
func (f *Figure) change() string {
	values := f.text(f.Before) + " -> " + f.text(f.After)
	if !f.Ratio.finite() {
		return values
	}
	return fmt.Sprintf("%s, %s [%s, %s]", values, f.Ratio, f.Lo, f.Hi)
}

// text is a value of the metric with its unit, without the one that the
// metric's name has.
func (f *Figure) text(v float64) string {
	if f.Metric != "time/op" {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	for _, u := range []struct {
		least float64
		name  string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {0, "ns"}} {
		if v >= u.least {
			return fmt.Sprintf("%.4g %s", v/max(u.least, 1e-9), u.name)
		}
	}
	return "0"
}
