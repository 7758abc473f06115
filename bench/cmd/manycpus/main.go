//go:build linux && amd64

// Command manycpus predicts what the libraries cost on machines with more CPUs
// than this one has.
//
// It steps through the compiled code, one instruction of one CPU at a time, always
// of the CPU whose clock is behind. A model of caches (MESI) counts how often a
// line of memory moves from one CPU to another, and one journey of a line waits
// for the one before. What an instruction costs is calibrated on one CPU of this
// machine, and on two CPUs the prediction stands beside a measurement; so it does
// on as many as the machine has.
//
// It is an experiment: on two CPUs pools and recorders are predicted within a factor
// of three, queues and a shared counter are not. Count its moves; do not quote its
// times.
//
// Usage:
//
//	go run ./cmd/manycpus [-cpus 2,16,64] [-move 60] [-subject REGEXP] [-out FILE]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/host"
)

func main() {
	err := error(nil)
	if what := os.Getenv(childEnv); what != "" {
		err = child(what)
	} else {
		err = run(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "manycpus: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("manycpus", flag.ContinueOnError)
	cpus := flags.String("cpus", "2,16,64", "how many CPUs")
	move := flags.Float64("move", 60, "ns that a line takes between two CPUs of the large machine")
	which := flags.String("subject", ".", "regular expression of names")
	out := flags.String("out", "", "write the page to this file instead of standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*which)
	if err != nil {
		return err
	}
	var counts []int
	for _, field := range strings.Split(*cpus, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > 128 {
			return fmt.Errorf("-cpus: %q; want numbers from 1 to 128, such as 2,16,64", field)
		}
		counts = append(counts, n)
	}
	p, err := load()
	if err != nil {
		return err
	}
	var page strings.Builder
	if err := p.page(&page, match, counts, *move); err != nil {
		return err
	}
	if *out == "" {
		_, err := io.WriteString(os.Stdout, page.String())
		return err
	}
	return os.WriteFile(*out, []byte(page.String()), 0o644)
}

// opsEach is how many operations of each CPU a simulation takes.
const opsEach = 24

func (p *program) page(w io.Writer, match *regexp.Regexp, counts []int, move float64) error {
	machine, here := host.Fingerprint(), pingPong()
	fmt.Fprintf(w, `# What more CPUs would cost

Written by `+"`make bench-model`"+` on %s, %d CPUs, %s. The compiled code of each structure is
stepped through, with a model of caches (MESI) that counts how often a line of 64 bytes moves between CPUs. An
instruction costs what it does on one CPU here. A line moves in %.0f ns: what it takes between the two CPUs here
is %.0f ns, with which the second table predicts what is measured beside it.

CPUs get a line in the order in which they ask for it, however soon they ask again: where CPUs keep one for a
moment, loops around compare-and-swap fare better than here. No machine with more CPUs has confirmed the first
table. A dash: hardly any operation succeeded within 400,000 instructions, or CPUs waited in the kernel.

Of a queue one CPU takes and the others add, and an operation is an item added. All figures are for one operation
of all CPUs together: what scales as it should has an n-th of the time on n CPUs.

| structure | instructions | 1 CPU, measured |`, machine.CPU, machine.CPUs, runtime.Version(), move, here)
	for _, n := range counts {
		fmt.Fprintf(w, " %d CPUs: time | moves |", n)
	}
	fmt.Fprintf(w, "\n| --- | ---: | ---: |%s\n", strings.Repeat(" ---: | ---: |", len(counts)))
	var check strings.Builder
	for _, s := range subjects {
		if !match.MatchString(s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, s.name)
		if err := p.row(w, &check, s, counts, move, here); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Fprintf(w, "\n| structure | CPUs | predicted | measured | moves |\n| --- | ---: | ---: | ---: | ---: |\n%s",
		check.String())
	return nil
}

// row writes a structure's rows of both tables.
func (p *program) row(w, check io.Writer, s subject, counts []int, move, here float64) error {
	alone, err := simulate(p, s.name, machineOf(1, 1, 0), 40*opsEach)
	if err != nil {
		return err
	}
	measured := native(s, 1)
	plain := measured / alone.instructions
	fmt.Fprintf(w, "| %s | %.0f | %.1f ns |", s.name, alone.instructions, measured)
	for _, n := range counts {
		r, err := simulate(p, s.name, machineOf(n, plain, move), n*opsEach)
		if errors.Is(err, errFew) || errors.Is(err, errWaits) {
			fmt.Fprint(w, " – | – |")
			continue
		} else if err != nil {
			return err
		}
		fmt.Fprintf(w, " %.1f ns | %.2f |", r.ns, r.moves)
	}
	fmt.Fprintln(w)
	for n := 2; n <= runtime.NumCPU(); n *= 2 {
		r, err := simulate(p, s.name, machineOf(n, plain, here), n*opsEach)
		if errors.Is(err, errFew) || errors.Is(err, errWaits) {
			continue
		} else if err != nil {
			return err
		}
		fmt.Fprintf(check, "| %s | %d | %.1f ns | %.1f ns | %.2f |\n", s.name, n, r.ns, native(s, n), r.moves)
	}
	return nil
}
