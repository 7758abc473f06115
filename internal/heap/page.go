package heap

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

//go:embed assets/heap.html.tmpl
var assets embed.FS

// A pageSection is a part of the page, as the template sees it.
type pageSection struct {
	ID, Title, Text string
	Drawing         *plot.Plot
	Table           *text.Table
}

// Page writes the report as one self-contained HTML file. version is that of the
// program that writes it.
func (r *Report) Page(out io.Writer, v View, version string) error {
	s, data := r.sheet(v)
	s.Version = version
	if err := s.WriteFile(out, pageTemplates(), "heap", data); err != nil {
		return fmt.Errorf("heap: page: %w", err)
	}
	return nil
}

// Parts returns the frame of the page and its main part, for a page around them.
func (r *Report) Parts(v View) (*page.Sheet, template.HTML, error) {
	s, data := r.sheet(v)
	var main strings.Builder
	if err := pageTemplates().ExecuteTemplate(&main, "heap", data); err != nil {
		return nil, "", fmt.Errorf("heap: page: %w", err)
	}
	return s, template.HTML(main.String()), nil
}

func pageTemplates() *template.Template {
	return template.Must(page.Templates().ParseFS(assets, "assets/heap.html.tmpl"))
}

// A pageData is what the template heap shows.
type pageData struct {
	Sections []pageSection
	Warnings []string
}

func (r *Report) sheet(v View) (*page.Sheet, *pageData) {
	sections := []pageSection{
		{ID: "holders", Title: "Who holds the memory", Drawing: r.treemap(), Table: holderTable(r.Holders(v.Share))},
		{ID: "paths", Title: "Where it hangs", Drawing: r.icicle()},
		{ID: "types", Title: "Types", Table: r.typeTable()},
		{ID: "goroutines", Title: "Goroutines", Text: r.forever(), Table: r.goroutineTable()},
	}
	if r.Ledger != nil {
		sections = append(sections, pageSection{ID: "resident", Title: "Where resident memory is",
			Text: size(r.Ledger.RSS) + " in all, page by page.", Table: r.Ledger.table()})
	}
	s := &page.Sheet{Name: "Isobar heap: " + clean(r.Program), Repeat: "isobar heap --html FILE PID",
		Facts: append([]page.Fact{{Name: "Read", Value: r.Time.UTC().Format("2006-01-02 15:04:05 UTC") + ", " +
			clean(r.Target) + ", " + clean(r.Go)}}, r.facts()...),
		Note: "It has names and sizes, but no contents of the program's memory."}
	for _, part := range sections {
		s.List(true, part.ID, part.Title)
	}
	s.List(len(r.Warnings) > 0, "warnings", "Warnings")
	s.List(true, "reading", "How to read this")
	return s, &pageData{sections, text.CleanAll(r.Warnings)}
}

// facts summarizes the report.
func (r *Report) facts() (facts []page.Fact) {
	add := func(name, value string) { facts = append(facts, page.Fact{Name: name, Value: value}) }
	add("Live", fmt.Sprintf("%s in %s objects; type unknown %.1f %%", size(r.Live), count(r.Objects),
		100*share(r.Untyped, r.Live)))
	add("Unused", size(r.Unused)+" of what is live: spare capacity, parts of arrays and strings that nothing refers to, "+
		"free slots of maps")
	add("Marking", fmt.Sprintf("reads %s and follows %s pointers", size(r.ScanBytes), count(r.Pointers)))
	add("Not live", fmt.Sprintf("garbage not collected yet %s, free slots %s, stacks %s", size(r.Garbage),
		size(r.Spans.Free), size(r.Spans.Stacks)))
	if s := r.Collector.String(); s != "" {
		add("Collections", s)
	}
	if r.Duplicates > 0 {
		add("Duplicates", size(r.Duplicates)+" of strings that others hold as well")
	}
	if r.Stop > 0 {
		add("Stopped", r.stopped())
	}
	return facts
}

// pageTypes is the most types, or rows of goroutines, that a page lists.
const pageTypes = 50

