package tuner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/runner"
)

// TestMain lets the test binary be the child that runs cells.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == runner.ChildArg {
		os.Exit(runner.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// build compiles a program of testdata.
func build(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	if data, err := exec.Command("go", "build", "-o", out, "./testdata/programs/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

// predicted programs: real ones and small ones, those after cache were not
// looked at while the model was made.
var predicted = []struct {
	name    string
	command func(t *testing.T) []string
}{
	{"bintree", func(t *testing.T) []string { return []string{build(t, "bintree")} }},
	{"jsontrip", func(t *testing.T) []string { return []string{build(t, "jsontrip")} }},
	{"words", func(t *testing.T) []string { return []string{build(t, "words")} }},
	{"format", func(t *testing.T) []string { return []string{build(t, "format")} }},
	{"cache", func(t *testing.T) []string { return []string{build(t, "cache")} }},
	{"render", func(t *testing.T) []string { return []string{build(t, "render")} }},
	{"graph", func(t *testing.T) []string { return []string{build(t, "graph")} }},
	{"gofmt", func(t *testing.T) []string {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Skipf("no Go: %v", err)
		}
		root := strings.TrimSpace(string(out))
		return []string{filepath.Join(root, "bin", "gofmt"), "-l", filepath.Join(root, "src", "net", "http"), filepath.Join(root, "src", "crypto")}
	}},
}

// errorsOf gathers what a kind of prediction missed by.
type errorsOf struct {
	sum     float64
	n       int
	covered int
	tried   int
}

func (e *errorsOf) add(off float64) { e.sum += math.Abs(off); e.n++ }
func (e *errorsOf) mean() float64   { return e.sum / float64(max(e.n, 1)) }
func (e *errorsOf) cover(i Interval, values []float64) {
	for _, v := range values {
		e.tried++
		if v >= i.Lo && v <= i.Hi {
			e.covered++
		}
	}
}

// TestPredict holds predictions against programs: pilots of one block against
// the medians of others. It takes a minute or more for each program.
func TestPredict(t *testing.T) {
	if os.Getenv("ISOBAR_SOAK") == "" {
		t.Skip("set ISOBAR_SOAK=1: it runs programs for minutes")
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs packet pipes")
	}
	for _, program := range predicted {
		t.Run(program.name, func(t *testing.T) { predict(t, program.command(t)) })
	}
}

const predictBlocks = 3 // the first has the pilots

func predictSettings() []cell.GC {
	return []cell.GC{setting(25, 0), setting(50, 0), setting(100, 0), setting(200, 0), setting(400, 0), setting(800, 0), setting(3200, 0), setting(-1, 0)}
}

// measured runs the program in shuffled blocks of all settings.
func measured(t *testing.T, base cell.Config, settings []cell.GC, blocks int) map[cell.GC][]Pilot {
	t.Helper()
	r := runner.New(runner.Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	pilots := map[cell.GC][]Pilot{}
	run := func(gc cell.GC) {
		config := base
		config.GC = gc
		rec, _, err := r.Run(t.Context(), cell.Cell{Config: config, Timeout: time.Minute, MemoryBytes: 8 << 30})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPilot(&rec)
		if rec.Err != nil {
			t.Fatal(rec.Err)
		}
		_ = err // without cycles at large settings
		pilots[gc] = append(pilots[gc], p)
	}
	run(settings[2]) // caches
	pilots = map[cell.GC][]Pilot{}
	for range blocks {
		for _, i := range rng.Perm(len(settings)) {
			run(settings[i])
		}
	}
	return pilots
}

func predict(t *testing.T, command []string) {
	settings := predictSettings()
	pilots := measured(t, cell.Config{Workload: "exec", Command: command}, settings, predictBlocks)
	one, err := NewModel(pilots[settings[2]][:1], 0)
	if err != nil {
		t.Fatal(err)
	}
	three, err := NewModel([]Pilot{pilots[settings[2]][0], pilots[settings[1]][0], pilots[settings[4]][0]}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var goal, share, peak, near, far, unsure errorsOf
	for _, gc := range settings {
		truth := pilots[gc][1:]
		p1, p3 := one.Predict(gc), three.Predict(gc)
		goals, shares, peaks, walls := column(truth, func(p Pilot) float64 { return p.MeanGoalBytes }), column(truth, func(p Pilot) float64 { return p.GCSeconds / p.CPU }),
			column(truth, func(p Pilot) float64 { return p.PeakBytes }), column(truth, func(p Pilot) float64 { return p.Wall })
		line := fmt.Sprintf("%7s goal %6.1f MiB %s, GC share %4.1f %% %+5.1f points, peak %6.1f MiB %s; wall %.2f s %s", gc, middle(goals)/mib, offText(p1.GoalBytes.Mid, middle(goals)),
			100*middle(shares), 100*(p1.GCShare.Mid-middle(shares)), middle(peaks)/mib, offText(p1.PeakBytes.Mid, middle(peaks)), middle(walls), offText(p3.Wall.Mid, middle(walls)))
		t.Log(line, p1.Doubts, len(p3.Doubts))
		moderate := gc.Percent > 0 && gc.Percent <= 800
		switch {
		case len(p1.Doubts) > 0:
			unsure.n++
		case moderate:
			if p1.GoalBytes.Mid > 0 && middle(goals) > 0 {
				goal.add(p1.GoalBytes.Mid/middle(goals) - 1)
				goal.cover(p1.GoalBytes, goals)
			}
			share.add(p1.GCShare.Mid - middle(shares))
			share.cover(p1.GCShare, shares)
			peak.add(p1.PeakBytes.Mid/middle(peaks) - 1)
			peak.cover(p1.PeakBytes, peaks)
		}
		if len(p3.Doubts) > 0 {
			continue
		}
		to := &far
		if moderate {
			to = &near
		}
		to.add(p3.Wall.Mid/middle(walls) - 1)
		to.cover(p3.Wall, walls)
	}
	t.Logf("one pilot, GOGC 25 to 800: goal %.1f %%, GC share %.1f points, peak %.1f %%; three pilots: wall %.1f %% to 800, %.1f %% beyond; intervals hold %s; unsure of %d settings",
		100*goal.mean(), 100*share.mean(), 100*peak.mean(), 100*near.mean(), 100*far.mean(), coverage(goal, share, peak, near, far), unsure.n)
	if goal.mean() > 0.25 || share.mean() > 0.12 || peak.mean() > 0.25 || near.mean() > 0.3 || far.mean() > 0.4 {
		t.Error("the model is far off")
	}
}

func column(pilots []Pilot, of func(Pilot) float64) (out []float64) {
	for _, p := range pilots {
		out = append(out, of(p))
	}
	return out
}

func middle(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func offText(got, want float64) string {
	if want == 0 || got == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(got/want-1))
}

func coverage(all ...errorsOf) string {
	var parts []string
	covered, tried := 0, 0
	for _, e := range all {
		parts = append(parts, fmt.Sprintf("%d/%d", e.covered, e.tried))
		covered, tried = covered+e.covered, tried+e.tried
	}
	return fmt.Sprintf("%.0f %% of %d (%s)", 100*float64(covered)/float64(max(tried, 1)), tried, strings.Join(parts, " "))
}
