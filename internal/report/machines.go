package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// measured returns m with the machine that measured, where that is one of a
// fleet and the only one.
func measured(m Meta, a *stat.Analysis) Meta {
	if len(a.Machines) == 1 && a.Machines[0].Workers != nil {
		m.Machine = a.Machines[0].Fingerprint
	}
	return m
}

// several returns the machines that measured, nil where it is one.
func several(a *stat.Analysis) []*stat.Machine {
	if len(a.Machines) < 2 {
		return nil
	}
	return a.Machines
}

// machinesNote says what becomes of several machines.
const machinesNote = "Figures are over all of them, whatever their speed; ratios are paired within a machine."

// machineTexts has a line for each machine.
func machineTexts(all []*stat.Machine) (lines []string) {
	for _, m := range all {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", clean(m.Name), machineLine(m.Fingerprint), plural(m.Records, "cell")))
	}
	return lines
}

// machinesTable describes the machines; nil where it is one.
func machinesTable(all []*stat.Machine) *htmlTable {
	if all == nil {
		return nil
	}
	t := &htmlTable{Label: "Machines that measured", Left: 6, Head: []string{"Machine", "CPU", "System", "Kernel", "Go", "Host (digest)", "CPUs", "memory", "blocks", "cells"}}
	for _, m := range all {
		f := m.Fingerprint
		t.add(clean(m.Name), clean(f.CPU), clean(strings.Trim(f.OS+"/"+f.Arch, "/")), clean(f.Kernel), clean(f.GoVersion), clean(f.Hostname),
			strconv.Itoa(f.CPUs), bytesText(float64(f.MemoryBytes)), strconv.Itoa(len(m.Blocks)), strconv.Itoa(m.Records))
	}
	return t
}

// byMachine prints what each machine showed of the comparisons that were decided
// or that machines differ in.
func (p *page) byMachine(comparisons []stat.Comparison, label func(stat.Comparison) string) {
	table := terminalTable{head: []string{"configuration", "metric", "machine", "ratio", "95 % interval", "pairs", "verdict"}, left: 3}
	var agreement []string
	for _, c := range comparisons {
		h := c.Heterogeneity
		if h == nil || !h.Differ && c.Verdict != stat.Better && c.Verdict != stat.Worse {
			continue
		}
		table.add(entry{label(c), plainInk}, entry{heading(c.Metric), plainInk}, entry{"all", bold}, entry{ratioText(c.Ratio), plainInk},
			entry{intervalText(c.Lo, c.Hi), dim}, entry{strconv.Itoa(c.Pairs), dim}, entry{string(c.Verdict), verdictInk(c.Verdict)})
		for _, m := range c.Machines {
			table.add(entry{label(c), plainInk}, entry{heading(c.Metric), plainInk}, entry{clean(m.Machine.Name), plainInk}, entry{ratioText(m.Ratio), plainInk},
				entry{intervalText(m.Lo, m.Hi), dim}, entry{strconv.Itoa(m.Pairs), dim}, entry{string(m.Verdict), verdictInk(m.Verdict)})
		}
		agreement = append(agreement, label(c)+", "+heading(c.Metric)+": "+clean(h.Text))
	}
	if len(table.rows) > 0 {
		p.title("By machine")
		table.print(p)
	}
	for _, text := range agreement {
		p.paragraph("  ", text)
	}
}

// tableRows is the most rows of the table by machine, of which a large fleet could
// make hundreds of thousands.
const tableRows = 1500

// shownByMachine are the comparisons of several machines that the table has: all,
// or where those are too many the ones that were decided or that machines differ
// in, as far as there is room. left is how many are not among them.
func (s *section) shownByMachine() (shown []stat.Comparison, left int) {
	rows := 0
	var all []stat.Comparison
	for _, c := range s.comparisons {
		if c.Heterogeneity != nil {
			all, rows = append(all, c), rows+1+len(c.Machines)
		}
	}
	if rows <= tableRows {
		return all, 0
	}
	rows = 0
	for _, c := range all {
		if h := c.Heterogeneity; (h.Differ || c.Verdict == stat.Better || c.Verdict == stat.Worse) && rows+1+len(c.Machines) <= tableRows {
			shown, rows = append(shown, c), rows+1+len(c.Machines)
		}
	}
	return shown, len(all) - len(shown)
}