func holderTable(all []Holder) *text.Table {
	t := &text.Table{Label: "Table of holders", Left: 2,
		Head: []string{"Holder", "What it is, and what helps", "Retained", "Live", "Mark", "CPU", "Objects", "Unused",
			"Duplicates"}}
	for _, h := range all {
		what := clean(h.Type)
		if h.Mostly != "" {
			what += "; mostly " + clean(h.Mostly)
		}
		if h.Remedy != "" {
			what += ". Remedy: " + h.Remedy
		}
		if s := h.saves(); s != "" {
			what += " (" + s + ")"
		}
		cpu := text.Absent
		if h.CPU > 0 {
			cpu = fmt.Sprintf("%.1f %%", 100*h.CPU)
		}
		t.Add(clean(h.Path), what, size(h.Retained), percent(h.Live), percent(h.Mark), cpu, count(h.Objects),
			amount(h.Unused), amount(h.Duplicates))
		t.Rows[len(t.Rows)-1][1].Class = "text why"
	}
	return t
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// amount formats a size, or Absent if it is 0.
func amount(n uint64) string {
	if n == 0 {
		return text.Absent
	}
	return size(n)
}

func (r *Report) typeTable() *text.Table {
	t := &text.Table{Label: "Table of types", Left: 1,
		Head: []string{"Type", "Bytes", "Retained", "Objects", "Marking reads"}}
	for _, typ := range r.Types[:min(pageTypes, len(r.Types))] {
		t.Add(clean(typ.Name), size(typ.Bytes), size(typ.Retained), count(typ.Objects), amount(typ.ScanBytes))
	}
	return t
}

func (r *Report) goroutineTable() *text.Table {
	t := &text.Table{Label: "Table of goroutines", Left: 4,
		Head: []string{"Began with", "go statement in", "Stand in", "Wait for", "Retained", "Stacks", "Count"}}
	for _, g := range r.Goroutines[:min(pageTypes, len(r.Goroutines))] {
		t.Add(clean(g.Start), clean(g.Created), clean(g.In), g.waits(), size(g.Retained), size(g.Stacks),
			fmt.Sprint(g.Count))
	}
	return t
}

func (l *Ledger) table() *text.Table {
	t := &text.Table{Label: "Table of resident memory", Left: 2,
		Head: []string{"Memory", "What shrinks it", "Bytes", "Share"}}
	for _, line := range l.Lines {
		what := line.remedy()
		for _, p := range line.Parts {
			what += "; " + clean(p.Name) + ": " + size(p.Bytes)
		}
		t.Add(line.Class, strings.TrimPrefix(what, "; "), size(line.Bytes), percent(share(line.Bytes, l.RSS)))
	}
	for _, line := range l.Beside {
		t.Add("beside it: "+clean(line.Class), line.remedy(), size(line.Bytes), "")
	}
	for _, line := range l.Group {
		t.Add("charged to the control group: "+line.Class, line.remedy(), size(line.Bytes), "")
	}
	for _, row := range t.Rows {
		row[1].Class = "text why"
	}
	return t
}

// The icicle leaves out boxes too narrow to see or too deep to follow.
const (
	icicleLeast  = 600 // paths below 1/icicleLeast of the live heap are left out
	icicleLevels = 20
	// Each of the largest roots has its own colour; the others share one.
	icicleColours = 7
)

// icicle draws the live heap by path.
func (r *Report) icicle() *plot.Plot {
	p := plot.NewFlame("icicle", "Live bytes by path", "Roots on top; below each, what it leads to. A box shows the "+
		"next step of its path, its type and its bytes.", r.root())
	if p != nil && len(p.Legend) > icicleColours {
		p.Legend[icicleColours].Name = "all others"
		p.Legend = p.Legend[:icicleColours+1]
	}
	return p
}

// treemap draws the live heap by area.
func (r *Report) treemap() *plot.Plot {
	return plot.NewTreemap("treemap", "Live bytes by area", "Each box lies inside the box of what leads to it.", r.root())
}

// root returns the live heap with its roots and what they hold.
func (r *Report) root() *plot.Flame {
	root := &plot.Flame{Name: "live heap", Value: float64(r.Live), Text: size(r.Live)}
	root.Parts = r.parts(r.Tree, 1)
	for i, part := range root.Parts {
		part.Series = min(i, icicleColours)
	}
	return root
}

func (r *Report) parts(n *Node, level int) []*plot.Flame {
	if level == icicleLevels {
		return nil
	}
	var all []*plot.Flame
	for _, c := range n.Children {
		if c.Reached < r.Live/icicleLeast || c.Reached == 0 {
			continue
		}
		f := &plot.Flame{Name: clean(nameOf(c)), Value: float64(c.Reached), Text: size(c.Reached)}
		if retained := size(c.Retained); retained != f.Text {
			f.Text += ", retains " + retained
		}
		f.Parts = r.parts(c, level+1)
		all = append(all, f)
	}
	return all
}
