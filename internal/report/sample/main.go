// Command sample writes the HTML report of a made-up run, for tests in a
// browser and for work on the report itself:
//
//	go run ./internal/report/sample [-kind study|hostile|empty|failed] OUT.html
//
// The records are drawn from seeded distributions and pass through package
// stat like measured ones. Their figures mean nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/isobar-go/isobar/internal/report"
	"github.com/isobar-go/isobar/internal/stat"
)

func main() {
	kind := flag.String("kind", "study", "`KIND` of run: "+kindNames())
	flag.Parse()
	if err := run(*kind, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kind string, args []string) error {
	if len(args) != 1 {
		return errors.New("sample: want one argument, the file to write")
	}
	meta, analysis, err := build(kind)
	if err != nil {
		return err
	}
	f, err := os.Create(args[0])
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	return errors.Join(report.HTML(f, meta, analysis), f.Close())
}

// build makes up a run of the kind and analyzes it.
func build(kind string) (report.Meta, *stat.Analysis, error) {
	makeUp := kinds[kind]
	if makeUp == nil {
		return report.Meta{}, nil, fmt.Errorf("sample: unknown kind %q: want one of %s", kind, kindNames())
	}
	s := makeUp()
	analysis, err := stat.Analyze(s.cells, s.records)
	if err != nil {
		return report.Meta{}, nil, fmt.Errorf("sample: %w", err)
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
