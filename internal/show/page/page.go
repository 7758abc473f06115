// Package page makes pages of runs, cells, comparisons and ledgers.
//
// [Write] writes a run as one self-contained file: static SVG, embedded style,
// no script, no reference to anything outside. [New], [NewCell] and
// [NewComparison] return the data for [Templates], for the pages of package
// web. Control characters in the user's text are made visible and HTML is
// escaped.
//
// The functions are pure: they read no clock, no environment and no file, and
// may be called from several goroutines as long as nobody changes the analysis.
package page

import (
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Page is the data for the templates of this package: a run, a cell or a
// comparison. The self-contained file and the pages of package web use the same
// data. Its fields are for the templates.
type Page struct {
	Sheet
	Answer             *answer // of a tuned run
	How                Sheet   // of a run, below what was found: its noise and the command that repeats it
	Machines           []machine
	Findings, Warnings []string
	Sections           []section

	// For a cell.
	Failures []string
	Plots    []plot.Plot
	Samples  *text.Table
	// Collections is the table of collections of a cell that ran a program.
	Collections *detail
	Output      string

	// For a comparison.
	Verdicts string
	OnlyIn   []Fact
}

// drawn returns the plots that are not nil, marked as belonging to the section.
func drawn(section string, plots ...*plot.Plot) (out []plot.Plot) {
	for _, p := range plots {
		if p != nil {
			p.Section = section
			out = append(out, *p)
		}
	}
	return out
}

// A View is how a reader wants to see a page. The zero View is that of the self-contained file.
type View struct {
	// Exact shows figures in tables with all digits in their base unit.
	Exact bool
	// From and To are the visible part of a cell's timeline; a To of 0 means its end.
	From, To time.Duration
}

// A Run is the content of the page of a run.
type Run struct {
	Meta cell.Run
	// Search, Files and Pods are the answer of a tuned run besides the findings: CPU time against
	// memory, the files that deploy the answer, and a table of the tried pods, nil if there are none.
	Search plot.Search
	Files  []File
	Pods   *text.Table
	// Procs asks for a map of GC settings and GOMAXPROCS even if only one of the
	// two varies; nil asks for none.
	Procs *plot.ProcsMap
}

// A File is a file to copy.
type File struct{ Form, Name, Text string }

// An answer is the part of a page between the findings and the figures.
type answer struct {
	Plot  *plot.Plot
	Files []File
	Pods  *text.Table
}

// answerOf returns the answer of a run, nil if it has none.
func answerOf(r Run, sections []*text.Section) *answer {
	out := &answer{Files: r.Files, Pods: r.Pods}
	if len(sections) > 0 {
		out.Plot = plot.Tradeoff(sections[0], "answer", r.Search)
	}
	if out.Plot == nil && len(out.Files) == 0 && out.Pods == nil {
		return nil
	}
	return out
}

// heading is the name of a run, cut: it may be a long command.
func heading(m cell.Run) string { return text.Shorten(text.RunName(m), 120) }

// New returns the page of a run.
func New(r Run, a *stat.Analysis, v View) *Page {
	m := text.Measured(r.Meta, a)
	p := &Page{
		Sheet:    Sheet{Name: heading(m), Lead: lead(m), Version: text.Clean(m.Version)},
		How:      Sheet{Facts: facts(text.Several(a)), Noise: text.NoiseLine(a), Repeat: text.Clean(m.Repeat())},
		Machines: machinesOf(m.Machine, text.Several(a)), Findings: text.CleanAll(a.Findings),
	}
	for _, warning := range a.Warnings {
		p.Warnings = append(p.Warnings, text.Warning(warning))
	}
	sections := text.Sections(a)
	p.Answer = answerOf(r, sections)
	p.List(true, "found", "Findings")
	p.List(p.Answer != nil, "answer", "The answer")
	for i, s := range sections {
		s.SetExact(v.Exact)
		h := sectionOf(s, sectionID(i), r)
		p.Sections = append(p.Sections, h)
		p.List(true, h.ID, h.Name)
	}
	p.List(len(p.Warnings) > 0, "warnings", "Warnings")
	p.List(true, "machine", "Measurement")
	p.List(true, "reading", "How to read this")
	return p
}
