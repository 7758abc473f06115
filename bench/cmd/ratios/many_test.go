package main

import (
	"strings"
	"testing"
)

// The page of many CPUs has predictions beside measurements where there are any,
// and takes the blocks of the latest commit only.
func TestMany(t *testing.T) {
	const job = "-blocks=9 -cpu=1,2,8 -variant=', model' ./lines ./pool ./recorder"
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
