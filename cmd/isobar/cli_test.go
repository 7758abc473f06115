package main

import (
	"errors"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

func TestGate(t *testing.T) {
	for _, tc := range []struct {
		verdicts []stat.Verdict
		code     int
	}{
		{[]stat.Verdict{stat.Better, stat.NoDifference}, 0},
		{[]stat.Verdict{stat.Better, stat.Worse}, exitRegression},
		{[]stat.Verdict{stat.Inconclusive, stat.Inconclusive}, exitInconclusive},
		{[]stat.Verdict{stat.Inconclusive, stat.NoDifference}, 0},
		{[]stat.Verdict{stat.Disagreement, stat.Better}, exitRegression}, // its machines are worse, see below
	} {
		var comparisons []stat.Comparison
		for _, v := range tc.verdicts {
			c := stat.Comparison{Verdict: v}
			if v == stat.Disagreement {
				c.Machines = []stat.MachineComparison{{Comparison: stat.Comparison{Verdict: stat.Better}},
					{Comparison: stat.Comparison{Verdict: stat.Worse}}}
			}
			comparisons = append(comparisons, c)
		}
		code := 0
		var exit *exitError
		if err := gateError(comparisons); errors.As(err, &exit) {
			code = exit.code
		}
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d", tc.verdicts, code, tc.code)
		}
	}
}

// TestQuickStudyIsValid resolves the quick study against the workloads, so that
// a renamed parameter shows here and not to a newcomer.
func TestQuickStudyIsValid(t *testing.T) {
	for _, study := range quickStudies() {
		if err := checkStudy(study); err != nil {
			t.Error(err)
		}
	}
	spec := plan.Spec{Studies: quickStudies(), Repetitions: 1}
	if _, err := spec.Cells(); err != nil {
		t.Error(err)
	}
}
