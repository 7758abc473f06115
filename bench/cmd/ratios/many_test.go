package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page of many CPUs has predictions beside measurements where there are any,
// and takes the blocks of the latest commit only.
func TestMany(t *testing.T) {
	job := job{Blocks: 9, CPU: "1,2,8", Variant: modelVariant, Packages: "./lines ./pool ./recorder"}
	lines := `
BenchmarkLocked/instruction=add-2 1 2 ns/op
BenchmarkMove/wait=write-2 1 30 ns/op
BenchmarkShared/work=0-2 1 4 ns/op
BenchmarkStream/left=cleared-2 1 9 ns/op 4 ns/read 5 ns/write
BenchmarkPause-2 1 700 ns/op
BenchmarkYield-2 1 90 ns/op
`
	recorder := `
BenchmarkRecordParallel/impl=isobar 1 8 ns/op
BenchmarkRecordParallel/impl=isobar-2 1 5 ns/op
BenchmarkRecordParallel/impl=isobar-8 1 10 ns/op
`
	m := Machine{"AMD EPYC", 2, "go1.0"}
	var all []record
	for block := range 3 {
		for pkg, output := range map[string]string{"lines": lines, "recorder": recorder} {
			u := unit{Commit: "new", Job: job, Pkg: pkg, Block: block, Machine: m}
			old := u
			old.Commit = "old"
			all = append([]record{{unit: old, Output: strings.ReplaceAll(output, "5 ns", "500 ns")}}, all...)
			all = append(all, record{unit: u, Output: output})
			if block == 2 { // one more, disturbed
				u.Block++
				all = append(all, record{unit: u, Output: strings.ReplaceAll(output, "30 ns", "3000 ns")})
			}
		}
	}
	var b strings.Builder
	if err := publishMany(all, m.hardware(), "", &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"on AMD EPYC, 2 CPUs: 3 blocks, go1.0 at commit new.",
		"with the median costs of the 2 CPUs above",
		"| line that another CPU has written | 30 | 30 | 30 |",
		"| the same, one line after the other, by writes | 3 | 3 | 3 |",
		"| recorder.RecordParallel | isobar | 2 | 4",
		"| 5 | 0.8",
		"| recorder.RecordParallel | isobar | 7.99 |",
		"| recorder.RecordParallel | isobar | 5 | 10 | 2.00 [2.00, 2.00] |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if sections, err := tables(all, m.hardware()); err != nil || sections != "" {
		t.Errorf("the model's job has tables of its own (%v):\n%s", err, sections)
	}
}

// The results of a machine with more CPUs, however many, become a page beside
// the others.
func TestManyFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(frontBegin+frontEnd), 0o644); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, m := range []Machine{{"AMD EPYC", 2, "go1.0"}, {"ACME 12", 12, "go1.0"}} {
		output := "BenchmarkLocked/instruction=add-2 1 2 ns/op\nBenchmarkMove/wait=write-2 1 30 ns/op\n" +
			"BenchmarkShared/work=0-2 1 4 ns/op\nBenchmarkStream/left=cleared-2 1 9 ns/op 4 ns/read 5 ns/write\nBenchmarkYield-2 1 90 ns/op\n"
		for _, n := range procs(m.CPUs) {
			output += fmt.Sprintf("BenchmarkRecordParallel/impl=isobar-%d 1 %d ns/op\n", n, 100+n)
		}
		output = strings.ReplaceAll(output, "isobar-1 ", "isobar ")
		var lines strings.Builder
		for _, pkg := range []string{"lines", "recorder"} {
			u := unit{Commit: "new", Job: job{Blocks: 1, Variant: modelVariant}, Pkg: pkg, Machine: m}
			if err := json.NewEncoder(&lines).Encode(record{unit: u, Output: output}); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, m.CPU+".jsonl")
		if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if err := run(append([]string{"-merge", "-pages", dir}, files...), io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	for page, rows := range map[string][]string{
		"many-cpus-amd-epyc-2.md": {"RecordParallel | isobar | 2 |", "RecordParallel | isobar | 102 | 108 |"},
		"many-cpus-acme-12-12.md": {
			"RecordParallel | isobar | 8 |", "RecordParallel | isobar | 12 |", "the median costs of the 12 CPUs above",
			"RecordParallel | isobar | 112 | 148 |",
		},
	} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if !strings.Contains(string(text), row) {
				t.Errorf("%s: no %q in\n%s", page, row, text)
			}
		}
	}
}
