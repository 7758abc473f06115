package tune

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

const (
	corpusIntro = `# What isobar tune makes of real programs

Written by ` + "`scripts/tune-corpus.sh`" + `, which downloads, builds and measures the programs. *Ratio* is tuned to default in
fresh rounds, paired, with its interval; *equal runs* is the ratio of two copies of the default. No effect below that counts.

| program | outcome | setting | objective | ratio | equal runs | peak memory | runs |
| --- | --- | --- | --- | --- | --- | --- | --- |
`
	predictionIntro = `
## Predictions against held-out runs

` + "`go test -v -run Recorded ./internal/tune`" + ` computes this from internal/tune/testdata/recorded: eight settings, four times,
in shuffled blocks. Each block in turn is the pilot; the truth is the median of the other three. One pilot at the default predicts
heap goal, GC share and peak memory for GOGC 25 to 800; three pilots (50, 100, 400) predict time to 800, time at 3200 and
off, and the heap goal.

A cell reads: mean absolute error where the model is sure (what a single run of that setting misses by); mean error of all
predictions, with the number marked unsure. A dash: sure of none. Constants were fitted on the programs above the first mean;
the rules for "unsure" were last changed after the second group. Nothing was changed after the third, which a busier machine measured.

`
	scanIntro = `
## Against a script of 200 runs

*Scan* runs the program once at each GOGC from 100 to 20,000 in steps of 100 and takes the fastest; the search takes at most 10 runs.
Both answers, the default and a second default then ran in fresh paired rounds. The plateau is the part of the scan, smoothed over 9
neighbours, within 2 % of its least time.

| program | scan: GOGC | search: GOGC | plateau of the scan | time, search to scan | memory, search to scan |` +
		` time, search to default | time, scan to default | time, equal runs |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`
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
	const file, heading = "../../docs/results/tune-corpus.md", "\n## Programs that only judge\n"
	const single = "\n## The same, earlier, proven by pairs alone\n" // what was not measured again
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	judged := judgedTable(t, dir)
	if _, after, ok := strings.Cut(string(data), single); ok && judged != "" {
		judged += single + after
	}
	if len(results) == 0 && judged != "" { // only these were measured again
		before, _, _ := strings.Cut(string(data), heading)
		before, _, _ = strings.Cut(before, single)
		if err := os.WriteFile(file, []byte(before+judged), 0o644); err != nil {
			t.Fatal(err)
		}
		return
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
	page := corpusPage(results) + predictionTable(t) + scanTable(scans) + judged
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
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
	b.WriteString(corpusIntro)
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
	b.WriteString(predictionIntro + predictionHeader)
	for round := range 3 {
		rows, _, _ := recordedRows(t, round)
		for _, row := range rows {
			b.WriteString(row)
		}
	}
	return b.String()
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
		t.Errorf("%s does not have these predictions (go test ./internal/tune -run OnThePage -update writes them):\n%s", file, want)
	}
}

// scanTable is the part about the script of 200 runs.
func scanTable(scans []scanResult) string {
	if len(scans) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(scanIntro)
	for _, r := range scans {
		b.WriteString(r.row())
	}
	return b.String()
}
