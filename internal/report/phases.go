package report

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// phases adds up what the collector did during the slowest operations of the
// row; nil if that was not looked at.
func (r *row) phases() *cell.Phases {
	var sum *cell.Phases
	for _, rec := range r.Records {
		if rec.Phases == nil {
			continue
		}
		if sum == nil {
			sum = new(cell.Phases)
		}
		sum.Add(rec.Phases)
	}
	return sum
}

// PhasesText says in a sentence what the operations overlapped.
func PhasesText(p *cell.Phases) string {
	if p.Ops == 0 {
		return fmt.Sprintf("no operation above p%s was within the trace", digits(p.Above*100))
	}
	var parts []string
	for _, row := range p.Rows {
		if row.Ops > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s by chance)", share(float64(row.Ops), float64(p.Ops)), phaseText(row.Phase), share(row.Chance, float64(p.Ops))))
		}
	}
	what := "at least "
	if p.Latency != "" {
		what = clean(p.Latency) + " time of " + what
	}
	return fmt.Sprintf("of the %d operations above p%s (%s%s), %s",
		p.Ops, digits(p.Above*100), what, durationText(float64(p.ThresholdNs)), strings.Join(parts, ", "))
}

func phaseText(phase string) string {
	if phase == "none" {
		return "overlapped nothing of the collector"
	}
	return "overlapped " + clean(phase)
}

func share(part, whole float64) string { return format(":ratio", part/whole) }

// phaseCells are the rows of a table of phases, without those that neither took
// time nor an operation.
func phaseCells(p *cell.Phases) [][]string {
	var rows [][]string
	for _, row := range p.Rows {
		if row.Ops == 0 && row.TimeNs == 0 {
			continue
		}
		rows = append(rows, []string{clean(row.Phase), fmt.Sprint(row.Ops), share(float64(row.Ops), float64(p.Ops)), share(row.Chance, float64(p.Ops)), share(float64(row.TimeNs), float64(p.WindowNs))})
	}
	return rows
}

var phaseHead = []string{"phase of the collector", "operations", "share", "by chance", "share of time"}

const phaseNote = "Each operation and each moment counts once, for the most severe phase that it overlaps. By chance: the same operations at random times of the same run."

// phases prints what the collector did during the slowest operations.
func (p *page) phases(s *section) {
	titled := false
	for _, r := range s.rows {
		sum := r.phases()
		if sum == nil {
			continue
		}
		if !titled {
			p.title("What the collector did during the slowest operations")
			titled = true
		}
		p.paragraph("  ", r.label+": "+PhasesText(sum))
		table := terminalTable{head: phaseHead, left: 1}
		for _, cells := range phaseCells(sum) {
			var entries []entry
			for _, c := range cells {
				entries = append(entries, entry{c, plainInk})
			}
			table.add(entries...)
		}
		table.print(p)
	}
	if titled {
		p.paragraph("  ", phaseNote)
	}
}

// phasesTable is the same for a page; nil if nothing was looked at.
func (s *section) phasesTable() *htmlTable {
	t := &htmlTable{Label: "What the collector did during the slowest operations, " + s.name, Left: 2, Head: append([]string{"Configuration"}, phaseHead...)}
	for _, r := range s.rows {
		if sum := r.phases(); sum != nil {
			for _, cells := range phaseCells(sum) {
				t.add(append([]string{r.label}, cells...)...)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// Phases prints what operations of a trace overlapped, kind by kind.
func Phases(p *cell.Phases, s Style) string {
	out := &page{style: s}
	table := terminalTable{head: phaseHead, left: 1}
	for _, cells := range phaseCells(p) {
		var entries []entry
		for _, c := range cells {
			entries = append(entries, entry{c, plainInk})
		}
		table.add(entries...)
	}
	table.print(out)
	return out.String()
}
