package main

import (
	"flag"
	"os/exec"
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

// What a page gives as the command of a section is, by a shell, the same job.
func TestJobLine(t *testing.T) {
	for name := range suites {
		jobs, err := findSuite(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			words, err := exec.Command("sh", "-c", "printf '%s\\n' "+j.line()).Output()
			if err != nil {
				t.Fatal(err)
			}
			var again job
			flags := flag.NewFlagSet("job", flag.ContinueOnError)
			again.flags(flags)
			err = flags.Parse(strings.Split(strings.TrimSpace(string(words)), "\n"))
			again.Packages = strings.Join(flags.Args(), " ")
			if err != nil || j != again || j.Blocks < 4 {
				t.Errorf("%s: %+v is read as %+v, written as %s (%v)", name, j, again, j.line(), err)
			}
		}
	}
	j := job{Blocks: 10, Benchtime: "100ms", CPU: "1,2", Ours: prefix, Bench: "Typed|Tree", Variant: ", two words",
		Packages: "./arena"}
	if want := "'-bench=Typed|Tree' '-variant=, two words' ./arena"; j.line() != want {
		t.Errorf("%s; want %s", j.line(), want)
	}
	if err := run([]string{"-block=3"}, nil, nil); err == nil {
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
	r := newResults(job{Ours: prefix})
	out := "BenchmarkX/impl=isobar-2 \t 10 \t 100 ns/op \t 1500.00 MB/s\nBenchmarkX/impl=peer-2 \t 10 \t 200 ns/op\nBenchmarkY/impl=isobar-2 \t 10 \t 100 ns/op \t 70 cpu-ns/req \t 30 user-ns/req\n"
	if err := r.add(record{unit: unit{Pkg: "pool"}, Output: out}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.writeSections(&b)
	for _, want := range []string{"| isobar | 100 ns | 1.5 |  |", "| peer | 200 ns |  |  |", "| implementation | time/op | GB/s | B/op |", "| implementation | time/op | CPU/req | user CPU/req | B/op |", "| isobar | 100 ns | 70 ns | 30 ns |  |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestTablesPairByBlock(t *testing.T) {
	r := newResults(job{Ours: prefix})
	for block, line := range []string{"100 ns/op", "200 ns/op", "150 ns/op", "120 ns/op", "180 ns/op", "160 ns/op"} {
		theirs := map[string]string{"100": "200", "200": "400", "150": "300", "120": "240", "180": "360", "160": "320"}[line[:3]]
		out := "BenchmarkX/impl=isobar-2 \t 10 \t " + line + "\nBenchmarkX/impl=peer-2 \t 10 \t " + theirs + " ns/op\n"
		if err := r.add(record{unit: unit{Pkg: "pool", Block: block}, Output: out}); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	r.writeSections(&b)
	if !strings.Contains(b.String(), "| peer |") || !strings.Contains(b.String(), "| 0.5 (wall) | [0.5, 0.5] | better |") {
		t.Errorf("no row with the ratio 0.5:\n%s", b.String())
	}
}
