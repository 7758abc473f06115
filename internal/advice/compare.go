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
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Figure is one metric of one benchmark before and after a fix: the medians; the
// median of the ratios, paired by block, with its interval; and the verdict beyond the
// noise floor of the same blocks.
type Figure struct {
	Package   string  `json:"package"`
	Benchmark string  `json:"benchmark"`
	Metric    string  `json:"metric"` // time/op, B/op, allocs/op
	Before    float64 `json:"before"`
	After     float64 `json:"after"`
	Ratio     factor  `json:"ratio"`
	Lo        factor  `json:"lo"`
	Hi        factor  `json:"hi"`
	Floor     factor  `json:"floor"`
	Verdict   string  `json:"verdict"`
}

// A factor is a ratio, null in JSON if it is not finite: something against nothing.
type factor float64

func (r factor) MarshalJSON() ([]byte, error) {
	if !r.finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}

func (r factor) finite() bool { return !math.IsInf(float64(r), 0) && !math.IsNaN(float64(r)) }

// String returns the factor as a change in percent.
func (r factor) String() string {
	if !r.finite() {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(r)-1))
}

// units are the metrics to compare, with their units in the benchmark format.
var units = []struct{ unit, metric, name string }{
	{"allocs/op", cell.OpAllocs, "allocs/op"}, {"B/op", cell.OpBytes, "B/op"}, {"sec/op", cell.OpTime, "time/op"},
}

// The sides of a comparison. The twin repeats the side before: the difference of these
// two is the noise floor.
const (
	sideOld = iota
	sideTwin
	sideFixed
	sides
)

// A measurement holds the values of all sides of each benchmark, block by block.
type measurement struct {
	order  []bench
	groups map[bench]*[sides]stat.Group
}

func (m *measurement) add(of bench, side, block int, metric string, v float64) {
	g := m.groups[of]
	if g == nil {
		g = &[sides]stat.Group{}
		for side := range g {
			g[side] = stat.Group{Key: strconv.Itoa(side), Series: map[string]stat.Series{}}
		}
		m.groups[of] = g
		m.order = append(m.order, of)
	}
	s := g[side].Series[metric]
	g[side].Series[metric] = stat.Series{Metric: metric, Blocks: append(s.Blocks, block), Values: append(s.Values, v)}
}

// A contest is a judge with the binaries of both sides.
type contest struct {
	judge
	old, fixed string
	times      string // how often it runs: the same for all sides and blocks
}

// The blocks of a comparison: a few are enough if the counts are equal in all of them,
// and a close result gets more than requested.
const (
	fewestBlocks = 4
	closer       = 4 // times the requested blocks
)

// compare runs the sides in interleaved blocks, in an order shuffled with a fixed seed,
// and returns the figures. A close result gets more blocks.
func (v *verifier) compare(ctx context.Context, contests []contest) ([]Figure, error) {
	for i := range contests {
		if err := v.calibrate(ctx, &contests[i]); err != nil {
			return nil, err
		}
	}
	m := &measurement{groups: map[bench]*[sides]stat.Group{}}
	rng := rand.New(rand.NewPCG(1, 0))
	for block := 0; ; block++ {
		for _, at := range rng.Perm(len(contests) * sides) {
			con, side := contests[at/sides], at%sides
			v.say(fmt.Sprintf("%s, block %d", con.name, block+1))
			results, err := v.side(ctx, &con, side, block)
			if err != nil {
				return nil, err
			}
			for _, res := range results {
				for _, u := range units {
					if value, ok := res.Value(u.unit); ok {
						m.add(bench{con.pkg.ImportPath, res.Name.String()}, side, block, u.metric, value)
					}
				}
			}
		}
		done := block + 1
		if done < v.Blocks && (done < fewestBlocks || !m.exact()) {
			continue
		}
		if figures := m.figures(); m.exact() || done >= closer*v.Blocks || !isClose(figures) {
			return figures, nil
		}
	}
}

// Bounds on the iterations of a benchmark.
const (
	fewestIterations = 16
	longestRun       = 20 // times the requested duration
)

// calibrate chooses the number of iterations of each run, by a run of the side without
// the remedy. With one number for all runs, one-time costs of a benchmark weigh the
// same in all of them, however busy the machine is.
func (v *verifier) calibrate(ctx context.Context, con *contest) error {
	con.times = v.BenchTime
	want, err := time.ParseDuration(v.BenchTime)
	if err != nil {
		return nil // a number of iterations
	}
	if con.test() {
		con.times = "1x"
	}
	results, err := v.side(ctx, con, sideOld, -1)
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
		n = max(n, min(fewestIterations, longestRun*want.Seconds()/round))
	}
	least := 1
	if con.test() {
		least = 2 // to learn whether it can be repeated
	}
	con.times = fmt.Sprintf("%dx", max(least, int(n)))
	return nil
}

