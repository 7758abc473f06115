package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// NewCell returns the page of one record of a run. It fails if the record's
// histograms are damaged.
func NewCell(m cell.Run, rec *cell.Record, v View) (*Page, error) {
	alone := *rec
	alone.Cell.Twin = false // without its original, a twin would be a copy of nothing
	a, err := stat.Analyze([]cell.Cell{alone.Cell}, []*cell.Record{&alone})
	if err != nil {
		return nil, fmt.Errorf("report: cell %d: %w", rec.Cell.Index, err)
	}
	p := &Page{
		Sheet: Sheet{Name: fmt.Sprintf("Cell %d of %s", rec.Cell.Index, strings.TrimPrefix(heading(m), "Isobar ")),
			Facts: append(cellFacts(rec), originFacts(rec)...), Noise: text.NoiseLine(a), Version: text.Clean(m.Version)},
		Output: cleanLines(rec.Stderr)}
	for _, w := range rec.Warnings {
		p.Warnings = append(p.Warnings, text.Clean(w.Text+" ("+w.Code+")"))
	}
	if rec.Err != nil {
		p.Failures = []string{text.Failure(rec)}
	}
	s, part := text.Sections(a)[0], plot.Whole(rec).Within(v.From, v.To)
	s.SetExact(v.Exact)
	p.Plots = drawn("this cell", plot.Timeline(s, rec, part), plot.Stops(s, rec, part), plot.Latency(s, "cell"),
		plot.Pauses(s, "cell"))
	p.Collections, p.Samples = collectionsOf(s, rec, part), samplesTable(rec)
	p.List(rec.Err != nil, "failure", "Failure")
	p.List(len(p.Warnings) > 0, "warnings", "Warnings")
	for _, shown := range p.Plots {
		p.List(true, shown.ID, shown.Title)
	}
	p.List(p.Collections != nil, "collections", "Collections")
	p.List(true, "samples", "Raw samples")
	p.List(p.Output != "", "output", "Standard error")
	return p, nil
}

// originFacts says where a fleet measured the cell.
func originFacts(rec *cell.Record) []Fact {
	if rec.Origin == nil {
		return nil
	}
	return present([]Fact{{"Worker", text.Clean(rec.Origin.Worker)}, {"Machine", text.MachineLine(rec.Origin.Machine)}})
}

// cleanLines is text.Clean for text of several lines.
func cleanLines(s string) string {
	s = strings.ReplaceAll(strings.TrimRight(s, "\n"), "\t", "    ")
	return strings.Join(text.CleanAll(strings.Split(s, "\n")), "\n")
}

func cellFacts(rec *cell.Record) []Fact {
	outcome := "finished"
	if rec.Err != nil {
		outcome = "failed"
	}
	at := ""
	if !rec.Started.IsZero() {
		at = rec.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	twin := ""
	if rec.Cell.Twin {
		twin = "the second copy of the baseline, for the noise floor"
	}
	return present([]Fact{
		{"Configuration", text.Clean(cell.Readable(rec.Cell.Key()))},
		{"Repetition", strconv.Itoa(rec.Cell.Block + 1)}, {"Twin", twin}, {"Seed", strconv.FormatUint(rec.Cell.Seed, 10)},
		{"Measured", at}, {"Outcome", outcome},
		{"Built with", text.Clean(strings.TrimSpace(rec.GoVersion + " " + rec.Experiments))},
		{"Checksum", text.Clean(rec.Check)},
	})
}

// samplesTable has every figure of a record.
func samplesTable(rec *cell.Record) *text.Table {
	t := &text.Table{Label: "Table of raw samples", Left: 2, Head: []string{"Metric", "meaning", "value", "all digits"}}
	for _, metric := range slices.Sorted(maps.Keys(rec.Metrics)) {
		t.Add(text.Clean(metric), text.Heading(metric), text.Format(metric, rec.Metrics[metric]),
			text.Clean(text.Exact(metric, rec.Metrics[metric])))
	}
	return t
}
