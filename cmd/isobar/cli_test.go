package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/plan"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

func TestLevels(t *testing.T) {
	for value, want := range map[string][]string{
		"":           {""},
		"a":          {"a"},
		"a,b":        {"a", "b"},
		`a\,b,c`:     {"a,b", "c"},
		`dir\file,x`: {`dir\file`, "x"},
		"a,":         {"a", ""},
	} {
		if got := levels(value); !reflect.DeepEqual(got, want) {
			t.Errorf("levels(%q) = %q, want %q", value, got, want)
		}
	}
}

func TestDataDir(t *testing.T) {
	abs, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "h"}, filepath.Join("h", ".local", "share", "isobar")},
		{"linux", map[string]string{"HOME": "h", "XDG_DATA_HOME": abs}, filepath.Join(abs, "isobar")},
		{"linux", map[string]string{"HOME": "h", "XDG_DATA_HOME": "relative"}, filepath.Join("h", ".local", "share", "isobar")},
		{"darwin", map[string]string{"HOME": "h"}, filepath.Join("h", "Library", "Application Support", "isobar")},
		{"windows", map[string]string{"LocalAppData": "l"}, filepath.Join("l", "isobar")},
	} {
		got, err := dataDir(tc.goos, func(name string) string { return tc.env[name] })
		if err != nil || got != tc.want {
			t.Errorf("%s %v: %q, %v; want %q", tc.goos, tc.env, got, err, tc.want)
		}
	}
	if _, err := dataDir("linux", func(string) string { return "" }); err == nil {
		t.Error("no HOME: no error")
	}
}

func TestProgressFitsTheTerminal(t *testing.T) {
	c := cell.Cell{Config: cell.Config{Workload: "strategies", Params: map[string]string{"strategy": strings.Repeat("long", 30)}, GC: cell.DefaultGC}}
	for _, width := range []int{40, 80, 200} {
		p := &progress{w: &bytes.Buffer{}, width: width, total: 40, done: 13, fresh: 3, spent: 5 * time.Second}
		line := p.line(c)
		if n := len([]rune(line)); n >= width {
			t.Errorf("width %d: the line has %d columns: %q", width, n, line)
		}
		if !strings.Contains(line, "13/40") {
			t.Errorf("width %d: no count in %q", width, line)
		}
	}
	var out bytes.Buffer
	silent := newProgress(&out, 10, 0)
	silent.begin(c)
	silent.end()
	silent.clear()
	if out.Len() != 0 {
		t.Errorf("in a pipe the progress printed %q", out.String())
	}
}

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
				c.Machines = []stat.MachineComparison{{Comparison: stat.Comparison{Verdict: stat.Better}}, {Comparison: stat.Comparison{Verdict: stat.Worse}}}
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

// TestQuickStudyIsValid resolves the quick study against the workloads, so
// that a renamed parameter does not show only when a newcomer runs it.
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

func TestBlockBudget(t *testing.T) {
	start := time.Now()
	// Blocks of three cells, 10 s each: a budget of 25 s allows two.
	for budget, want := range map[time.Duration]int{0: 5, 25 * time.Second: 2, time.Second: 1, time.Minute: 5} {
		b := blockBudget{budget: budget, began: start, block: 2}
		now, cells := start, 0
		for i := range 15 {
			if !b.allows(2+i/3, now) { // a resumed run begins with a later block
				break
			}
			cells++
			now = now.Add(10 * time.Second / 3)
		}
		if cells != 3*want {
			t.Errorf("budget %v: %d cells, want %d blocks of 3", budget, cells, want)
		}
	}
}
