package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the summaries of the pages in docs/results")

func TestSummarize(t *testing.T) {
	const rest, tables = "\nIntroduction.\n", `
## pool

### Get

| implementation | time/op | ratio | interval | verdict for isobar |
| --- | ---: | ---: | --- | --- |
| isobar | 2 ns | | | |
| slow | 4 ns | 0.5 (wall) | [0.4, 0.6] | better |
| quick | 1 ns | 2 (CPU) | [1.9, 2.1] | worse |

### Put-2

| implementation | time/op | ratio | interval | verdict for isobar |
| --- | ---: | ---: | --- | --- |
| isobar | 2 ns | | | |
| slow | 2 ns | 1 (wall) | [0.9, 1.1] | no difference shown |
`
	want := title + ": pool\n" + rest + summaryHead +
		"| pool | slow | 2 | 1 | 1 | 0 | 0.75 | 1 [0.9, 1.1] | Put-2 |\n" +
		"| pool | quick | 1 | 0 | 0 | 1 | 2 | 2 [1.9, 2.1] | Get |\n" + tables
	if got := summarize(title + "\n" + rest + tables); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := summarize(want); got != want {
		t.Errorf("a page that has its summary changes:\n%s", got)
	}
}

// TestPagesHaveTheirSummaries holds the summaries of the pages against their
// rows.
func TestPagesHaveTheirSummaries(t *testing.T) {
	files, err := filepath.Glob("../../../docs/results/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(string(data), "\r\n", "\n")
		if !strings.Contains(page, "go run ./cmd/ratios ") || !strings.Contains(page, "| verdict for ") {
			continue
		}
		pages++
		want := summarize(page)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if page != want {
			t.Errorf("%s: the summary is not that of its rows: go test ./cmd/ratios -update", file)
		}
	}
	if pages == 0 {
		t.Error("no pages found")
	}
}
