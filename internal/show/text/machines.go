package text

import (
	"fmt"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Measured returns m, with the machine that measured if a fleet measured on only one.
func Measured(m cell.Run, a *stat.Analysis) cell.Run {
	if len(a.Machines) == 1 && len(a.Machines[0].Workers) > 0 {
		m.Machine = a.Machines[0].Fingerprint
	}
	return m
}

// Several returns the machines that measured, nil if there is only one.
func Several(a *stat.Analysis) []*stat.Machine {
	if len(a.Machines) < 2 {
		return nil
	}
	return a.Machines
}

// MachinesNote says how figures combine several machines.
const MachinesNote = "Figures cover all machines, whatever their speed; ratios are paired within a machine."

// MachineLines has one line per machine.
func MachineLines(all []*stat.Machine) []string {
	return mapped(all, func(m *stat.Machine) string {
		return fmt.Sprintf("%s: %s, %s", Clean(m.Name), MachineLine(m.Fingerprint), Plural(m.Records, "cell"))
	})
}

// byMachine prints each machine's result for comparisons that are better or worse, or on
// which machines disagree.
func (p *terminal) byMachine(s *Section) {
	shown := slices.DeleteFunc(slices.Clone(s.Comparisons), func(c stat.Comparison) bool { return !Telling(c) })
	if len(shown) == 0 {
		return
	}
	p.title("By machine")
	p.table(s.MachineTable(shown).only(0, 1, 2, 6, 7, 9, 3))
	for _, c := range shown {
		p.paragraph("  ", s.LabelOf(c)+", "+Heading(c.Metric)+": "+Clean(c.Heterogeneity.Text))
	}
}

// Telling reports whether several machines measured the comparison, and it is better or worse or
// differs between them.
func Telling(c stat.Comparison) bool {
	return c.Heterogeneity != nil && (c.Heterogeneity.Differ || decided(c))
}

// LabelOf names the configuration of a comparison.
func (s *Section) LabelOf(c stat.Comparison) string {
	for _, r := range s.Rows {
		if r.Key == c.B {
			return r.Label
		}
	}
	return Clean(c.B)
}

// A DocumentMachineComparison is the result of one machine.
type DocumentMachineComparison struct {
	Machine string `json:"machine"` // its name
	DocumentComparison
}
