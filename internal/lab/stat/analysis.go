// Package stat turns the samples of a run into summaries, comparisons and
// verdicts.
//
// Records of equal configuration form a [Group]. For each metric a group has a
// [Series], one value per block. A [Summary] is the median of a series with a
// confidence interval by order statistics (golang.org/x/perf/benchmath, with no
// assumption about the distribution). A [Comparison] compares two groups of one
// run, or of two runs, paired by block. Its estimate is the median of the
// paired ratios, its interval a bootstrap over blocks (Efron 1979, percentile
// method). With it comes the p value of a rank test: Wilcoxon's signed-rank
// test from 6 pairs, Mann and Whitney's U test with 4 or 5.
//
// If several machines measured a run, each block on one of them, values are
// paired only within a machine. The machine is a block factor: the pairs of all
// machines make the estimate, and the bootstrap draws within each. Each
// machine's own result is kept too, with a test of whether they agree
// ([Heterogeneity]); if they do not, there is no common verdict.
//
// A [Verdict] requires that the interval excludes 1, the rank test agrees, and
// the effect exceeds the noise floor: what the A/A comparison of the same run,
// two groups of the same configuration, showed for the metric. There are many
// comparisons and no correction for that; requiring all three keeps false
// verdicts rare (TestErrorRates).
//
// Latency percentiles of a group come from the histograms merged across its
// records, never from averaged percentiles; per-record percentiles serve only
// for pairing.
//
// The package computes and judges. It neither reads the store nor prints.
package stat

import (
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

// An Analysis is everything that reports show about one run.
type Analysis struct {
	// Groups are the configurations, in the order of the plan, without the
	// twins.
	Groups []*Group
	// Floors are the A/A comparisons: one per metric of each baseline that has a
	// twin.
	Floors []Comparison
	// Comparisons compare every group with the baseline of its study, the first
	// configuration of the study in the plan: one per metric that both have, out
	// of Headline and those added by the workload.
	Comparisons []Comparison
	// Warnings are doubts about records and about the run as a whole, each listed
	// once.
	Warnings []CountedWarning
	// Findings state the results in plain words, most important first.
	Findings []string
	// Machines are those that measured the run, in the order of their first block.
	// Only a fleet's run has several.
	Machines []*Machine
	// Missing is the number of planned cells that have no record.
	Missing int
}

// A Group is one configuration with all its records.
type Group struct {
	Config cell.Config
	Key    string
	// Records are the finished ones, by block; Failures the others.
	Records  []*cell.Record
	Failures []*cell.Record
	// Series holds the records' metrics by name, measured and derived (see
	// LatencyMetric).
	Series map[string]Series
	// Latency holds the histograms merged across records, named by
	// cell.HistResponse and cell.HistService; absent if none was recorded.
	Latency map[string]*latency.Histogram
	// Buckets holds the runtime's histograms, merged the same way, named by
	// cell.HistPause and cell.HistSched.
	Buckets map[string]cell.Buckets
}

// A Series is one metric of one group, with a value per block that has one.
type Series struct {
	Metric string
	Blocks []int
	Values []float64
	// Machines holds each value's machine; nil if there is only one.
	Machines []*Machine
}

// machine returns the machine of value i, nil if there is only one.
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

// A Verdict is the outcome of a comparison, from B's point of view.
type Verdict string

const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference shown"
	// Inconclusive: too few pairs for any verdict.
	Inconclusive Verdict = "inconclusive"
	// Disagreement: machines differ so much that no verdict holds for all of them.
	Disagreement Verdict = "machines disagree"
)

// Verdicts lists all, in the order in which reports count them.
var Verdicts = []Verdict{Better, Worse, NoDifference, Disagreement, Inconclusive}

// A Comparison compares group B with group A in one metric.
type Comparison struct {
	Metric string
	A, B   string // keys
	AValue float64
	BValue float64 // medians
	// Ratio is the median of the paired ratios B/A, with its bootstrap interval.
	Ratio, Lo, Hi float64
	P             float64 // rank test, two-sided
	Pairs         int
	// Floor is the noise floor, a factor of 1 to 10: the farther end of the
	// interval from the workload's A/A comparison for this metric; 1 if unknown.
	Floor    float64
	Verdict  Verdict
	Reason   string // one sentence on the reason for the verdict
	Warnings []string
	// Machines are the results per machine and Heterogeneity is the test of
	// whether they agree; both are nil unless the pairs come from several
	// machines. AValue and BValue are over all machines, whatever their speed.
	Machines      []MachineComparison
	Heterogeneity *Heterogeneity
}

// A CountedWarning is a warning and the number of records that carry it; 0 for
// one about the run.
type CountedWarning struct {
	cell.Warning
	Records int `json:"records"`
}
