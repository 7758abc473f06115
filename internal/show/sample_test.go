package show_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

var (
	kind    = flag.String("kind", "study", "`KIND` of run: "+kindNames())
	path    = flag.String("store", "", "append the run to the store `FILE` instead")
	records = flag.Int("records", -1, "store only the first `N` records, as for a running run")
	advice  = flag.String("advice", "", "store the page of advice in `FILE` instead of a run")
	finish  = flag.Int64("finish", 0, "store the other records of `RUN`, which -records began, instead of a new run")
)

// TestMain makes the test binary write the report of a made-up run, for the browser tests
// and for work on the report itself, or append the run to a store:
//
//	go test -c -o sample ./internal/show
//	./sample [-kind study|brief|hostile|empty|failed|fleet|tune] OUT.html
//	./sample [-kind KIND] [-records N | -finish RUN] -store OUT.db
//	./sample -advice PAGE.html -store OUT.db
//
// The records are drawn from seeded distributions and pass through package stat like
// measured ones. Their figures mean nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch {
	case *advice != "":
		err = keepAdvice(*path, *advice)
	case *path != "":
		err = appendTo(*path, *kind, *records, *finish)
	case flag.NArg() > 0:
		err = run(*kind, flag.Args())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
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
	m, id, have := made.meta.Meta, finish, 0
	if finish == 0 {
		id, err = s.CreateRun(store.Run{Name: m.Name, Created: m.Created, Args: m.Args, Version: m.Version,
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
			s.meta.Meta.Finished++
		} else {
			s.meta.Meta.Failed++
		}
	}
	s.meta.Meta.Total = len(s.cells)
	return s.meta, analysis, nil
}

// TestKinds renders every kind of run in every form.
func TestKinds(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			run, analysis, err := build(kind)
			if err != nil {
				t.Fatal(err)
			}
			var words, summary, doc, shown bytes.Buffer
			for _, err := range []error{
				text.Report(&words, run.Meta, analysis, text.Style{Width: 100}),
				text.Summary(&summary, run.Meta, analysis, text.Style{Width: 100}),
				text.JSON(&doc, run.Meta, analysis),
				page.Write(&shown, run, analysis),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			if !json.Valid(doc.Bytes()) {
				t.Error("JSON is not valid")
			}
			if n := strings.Count(summary.String(), "\n"); n > 55 {
				t.Errorf("the summary has %d lines: more than a screen", n)
			}
			for form, out := range map[string]string{"text": words.String(), "summary": summary.String()} {
				if strings.ContainsAny(out, "\x1b\u202e") {
					t.Errorf("%s: control characters of the user reach the terminal", form)
				}
			}
			if strings.Contains(shown.String(), "<script") || strings.Contains(shown.String(), "<img") {
				t.Error("HTML: an element from the user's text")
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}} {
		if err := run("study", args); err == nil {
			t.Errorf("run(%q) succeeded", args)
		}
	}
	if err := run("nothing", []string{"x"}); err == nil || !strings.Contains(err.Error(), "hostile") {
		t.Errorf("unknown kind: %v", err)
	}
}
