package claim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Test decides a claim. Its values are data.
type Test interface {
	// estimates returns the deciding figures, one per part of the test; an error means that
	// the samples lack one.
	estimates(e evidence) ([]Estimate, error)
	// judge decides by the estimates.
	judge(of []Estimate) Result
	// sides lists the figures that the test uses.
	sides() []Side
}

// A Result is the outcome of a test.
type Result struct {
	Verdict Verdict
	// Tentative: part of the interval lies in the next verdict.
	Tentative bool
	// Estimate is the deciding figure. Unit is "x" for a ratio, otherwise a unit
	// as in cell.Unit.
	Estimate Estimate
	Unit     string
	// Metric is the metric of the estimate if it is not a ratio.
	Metric string
	// Text says in one sentence what decided.
	Text string
	// Parts are the figures of all parts of the test.
	Parts []Estimate
}

// decide judges the claim; an error means that the samples lack a figure.
func decide(t Test, e evidence) (Result, error) {
	parts, err := t.estimates(e)
	if err != nil {
		return Result{}, err
	}
	r := t.judge(parts)
	r.Parts = parts
	return r, nil
}

// alone is the one estimate of a test without parts.
func alone(e Estimate, err error) ([]Estimate, error) { return []Estimate{e}, err }

// minPairs is how many blocks a verdict needs.
const minPairs = 4

// Effect tests the effect of one configuration compared with another: Of is
// Says times Over. Let x be the measured and c the claimed effect, as
// logarithms in the claimed direction. The claim holds from c/2 on, if that is
// above the noise floor. It is reversed below both -c/4 and the floor. It is
// refuted below c/4, or below the floor if that is less than c/2. In between it
// is weaker. The estimate gives the verdict, which is tentative if the interval
// reaches into the next verdict, and open if it reaches farther.
type Effect struct {
	Of, Over Side
	Says     float64 // the document's ratio, not 1
}

func (t Effect) estimates(e evidence) ([]Estimate, error) { return alone(e.ratio(t.Of, t.Over)) }

func (t Effect) judge(of []Estimate) Result {
	r := judgeEffect(of[0], t.Says)
	r.Estimate, r.Unit = of[0], "x"
	return r
}

// effectTexts explain the verdicts on an effect.
var effectTexts = map[Verdict]string{
	Holds:    "the effect is more than half of the figure",
	Weaker:   "the direction is right, but the effect is less than half of the figure",
	Refuted:  "the effect is within the noise floor, or less than a quarter of the figure",
	Reversed: "the effect goes the other way, by more than a quarter of the figure",
}

// judgeEffect compares a measured ratio with a claimed one.
func judgeEffect(est Estimate, says float64) Result {
	claimed, x, lo, hi := math.Log(says), math.Log(est.Value), math.Log(est.Lo), math.Log(est.Hi)
	if claimed < 0 {
		claimed, x, lo, hi = -claimed, -x, -hi, -lo
	}
	floor := math.Log(est.Floor)
	verdict := func(x float64) Verdict {
		switch {
		case x > floor && x >= claimed/2:
			return Holds
		case x < -max(floor, claimed/4):
			return Reversed
		case x < max(claimed/4, min(floor, claimed/2)):
			return Refuted
		case x > floor:
			return Weaker
		}
		return Open
	}
	order := []Verdict{Reversed, Refuted, Weaker, Holds}
	if floor >= claimed/2 {
		order[2] = Open // weaker cannot be told from refuted
	}
	low, high := verdict(lo), verdict(hi)
	switch {
	case est.N < minPairs:
		return Result{Verdict: Open, Text: fmt.Sprintf("%d pairs are too few: a verdict needs %d", est.N, minPairs)}
	case verdict(x) == Open:
		return Result{Verdict: Open, Text: fmt.Sprintf("equal configurations differ as much: up to %.2fx", est.Floor)}
	case slices.Index(order, high)-slices.Index(order, low) > 1:
		return Result{Verdict: Open, Text: fmt.Sprintf("the interval does not decide: it reaches from %s to %s", low, high)}
	case low != high:
		other := low
		if other == verdict(x) {
			other = high
		}
		return Result{Verdict: verdict(x), Tentative: true,
			Text: fmt.Sprintf("%s; the interval reaches into %s", effectTexts[verdict(x)], other)}
	}
	return Result{Verdict: verdict(x), Text: effectTexts[verdict(x)]}
}

func (t Effect) sides() []Side { return []Side{t.Of, t.Over} }

// Range tests that a figure lies between two bounds: the figure is Of or, if
// Over is set, the ratio of Of to Over.
type Range struct {
	Of, Over Side
	Min, Max float64
}

func (t Range) isRatio() bool { return t.Over != Side{} }

func (t Range) estimates(e evidence) ([]Estimate, error) {
	if t.isRatio() {
		return alone(e.ratio(t.Of, t.Over))
	}
	return alone(e.value(t.Of))
}

