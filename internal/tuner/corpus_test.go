package tuner

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/cell"
	"github.com/isobar-go/isobar/internal/runner"
	"github.com/isobar-go/isobar/internal/workload"
)

// A corpusProgram is a real program. scripts/tune-corpus.sh puts them into the
// directory that ISOBAR_CORPUS names. None of them was used to make the model.
type corpusProgram struct {
	Name, What string
	// Command is one of the shell; $D is the directory, and $R Go's own.
	Command string
	URL     string // of a server
}

var corpus = []corpusProgram{
	{Name: "compile", What: "the Go compiler on text/template", Command: `cd $R/src/text/template && exec $R/pkg/tool/*/compile -o /dev/null -p text/template -complete -importcfg $D/importcfg $(cat $D/files)`},
	{Name: "vet", What: "the checks of go vet on net/http", Command: `cd $R/src/net/http && exec $R/pkg/tool/*/vet $D/vet.cfg`},
	{Name: "deadcode", What: "x/tools deadcode on cmd/pack: types and SSA form of a program and all it imports", Command: `cd $R/src && exec $D/bin/deadcode cmd/pack`},
	{Name: "json", What: "the benchmark CodeDecoder of encoding/json", Command: `cd $R/src/encoding/json && exec $D/bin/json.test -test.run '^$' -test.bench '^BenchmarkCodeDecoder$' -test.benchtime 25x`},
	{Name: "series", What: "Prometheus' time-series database: 600,000 samples appended, read twice", Command: `exec $D/bin/series`},
	{Name: "markdown", What: "goldmark on a document of 100 KB, 120 times", Command: `exec $D/bin/markdown $D/document.md`},
	{Name: "market", What: "the lab's market workload, 3,000,000 ticks without a pace", Command: `exec $D/bin/market`},
	{Name: "gofmt", What: "gofmt -l on net/http", Command: `cd $R && exec bin/gofmt -l src/net/http`},
	{Name: "service", What: "an HTTP service of JSON and templates at 400 requests a second (CPU time)", Command: `exec $D/bin/service 127.0.0.1:18479`, URL: "http://127.0.0.1:18479/items?from=100"},
}

// A corpusResult is what measuring a program gave.
type corpusResult struct {
	Program                       corpusProgram
	Settings                      int     // that predictions were held against
	Goal, Share, Peak, Near, Far  float64 // mean absolute errors, as shares
	Covered, Tried, Unsure        int
	Cycles                        int // at the default
	DefaultSeconds, DefaultMemory float64
	Tuned                         *Result
}

// TestCorpus measures the programs; it takes two minutes for each.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("ISOBAR_CORPUS")
	if dir == "" {
		t.Skip("scripts/tune-corpus.sh downloads the programs and runs this")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range corpus {
		t.Run(p.Name, func(t *testing.T) {
			command := strings.NewReplacer("$D", dir, "$R", strings.TrimSpace(string(root))).Replace(p.Command)
			base := cell.Config{Workload: "exec", Command: []string{"sh", "-c", command}, GC: cell.DefaultGC}
			c := Config{Base: base, Objective: Throughput, Budget: 60 * time.Second, Pairs: 6, Seed: 1, MemoryBytes: 4 << 30}
			if p.URL != "" {
				w, err := workload.Lookup("serve")
				if err != nil {
					t.Fatal(err)
				}
				params, err := w.Resolve(map[string]string{"url": p.URL, "rate": "400", "for": "1s", "warmup": "300ms"})
				if err != nil {
					t.Fatal(err)
				}
				c.Base.Workload, c.Base.Params, c.Objective = "serve", params, CPU
			}
			measureCorpus(t, dir, p, c)
		})
	}
}

