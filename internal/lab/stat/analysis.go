// Package stat turns the samples of a run into summaries, comparisons and
// verdicts.
//
// Records of equal configuration form a [Group]. For each metric a group has a
// [Series], one value a block. A [Summary] is the median of a series with a
// confidence interval by order statistics (golang.org/x/perf/benchmath,
// assuming nothing about the distribution). A [Comparison] sets two groups of
// one run, or of two runs, against each other, paired by block: the estimate is
// the median of the paired ratios, its interval a bootstrap over blocks (Efron
// 1979, percentile method), beside it the p value of a rank test: Wilcoxon's
// signed-rank test from 6 pairs, Mann and Whitney's U test with 4 or 5.
//
// Where several machines measured a run, each block on one of them, values are
// paired within a machine alone. The machine is a block factor: pairs of all
// machines make the estimate, and the bootstrap draws within each. What each
// machine showed by itself stands beside it, with a test of whether they agree
// ([Heterogeneity]); where they do not, there is no common verdict.
//
// A [Verdict] is given only where the interval excludes 1, the rank test
// agrees, and the effect is larger than the noise floor: what the A/A
// comparison of the same run, two groups of the same configuration, showed for
// the metric. Comparisons are many and are not corrected for that: asking for
// all three is what keeps false verdicts rare (TestErrorRates).
//
// Latency percentiles of a group come from the histograms merged across its
// records, never from averaged percentiles; the per-record percentiles serve
// the pairing alone.
//
// The package computes and judges. It neither reads the store nor prints.
package stat

import (
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// An Analysis is everything that reports show of one run.
type Analysis struct {
	// Groups are the configurations, in the order of the plan, without the
	// twins.
	Groups []*Group
	// Floors are the A/A comparisons: one for each metric of each baseline
	// that has a twin.
	Floors []Comparison
	// Comparisons set every group against the baseline of its study, the
	// first configuration of it in the plan: one for each metric in Headline,
	// and each that a workload adds, that both have.
	Comparisons []Comparison
	// Warnings are the doubts that travel with the records, and those about
	// the run as a whole, each once.
	Warnings []CountedWarning
	// Findings say in plain words what was found, most important first.
	Findings []string
	// Machines are those that measured the run, in the order of their first
	// block: one, but for a run of a fleet.
	Machines []*Machine
	// Missing is the number of planned cells that have no record.
	Missing int
}

// A Group is one configuration with all its records.
type Group struct {
	Config cell.Config
	Key    string
	// Records are those that finished, by block; Failures those that did not.
	Records  []*cell.Record
	Failures []*cell.Record
	// Series holds the metrics of the records, measured and derived (see
	// LatencyMetric), by name.
	Series map[string]Series
	// Latency holds the histograms merged across records, by the names of
	// cell.HistResponse and cell.HistService; absent where none was recorded.
	Latency map[string]*latency.Histogram
	// Buckets holds the runtime's histograms, merged likewise, by the names
	// of cell.HistPause and cell.HistSched.
	Buckets map[string]cell.Buckets
}

// A Series is one metric of one group: a value for each block that has one.
type Series struct {
	Metric string
	Blocks []int
	Values []float64
	// Machines are those of the values; nil where all are of one.
	Machines []*Machine
}

// machine returns the machine of value i, nil where all are of one.
func (s *Series) machine(i int) *Machine {
	if s.Machines == nil {
		return nil
	}
	return s.Machines[i]
}

// A Summary describes a series.
type Summary struct {
	N        int
	Median   float64
	Lo, Hi   float64 // confidence interval of the median; equal to the range where N is too small
	Warnings []string
}

// A Verdict is the outcome of a comparison, from the point of view of B.
type Verdict string

const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference shown"
	// Inconclusive: too few pairs for any verdict.
	Inconclusive Verdict = "inconclusive"
	// Disagreement: machines differ so that no verdict holds for all of them.
	Disagreement Verdict = "machines disagree"
)

// Verdicts lists all, in the order in which reports count them.
var Verdicts = []Verdict{Better, Worse, NoDifference, Disagreement, Inconclusive}

// A Comparison sets group B against group A in one metric.
type Comparison struct {
	Metric string
	A, B   string // keys
	AValue float64
	BValue float64 // medians
	// Ratio is the median of the paired ratios B/A, with its bootstrap
	// interval.
	Ratio, Lo, Hi float64
	P             float64 // rank test, two-sided
	Pairs         int
	// Floor is the noise floor: the farther end of the interval that the A/A
	// comparison of the workload showed for this metric, as a factor of 1 to 10;
	// 1 where unknown.
	Floor    float64
	Verdict  Verdict
	Reason   string // why the verdict is what it is, one sentence
	Warnings []string
	// Machines are the results of each machine and Heterogeneity what they have
	// in common, where pairs are of more than one; else both are nil. The values
	// AValue and BValue are over all machines, whatever their speed.
	Machines      []MachineComparison
	Heterogeneity *Heterogeneity
}

// A CountedWarning is a warning and the number of records that carry it, 0 for
// one about the run.
type CountedWarning struct {
	cell.Warning
	Records int
}
