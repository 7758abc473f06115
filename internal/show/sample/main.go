// Command sample writes the HTML report of a made-up run, for browser tests and for work on the report itself, or
// appends the run to a store:
//
//	go run ./internal/show/sample [-kind study|brief|hostile|empty|failed|fleet|tune] OUT.html
//	go run ./internal/show/sample [-kind KIND] [-records N | -finish RUN] -store OUT.db
//	go run ./internal/show/sample -advice PAGE.html -store OUT.db
//
// The records are drawn from seeded distributions and pass through package stat like measured ones. Their figures
// mean nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
)

func main() {
	kind := flag.String("kind", "study", "`KIND` of run: "+kindNames())
	path := flag.String("store", "", "append the run to the store `FILE` instead")
	records := flag.Int("records", -1, "store only the first `N` records, as for a running run")
	advice := flag.String("advice", "", "store the page of advice in `FILE` instead of a run")
	finish := flag.Int64("finish", 0, "store the other records of `RUN`, which -records began, instead of a new run")
	flag.Parse()
	write := func() error { return run(*kind, flag.Args()) }
	if *advice != "" {
		write = func() error { return keepAdvice(*path, *advice) }
	} else if *path != "" {
		write = func() error { return appendTo(*path, *kind, *records, *finish) }
	}
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kind string, args []string) error {
	if len(args) != 1 {
		return errors.New("sample: want one argument: the file to write")
	}
	shown, analysis, err := build(kind)
	if err != nil {
		return err
	}
	f, err := os.Create(args[0])
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return errors.Join(page.Write(f, shown, analysis), f.Close())
}

// appendTo makes up a run of the kind and stores it, with its records in the order of measurement.
func appendTo(path, kind string, records int, finish int64) error {
	makeUp := kinds[kind]
	if makeUp == nil {
		return fmt.Errorf("sample: unknown kind %q: want one of %s", kind, kindNames())
	}
	made := makeUp()
	s, err := store.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	m, id, have := made.meta, finish, 0
	if finish == 0 {
		id, err = s.CreateRun(store.Run{Name: m.Title, Created: m.Created, Args: m.Args, Version: m.Version,
			Machine: m.Machine, Seed: m.Seed}, made.cells)
	} else {
		var run store.Run
		run, err = s.Run(finish)
		have = run.Finished + run.Failed
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(made.records, func(a, b *cell.Record) int { return a.Cell.Block - b.Cell.Block })
	for i, rec := range made.records {
		if i == records {
			break
		}
		if i < have {
			continue
		}
		maps.DeleteFunc(rec.Metrics, func(metric string, v float64) bool {
			return math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsFunc(metric, unicode.IsSpace)
		})
		if err := s.Append(id, rec, nil); err != nil {
			return err
		}
	}
	return nil
}

func keepAdvice(path, page string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	s, err := store.Open(path)
	if err != nil {
		return err
	}
	_, err = s.SaveAdvice(store.Advice{Created: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Name: "sample",
		Page: data})
	return errors.Join(err, s.Close())
}

// build makes up a run of the kind and analyzes it.
func build(kind string) (page.Run, *stat.Analysis, error) {
	makeUp := kinds[kind]
	if makeUp == nil {
		return page.Run{}, nil, fmt.Errorf("sample: unknown kind %q: want one of %s", kind, kindNames())
	}
	s := makeUp()
	analysis, err := stat.Analyze(s.cells, s.records)
	if err != nil {
		return page.Run{}, nil, fmt.Errorf("sample: %w", err)
	}
	for _, rec := range s.records {
		if rec.Err == nil {
			s.meta.Finished++
		} else {
			s.meta.Failed++
		}
	}
	s.meta.Total = len(s.cells)
	return s.meta, analysis, nil
}
