package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Report prints the whole analysis as tables: for each workload its figures and
// the comparison with the baseline, then warnings.
func Report(w io.Writer, m cell.Run, a *stat.Analysis, s Style) error {
	p := &terminal{style: s}
	p.header(Measured(m, a), Several(a))
	p.findings(a.Findings, len(a.Findings))
	for _, sec := range Sections(a) {
		p.section(sec)
	}
	p.failures(a)
	p.warnings(a, len(a.Warnings))
	return p.flush(w)
}

func (p *terminal) flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: write: %w", err)
	}
	return nil
}

func (p *terminal) header(m cell.Run, machines []*stat.Machine) {
	p.line(bold, "%s", RunName(m))
	var parts []string
	for _, s := range []string{RunWhen(m), RunProgress(m), fmt.Sprintf("seed %d", m.Seed), Clean(m.Version)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	p.paragraph("", strings.Join(parts, " · "))
	if machines != nil {
		p.paragraph("", Plural(len(machines), "machine")+" measured, each block on one of them:")
		for _, line := range MachineLines(machines) {
			p.paragraph("  ", line)
		}
		p.paragraph("", MachinesNote)
	} else if line := MachineLine(m.Machine); line != "" {
		p.paragraph("", line)
	}
	if m.Repeat() != "" {
		p.line(plainInk, "%s  %s", p.paint(dim, "repeat"), Clean(m.Repeat()))
	}
}

// findings prints at most n of the findings.
func (p *terminal) findings(all []string, n int) {
	p.title("Findings")
	if len(all) == 0 {
		p.line(plainInk, "  None: no comparison of this run led to a verdict.")
	}
	for i, f := range all[:min(n, len(all))] {
		p.paragraph(fmt.Sprintf("%3d. ", i+1), Clean(f))
	}
	if len(all) > n {
		p.line(dim, "     and %d more", len(all)-n)
	}
}

func (p *terminal) title(s string) {
	p.WriteByte('\n')
	p.line(bold, "%s", s)
}

func (p *terminal) section(s *Section) {
	p.WriteByte('\n')
	p.line(bold, "%s", strings.ToUpper(s.Name))
	if len(s.Fixed) > 0 {
		p.paragraph("  all with ", strings.Join(s.Fixed, " "))
	}
	if len(s.Rows) > 1 {
		p.paragraph("  baseline ", s.Baseline().Label)
	}
	marked := false
	for _, t := range s.Themes() {
		marked = p.theme(s, t) || marked
	}
	p.rangeNote(marked)
	p.phases(s)
	p.comparisons(s)
}

// theme prints one table and reports whether it marks a figure as a range.
func (p *terminal) theme(s *Section, t theme) bool {
	p.title(t.title)
	table := s.FigureTable(t.Metrics)
	p.table(table)
	return table.marked()
}

// comparisons prints the comparisons with a verdict. The undecided metrics of
// each configuration share a line.
func (p *terminal) comparisons(s *Section) {
	if len(s.Comparisons) == 0 {
		return
	}
	p.title("Compared with " + s.Baseline().Label)
	var told []stat.Comparison
	var undecided []string
	for _, r := range s.Rows {
		var rest []string
		for _, c := range s.Comparisons {
			switch {
			case c.B != r.Key:
			case decided(c):
				told = append(told, c)
			default:
				rest = append(rest, Heading(c.Metric))
			}
		}
		if len(rest) > 0 {
			undecided = append(undecided, r.Label+": "+strings.Join(rest, ", "))
		}
	}
	if len(told) > 0 {
		p.table(s.ComparisonTable(told).only(0, 1, 3, 4, 5, 6, 7, 2))
	}
	if len(undecided) > 0 {
		p.paragraph("", "No difference shown, or too few pairs to tell:")
		for _, u := range undecided {
			p.paragraph("  ", u)
		}
	}
	var notes []string
	for _, c := range s.Comparisons {
		notes = append(notes, c.Warnings...)
	}
	p.notes(notes)
	p.byMachine(s)
	p.floors(s)
}

// notes prints doubts about comparisons, each once.
func (p *terminal) notes(notes []string) {
	slices.Sort(notes)
	for _, note := range slices.Compact(notes) {
		p.paragraph("  ", "note: "+Clean(note))
	}
}

// floors prints how much two equal configurations differed.
func (p *terminal) floors(s *Section) {
	var parts []string
	for _, c := range s.Floors {
		parts = append(parts, fmt.Sprintf("%s %s", Heading(c.Metric), floorText(c)))
	}
	if len(parts) > 0 {
		p.paragraph("", "Noise floor, two equal configurations against each other:")
		p.paragraph("  ", strings.Join(parts, ", "))
	}
}

// floorText writes the ratio of two equal configurations with its interval.
func floorText(c stat.Comparison) string {
	return strings.TrimSpace(Ratio(c.Ratio) + " " + Interval(c.Lo, c.Hi))
}

func (p *terminal) failures(a *stat.Analysis) {
	titled := false
	for _, s := range Sections(a) {
		for _, r := range s.Rows {
			for _, rec := range r.Failures {
				if !titled {
					p.title("Failed cells")
					titled = true
				}
				p.paragraph("  ", fmt.Sprintf("%s %s, repetition %d: %s", s.Name, r.Label, rec.Cell.Block+1, Failure(rec)))
			}
		}
	}
}

func Failure(rec *cell.Record) string {
	if rec.Err == nil {
		return "unknown cause"
	}
	return Clean(rec.Err.Error())
}

// warnings prints at most n of the warnings.
func (p *terminal) warnings(a *stat.Analysis, n int) {
	if len(a.Warnings) == 0 {
		return
	}
	p.title("Warnings")
	for _, w := range a.Warnings[:min(n, len(a.Warnings))] {
		p.paragraph("  ", Warning(w))
	}
	if len(a.Warnings) > n {
		p.line(dim, "  and %d more", len(a.Warnings)-n)
	}
}

func Warning(w stat.CountedWarning) string {
	text := Clean(w.Text)
	if w.Records > 0 {
		text += " (" + Clean(w.Code) + ", " + Plural(w.Records, "cell") + ")"
	}
	return text
}

// Comparisons prints the comparisons of two runs: one table for each
// configuration that both have, with better and worse first.
func Comparisons(w io.Writer, title string, comparisons []stat.Comparison, s Style) error {
	p := &terminal{style: s}
	p.line(bold, "%s", Clean(title))
	p.line(plainInk, "%s", VerdictCounts(comparisons))
	for _, pair := range stat.Split(comparisons, PairName) {
		p.WriteByte('\n')
		p.paragraph("", PairName(pair[0]))
		p.pair(&Section{Comparisons: pair})
	}
	return p.flush(w)
}

// PairName names the two sides of a comparison.
func PairName(c stat.Comparison) string {
	if c.A == c.B {
		return Clean(c.A)
	}
	return Clean(c.A) + " → " + Clean(c.B)
}

func (p *terminal) pair(s *Section) {
	order := []stat.Verdict{stat.Worse, stat.Better, stat.Disagreement, stat.NoDifference, stat.Inconclusive}
	sorted := slices.SortedStableFunc(slices.Values(s.Comparisons), func(a, b stat.Comparison) int {
		return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
	})
	var notes []string
	for _, c := range sorted {
		if c.Verdict == stat.Inconclusive && c.Reason != "" {
			notes = append(notes, c.Reason)
		}
		notes = append(notes, c.Warnings...)
	}
	if len(sorted) > 0 {
		table := s.ComparisonTable(sorted).only(1, 3, 4, 5, 6, 7, 8, 2)
		table.Head[1], table.Head[2] = "A", "B"
		p.table(table)
	}
	p.notes(notes)
	p.byMachine(s)
}
