package tune

import "github.com/isobar-go/isobar/internal/lab/cell"

// Names of choices.
const (
	Fastest     = "fastest"      // within the memory allowed, or twice the baseline's
	SameMemory  = "same memory"  // as the baseline, in less CPU time
	LeastMemory = "least memory" // at the baseline's CPU time
)

// A Choice is a setting that was measured against the baseline in fresh rounds.
// Its GOGC is never off without a GOMEMLIMIT.
type Choice struct {
	Name string `json:"name"` // Fastest, SameMemory or LeastMemory
	// Setting is the whole configuration. Setting.GC holds GOGC (Percent, -1 for
	// off) and GOMEMLIMIT (LimitBytes, 0 for none), Setting.GOMAXPROCS is 0 where
	// the runtime chooses.
	Setting cell.Config `json:"setting"`
	// PeakBytes is the resident memory of the fresh runs at its peak: their
	// median, least and greatest. What a container must allow lies above Hi.
	PeakBytes Interval `json:"peak_bytes"`
	// CPU, Memory and Cost (of the objective) are ratios to the baseline, with
	// their 95 % intervals: below 1 is less.
	CPU    Interval `json:"cpu_ratio"`
	Memory Interval `json:"memory_ratio"`
	Cost   Interval `json:"cost_ratio"`
	// Outcome is Recommended where the choice keeps what its name promises beyond
	// doubt, DefaultGood where it provably does not, else Inconclusive; Reason
	// says why.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	// Warnings are doubts about this setting alone, such as a limit close to
	// where the program crawls.
	Warnings []string `json:"warnings,omitempty"`
	Gains    []Gain   `json:"gains"` // every metric that was compared
}
