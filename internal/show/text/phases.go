package text

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Phases adds up what the collector did during the slowest operations of the row; nil without a trace.
func (r *Row) Phases() *cell.Phases {
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

// PhasesLine says in a sentence which phases the operations overlapped.
func PhasesLine(p *cell.Phases) string {
	if p.Ops == 0 {
		return fmt.Sprintf("the trace has no operation above p%s", Digits(p.Above*100))
	}
	var parts []string
	for _, row := range p.Rows {
		if row.Ops > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s by chance)", share(float64(row.Ops), float64(p.Ops)),
				phaseWords(row.Phase), share(row.Chance, float64(p.Ops))))
		}
	}
	what := "at least "
	if p.Latency != "" {
		what = Clean(p.Latency) + " time of " + what
	}
	s := fmt.Sprintf("of the %d operations above p%s (%s%s), %s",
		p.Ops, Digits(p.Above*100), what, Duration(float64(p.ThresholdNs)), strings.Join(parts, ", "))
	if p.SlowestNs > 0 { // not in records of earlier versions
		stopped := "never stopped"
		if p.SlowestStoppedNs > 0 {
			stopped = "stopped for " + Duration(float64(p.SlowestStoppedNs))
		}
		s += fmt.Sprintf("; in the slowest, %s, the world was %s", Duration(float64(p.SlowestNs)), stopped)
	}
	return s
}

func phaseWords(phase string) string {
	if phase == "none" {
		return "overlapped no phase of the collector"
	}
	return "overlapped " + Clean(phase)
}

func share(part, whole float64) string { return Format(":ratio", part/whole) }

// PhaseNote says how to read the table.
const PhaseNote = "Each operation and each moment counts once, for the most severe phase it overlaps. By chance: the " +
	"same operations at random times of the same run."

// phases prints what the collector did during the slowest operations.
func (p *terminal) phases(s *Section) {
	t := s.PhaseTable()
	if len(t.Rows) == 0 {
		return
	}
	p.title("What the collector did during the slowest operations")
	for _, r := range s.Rows {
		if sum := r.Phases(); sum != nil {
			p.paragraph("  ", r.Label+": "+PhasesLine(sum))
		}
	}
	p.table(t)
	p.paragraph("  ", PhaseNote)
}

// Phases prints, by phase, what operations of a trace overlapped.
func Phases(p *cell.Phases, s Style) string {
	out, t := &terminal{style: s}, &Table{Head: phaseHead, Left: 1}
	t.addPhases(p)
	out.table(t)
	return out.String()
}
