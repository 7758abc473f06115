package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string][2]string{
		"Pool/impl=isobar/size=64-2": {"Pool/size=64-2", "isobar"},
		"Pool/size=64/impl=chan-2":   {"Pool/size=64-2", "chan"},
		"Pool/impl=sync-pool-8":      {"Pool-8", "sync-pool"},
	} {
		benchmark, impl, ok := split(name)
		if !ok || benchmark != want[0] || impl != want[1] {
			t.Errorf("split(%q) = %q, %q, %v; want %q", name, benchmark, impl, ok, want)
		}
	}
	if _, _, ok := split("Pool/size=64-2"); ok {
		t.Error("a name without impl= was split")
	}
}

// What a page gives as the command of a section is read back as the same job.
func TestJobLine(t *testing.T) {
	t.Setenv("GOEXPERIMENT", "of the shell")
	for name, lines := range suites {
		for _, line := range lines {
			j, err := parseJob(line)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := parseJob(j.line())
			if err != nil || !reflect.DeepEqual(j, again) || j.blocks < 4 {
				t.Errorf("%s: %s is read as %+v, and as %+v written as %s (%v)", name, line, j, again, j.line(), err)
			}
		}
	}
	j, err := parseJob("-bench='Typed|Tree' -variant=', two words' ./arena")
	if want := "'-bench=Typed|Tree' '-variant=, two words' ./arena"; err != nil || j.line() != want {
		t.Errorf("%s, %v; want %s", j.line(), err, want)
	}
	if _, err := parseJob("-block=3"); err == nil {
		t.Error("no error for an unknown flag")
	}
}

// What a page says of a package comes from the whole list, not from a part.
func TestPagesNeedASuite(t *testing.T) {
	err := run([]string{"-bench=One", "-pages=" + t.TempDir(), "./queue"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "-suite") {
		t.Errorf("%v; want an error that names -suite", err)
	}
}

// Where a benchmark counts bytes or CPU time, its table has a column for them.
func TestColumns(t *testing.T) {
	r := newResults()
	out := "BenchmarkX/impl=isobar-2 \t 10 \t 100 ns/op \t 1500.00 MB/s\nBenchmarkX/impl=peer-2 \t 10 \t 200 ns/op\nBenchmarkY/impl=isobar-2 \t 10 \t 100 ns/op \t 70 cpu-ns/req \t 30 user-ns/req\n"
	if err := r.add("pool", 0, []byte(out)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.writeSections(&b, job{})
	for _, want := range []string{"| isobar | 100 ns | 1.5 |  |", "| peer | 200 ns |  |  |", "| implementation | time/op | GB/s | B/op |", "| implementation | time/op | CPU/req | user CPU/req | B/op |", "| isobar | 100 ns | 70 ns | 30 ns |  |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestTablesPairByBlock(t *testing.T) {
	r := newResults()
	for block, line := range []string{"100 ns/op", "200 ns/op", "150 ns/op", "120 ns/op", "180 ns/op", "160 ns/op"} {
		theirs := map[string]string{"100": "200", "200": "400", "150": "300", "120": "240", "180": "360", "160": "320"}[line[:3]]
		out := "BenchmarkX/impl=isobar-2 \t 10 \t " + line + "\nBenchmarkX/impl=peer-2 \t 10 \t " + theirs + " ns/op\n"
		if err := r.add("pool", block, []byte(out)); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	r.writeSections(&b, job{})
	if !strings.Contains(b.String(), "| peer |") || !strings.Contains(b.String(), "| 0.5 (wall) | [0.5, 0.5] | better |") {
		t.Errorf("no row with the ratio 0.5:\n%s", b.String())
	}
}
