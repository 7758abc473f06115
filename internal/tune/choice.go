package tune

import (
	"cmp"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

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

// A Named is a setting that an answer names, as the fresh rounds measured it.
type Named struct {
	Name    string // "today", or of a choice
	Setting string // as environment variables, and whether the choice is proven
	Key     string // of the configuration
	// Bytes is peak memory, CPU is CPU time in seconds: medians.
	Bytes, CPU float64
}

// Named are today's setting and the choices, in the order of the answer; nil where
// there was nothing to prove.
func (r *Answer) Named() (out []Named) {
	for i, c := range r.Choices {
		cpu, memory := c.gain(cell.TotalCPU), c.gain(cell.RSSPeak)
		if i == 0 {
			out = append(out, Named{"today", settingText(r.Base), r.Base.Key(), memory.Default, cpu.Default})
		}
		if cpu.Pairs > 0 {
			out = append(out, Named{c.Name, settingText(c.Setting) + ", " + c.proven(), c.Setting.Key(),
				cmp.Or(c.PeakBytes.Mid, memory.Tuned), cpu.Tuned})
		}
	}
	return out
}

func (c *Choice) proven() string {
	if c.Outcome == Recommended {
		return "proven"
	}
	return "not proven"
}