func measureCorpus(t *testing.T, dir string, p corpusProgram, c Config) {
	r := runner.New(runner.Config{})
	run := func(config cell.Config, block int) (*cell.Record, error) {
		rec, _, err := r.Run(t.Context(), cell.Cell{Config: config, Block: block, Timeout: time.Minute, MemoryBytes: 6 << 30})
		return &rec, err
	}
	if _, err := run(c.Base, 0); err != nil { // caches
		t.Fatal(err)
	}
	result := corpusResult{Program: p}
	result.predict(t, c.Base, measured(t, c.Base, predictSettings(), 2))
	tuned, err := Tune(c, run)
	if err != nil {
		t.Fatal(err)
	}
	result.Tuned = tuned
	t.Logf("%s: %s %s (%s), %d runs in %.0f s", p.Name, tuned.Outcome, settingText(tuned.Setting), tuned.Reason, tuned.Runs, tuned.Seconds)
	for _, g := range tuned.Gains {
		t.Logf("  %s %.3f [%.3f, %.3f], equal runs %.3f: %s", nameOf(g.Metric), g.Ratio.Mid, g.Ratio.Lo, g.Ratio.Hi, g.Floor, g.Verdict)
		if tuned.Outcome == Recommended && g.Metric == c.Objective.costName(isServed(c.Base)) && g.Ratio.Lo > 1 {
			t.Error("the recommendation is worse than the default")
		}
	}
	result.Tuned.Candidates, result.Tuned.Frontier = nil, nil
	data, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "results", p.Name+".json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// predict holds predictions against what was measured: pilots are the first
// runs; the truth is the median of all runs of a setting that was no pilot, and
// of the later runs of one that was.
func (r *corpusResult) predict(t *testing.T, base cell.Config, pilots map[cell.GC][]Pilot) {
	t.Helper()
	served := isServed(base)
	time := func(p Pilot) float64 {
		if served {
			return p.CPU
		}
		return p.Wall
	}
	at := func(percent int) Pilot { return pilots[setting(percent, 0)][0] }
	one, err := NewModel([]Pilot{at(100)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	three, err := NewModel([]Pilot{at(100), at(50), at(400)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Cycles, r.DefaultSeconds, r.DefaultMemory = at(100).Cycles, time(at(100)), at(100).PeakBytes
	var goal, share, peak, near, far errorsOf
	for _, gc := range predictSettings() {
		r.Settings++
		p1, p3 := one.Predict(gc), three.Predict(gc)
		truth1, truth3 := pilots[gc], pilots[gc]
		if gc.Percent == 100 {
			truth1 = truth1[1:]
		}
		if slices.Contains([]int{50, 100, 400}, gc.Percent) {
			truth3 = truth3[1:]
		}
		moderate := gc.Percent > 0 && gc.Percent <= 800
		if moderate && len(p1.Doubts) > 0 {
			r.Unsure++
		} else if moderate {
			goals, shares := column(truth1, func(p Pilot) float64 { return p.MeanGoalBytes }), column(truth1, func(p Pilot) float64 { return p.GCSeconds / p.CPU })
			if p1.GoalBytes.Mid > 0 && middle(goals) > 0 {
				goal.add(p1.GoalBytes.Mid/middle(goals) - 1)
				goal.cover(p1.GoalBytes, goals)
			}
			share.add(p1.GCShare.Mid - middle(shares))
			share.cover(p1.GCShare, shares)
			peaks := column(truth1, func(p Pilot) float64 { return p.PeakBytes })
			peak.add(p1.PeakBytes.Mid/middle(peaks) - 1)
			peak.cover(p1.PeakBytes, peaks)
		}
		if len(p3.Doubts) > 0 {
			continue
		}
		to, expected := &far, p3.Wall
		if moderate {
			to = &near
		}
		if served {
			expected = p3.CPU
		}
		times := column(truth3, time)
		to.add(expected.Mid/middle(times) - 1)
		to.cover(expected, times)
		t.Logf("%7s goal %s, time %.2f s %s", gc, bytesText(p1.GoalBytes.Mid), middle(times), offText(expected.Mid, middle(times)))
	}
	r.Goal, r.Share, r.Peak, r.Near, r.Far = goal.mean(), share.mean(), peak.mean(), near.mean(), far.mean()
	for _, e := range []errorsOf{goal, share, peak, near, far} {
		r.Covered, r.Tried = r.Covered+e.covered, r.Tried+e.tried
	}
	t.Logf("goal %.1f %%, GC share %.1f points, peak %.1f %%, time %.1f %% to 800, %.1f %% beyond; intervals hold %d of %d; unsure of %d",
		100*r.Goal, 100*r.Share, 100*r.Peak, 100*r.Near, 100*r.Far, r.Covered, r.Tried, r.Unsure)
}

// TestCorpusTable writes docs/tune-corpus.md from the results.
func TestCorpusTable(t *testing.T) {
	dir := os.Getenv("ISOBAR_CORPUS")
	if dir == "" {
		t.Skip("scripts/tune-corpus.sh runs this")
	}
	var results []corpusResult
	for _, p := range corpus {
		data, err := os.ReadFile(filepath.Join(dir, "results", p.Name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		var r corpusResult
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		t.Fatal("no results")
	}
	if err := os.WriteFile("../../docs/tune-corpus.md", []byte(corpusPage(results)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func corpusPage(results []corpusResult) string {
	var b strings.Builder
	b.WriteString("# What `isobar tune` makes of real programs\n\nWritten by `scripts/tune-corpus.sh`, which downloads and builds the programs, measures them and writes this page.\n" +
		"None of them was used to make the model. A ratio is tuned to default in fresh runs paired by round, with its interval;\n" +
		"\"equal runs\" is by how much two copies of the default differed, and no effect below that is called one.\n\n" +
		"| program | outcome | setting | objective | ratio | equal runs | peak memory | runs |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		ratio, floor, memory := "-", "-", "-"
		for _, g := range r.Tuned.Gains {
			text := fmt.Sprintf("%.3f [%.3f, %.3f]", g.Ratio.Mid, g.Ratio.Lo, g.Ratio.Hi)
			if g.Metric == r.Tuned.Objective.costName(isServed(r.Tuned.Base)) {
				ratio, floor = text, fmt.Sprintf("%.3f", g.Floor)
			}
			if g.Metric == cell.RSSPeak {
				memory = text
			}
		}
		setting := settingText(r.Tuned.Setting)
		if r.Tuned.Outcome == Inconclusive {
			setting = "(" + setting + " was tested)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", r.Program.Name, r.Tuned.Outcome, setting, r.Tuned.Objective, ratio, floor, memory, r.Tuned.Runs)
	}
	b.WriteString("\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- **%s**: %s; %.2f s and %s at the default, %d collections. %s.\n", r.Program.Name, r.Program.What, r.DefaultSeconds, bytesText(r.DefaultMemory), r.Cycles, r.Tuned.Reason)
	}
	b.WriteString("\n## Predictions against held-out runs\n\nOne pilot at the default predicts heap goal, GC share and peak memory for GOGC 25 to 800; three (50, 100, 400) predict wall time (of the\n" +
		"service CPU time) to 800, and at 3200 and off. Mean absolute errors over settings; the truth is the median of two runs a setting, of one where the\n" +
		"other was the pilot. The last row is the mean over programs.\n\n| program | heap goal | GC share | peak memory | time to 800 | time at 3200, off | in the 90 % interval | unsure of |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	var sum corpusResult
	n := float64(len(results))
	for _, r := range results {
		b.WriteString(predictionRow(r.Program.Name, r))
		sum.Goal, sum.Share, sum.Peak, sum.Near, sum.Far = sum.Goal+r.Goal/n, sum.Share+r.Share/n, sum.Peak+r.Peak/n, sum.Near+r.Near/n, sum.Far+r.Far/n
		sum.Covered, sum.Tried, sum.Unsure = sum.Covered+r.Covered, sum.Tried+r.Tried, sum.Unsure+r.Unsure
	}
	b.WriteString(predictionRow("mean", sum))
	return b.String()
}

func predictionRow(name string, r corpusResult) string {
	return fmt.Sprintf("| %s | %.1f %% | %.1f points | %.1f %% | %.1f %% | %.1f %% | %.0f %% of %d | %d |\n", name, 100*r.Goal, 100*r.Share, 100*r.Peak, 100*r.Near, 100*r.Far,
		100*float64(r.Covered)/math.Max(float64(r.Tried), 1), r.Tried, r.Unsure)
}
