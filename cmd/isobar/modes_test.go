package main

import (
	"testing"

	"github.com/isobar-go/isobar/internal/study/modes"
)

// TestModesFitTheWorkloads holds that every row of the matrices is a plan that
// would run.
func TestModesFitTheWorkloads(t *testing.T) {
	for _, s := range modes.Studies() {
		if err := checkStudy(s); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
