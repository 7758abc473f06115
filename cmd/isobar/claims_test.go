package main

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/study/claim"
)

// TestClaimsFitTheWorkloads holds that every experiment of the ledger uses
// existing workloads, parameters and levels.
func TestClaimsFitTheWorkloads(t *testing.T) {
	claims, err := claim.Select(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]claim.Experiment{}
	for _, c := range claims {
		if c.Untestable != "" {
			continue
		}
		for _, size := range []claim.Size{claim.Quick, claim.Full} {
			spec, err := c.Experiment.Spec(size, 1)
			if err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
			if err := checkStudy(spec.Studies[0]); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
			name := c.Experiment.Name(size)
			if other, ok := names[name]; ok && other != c.Experiment {
				t.Errorf("%s: another experiment has the name %q: make both equal, so that it is measured once", c.ID, name)
			}
			names[name] = c.Experiment
			if spec.Repetitions < 4 {
				t.Errorf("%s: %d repetitions, but a verdict needs 4", c.ID, spec.Repetitions)
			}
		}
		if !strings.HasSuffix(c.Why, ".") || !strings.HasPrefix(c.ID[3:], "/") {
			t.Errorf("%s: an ID is three digits and a name, Why is sentences", c.ID)
		}
	}
}
