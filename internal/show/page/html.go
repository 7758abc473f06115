package page

import (
	"bytes"
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

//go:embed assets/report.css assets/report.html.tmpl assets/parts.html.tmpl
var assets embed.FS

// Templates returns the templates that draw a [Page]: theme, facts and
// contents; run, cell and comparison for [New], [NewCell] and [NewComparison];
// and ledger for a [Ledger]. The caller may add to them.
func Templates() *template.Template {
	t := template.Must(template.New("").Funcs(ledgerFuncs).ParseFS(assets, "assets/parts.html.tmpl"))
	return template.Must(t.ParseFS(ledgerAssets, "assets/ledger.html.tmpl"))
}

// StyleSheet is the style of the pages, for packages whose pages look the same.
func StyleSheet() template.CSS {
	css, err := assets.ReadFile("assets/report.css")
	if err != nil {
		panic("page: StyleSheet: " + err.Error()) // it is embedded
	}
	return template.CSS(css)
}

// Write writes the analysis as one self-contained file. A policy in the file
// forbids scripts and all requests.
func Write(w io.Writer, r Run, a *stat.Analysis) error {
	file := template.Must(template.ParseFS(assets, "assets/report.html.tmpl", "assets/parts.html.tmpl"))
	var buf bytes.Buffer
	if err := file.Execute(&buf, New(r, a, View{})); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	return nil
}

type fact struct{ Name, Value string }

type section struct {
	ID, Name, Baseline, Verdicts string
	Fixed                        []string
	Grid                         *grid
	Plots                        []plot.Plot
	Figures, Comparisons, Floors *plot.Table
	Machines                     *plot.Table // the comparisons by machine, if several measured
	Phases                       *plot.Table // of the collector, during the slowest operations
	Collections                  []collectionList
	Compared                     string // caption of Comparisons
	Exercises                    []*exercise.Explanation
	Failures                     []string
}

// identifiers are the ids used in the page.
type identifiers map[string]bool

// unique makes an unused id from a name.
func (ids identifiers) unique(name string) string {
	id := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text.Shorten(name, 40)), "-")
	if id == "" || id[0] <= '9' {
		id = "w-" + id
	}
	for base, n := id, 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	ids[id] = true
	return id
}

func sectionOf(s *text.Section, id string) section {
	h := section{ID: id, Name: s.Name, Fixed: s.Fixed, Verdicts: text.VerdictCounts(s.Comparisons),
		Compared: "All comparisons with the baseline"}
	if len(s.Rows) > 1 {
		h.Baseline = s.Baseline().Label
	}
	if g, ok := s.Grid(); ok {
		h.Grid = gridOf(g, id)
	}
	for _, plot := range []*plot.Plot{plot.ByMachine(s, id), plot.HeatMap(s, id), plot.Pareto(s, id), plot.Latency(s, id),
		plot.Pauses(s, id), plot.Figures(s, id), plot.Heap(s, id)} {
		if plot != nil {
			plot.Section = s.Name
			h.Plots = append(h.Plots, *plot)
		}
	}
	h.Figures, h.Comparisons, h.Floors = figuresTable(s), comparisonsTable(s), floorsTable(s)
	h.Phases, h.Machines, h.Exercises = phasesTable(s), byMachineTable(s), s.Exercises()
	for _, r := range s.Rows {
		for _, rec := range r.Failures {
			h.Failures = append(h.Failures, fmt.Sprintf("%s, repetition %d: %s", r.Label, rec.Cell.Block+1, text.Failure(rec)))
		}
	}
	return h
}

func facts(m text.Meta, machines []*stat.Machine) []fact {
	facts := []fact{{"Measured", m.When()}, {"Cells", m.Progress()}}
	if machines == nil {
		return present(append(facts, fact{"Machine", text.MachineLine(m.Machine)}))
	}
	return present(append(facts, fact{"Machines", strings.Join(text.MachineLines(machines), "; ") + ". " +
		text.MachinesNote}))
}

func fingerprint(m cell.Machine) []fact {
	number := func(v float64, text string) string {
		if v > 0 {
			return text
		}
		return ""
	}
	return present([]fact{
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

func present(facts []fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}
