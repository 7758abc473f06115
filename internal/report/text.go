package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Text prints the whole analysis as tables: for each workload its figures and
// how they compare with the baseline, then warnings.
func Text(w io.Writer, m Meta, a *stat.Analysis, s Style) error {
	p := &page{style: s}
	p.header(measured(m, a), several(a))
	p.findings(a.Findings, len(a.Findings))
	for _, sec := range sections(a) {
		p.section(sec)
	}
	p.failures(a)
	p.warnings(a, len(a.Warnings))
	return p.flush(w)
}

func (p *page) flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: write: %w", err)
	}
	return nil
}

func (p *page) header(m Meta, machines []*stat.Machine) {
	p.line(bold, "%s", m.name())
	var parts []string
	for _, s := range []string{m.created(), m.progress(), fmt.Sprintf("seed %d", m.Seed), clean(m.Version)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	p.paragraph("", strings.Join(parts, " · "))
	if machines != nil {
		p.paragraph("", plural(len(machines), "machine")+" measured, each block on one of them:")
		for _, line := range machineTexts(machines) {
			p.paragraph("  ", line)
		}
		p.paragraph("", machinesNote)
	} else if line := machineLine(m.Machine); line != "" {
		p.paragraph("", line)
	}
	if m.Repeat != "" {
		p.line(plainInk, "%s  %s", p.paint(dim, "repeat"), clean(m.Repeat))
	}
}

// findings prints at most n of them.
func (p *page) findings(all []string, n int) {
	p.title("What was found")
	if len(all) == 0 {
		p.line(plainInk, "  Nothing: no comparison of this run led to a verdict.")
	}
	for i, f := range all[:min(n, len(all))] {
		p.paragraph(fmt.Sprintf("%3d. ", i+1), clean(f))
	}
	if len(all) > n {
		p.line(dim, "     and %d more", len(all)-n)
	}
}

func (p *page) title(s string) {
	p.WriteByte('\n')
	p.line(bold, "%s", s)
}

func (p *page) section(s *section) {
	p.WriteByte('\n')
	p.line(bold, "%s", strings.ToUpper(s.name))
	if len(s.fixed) > 0 {
		p.paragraph("  all with ", strings.Join(s.fixed, " "))
	}
	if len(s.rows) > 1 {
		p.paragraph("  baseline ", s.baseline().label)
	}
	marked := false
	for _, t := range s.themes() {
		marked = p.theme(s, t) || marked
	}
	p.rangeNote(marked)
	p.phases(s)
	p.comparisons(s)
}

// theme prints one table and reports whether a figure in it is marked as a
// range.
func (p *page) theme(s *section, t theme) bool {
	p.title(t.title)
	table := terminalTable{head: []string{"configuration"}, left: 1}
	for _, metric := range t.metrics {
		table.head = append(table.head, heading(metric))
	}
	for _, r := range s.rows {
		cells := []entry{{r.label, plainInk}}
		for _, metric := range t.metrics {
			cells = append(cells, entry{r.figure(metric).String(), plainInk})
		}
		table.add(cells...)
	}
	table.print(p)
	return table.marked()
}

// comparisons prints what was decided; the undecided metrics of each
// configuration share a line.
func (p *page) comparisons(s *section) {
	if len(s.comparisons) == 0 {
		return
	}
	p.title("Compared with " + s.baseline().label)
	table := terminalTable{head: []string{"configuration", "metric", "baseline", "here", "ratio", "95 % interval", "p", "verdict"}, left: 2}
	var undecided []string
	for _, r := range s.rows {
		var rest []string
		for _, c := range s.comparisons {
			switch {
			case c.B != r.Key:
			case c.Verdict == stat.Better || c.Verdict == stat.Worse || c.Verdict == stat.Disagreement:
				table.add(entry{r.label, plainInk}, entry{heading(c.Metric), plainInk}, entry{format(c.Metric, c.AValue), plainInk},
					entry{format(c.Metric, c.BValue), plainInk}, entry{ratioText(c.Ratio), plainInk}, entry{intervalText(c.Lo, c.Hi), dim},
					entry{pText(c.P), dim}, entry{string(c.Verdict), verdictInk(c.Verdict)})
			default:
				rest = append(rest, heading(c.Metric))
			}
		}
		if len(rest) > 0 {
			undecided = append(undecided, r.label+": "+strings.Join(rest, ", "))
		}
	}
	if len(table.rows) > 0 {
		table.print(p)
	}
	if len(undecided) > 0 {
		p.paragraph("", "No difference shown, or too few pairs to tell:")
		for _, u := range undecided {
			p.paragraph("  ", u)
		}
	}
	notes := map[string]bool{}
	for _, c := range s.comparisons {
		for _, warning := range c.Warnings {
			notes[warning] = true
		}
	}
	p.notes(notes)
	p.byMachine(s.comparisons, s.labelOf)
	p.floors(s)
}

// notes prints doubts about comparisons, each once.
func (p *page) notes(notes map[string]bool) {
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		p.paragraph("  ", "note: "+clean(note))
	}
}

