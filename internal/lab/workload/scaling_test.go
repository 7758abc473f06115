package workload

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestScalingDoesEqualWork(t *testing.T) {
	for _, profile := range []string{"ecdsa", "json", "trees", "sha", "regexp", "mix"} {
		t.Run(profile, func(t *testing.T) {
			checkVariants(t, "scaling", 20, []given{
				{"kind": profile, "goroutines": "3"}, {"kind": profile, "goroutines": "3", "live": "1MiB"}})
		})
	}
	if _, err := tryBuild("scaling", given{"kind": "rsa"}, 1); err == nil || !strings.Contains(err.Error(), "want one of ecdsa") {
		t.Errorf("kind rsa: %v", err)
	}
}

func TestScalingReport(t *testing.T) {
	task := build(t, "scaling", given{"goroutines": "4"}, 1).(*scaling)
	rec := &cell.Record{}
	rec.Set(cell.Throughput, 1000)
	task.Report(rec)
	if got := rec.Metrics["/scaling/each:ops/s"]; got != 250 {
		t.Errorf("%v operations a second for each of 4 goroutines, want 250", got)
	}
}

// BenchmarkScaling is one operation of each profile.
func BenchmarkScaling(b *testing.B) {
	for _, profile := range []string{"ecdsa", "json", "trees", "sha", "regexp"} {
		b.Run("kind="+profile, func(b *testing.B) {
			task := build(b, "scaling", given{"kind": profile, "goroutines": "1"}, 1).(*scaling)
			b.ReportAllocs()
			for b.Loop() {
				task.Loop(0, 1)
			}
		})
	}
}
