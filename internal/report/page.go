package report

import (
	"html/template"
	"time"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// A Page is what the templates of this package draw: a run, a cell or a
// comparison. The self-contained file and the pages of package web are made of
// the same ones. Its fields are for the templates.
type Page struct {
	CSS                              template.CSS // of the self-contained file
	Name, Repeat, Version, Noise     string
	Facts, Fingerprint               []htmlFact
	Contents                         []htmlContent
	Machines                         *htmlTable // those that measured, where they are several
	MachineNotes, Findings, Warnings []string
	Sections                         []htmlSection
	Strip                            *htmlPlot // noise of the machine, over the run

	// A cell's.
	Failures []string
	Plots    []htmlPlot
	Samples  *htmlTable
	// Collections are those of a cell that ran a program.
	Collections *htmlCollections
	Output      string

	// A comparison's.
	Verdicts string
	OnlyIn   []htmlFact
}

type htmlContent struct{ ID, Name string }

// A View is how a reader wants to see a page. The zero View is that of the
// self-contained file.
type View struct {
	// Exact shows figures in tables with all digits in their base unit.
	Exact bool
	// From and To are the stretch of a cell's timeline; To 0 is its end.
	From, To time.Duration
}

// A Run is a run as its page shows it.
type Run struct {
	Meta
	// Forecasts are what a model expected, by GOGC, then by GOMEMLIMIT; nil for
	// none.
	Forecasts []Forecast
	// Procs asks for a map of GC settings and GOMAXPROCS even where only one of
	// the two varies; nil for none.
	Procs *ProcsMap
	// Traced are configurations whose collections are listed one by one.
	Traced []Traced
}

// NewPage returns the page of a run.
func NewPage(r Run, a *stat.Analysis, v View) *Page {
	m := measured(r.Meta, a)
	p := &Page{
		CSS: StyleSheet(), Name: m.name(), Facts: htmlFacts(m, several(a)), Repeat: clean(m.Repeat), Version: clean(m.Version),
		Fingerprint: fingerprint(m.Machine), MachineNotes: cleanAll(m.Machine.Warnings), Noise: noiseText(a), Findings: cleanAll(a.Findings),
	}
	if p.Machines = machinesTable(several(a)); p.Machines != nil {
		p.Fingerprint, p.MachineNotes = nil, nil // of the machine that handed the cells out
		for _, machine := range a.Machines {
			for _, note := range machine.Fingerprint.Warnings {
				p.MachineNotes = append(p.MachineNotes, clean(machine.Name+": "+note))
			}
		}
	}
	if a.Missing > 0 {
		p.Warnings = append(p.Warnings, missingText(a.Missing))
	}
	for _, warning := range a.Warnings {
		p.Warnings = append(p.Warnings, warningText(warning))
	}
	p.Contents = []htmlContent{{"found", "Found"}}
	ids := newIdentifiers()
	for _, s := range sections(a) {
		s.setExact(v.Exact)
		h := htmlSectionOf(s, ids.unique(s.name))
		for _, plot := range []*htmlPlot{s.procsPlot(h.ID, r.Procs), s.forecastPlot(h.ID, r.Forecasts)} {
			if plot != nil {
				h.Plots = append([]htmlPlot{*plot}, h.Plots...)
			}
		}
		h.Collections = s.collections(r.Traced)
		p.Sections = append(p.Sections, h)
		p.Contents = append(p.Contents, htmlContent{h.ID, h.Name})
	}
	if len(p.Warnings) > 0 {
		p.Contents = append(p.Contents, htmlContent{"warnings", "Warnings"})
	}
	p.Contents = append(p.Contents, htmlContent{"machine", "Machine"}, htmlContent{"reading", "How to read this"})
	p.Strip = noiseStrip(a)
	return p
}

// newIdentifiers returns the ids that pages use themselves.
func newIdentifiers() identifiers {
	ids := identifiers{}
	for _, id := range []string{"found", "machine", "warnings", "reading", "content", "noise", "cells", "failure", "plots", "samples", "collections", "output", "verdicts",
		"theme-auto", "theme-light", "theme-dark", "progress"} {
		ids[id] = true
	}
	return ids
}

// setExact has the section and its rows write figures with all digits.
func (s *section) setExact(exact bool) {
	s.exact = exact
	for _, r := range s.rows {
		r.exact = exact
	}
}

// format writes a value in a table of the section.
func (s *section) format(metric string, v float64) string { return formatIn(s.exact, metric, v) }

func formatIn(exact bool, metric string, v float64) string {
	if exact {
		return exactText(metric, v)
	}
	return format(metric, v)
}
