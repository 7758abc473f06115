package main

import (
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

func TestCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"GOEXPERIMENT=arenas go run ./cmd/ratios -bench 'Typed|Tree' ./arena": {"arenas", "-bench", "Typed|Tree", "./arena"},
		`go run ./cmd/ratios -bench 'it'\''s$' -out ../docs/x.md`:             {"", "-bench", "it's$", "-out", "../docs/x.md"},
		"go run ./cmd/ratios": {""},
	} {
		if got := command(args[0], args[1:]); got != want {
			t.Errorf("command(%q) = %s, want %s", args, got, want)
		}
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
	if err := r.write(&b, "command", 1); err != nil {
		t.Fatal(err)
	}
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
	if err := r.write(&b, "command", 1); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| peer |") || !strings.Contains(b.String(), "| 0.5 (wall) | [0.5, 0.5] | better |") {
		t.Errorf("no row with the ratio 0.5:\n%s", b.String())
	}
}
