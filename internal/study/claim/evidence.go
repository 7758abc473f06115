package claim

import (
	"fmt"
	"math"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Side is one figure of an experiment: a metric of one configuration.
type Side struct {
	Metric string
	// Where selects the configuration by factors: "strategy=arena gc=off". It must
	// match exactly one.
	Where string
}

// fits reports whether the side selects the configuration.
func (s Side) fits(c cell.Config) bool {
	for term := range strings.FieldsSeq(s.Where) {
		name, want, _ := strings.Cut(term, "=")
		have, _ := c.Factor(name)
		if name == "gc" {
			if gc, err := cell.ParseGC(want); err == nil {
				want = gc.String()
			}
		}
		if have != want {
			return false
		}
	}
	return true
}

func (s Side) String() string {
	if s.Where == "" {
		return s.Metric
	}
	return s.Metric + " (" + s.Where + ")"
}

// evidence is an analyzed run of the experiment.
type evidence struct {
	analysis *stat.Analysis
	// widen is the factor by which to lengthen each interval on the logarithmic
	// scale.
	widen float64
}

// group finds the side's configuration.
func (e evidence) group(s Side) (*stat.Group, error) {
	var found *stat.Group
	for _, g := range e.analysis.Groups {
		if !s.fits(g.Config) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q matches more than one configuration: %s and %s", s.Where, found.Key, g.Key)
		}
		found = g
	}
	if found == nil {
		return nil, fmt.Errorf("%q matches no configuration", s.Where)
	}
	return found, nil
}

// An Estimate is a figure with its interval.
type Estimate struct {
	Value, Lo, Hi float64
	N             int // blocks
	// Floor is how much two equal configurations differed, as a factor of 1 or
	// more; 1 if irrelevant or unknown.
	Floor float64
}

// widened returns the estimate with its interval and floor widened, if the interval is
// positive and finite and thus has logarithms.
func (e Estimate) widened(by float64) Estimate {
	if by != 1 && e.Lo > 0 && !math.IsInf(e.Hi, 1) {
		e.Lo, e.Hi, e.Floor = e.Value*math.Pow(e.Lo/e.Value, by), e.Value*math.Pow(e.Hi/e.Value, by), math.Pow(e.Floor, by)
	}
	return e
}

// value estimates a side: the median with its interval, or the range if there
// are too few values.
func (e evidence) value(s Side) (Estimate, error) {
	g, err := e.group(s)
	if err != nil {
		return Estimate{}, err
	}
	sum := stat.Summarize(g.Series[s.Metric])
	if sum.N == 0 {
		return Estimate{}, fmt.Errorf("no repetition has %s", s)
	}
	return Estimate{sum.Median, sum.Lo, sum.Hi, sum.N, 1}.widened(e.widen), nil
}

// ratio estimates the ratio of of to over, paired by block. Their metrics may differ.
func (e evidence) ratio(of, over Side) (Estimate, error) {
	a, err := e.group(over)
	if err != nil {
		return Estimate{}, err
	}
	b, err := e.group(of)
	if err != nil {
		return Estimate{}, err
	}
	const name = "figure"
	alone := func(g *stat.Group, metric string) *stat.Group {
		return &stat.Group{Key: g.Key, Series: map[string]stat.Series{name: g.Series[metric]}}
	}
	c := stat.Compare(alone(a, over.Metric), alone(b, of.Metric), name, 1)
	if c.Pairs == 0 || math.IsNaN(c.Ratio) {
		return Estimate{}, fmt.Errorf("no ratio of %s over %s: %s", of, over, c.Reason)
	}
	return Estimate{c.Ratio, c.Lo, c.Hi, c.Pairs, max(e.floor(of.Metric), e.floor(over.Metric))}.widened(e.widen), nil
}

// floor is the largest difference between two equal configurations in the metric, as a factor.
func (e evidence) floor(metric string) float64 {
	floor := 1.0
	for _, c := range e.analysis.Floors {
		if c.Metric == metric && c.Pairs > 0 {
			floor = max(floor, c.Apart())
		}
	}
	return floor
}
