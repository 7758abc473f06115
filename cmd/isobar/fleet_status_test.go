package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestFleetStatusFits prints workers with long figures and hostile names: a line is at most 80 columns, and no
// name reaches the terminal as more than text.
func TestFleetStatusFits(t *testing.T) {
	machine := cell.Machine{CPU: "AMD EPYC 9654 96-Core Processor", CPUs: 192, CPUQuota: 0.5, OS: "linux", Arch: "amd64"}
	status := &fleet.Status{
		Server: strings.Repeat("N", 56), Cluster: "isobar", Dead: 10_000,
		Workers: []fleet.Member{
			{Name: "isobar-worker-7d9f8b6c5d", Machine: machine, Allow: []string{"lab", "exec"}, State: "draining",
				Sweep: "run1234-0123456789ab", Block: 123456, Done: 9, Cells: 1000, Started: time.Now(), Floor: 12.34,
				CellsDone: 1_234_567, CellsFailed: 12_345, Retries: 12_345, LostHeartbeats: 1_234_567},
			{Name: "na\nme\x1b[31m", Machine: machine, Allow: []string{"lab"}, State: "idle"},
		},
		Sweeps: []fleet.SweepStatus{{ID: "run1234-0123456789ab", Requires: fleet.Requirement{Kind: "lab"}, Queued: 1_000_000,
			Running: 1000, Retried: 10, Results: 16_384, Unmet: "w1: isobar v1.2.3, not v1.2.4"}},
	}
	var b strings.Builder
	if err := printFleet(&b, status); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"block 123456, cell 10 of 1000", "0.5 of 192 CPUs, for lab,exec", `na\nme\x1b[31m`,
		"trouble: w1: isobar v1.2.3", "12.34x  1234567   12345    12345     1234567  isobar-worker"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.ContainsAny(b.String(), "\x1b\r") {
		t.Errorf("control characters in %q", b.String())
	}
}
