package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

//go:embed assets/report.css assets/report.html.tmpl assets/parts.html.tmpl
var assets embed.FS

var htmlTemplate = template.Must(template.ParseFS(assets, "assets/report.html.tmpl", "assets/parts.html.tmpl"))

// Templates returns the templates that draw a [Page]: theme, facts, contents,
// and run, cell or comparison for what NewPage, NewCellPage and
// NewComparisonPage return; and ledger, for a [LedgerPage]. The caller may add
// to them.
func Templates() *template.Template {
	t := template.Must(template.New("").Funcs(ledgerFuncs).ParseFS(assets, "assets/parts.html.tmpl"))
	return template.Must(t.ParseFS(ledgerAssets, "assets/ledger.html.tmpl"))
}

// StyleSheet is the style of the pages, for those of other packages that look
// the same.
func StyleSheet() template.CSS {
	css, err := assets.ReadFile("assets/report.css")
	if err != nil {
		panic("report: StyleSheet: " + err.Error()) // it is embedded
	}
	return template.CSS(css)
}

// Clean makes the control characters of a user's text visible.
func Clean(s string) string { return clean(s) }

// HTML writes the analysis as one file that needs nothing outside it. A policy
// in the file forbids scripts and every request.
func HTML(w io.Writer, r Run, a *stat.Analysis) error {
	var buf bytes.Buffer
	if err := htmlTemplate.Execute(&buf, NewPage(r, a, View{})); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	return nil
}

type htmlFact struct{ Name, Value string }

type htmlSection struct {
	ID, Name, Baseline, Verdicts string
	Fixed                        []string
	Grid                         *htmlGrid
	Plots                        []htmlPlot
	Figures, Comparisons, Floors *htmlTable
	Machines                     *htmlTable // the comparisons on each machine, where several measured
	Phases                       *htmlTable // of the collector, during the slowest operations
	Collections                  []htmlCollections
	Compared                     string // names Comparisons
	Failures                     []string
}

// An htmlPlot is one or more panels with a common legend, caption and data
// table.
type htmlPlot struct {
	ID, Title, Section, Caption string
	Hint, Command               string // how to get more; "" for none
	Wide                        bool   // takes the whole width of the page
	Pairs                       bool   // its panels stand in two columns
	Panels                      []htmlPanel
	Legend                      []htmlLegend
	Table                       htmlTable
	// From, To and Whole are the stretch of time that is shown of a whole, in
	// milliseconds; all 0 where there is no other to choose.
	From, To, Whole float64
}

type htmlPanel struct {
	Title string
	SVG   template.HTML
}

type htmlLegend struct {
	Swatch template.HTML
	Name   string
}

// An htmlTable is a table whose first Left columns are text, the others
// figures. Label names its scroll region and is unique in the page.
type htmlTable struct {
	Label string
	Head  []string
	Left  int
	Rows  [][]htmlCell
}

type htmlCell struct{ Text, Class string }

// Class returns the class of a heading.
func (t *htmlTable) Class(column int) string {
	if column < t.Left {
		return "text"
	}
	return ""
}

func (t *htmlTable) add(cells ...string) {
	row := make([]htmlCell, len(cells))
	for i, text := range cells {
		row[i] = htmlCell{text, t.Class(i)}
	}
	t.Rows = append(t.Rows, row)
}

// identifiers are the ids that the page has given out.
type identifiers map[string]bool

// unique makes an id of a name.
func (ids identifiers) unique(name string) string {
	id := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, shorten(name, 40)), "-")
	if id == "" || id[0] <= '9' {
		id = "w-" + id
	}
	for base, n := id, 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	ids[id] = true
	return id
}

func htmlSectionOf(s *section, id string) htmlSection {
	h := htmlSection{ID: id, Name: s.name, Fixed: s.fixed, Verdicts: verdictCounts(s.comparisons), Compared: "All comparisons with the baseline"}
	if len(s.rows) > 1 {
		h.Baseline = s.baseline().label
	}
	if g, ok := s.grid(); ok {
		h.Grid = g.html(id)
	}
	for _, plot := range []*htmlPlot{s.machinePlot(id), s.heatPlot(id), s.paretoPlot(id), s.latencyPlot(id), s.pausePlot(id), s.metricsPlot(id), s.heapPlot(id)} {
		if plot != nil {
			plot.Section = s.name
			h.Plots = append(h.Plots, *plot)
		}
	}
	h.Figures, h.Comparisons, h.Floors = s.figuresTable(), s.comparisonsTable(), s.floorsTable()
	h.Phases, h.Machines = s.phasesTable(), s.byMachineTable()
	for _, r := range s.rows {
		for _, rec := range r.Failures {
			h.Failures = append(h.Failures, fmt.Sprintf("%s, repetition %d: %s", r.label, rec.Cell.Block+1, failureText(rec)))
		}
	}
	return h
}

func htmlFacts(m Meta, machines []*stat.Machine) []htmlFact {
	facts := []htmlFact{{"Measured", m.created()}, {"Cells", m.progress()}}
	if machines == nil {
		return present(append(facts, htmlFact{"Machine", machineLine(m.Machine)}))
	}
	return present(append(facts, htmlFact{"Machines", strings.Join(machineTexts(machines), "; ") + ". " + machinesNote}))
}

func fingerprint(m cell.Machine) []htmlFact {
	number := func(v float64, text string) string {
		if v > 0 {
			return text
		}
		return ""
	}
	return present([]htmlFact{
		{"CPU", clean(m.CPU)}, {"CPUs", number(float64(m.CPUs), fmt.Sprint(m.CPUs))}, {"CPU limit", number(m.CPUQuota, digits(m.CPUQuota)+" CPUs")},
		{"Memory", number(float64(m.MemoryBytes), bytesText(float64(m.MemoryBytes)))}, {"System", clean(strings.Trim(m.OS+"/"+m.Arch, "/"))},
		{"Kernel", clean(m.Kernel)}, {"Control groups", clean(m.Cgroup)}, {"Virtualization", clean(m.Virtual)}, {"Frequency governor", clean(m.Governor)},
		{"Huge pages", clean(m.HugePages)}, {"Clock source", clean(m.Clocksource)}, {"Go", clean(m.GoVersion)}, {"Isobar", clean(m.Isobar)},
		{"Host (digest)", clean(m.Hostname)},
	})
}

func present(facts []htmlFact) []htmlFact {
	return slices.DeleteFunc(facts, func(f htmlFact) bool { return f.Value == "" })
}

func cleanAll(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}

// noiseText says what else happened on the machine, over all cells.
func noiseText(a *stat.Analysis) string {
	var parts []string
	for _, kind := range noises {
		var values []float64
		for _, g := range a.Groups {
			for _, rec := range g.Records {
				if v := kind.of(rec.Noise); v >= 0 && !math.IsInf(v, 0) {
					values = append(values, v)
				}
			}
		}
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		middle, most := values[len(values)/2], values[len(values)-1]
		if most == 0 {
			parts = append(parts, kind.name+" none")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s%s (at most %s%s)", kind.name, format(kind.metric, middle), kind.after, format(kind.metric, most), kind.after))
	}
	return strings.Join(parts, "; ")
}
