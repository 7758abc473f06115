package tune

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestWriteDeploy(t *testing.T) {
	base := cell.Config{Workload: "exec", Command: []string{"./shop"}, GC: cell.GC{Percent: 100, LimitBytes: 1 << 30}}
	setting := base
	setting.GC = cell.GC{Percent: 400}
	r := &Answer{Service: "shop", Base: base, Setting: setting, Gains: []Gain{{Metric: cell.RSSPeak, Tuned: 90 << 20}},
		Choices: []Choice{{Setting: setting, PeakBytes: Interval{Mid: 90 << 20, Lo: 80 << 20, Hi: 120 << 20}}}}
	dir := filepath.Join(t.TempDir(), "deploy")
	if err := r.WriteDeploy(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`value: "400"`, `value: "off"`, "memory: 160Mi", "memory: 120Mi", `name: "shop"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r.Setting.GC = cell.GC{Percent: -1}
	if err := r.WriteDeploy(dir); err == nil {
		t.Error("off without a limit was written")
	}
}

// TestGuard: a GOGC above today's comes with a limit above what the runs took, in the sentence
// and in the files. A lower GOGC needs no guard, nor does a setting with its own limit.
func TestGuard(t *testing.T) {
	p := program(0.3)
	r, err := tuneSimulated(t, p, 0.01, func(c *Config) {
		c.Objective, c.Settings = CPU, []cell.GC{setting(100, 0), setting(200, 0)}
	})
	if err != nil || r.Outcome != Recommended {
		t.Fatal(r.Headline, err)
	}
	most := r.Choices[0].PeakBytes.Hi
	if guard := float64(r.GuardBytes); r.Setting.GC.LimitBytes != 0 || guard < guardMargin*most || guard > 3*most {
		t.Errorf("a guard of %.0f MiB, the runs took %.0f", guard/mib, most/mib)
	}
	limit := cell.FormatBytes(r.GuardBytes)
	if want := "set GOGC=200 GOMEMLIMIT=" + limit + ": "; !strings.HasPrefix(r.Headline, want) ||
		!strings.Contains(r.Headline, "guard") {
		t.Errorf("%q, want %q", r.Headline, want)
	}
	files, err := r.Deploy()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(f.Text, limit) {
			t.Errorf("%s has no limit of %s:\n%s", f.Name, limit, f.Text)
		}
	}
	m, err := NewModel([]Pilot{p.run(cell.DefaultGC, 0, rand.New(rand.NewPCG(1, 1)))})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		outcome    string
		base, here cell.GC
	}{
		"lower":           {Recommended, setting(100, 0), setting(50, 0)},
		"limited":         {Recommended, setting(100, 0), setting(400, 1<<30)},
		"from off":        {Recommended, setting(-1, 0), setting(400, 0)},
		"not recommended": {Inconclusive, setting(100, 0), setting(400, 0)},
	} {
		u := &tuning{Config: Config{Base: cell.Config{GC: tc.base}},
			answer: &Answer{Outcome: tc.outcome, Setting: cell.Config{GC: tc.here}}}
		if got := u.guard(m); got != 0 {
			t.Errorf("%s: a guard of %d bytes", name, got)
		}
	}
}

// mapped is what the program of tuneMapped occupies besides, such as memory from mmap.
const mapped = 300 * mib

func tuneMapped(maxRSS float64, settings ...cell.GC) (*Answer, error) {
	rng := rand.New(rand.NewPCG(5, 5))
	simulated := program(0.3)
	return Tune(Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC},
		Objective: CPU, Seed: 1, MaxPeakBytes: maxRSS, Settings: settings}, func(c cell.Config, block int) (*cell.Record, error) {
		rec := simulated.record(c, 0.01, rng)
		rec.Cell.Block = block
		rec.Set(cell.RSSPeak, rec.Metrics[cell.RSSPeak]+mapped)
		return rec, nil
	})
}

// TestBoundOnMemoryBesideTheLimit: what limits do not bound is taken off the memory allowed, before it is divided.
func TestBoundOnMemoryBesideTheLimit(t *testing.T) {
	const most = mapped + 140*mib
	r, err := tuneMapped(most)
	if err != nil || r.Outcome != Recommended || r.Choices[0].PeakBytes.Mid > most {
		t.Errorf("%s, %v", r.Headline, err)
	}
}

// TestMemoryBesideTheLimit: the container of a program with memory from mmap holds what GOMEMLIMIT allows besides, which
// no run needed yet.
func TestMemoryBesideTheLimit(t *testing.T) {
	r, err := tuneMapped(0)
	if err != nil || r.Outcome != Recommended || r.Setting.GC.LimitBytes == 0 {
		t.Fatal(r.Headline, err)
	}
	if r.BesideBytes < 0.9*mapped || r.BesideBytes > 1.1*mapped {
		t.Errorf("%d MiB lie beside the limits, want about %d", r.BesideBytes/mib, mapped/mib)
	}
	r.Setting.GC.LimitBytes *= 2
	files, err := r.Deploy()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(files[0].Text, "# memory: ")
	text, _, _ = strings.Cut(text, " ")
	if got, err := strconv.Atoi(text); err != nil || int64(got) < (r.Setting.GC.LimitBytes+r.BesideBytes)/mib {
		t.Errorf("a container of %d MiB and headroom for a limit of %d and %d MiB beside it; %v", got,
			r.Setting.GC.LimitBytes/mib, r.BesideBytes/mib, err)
	}
}

// TestGuardBesideMapped: no run had a limit. The guard bounds what Go takes, and the container holds the rest, too.
func TestGuardBesideMapped(t *testing.T) {
	r, err := tuneMapped(0, setting(200, 0))
	if err != nil || r.Outcome != Recommended || r.GuardBytes == 0 {
		t.Fatal(r.Headline, err)
	}
	if used := r.Choices[0].PeakBytes.Hi - mapped; float64(r.GuardBytes) > 1.5*used || float64(r.GuardBytes) < 1.1*used {
		t.Errorf("a guard of %d MiB, where Go takes %.0f", r.GuardBytes/mib, used/mib)
	}
	if r.BesideBytes < 0.9*mapped || r.BesideBytes > 1.1*mapped {
		t.Errorf("%d MiB lie beside the limit, want about %d", r.BesideBytes/mib, mapped/mib)
	}
}

// TestNoLimitWorks: where the program exits under any GOMEMLIMIT, a higher GOGC is proven without one, and without a guard.
func TestNoLimitWorks(t *testing.T) {
	rng, p := rand.New(rand.NewPCG(5, 5)), program(0.3)
	r, err := Tune(Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU,
		Seed: 1}, func(c cell.Config, block int) (*cell.Record, error) {
		rec := p.record(c, 0.01, rng)
		rec.Cell.Block = block
		if c.GC.LimitBytes > 0 {
			rec.Err = &cell.Failure{Kind: cell.FailExit, Message: "no luck"}
		}
		return rec, nil
	})
	if err != nil || r.Outcome != Recommended || r.Setting.GC.Percent <= 100 || r.GuardBytes != 0 ||
		!strings.Contains(r.Doubts[0], "nothing bounds memory") {
		t.Errorf("%s, guard %d MiB, doubts %q, %v", r.Headline, r.GuardBytes/mib, r.Doubts, err)
	}
}

// TestProcessesEachHaveTheLimit tunes a program that runs four processes at once.
func TestProcessesEachHaveTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: CPU, Seed: 1,
		Settings: []cell.GC{setting(200, 0)}}
	simulated := program(0.3)
	r, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := simulated.record(c, 0.01, rng)
		rec.Cell.Block = block
		rec.Set(cell.RSSPeak, 4*rec.Metrics[cell.RSSPeak])
		rec.Set(cell.Processes, 4)
		rec.Warn("processes", "4 processes ran at once")
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Recommended || r.Processes != 4 || r.GuardBytes != 0 {
		t.Errorf("%s, %d processes, a guard of %d bytes", r.Headline, r.Processes, r.GuardBytes)
	}
	if doubts := strings.Join(r.Doubts, "; "); !strings.Contains(doubts, "4 processes ran at once") {
		t.Errorf("doubts %q", doubts)
	}
}