// side runs one side of a contest, for a block, unless an equal run without a remedy is known.
func (v *verifier) side(ctx context.Context, con *contest, side, block int) (results []*benchfmt.Result, err error) {
	if side == sideFixed || v.base == nil {
		return v.bench(ctx, con, side == sideFixed)
	}
	key := fmt.Sprint(con.old, con.flags(con.times), side, block)
	results, known := v.base[key]
	if !known {
		if results, err = v.bench(ctx, con, false); err == nil {
			v.base[key] = results
		}
	}
	return results, err
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

// repeat runs a test repeatedly. A profile counts all its allocations, except what the
// program allocates before its tests.
func (v *verifier) repeat(ctx context.Context, con *contest, binary string) ([]*benchfmt.Result, error) {
	begun := time.Now()
	p, err := v.observe(ctx, con.judge, binary, con.times)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	var made Totals
	for _, t := range v.timings.timed(p) {
		made.add(t)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(con.times, "x"))
	if err != nil {
		return nil, err
	}
	each := func(unit string, all float64) benchfmt.Value {
		return benchfmt.Value{Value: all / float64(n), Unit: unit}
	}
	values := []benchfmt.Value{each("allocs/op", float64(made.Objects)), each("B/op", float64(made.Bytes)),
		each("sec/op", took.Seconds())}
	return []*benchfmt.Result{{Name: benchfmt.Name(con.name), Iters: n, Values: values}}, nil
}

// exact reports whether the counts of each side are the same in all blocks, and equal
// on both sides without the remedy.
func (m *measurement) exact() bool {
	for _, g := range m.groups {
		for side := range g {
			for metric, s := range g[side].Series {
				first := s.Values[0]
				if side == sideTwin {
					first = g[sideOld].Series[metric].Values[0]
				}
				if metric != cell.OpTime && slices.ContainsFunc(s.Values, func(x float64) bool { return x != first }) {
					return false
				}
			}
		}
	}
	return true
}

// figures judges each metric of each benchmark.
func (m *measurement) figures() (out []Figure) {
	for _, of := range m.order {
		g := m.groups[of]
		for _, u := range units {
			if len(g[sideOld].Series[u.metric].Values) == 0 {
				continue
			}
			floor := 1.0
			if noise := stat.Compare(&g[sideOld], &g[sideTwin], u.metric, 1); noise.Pairs > 0 {
				floor = min(max(1, noise.Hi, 1/noise.Lo), 10)
			}
			c := stat.Compare(&g[sideOld], &g[sideFixed], u.metric, floor)
			out = append(out, Figure{Package: of.pkg, Benchmark: of.name, Metric: u.name, Before: c.AValue, After: c.BValue,
				Ratio: factor(c.Ratio), Lo: factor(c.Lo), Hi: factor(c.Hi), Floor: factor(c.Floor), Verdict: string(c.Verdict)})
		}
	}
	return out
}

// What a fix must gain, and may lose, as ratios.
const (
	worthwhile = 0.99
	tolerated  = 1.05
	smallest   = 8 // bytes of an object; what an operation allocates less is its part of what many share
)

// better and worse report whether a figure decides.
func (f *Figure) better() bool {
	return f.Verdict == string(stat.Better) && f.Ratio <= worthwhile && !f.rounds()
}

func (f *Figure) worse() bool {
	return f.Verdict == string(stat.Worse) && f.Ratio >= tolerated && !f.rounds()
}

// rounds reports whether the values may differ as b.N does, by which the bytes of few objects are divided.
func (f *Figure) rounds() bool { return f.Metric == "B/op" && math.Abs(f.Before-f.After) < smallest }

// outcomeOf returns the outcome of a fix by its figures, and the reason. Only
// allocations and bytes decide.
func outcomeOf(figures []Figure) (outcome, reason string) {
	var gain, loss, hope, fear, slow *Figure
	for i := range figures {
		f := &figures[i]
		switch {
		case f.Metric == "time/op" && f.worse():
			slow = f.further(slow)
		case f.Metric == "time/op":
		case f.better():
			gain = f.further(gain)
		case f.worse():
			loss = f.further(loss)
		case f.rounds():
		case f.Ratio <= worthwhile:
			hope = f.further(hope)
		case f.Ratio >= tolerated:
			fear = f.further(fear)
		}
	}
	switch {
	case len(figures) == 0:
		return Dropped, "its benchmarks print no figures"
	case loss != nil:
		return Dropped, "more " + loss.what() + ": " + loss.change()
	case fear != nil:
		return Unproven, "perhaps more " + fear.what() + ": " + fear.change() + "; equal runs differ as much"
	case gain != nil && slow != nil:
		return Kept, "less " + gain.what() + ": " + gain.change() + "; but more " + slow.what() + ": " + slow.change()
	case gain != nil:
		return Kept, "less " + gain.what() + ": " + gain.change()
	case hope != nil:
		return Unproven, "perhaps less " + hope.what() + ": " + hope.change() + "; equal runs differ as much"
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

// isClose reports whether more blocks could change the outcome: the interval of an
// undecided count reaches a deciding ratio.
func isClose(figures []Figure) bool {
	return slices.ContainsFunc(figures, func(f Figure) bool {
		return f.Metric != "time/op" && !f.rounds() && !f.better() && !f.worse() && (f.Lo <= worthwhile || f.Hi >= tolerated)
	})
}

func (f *Figure) what() string { return f.Metric + " in " + path.Base(f.Package) + "." + f.Benchmark }

// change returns the values and the ratio with its interval, for people.
func (f *Figure) change() string {
	values := f.text(f.Before) + " -> " + f.text(f.After)
	if !f.Ratio.finite() {
		return values
	}
	return fmt.Sprintf("%s, %s [%s, %s]", values, f.Ratio, f.Lo, f.Hi)
}

// text returns a value of the metric with its unit, unless the name of the metric is the unit.
func (f *Figure) text(v float64) string {
	if f.Metric == "time/op" {
		return text.Duration(1e9 * v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
