package tuner

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/cell"
)

// TestCorpusTable writes docs/results/tune-corpus.md from the results and the recordings.
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
	if err := os.WriteFile("../../docs/results/tune-corpus.md", []byte(page), 0o644); err != nil {
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
		"predicts heap goal, GC share and peak memory for GOGC 25 to 800; three (50, 100, 400) predict wall time (of the service CPU time) to 800, and at 3200 and off, and the heap goal.\n" +
		"Mean absolute errors over settings and blocks where the model is sure; in brackets by how much a single run of the setting itself misses the same truth: what measuring instead of\n" +
		"predicting would have given on this machine. Behind the semicolon the mean of **all** predictions, with those that the model marks as unsure, and how many these are; a dash where\n" +
		"it is sure of none. Three of the model's constants are means over the first programs. The second ones were recorded when costs and widths of intervals were settled; when it\n" +
		"marks something as unsure was changed after looking at these two groups. The third ones were recorded then, and nothing was changed after\n" +
		"(twice: the first time busy loops ran beside them). The machine was less quiet than before: equal runs of these miss each other's time by 12 %, so that their times say little.\n\n" + predictionHeader)
	for round := range 3 {
		rows, _, _ := recordedRows(t, round)
		for _, row := range rows {
			b.WriteString(row)
		}
	}
	b.WriteString("\n### Before and after\n\nOf these recordings, before the model marked programs of more than one CPU, wide intervals, and CPU time that collections do not explain; and now, where it is sure, and for all.\n\n" +
		"| program | heap goal before | now | time to 800 before | now |\n| --- | --- | --- | --- | --- |\n")
	for _, p := range slices.Concat(recorded(0), recorded(1)) {
		r := readRecording(t, p.Name)
		s := r.evaluate(t)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.Name, predictedBefore[p.Name][0], s.goal.cell().text("%"), predictedBefore[p.Name][1], s.near.cell().text("%"))
	}
	return b.String()
}

// predictedBefore are the errors of heap goals and times that the table showed
// before, of what the model was sure of then.
var predictedBefore = map[string][2]string{
	"compile": {"6.8 %", "6.8 %"}, "vet": {"12.1 %", "9.2 %"}, "deadcode": {"12.3 %", "2.5 %"}, "json": {"4.6 %", "3.7 %"}, "series": {"3.0 %", "8.0 %"},
	"markdown": {"0.0 %", "4.4 %"}, "market": {"0.0 %", "1.4 %"}, "gofmt": {"37.1 %", "3.7 %"}, "service": {"4.0 %", "4.0 %"},
	"types": {"6.2 %", "14.7 %"}, "template": {"0.0 %", "1.7 %"}, "xml": {"0.0 %", "5.6 %"}, "golist": {"2.7 %", "2.4 %"},
}

var update = flag.Bool("update", false, "write the predictions of the recorded programs to docs/results/tune-corpus.md")

// TestPredictionsOnThePage holds the page against the recordings, from which
// everybody can make that part of it.
func TestPredictionsOnThePage(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("elsewhere the last digit may differ")
	}
	const file, next = "../../docs/results/tune-corpus.md", "\n## Against a script"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, want := strings.ReplaceAll(string(data), "\r\n", "\n"), predictionTable(t)
	if *update {
		from, to := strings.Index(page, want[:strings.Index(want, "\n\n")]), strings.Index(page, next)
		if from < 0 || to < from {
			t.Fatal("the page lacks the headings that the predictions stand between")
		}
		page = page[:from] + want + page[to:]
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(page, want) {
		t.Errorf("%s does not have these predictions (go test ./internal/tuner -run OnThePage -update writes them):\n%s", file, want)
	}
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
