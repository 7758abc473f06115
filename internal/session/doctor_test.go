package session

import (
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

func TestSpread(t *testing.T) {
	s := newSpread([]float64{0.98, 1.02, 1, 0.97, 1.03, 1, 1.06, 1.02, 1.04, 0.99})
	if s.Deviation < 0.02 || s.Deviation > 0.04 || math.Abs(s.Drift-1.02) > 0.021 {
		t.Errorf("%+v", s)
	}
	if !(s.Detectable["6"] > s.Detectable["10"] && s.Detectable["10"] > s.Detectable["50"] && s.Detectable["50"] > 1) {
		t.Errorf("more pairs must detect finer differences: %v", s.Detectable)
	}
	if equal := newSpread([]float64{2, 2, 2, 2, 2, 2}); equal.Deviation != 0 || equal.Drift != 1 ||
		equal.Detectable["6"] != 1 {
		t.Errorf("equal values: %+v", equal)
	}
}

func TestExamine(t *testing.T) {
	quiet := spread{Deviation: 0.01, Drift: 1, Detectable: map[string]float64{"50": 1.01}}
	for want, d := range map[string]Diagnosis{
		"":                        {GOMAXPROCS: 2, Machine: cell.Machine{CPUQuota: 2}},
		"set GOMAXPROCS=2":        {GOMAXPROCS: 8, Machine: cell.Machine{CPUQuota: 1.5}},
		"hypervisor":              {Noise: cell.Noise{Steal: 0.05}},
		"other processes":         {Noise: cell.Noise{OtherCPU: 0.5}},
		"tasks waited for memory": {Noise: cell.Noise{MemoryPressure: 0.5}},
		"drifts":                  {Wall: spread{Deviation: 0.01, Drift: 0.8, Detectable: quiet.Detectable}},
		"equal runs differ":       {Wall: spread{Deviation: 0.2, Drift: 1, Detectable: quiet.Detectable}},
		"governor":                {Machine: cell.Machine{Warnings: []string{"the governor is ondemand"}}},
	} {
		if d.Wall.Drift == 0 {
			d.Wall = quiet
		}
		d.examine()
		found := slices.ContainsFunc(d.Findings, func(s string) bool { return strings.Contains(s, want) })
		if want == "" && len(d.Findings) > 0 || want != "" && (!found || len(d.Findings) != 1) {
			t.Errorf("%q: found %q", want, d.Findings)
		}
	}
}

// TestDiagnoseAlone: beside a running study, doctor would diagnose the study.
func TestDiagnoseAlone(t *testing.T) {
	se := &Session{Out: io.Discard, Err: io.Discard, Store: filepath.Join(t.TempDir(), "isobar.db")}
	unlock, err := store.Lock(se.Store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := se.Diagnose(t.Context(), 6); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "wait until") {
		t.Errorf("beside a run: %v", err)
	}
	unlock()
	mine, err := se.alone()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lock(se.Store); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a run beside the diagnosis: %v", err)
	}
	mine()
	se.Store = filepath.Join(t.TempDir(), "missing", "isobar.db")
	if mine, err = se.alone(); err != nil {
		t.Fatalf("without a store: %v", err)
	}
	mine()
}

// A machine without a free CPU reads 100 %, not 1e+02 %.
func TestKnown(t *testing.T) {
	for v, want := range map[float64]string{-1: "unknown", 0: "0 %", 1.63: "1.63 %", 100: "100 %"} {
		if got := known(v, " %"); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
