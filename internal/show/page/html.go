package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/exercise"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

//go:embed assets/*.tmpl
var assets embed.FS

//go:embed assets/report.css
var styleSheet string

// Templates returns the templates that draw a [Page]: facts and contents; run, cell and
// comparison for [New], [NewCell] and [NewComparison]; ledger for a [Ledger]; and the
// templates that they use. The caller may add to them.
func Templates() *template.Template {
	return template.Must(template.ParseFS(assets, "assets/*.tmpl"))
}

// StyleSheet is the style of the pages, for packages whose pages must look the same.
func StyleSheet() template.CSS { return template.CSS(styleSheet) }

// A Sheet is the frame around the main part of a page. Its fields are for the templates.
type Sheet struct {
	Name, Lead             string // the heading, and the text below it
	Facts                  []Fact
	Noise, Repeat, Version string
	Contents               []Content
	Note                   string // at the end
}

// A Fact is a name with its value.
type Fact struct{ Name, Value string }

// A Content is a link to a part of the page.
type Content struct{ ID, Name string }

// List adds a part to the contents if the page has it.
func (s *Sheet) List(there bool, id, name string) {
	if there {
		s.Contents = append(s.Contents, Content{id, name})
	}
}

// WriteFile writes the page as one self-contained file. A policy in the file forbids
// scripts and all requests. The named template draws the main part.
func (s *Sheet) WriteFile(w io.Writer, t *template.Template, main string, data any) error {
	var part strings.Builder
	if err := t.ExecuteTemplate(&part, main, data); err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "file", struct {
		*Sheet
		CSS  template.CSS
		Main template.HTML
	}{s, StyleSheet(), template.HTML(part.String())})
}

// Write writes the analysis as one self-contained file.
func Write(w io.Writer, r Run, a *stat.Analysis) error {
	p := New(r, a, View{})
	if err := p.WriteFile(w, Templates(), "run", p); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	return nil
}

type section struct {
	ID, Name, Baseline, Verdicts string
	Fixed                        []string
	Grid                         *text.Table
	GridTitle                    string
	Plots                        []plot.Plot
	Details                      []detail
	Exercises                    []*exercise.Explanation
	Failures                     []string
}

// A detail is a table that unfolds on click.
type detail struct {
	Title, Note string
	Table       *text.Table
	Open        bool // from the start
}

// add adds a table to the section unless it is empty.
func (h *section) add(title, note string, t *text.Table) {
	if len(t.Rows) > 0 {
		h.Details = append(h.Details, detail{Title: title, Note: note, Table: t})
	}
}

// addComparisons adds all comparisons and, if several machines measured, those by machine.
func (h *section) addComparisons(title string, s *text.Section) {
	h.add(title, "", s.ComparisonTable(s.Comparisons))
	h.add("By machine: the results of each, and whether they agree", "Welch's test of the mean logarithms of the ratios "+
		"decides whether they agree; I² is the share of their variation beyond chance. If they disagree, there is no "+
		"common verdict.", byMachineTable(s))
}

// sectionID is the id of the i-th section of a page.
func sectionID(i int) string { return fmt.Sprintf("study-%d", i+1) }

func sectionOf(s *text.Section, id string, r Run) section {
	h := section{ID: id, Name: s.Name, Fixed: s.Fixed, Verdicts: text.VerdictCounts(s.Comparisons),
		Exercises: s.Exercises()}
	if len(s.Rows) > 1 {
		h.Baseline = s.Baseline().Label
	}
	if g, ok := s.Grid(); ok {
		h.Grid = g.Table(true)
		h.GridTitle = g.RowName() + " × GC setting: " + text.Heading(s.Primary())
	}
	h.Plots = drawn(s.Name, plot.HeatMap(s, id, plot.Procs, r.Procs), plot.HeatMap(s, id, plot.Goroutines, nil),
		plot.Latency(s, id), plot.Pauses(s, id), plot.Figures(s, id), plot.Heap(s, id))
	if phases := s.PhaseTable(); len(phases.Rows) > 0 {
		h.Details = []detail{{"What the collector did during the slowest operations", text.PhaseNote, phases, true}}
	}
	h.add("All figures", "", figuresTable(s))
	h.addComparisons("All comparisons with the baseline", s)
	h.add("Noise floor: the baseline against its own copy", "", floorsTable(s))
	for _, r := range s.Rows {
		for _, rec := range r.Failures {
			h.Failures = append(h.Failures, fmt.Sprintf("%s, repetition %d: %s", r.Label, rec.Cell.Block+1, text.Failure(rec)))
		}
	}
	return h
}

// lead says when a run was measured, and how much of it.
func lead(m cell.Run) string {
	return strings.TrimPrefix(text.RunWhen(m)+", "+text.RunProgress(m), ", ")
}

// facts are about the machines of a run, if there are several.
func facts(machines []*stat.Machine) []Fact {
	if machines == nil {
		return nil
	}
	return []Fact{{"Machines", strings.Join(text.MachineLines(machines), "; ") + ". " + text.MachinesNote}}
}

// A machine is a machine that measured. Its name is "" if it is the only one.
type machine struct {
	Name  string
	Facts []Fact
	Notes []string
}

func machinesOf(only cell.Machine, several []*stat.Machine) (all []machine) {
	if several == nil {
		return []machine{{"", fingerprint(only), text.CleanAll(only.Warnings)}}
	}
	for _, m := range several {
		all = append(all, machine{text.Clean(m.Name), fingerprint(m.Fingerprint), text.CleanAll(m.Fingerprint.Warnings)})
	}
	return all
}

func fingerprint(m cell.Machine) []Fact {
	number := func(v float64, text string) string {
		if v > 0 {
			return text
		}
		return ""
	}
	return present([]Fact{
		{"CPU", text.Clean(m.CPU)}, {"CPUs", number(float64(m.CPUs), fmt.Sprint(m.CPUs))},
		{"CPU limit", number(m.CPUQuota, text.Digits(m.CPUQuota)+" CPUs")},
		{"Memory", number(float64(m.MemoryBytes), text.Bytes(float64(m.MemoryBytes)))},
		{"System", text.Clean(strings.Trim(m.OS+"/"+m.Arch, "/"))},
		{"Kernel", text.Clean(m.Kernel)}, {"Control groups", text.Clean(m.Cgroup)}, {"Virtualization", text.Clean(m.Virtual)},
		{"Frequency governor", text.Clean(m.Governor)},
		{"Huge pages", text.Clean(m.HugePages)}, {"Clock source", text.Clean(m.Clocksource)}, {"Go", text.Clean(m.GoVersion)},
		{"Isobar", text.Clean(m.Isobar)},
		{"Host (digest)", text.Clean(m.Hostname)},
	})
}

func present(facts []Fact) []Fact {
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
}