func (t Range) judge(of []Estimate) Result {
	est := of[0]
	r := Result{Unit: cell.Unit(t.Of.Metric), Metric: t.Of.Metric, Estimate: est}
	if t.isRatio() {
		r.Metric = ""
		if over := cell.Unit(t.Over.Metric); over != r.Unit {
			r.Unit += "/" + strings.TrimSuffix(over, "s")
		} else {
			r.Unit = "x"
		}
	}
	inside := est.Value >= t.Min && est.Value <= t.Max
	r.Tentative = inside && (est.Lo < t.Min || est.Hi > t.Max) || !inside && est.Hi >= t.Min && est.Lo <= t.Max
	switch {
	case est.N < minPairs:
		r.Verdict, r.Tentative, r.Text = Open, false, fmt.Sprintf("%d repetitions are too few: a verdict needs %d", est.N,
			minPairs)
		return r
	case inside:
		r.Verdict, r.Text = Holds, "it is "+t.bounds()
	default:
		r.Verdict, r.Text = Refuted, "it is not "+t.bounds()
	}
	if r.Tentative {
		r.Text += "; the interval reaches beyond the bound"
	}
	return r
}

func (t Range) bounds() string {
	switch {
	case math.IsInf(t.Max, 1):
		return fmt.Sprintf("%.4g or more", t.Min)
	case t.Min <= 0:
		return fmt.Sprintf("%.4g or less", t.Max)
	}
	return fmt.Sprintf("between %.4g and %.4g", t.Min, t.Max)
}

func (t Range) sides() []Side {
	if t.isRatio() {
		return []Side{t.Of, t.Over}
	}
	return []Side{t.Of}
}

// Share tests the share of trials with a certain outcome, added over the
// repetitions, with Wilson's 95 % interval.
type Share struct {
	Hits, Trials Side
	Min, Max     float64 // of the claim, 0 to 1
}

func (t Share) estimates(e evidence) ([]Estimate, error) {
	hits, n, blocks := 0.0, 0.0, 0
	h, err := e.group(t.Hits)
	if err != nil {
		return nil, err
	}
	all, err := e.group(t.Trials)
	if err != nil {
		return nil, err
	}
	for _, v := range h.Series[t.Hits.Metric].Values {
		hits += v
		blocks++
	}
	for _, v := range all.Series[t.Trials.Metric].Values {
		n += v
	}
	if blocks == 0 || n == 0 || hits > n {
		return nil, fmt.Errorf("%v of %v trials in %d repetitions give no share", hits, n, blocks)
	}
	est := wilson(hits, n)
	est.N = blocks
	return []Estimate{est}, nil
}

func (t Share) judge(of []Estimate) Result {
	est := of[0]
	r := Result{Unit: "of trials", Estimate: est}
	counted := fmt.Sprintf("%.0f of %.0f", est.Value*est.trials(), est.trials())
	switch {
	case est.Lo > t.Max || est.Hi < t.Min:
		r.Verdict, r.Text = Refuted, counted
	case est.Value >= t.Min && est.Value <= t.Max && (est.Lo >= t.Min/2 || t.Min == 0) && est.Hi <= (1+t.Max)/2:
		r.Verdict, r.Text = Holds, counted
	default:
		r.Verdict, r.Text = Open, counted+" do not decide"
	}
	return r
}

// trials returns the number of trials behind a share with Wilson's interval.
func (e Estimate) trials() float64 {
	const z = 1.96
	end := e.Lo
	if e.Value-e.Lo < e.Hi-e.Value {
		end = e.Hi
	}
	return math.Round(z * z * end * (1 - end) / ((e.Value - end) * (e.Value - end)))
}

// wilson is the score interval of a share at 95 %.
func wilson(hits, n float64) Estimate {
	const z = 1.96
	p := hits / n
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Estimate{Value: p, Lo: max(0, min(p, middle-half)), Hi: min(1, max(p, middle+half)), Floor: 1}
}

func (t Share) sides() []Side { return []Side{t.Hits, t.Trials} }

// All requires several elementary tests to hold. The verdict is the first of reversed, refuted,
// open and weaker that any of them has; otherwise the claim holds. The estimate is that of the
// deciding test. One sure test is enough to deny the claim; it holds surely only if all are sure.
type All []Test

func (t All) estimates(e evidence) (out []Estimate, err error) {
	for _, part := range t {
		of, err := part.estimates(e)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

func (t All) judge(of []Estimate) Result {
	order := []Verdict{Reversed, Refuted, Open, Weaker, Holds}
	var out Result
	var texts []string
	for i, part := range t {
		r := part.judge(of[i : i+1])
		texts = append(texts, r.Text)
		worse := cmp.Compare(slices.Index(order, r.Verdict), slices.Index(order, out.Verdict))
		if i == 0 || worse < 0 || worse == 0 && r.Tentative != out.Tentative && r.Tentative == (r.Verdict == Holds) {
			out = r
		}
	}
	out.Text = strings.Join(texts, "; ")
	return out
}

func (t All) sides() []Side {
	var out []Side
	for _, part := range t {
		for _, s := range part.sides() {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
