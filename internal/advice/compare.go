package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	if math.IsInf(float64(r), 0) || math.IsNaN(float64(r)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
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

// A contest is what to run: the binaries of both sides of a package, and the
// benchmarks of it.
type contest struct {
	pkg        *testPackage
	names      []string
	sub        string
	old, fixed string
}

// compare runs the sides in interleaved blocks, in an order shuffled by a
// fixed seed.
func (c command) compare(ctx context.Context, contests []contest, blocks int, benchtime string) (*measurement, error) {
	m := &measurement{values: map[sampleKey]*samples{}}
	rng := rand.New(rand.NewPCG(1, 0))
	for block := range blocks {
		for _, at := range rng.Perm(len(contests) * sides) {
			con, side := contests[at/sides], at%sides
			binary := con.old
			if side == sideFixed {
				binary = con.fixed
			}
			in := command{con.pkg.Dir, c.env}
			out, err := in.run(ctx, binary, "-test.run=^$", "-test.bench=^("+strings.Join(con.names, "|")+")$"+con.sub,
				"-test.benchtime="+benchtime, "-test.benchmem", "-test.timeout=10m")
			if err != nil {
				return nil, fmt.Errorf("benchmarks of %s: %w", con.pkg.ImportPath, err)
			}
			reader := benchfmt.NewReader(bytes.NewReader(out), con.pkg.ImportPath)
			for reader.Scan() {
				res, ok := reader.Result().(*benchfmt.Result)
				if !ok {
					continue
				}
				for _, u := range units {
					if v, ok := res.Value(u.unit); ok {
						m.add(sampleKey{con.pkg.ImportPath, res.Name.String(), u.metric}, side, block, v)
					}
				}
			}
			if err := reader.Err(); err != nil {
				return nil, fmt.Errorf("benchmarks of %s: %w", con.pkg.ImportPath, err)
			}
		}
	}
	return m, nil
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
	if n > 1 {
		for side := range times {
			for i, v := range times[side].Values {
				times[side].Values[i] = math.Exp(v / float64(n))
			}
		}
		out = append(out, times.figure(sampleKey{"", "", cell.OpTime}))
	} else if n == 1 {
		i := slices.IndexFunc(out, func(f Figure) bool { return f.Metric == "time/op" })
		all := out[i]
		all.Package, all.Benchmark = "", ""
		out = append(out, all)
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

// judge decides on a fix by its figures: why it is kept, or why not.
func judge(figures []Figure, acceptTime bool) (keep bool, reason string) {
	var best, loss, total *Figure
	for i := range figures {
		f := &figures[i]
		switch {
		case f.Benchmark == "":
			total = f
		case f.Metric == "time/op":
		case f.Verdict == string(stat.Better) && f.Ratio <= worthwhile && (best == nil || f.Ratio < best.Ratio):
			best = f
		case f.Verdict == string(stat.Worse) && f.Ratio >= tolerated && (loss == nil || f.Ratio > loss.Ratio):
			loss = f
		}
	}
	faster := total != nil && total.Verdict == string(stat.Better) && total.Ratio <= worthwhile
	switch {
	case total == nil:
		return false, "its benchmarks print no figures"
	case loss != nil:
		return false, "more " + loss.what() + ": " + loss.change()
	case total.Verdict == string(stat.Worse) && total.Ratio >= tolerated:
		return false, "time rises beyond noise: " + total.change()
	case best != nil:
		return true, "less " + best.what() + ": " + best.change()
	case faster && acceptTime:
		return true, "less time: " + total.change()
	case faster:
		return false, "time falls (" + total.change() + ") and allocations do not; --accept-time keeps such fixes"
	}
	return false, "neither allocations nor bytes fall beyond noise"
}

func (f *Figure) what() string { return f.Metric + " in " + path.Base(f.Package) + "." + f.Benchmark }

// change is the ratio as a person reads it, with its interval.
func (f *Figure) change() string {
	percent := func(r factor) string { return fmt.Sprintf("%+.1f %%", 100*(float64(r)-1)) }
	values := f.text(f.Before) + " -> " + f.text(f.After)
	if r := float64(f.Ratio); math.IsInf(r, 0) || math.IsNaN(r) {
		return values
	}
	return fmt.Sprintf("%s, %s [%s, %s]", values, percent(f.Ratio), percent(f.Lo), percent(f.Hi))
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

// build compiles the tests of a package.
func (c command) build(ctx context.Context, p *testPackage, dir, name string) (string, error) {
	binary := filepath.Join(dir, name)
	if _, err := c.run(ctx, "go", "test", "-c", "-o", binary, p.ImportPath); err != nil {
		return "", err
	}
	return binary, nil
}