// floors prints by how much two equal configurations differed.
func (p *page) floors(s *section) {
	var parts []string
	for _, c := range s.floors {
		parts = append(parts, fmt.Sprintf("%s %s", heading(c.Metric), floorText(c)))
	}
	if len(parts) > 0 {
		p.paragraph("", "Noise floor, two equal configurations against each other:")
		p.paragraph("  ", strings.Join(parts, ", "))
	}
}

// floorText writes the ratio of two equal configurations with its interval.
func floorText(c stat.Comparison) string {
	return strings.TrimSpace(ratioText(c.Ratio) + " " + intervalText(c.Lo, c.Hi))
}

func (p *page) failures(a *stat.Analysis) {
	titled := false
	for _, s := range sections(a) {
		for _, r := range s.rows {
			for _, rec := range r.Failures {
				if !titled {
					p.title("Failed cells")
					titled = true
				}
				p.paragraph("  ", fmt.Sprintf("%s %s, repetition %d: %s", s.name, r.label, rec.Cell.Block+1, failureText(rec)))
			}
		}
	}
}

func failureText(rec *cell.Record) string {
	if rec.Err == nil {
		return "unknown cause"
	}
	return clean(rec.Err.Error())
}

// warnings prints at most n of them, and what is missing.
func (p *page) warnings(a *stat.Analysis, n int) {
	if len(a.Warnings) == 0 && a.Missing == 0 {
		return
	}
	p.title("Warnings")
	if a.Missing > 0 {
		p.paragraph("  ", missingText(a.Missing))
	}
	for _, w := range a.Warnings[:min(n, len(a.Warnings))] {
		p.paragraph("  ", warningText(w))
	}
	if len(a.Warnings) > n {
		p.line(dim, "  and %d more", len(a.Warnings)-n)
	}
}

func missingText(n int) string {
	if n == 1 {
		return "1 planned cell has no record: the run is not complete."
	}
	return fmt.Sprintf("%d planned cells have no record: the run is not complete.", n)
}

func warningText(w stat.CountedWarning) string {
	text := clean(w.Text)
	if w.Records > 0 {
		text += " (" + clean(w.Code) + ", " + plural(w.Records, "cell") + ")"
	}
	return text
}

// Comparisons prints comparisons of two runs: for each configuration that they
// have in common one table, better and worse before the rest.
func Comparisons(w io.Writer, title string, comparisons []stat.Comparison, s Style) error {
	p := &page{style: s}
	p.line(bold, "%s", clean(title))
	p.line(plainInk, "%s", verdictCounts(comparisons))
	var order []string
	byPair := map[string][]stat.Comparison{}
	for _, c := range comparisons {
		pair := pairText(c)
		if byPair[pair] == nil {
			order = append(order, pair)
		}
		byPair[pair] = append(byPair[pair], c)
	}
	for _, pair := range order {
		p.WriteByte('\n')
		p.paragraph("", pair)
		p.pair(byPair[pair])
	}
	return p.flush(w)
}

// pairText names the two sides of a comparison.
func pairText(c stat.Comparison) string {
	if c.A == c.B {
		return clean(c.A)
	}
	return clean(c.A) + " → " + clean(c.B)
}

func (p *page) pair(comparisons []stat.Comparison) {
	table := terminalTable{head: []string{"metric", "A", "B", "ratio", "95 % interval", "p", "pairs", "verdict"}, left: 1}
	notes := map[string]bool{}
	for _, verdict := range []stat.Verdict{stat.Worse, stat.Better, stat.Disagreement, stat.NoDifference, stat.Inconclusive} {
		for _, c := range comparisons {
			if c.Verdict != verdict {
				continue
			}
			if c.Verdict == stat.Inconclusive && c.Reason != "" {
				notes[c.Reason] = true
			}
			for _, warning := range c.Warnings {
				notes[warning] = true
			}
			table.add(entry{heading(c.Metric), plainInk}, entry{format(c.Metric, c.AValue), plainInk}, entry{format(c.Metric, c.BValue), plainInk},
				entry{ratioText(c.Ratio), plainInk}, entry{intervalText(c.Lo, c.Hi), dim}, entry{pText(c.P), dim},
				entry{fmt.Sprint(c.Pairs), dim}, entry{string(c.Verdict), verdictInk(c.Verdict)})
		}
	}
	if len(table.rows) > 0 {
		table.print(p)
	}
	p.notes(notes)
	p.byMachine(comparisons, pairText)
}
