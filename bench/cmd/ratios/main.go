// Ratios runs the benchmarks of this module in interleaved blocks and writes
// tables of ours against the peers, below a summary of all of them.
//
// Benchmarks that share a name but for the key impl=… do the same work. Each
// block runs every benchmark once, packages in an order shuffled by its number;
// the ratio isobar/peer is formed within a block, and its median and bootstrap
// interval over blocks by package stat, as the lab does. A ratio below 1 means
// that ours costs less. Rows that we lose stay in. What a benchmark
// names bound-… does less than the task: it has its rows, but is no peer in the
// table of all machines.
//
// Usage:
//
//	go run ./cmd/ratios [-blocks 10] [-benchtime 100ms] [-bench REGEXP] [-ours isobar]
//		[-wall] [PACKAGE ...]
//	go run ./cmd/ratios -suite bench [-minutes 38] [-records FILE] [-pages DIR]
//	go run ./cmd/ratios -merge [-pages DIR] FILE ...
//
// A suite is a fixed list of such runs. Each block of a package is appended to
// the results file as soon as it ends. What the file has of this commit, machine
// and command is not measured again, so a run that was interrupted, or out of
// time, continues where it stopped. With -pages, each machine has its page
// there, benchmarks-CPU-N.md, and README.md its table of all machines. What was
// measured replaces its sections of the page; the other sections stay.
//
// -merge writes the pages of results files from elsewhere.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// prefix begins the values of the key impl that are our own side; -ours names
// the one that peers are compared with.
const prefix = "isobar"

// bound begins those of a bound.
const bound = "bound-"

func main() {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(os.Args[1:], os.Stdout, interrupted); {
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(os.Stderr, "ratios: %v\n", err)
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "ratios: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer, interrupted context.Context) error {
	flags := flag.NewFlagSet("ratios", flag.ContinueOnError)
	var one job
	one.flags(flags)
	suite := flags.String("suite", "", "run this list instead of one command: bench or many")
	merge := flags.Bool("merge", false, "measure nothing: write the pages of the results files named")
	file := flags.String("records", "", "results file to continue; none otherwise")
	minutes := flags.Float64("minutes", 0, "begin no block that would likely end later; 0 for no limit")
	pages := flags.String("pages", "", "directory of the pages; standard output otherwise")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *merge {
		var all []record
		for _, name := range flags.Args() {
			some, err := readRecords(name)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return publish(all, *pages, stdout)
	}
	one.Experiment = cmp.Or(one.Experiment, os.Getenv("GOEXPERIMENT"))
	one.Packages = cmp.Or(strings.Join(flags.Args(), " "), "./...")
	jobs := []job{one}
	if *suite == "" && *pages != "" {
		return errors.New("-pages needs -suite or -merge: less than a suite would take rows off a page")
	}
	if *suite != "" {
		var err error
		if jobs, err = findSuite(*suite); err != nil {
			return err
		}
	}
	m := measurement{jobs: jobs, interrupted: interrupted, build: job.build, execute: job.run}
	if *minutes > 0 {
		m.deadline = time.Now().Add(time.Duration(*minutes * float64(time.Minute)))
	}
	if err := m.open(*file); err != nil {
		return err
	}
	return errors.Join(m.run(), publish(m.all, *pages, stdout))
}
