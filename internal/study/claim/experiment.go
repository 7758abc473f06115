package claim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
)

// An Experiment is what to measure for a claim, as arguments of 'isobar lab
// run': a workload and its flags. Flags with several values make factors; the
// first values are the baseline, which each block measures twice (A/A). Equal
// experiments are measured once.
type Experiment struct {
	// Run is the workload and the flags common to both sizes.
	Run string
	// Quick and Full are the flags for each size, including --reps.
	Quick, Full string
}

// Size is the length of an experiment.
type Size string

const (
	Quick Size = "quick" // seconds
	Full  Size = "full"  // as long as in the document, or nearly
)

// Args returns the arguments of 'isobar' that measure the experiment.
func (e Experiment) Args(size Size) []string {
	flags := e.Full
	if size == Quick {
		flags = e.Quick
	}
	return append([]string{"lab", "run"}, strings.Fields(e.Run+" "+flags)...)
}

// Name is the name of the runs of the experiment, which may take several passes. Runs are
// looked up by it: two experiments share a name only if they and their sizes are equal.
func (e Experiment) Name(size Size) string {
	return "claims: " + strings.Join(e.Args(size)[2:], " ")
}

// Pass returns the cells of one pass, counted from 0: one block per repetition,
// numbered consecutively over the passes.
func (e Experiment) Pass(size Size, seed uint64, pass int) ([]cell.Cell, error) {
	spec, err := e.Spec(size, seed)
	if err != nil {
		return nil, err
	}
	spec.Repetitions *= pass + 1
	cells, err := spec.Cells()
	return cells[len(cells)/(pass+1)*pass:], err
}

// Spec returns the plan of the experiment.
func (e Experiment) Spec(size Size, seed uint64) (spec plan.Spec, err error) {
	args := e.Args(size)[2:]
	spec.Seed = seed
	if len(args) == 0 {
		return spec, fmt.Errorf("claim: experiment: no workload")
	}
	study := plan.Study{Workload: args[0]}
	for args = args[1:]; len(args) > 0; {
		name, ok := strings.CutPrefix(args[0], "--")
		if !ok || len(args) < 2 {
			return spec, fmt.Errorf("claim: experiment %s: %q: want --FLAG VALUE", e.Run, args[0])
		}
		switch levels := strings.Split(args[1], ","); name {
		case "reps":
			if spec.Repetitions, err = strconv.Atoi(args[1]); err != nil {
				return spec, fmt.Errorf("claim: experiment %s: --reps: %w", e.Run, err)
			}
		case "profile":
			spec.Profiles = levels
		case "latency":
			spec.Untimed = args[1] == "off"
		default:
			study.Factors = append(study.Factors, plan.Factor{Name: name, Levels: levels})
		}
		args = args[2:]
	}
	spec.Studies = []plan.Study{study}
	if _, err := spec.Cells(); err != nil {
		return spec, fmt.Errorf("claim: experiment %s: %w", e.Run, err)
	}
	return spec, nil
}
