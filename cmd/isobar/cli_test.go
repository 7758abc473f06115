package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// TestQuickStudyIsValid resolves the quick study against the workloads, so that this test
// notices a renamed parameter, not a new user.
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

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestPagesThatCannotBeWritten: help and versions fail like other output.
func TestPagesThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"lab", "--help"}, {}, {"--version"}, {"completion", "bash"}} {
		var errs strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), full{}, &errs); code != exitFailure {
			t.Errorf("%q: exit code %d, want %d", args, code, exitFailure)
		}
		if got, want := errs.String(), "isobar: no space left on device\n"; got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestHalfAFile: a write that fails halfway leaves the existing file unchanged.
func TestHalfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ticks")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	err := new(app).toFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half of it")
		return errors.Join(err, full)
	})
	if got, _ := os.ReadFile(name); !errors.Is(err, full) || string(got) != "before" {
		t.Errorf("%v, and the file has %q", err, got)
	}
}
