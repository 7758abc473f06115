package tuner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/cell"
)

// TestCorpusTable writes docs/tune-corpus.md from the results and the recordings.
func TestCorpusTable(t *testing.T) {
	dir := os.Getenv("ISOBAR_CORPUS")
	if dir == "" {
		t.Skip("scripts/tune-corpus.sh runs this")
	}
	var results []corpusResult
	for _, p := range corpus {
		var r corpusResult
		if readResult(t, dir, p.Name, &r) {
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		t.Fatal("no results")
	}
	var scans []scanResult
	for _, name := range scanned {
		var r scanResult
		if readResult(t, dir, "scan-"+name, &r) {
			scans = append(scans, r)
		}
	}
	page := corpusPage(results) + predictionTable(t) + scanTable(scans)
	if err := os.WriteFile("../../docs/tune-corpus.md", []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readResult reads what keepResult kept, and says whether it is there.
func readResult(t *testing.T, dir, name string, v any) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "results", name+".json"))
	if os.IsNotExist(err) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

func corpusPage(results []corpusResult) string {
	var b strings.Builder
	b.WriteString("# What `isobar tune` makes of real programs\n\nWritten by `scripts/tune-corpus.sh`, which downloads and builds the programs, measures them and writes this page.\n" +
		"A ratio is tuned to default in fresh runs paired by round, with its interval; \"equal runs\" is by how much two copies of the default differed,\n" +
		"and no effect below that is called one.\n\n" +
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
		fmt.Fprintf(&b, "- **%s**: %s. %s.\n", r.Program.Name, r.Program.What, r.Tuned.Reason)
	}
	return b.String()
}

// predictionTable is the part of the page about predictions.
func predictionTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n## Predictions against held-out runs\n\n`go test -v -run Recorded ./internal/tuner` makes this table from the runs recorded in internal/tuner/testdata/recorded: eight settings, four times\n" +
		"in shuffled blocks. The runs of each block in turn are the pilots, and the truth of each setting is the median of the other three. One pilot at the default\n" +
		"predicts heap goal, GC share and peak memory for GOGC 25 to 800; three (50, 100, 400) predict wall time (of the service CPU time) to 800, and at 3200 and off.\n" +
		"Mean absolute errors over settings and blocks; behind each, in brackets, by how much a single run of the setting itself misses the same truth: what measuring instead of\n" +
		"predicting would have given on this machine. What the model says it is unsure of is left out and counted. The model was changed after looking at the predictions of\n" +
		"the first programs, and three of its constants are means over them; the second ones were recorded when it was finished, and nothing was changed after.\n\n" + predictionHeader)
	for _, unseen := range []bool{false, true} {
		rows, _, _ := recordedRows(t, unseen)
		for _, row := range rows {
			b.WriteString(row)
		}
	}
	return b.String()
}

// scanTable is the part about the script of 200 runs.
func scanTable(scans []scanResult) string {
	if len(scans) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Against a script of 200 runs\n\nThe study that tune replaces ran its program once at each GOGC from 100 to 20,000 in steps of 100 and took the fastest (\"scan\"). The search takes at most 10 runs.\n" +
		"Both answers, the default and a second copy of it were then run in fresh rounds, paired; ratios of medians with their intervals. The plateau is what in the scan,\n" +
		"smoothed over 9 neighbours, is within 2 % of the least time.\n\n" +
		"| program | scan: GOGC | search: GOGC | plateau of the scan | time, search to scan | memory, search to scan | time, search to default | time, scan to default | time, equal runs |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range scans {
		b.WriteString(r.row())
	}
	return b.String()
}