// byMachineTable has the comparisons on every machine; nil where one measured.
func (s *section) byMachineTable() *htmlTable {
	t := &htmlTable{Label: "By machine, " + s.name, Left: 4,
		Head: []string{"Configuration", "Metric", "Machine", "Verdict", "baseline", "here", "ratio", "95 % interval", "p", "pairs", "why"}}
	shown, left := s.shownByMachine()
	for _, c := range shown {
		add := func(machine string, c stat.Comparison, why string) {
			t.add(s.labelOf(c), heading(c.Metric), machine, string(c.Verdict), s.format(c.Metric, c.AValue), s.format(c.Metric, c.BValue), ratioText(c.Ratio),
				intervalText(c.Lo, c.Hi), pText(c.P), strconv.Itoa(c.Pairs), clean(why))
			row := t.Rows[len(t.Rows)-1]
			row[3].Class, row[len(row)-1].Class = "text "+verdictClass(c.Verdict), "text why"
		}
		add("all", c, c.Heterogeneity.Text)
		for _, m := range c.Machines {
			add(clean(m.Machine.Name), m.Comparison, m.Reason)
		}
	}
	if left > 0 {
		t.add(fmt.Sprintf("%s without a difference, or beyond %d rows: isobar lab show --json has all", plural(left, "comparison"), tableRows), "", "", "", "", "", "", "", "", "", "")
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// labelOf names the configuration of a comparison.
func (s *section) labelOf(c stat.Comparison) string {
	if r := s.find(c.B); r != nil {
		return r.label
	}
	return clean(c.B)
}

// machineRows is the most rows of the plot by machine.
const machineRows = 40

// machinePlot shows the ratios in the primary metric, or the first that there
// is, of each machine below those of all; nil where one measured.
func (s *section) machinePlot(id string) *htmlPlot {
	var metric string
	var shown []ratioRow
	lo, hi := 0.8, 1.25
	primary := ""
	if len(s.rows) > 0 {
		primary = s.primary()
	}
	for _, want := range []string{primary, ""} {
		for _, c := range s.comparisons {
			if c.Heterogeneity == nil || metric != "" && c.Metric != metric || want != "" && c.Metric != want || len(shown)+1+len(c.Machines) > machineRows {
				continue
			}
			metric = c.Metric
			shown = append(shown, ratioRow{s.labelOf(c), ", all", c})
			for _, m := range c.Machines {
				shown = append(shown, ratioRow{"on " + clean(m.Machine.Name), "", m.Comparison})
			}
		}
		if len(shown) > 0 {
			break
		}
	}
	var finite []ratioRow
	for _, r := range shown {
		if r.c.Ratio > 0 && !math.IsInf(r.c.Ratio, 0) {
			finite = append(finite, r)
			lo, hi = widen(lo, hi, r.c)
		}
	}
	if len(finite) == 0 {
		return nil
	}
	p := &htmlPlot{ID: id + "-machines", Title: "By machine: " + heading(metric), Section: s.name, Legend: verdictLegend(finite),
		Caption: "Ratio to the baseline, paired within each machine. The bar is the interval, the dashed line is no change."}
	p.Panels = []htmlPanel{{"", s.ratioChart(p.ID+"-0", "Ratios by machine, "+s.name, finite, lo, hi)}}
	p.Table = htmlTable{Label: "Ratios by machine, " + s.name, Left: 2, Head: []string{"Configuration and machine", "Verdict", "baseline", "here", "ratio", "95 % interval", "pairs"}}
	for _, r := range finite {
		p.Table.add(r.name+r.note, string(r.c.Verdict), s.format(metric, r.c.AValue), s.format(metric, r.c.BValue), ratioText(r.c.Ratio), intervalText(r.c.Lo, r.c.Hi), strconv.Itoa(r.c.Pairs))
	}
	return p
}

// A DocumentMachine is one of several machines that measured a run.
type DocumentMachine struct {
	Name        string   `json:"name"`
	ID          string   `json:"id"`
	Workers     []string `json:"workers"`
	Cells       int      `json:"cells"` // that finished
	Blocks      []int    `json:"blocks"`
	Fingerprint any      `json:"machine"` // as in a DocumentRun
}

// A DocumentMachineComparison is what one machine showed.
type DocumentMachineComparison struct {
	Machine string `json:"machine"` // its name
	DocumentComparison
}

// DocumentHeterogeneity says whether the machines of a comparison agree.
type DocumentHeterogeneity struct {
	Q       number `json:"q"` // Cochran's
	DF      int    `json:"df"`
	P       number `json:"p"`
	I2      number `json:"i2"`
	Tested  bool   `json:"tested"`
	Differ  bool   `json:"differ"`
	Opposed bool   `json:"opposed"`
	Text    string `json:"text"`
}

func documentMachines(all []*stat.Machine) (out []DocumentMachine) {
	for _, m := range all {
		out = append(out, DocumentMachine{m.Name, m.ID, list(m.Workers), m.Records, list(m.Blocks), finiteMachine(m.Fingerprint)})
	}
	return out
}

func documentByMachine(c stat.Comparison) (out []DocumentMachineComparison, h *DocumentHeterogeneity) {
	for _, m := range c.Machines {
		out = append(out, DocumentMachineComparison{m.Machine.Name, documentComparison(m.Comparison)})
	}
	if x := c.Heterogeneity; x != nil {
		h = &DocumentHeterogeneity{number(x.Q), x.DF, number(x.P), number(x.I2), x.Tested, x.Differ, x.Opposed, x.Text}
	}
	return out, h
}
