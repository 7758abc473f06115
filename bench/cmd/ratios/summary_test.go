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

// A bound has its rows on the page and is neither best peer nor lost to.
func TestBoundsAreNoPeers(t *testing.T) {
	const page = `# Ours on Some CPU, 2 CPUs.

## server

### Get

| implementation | time/op | ratio | interval | verdict for isobar |
| --- | ---: | ---: | --- | --- |
| bound-kernel | 1 ns | 2 (CPU) | [1.9, 2.1] | worse |
| isobar | 2 ns | | | |
| slow | 4 ns | 0.5 (CPU) | [0.4, 0.6] | better |
`
	if !strings.Contains(summarize(page), "| server | bound-kernel | 1 |") {
		t.Error("the page lacks the bound's row")
	}
	table := front([]machinePage{readPage("benchmarks-some.md", page)})
	if want := "| server | slow | 0.5 | 0 of 1 |"; !strings.Contains(table, want) {
		t.Errorf("want %s in:\n%s", want, table)
	}
}

// TestPagesHaveTheirSummaries holds the summaries of the pages against their
// rows, and the table of all machines against the pages.
func TestPagesHaveTheirSummaries(t *testing.T) {
	const dir = "../../../docs/results"
	files, err := filepath.Glob(dir + "/benchmarks-*.md")
	if err != nil || len(files) < 2 {
		t.Fatalf("pages %v, %v", files, err)
	}
	check := func(file string, want func(string) (string, error)) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(string(data), "\r\n", "\n")
		whole, err := want(page)
		switch {
		case err != nil:
			t.Error(err)
		case *update:
			if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
				t.Fatal(err)
			}
		case page != whole:
			t.Errorf("%s does not say what its rows say: go test ./cmd/ratios -update", file)
		}
	}
	for _, file := range files {
		check(file, func(page string) (string, error) { return summarize(page), nil })
	}
	check(dir+"/README.md", func(index string) (string, error) {
		whole, err := withFront(index, dir)
		if n := strings.Count(whole, "\n"); n > 40 {
			t.Errorf("README.md has %d lines, at most 40", n)
		}
		return whole, err
	})
}
