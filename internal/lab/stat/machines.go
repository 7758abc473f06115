package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/mathx"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Machine measured part of a run.
type Machine struct {
	// Name is for display: its workers, or its ID.
	Name string `json:"name"`
	// ID is the digest of its host name or, failing that, the name of its worker; "" if unknown.
	ID      string   `json:"id"`
	key     string   // identifies the machine across runs
	Workers []string `json:"workers"` // in a fleet; none for the run's own machine
	Records int      `json:"cells"`   // finished ones
	// Blocks that it measured, ascending. Each block is measured on one machine.
	Blocks      []int        `json:"blocks"`
	Fingerprint cell.Machine `json:"machine"`
}

// A MachineComparison is a comparison within one machine.
type MachineComparison struct {
	Machine *Machine
	Comparison
}

// Heterogeneity says whether the machines of a comparison agree on the ratio. Q
// is Cochran's statistic (The combination of estimates from different
// experiments, Biometrics 10, 1954) of the mean logarithms of the paired
// ratios, each weighted by the inverse of its variance. I2 is the share of
// their variation beyond chance (Higgins and Thompson, Statistics in Medicine
// 21, 2002). Variances from a few pairs are estimates themselves, so P comes
// from Welch's test (Biometrika 38, 1951), which corrects Q for that.
type Heterogeneity struct {
	Q      float64 `json:"q"`
	DF     int     `json:"df"`
	P      float64 `json:"p"`
	I2     float64 `json:"i2"`
	Tested bool    `json:"tested"` // at least two machines have two or more pairs with finite ratios
	// Differ: P is below 0.05 and the ratios are farther apart than the noise
	// floor. Opposed: they differ so much that no verdict holds for all machines.
	Differ  bool   `json:"differ"`
	Opposed bool   `json:"opposed"`
	Text    string `json:"text"` // the result in one sentence
}

// findMachines returns the machines of the finished records, in the order of
// their first block; home measured the records without an origin.
func findMachines(home cell.Machine, recs []*cell.Record) (all []*Machine, of func(*cell.Record) *Machine) {
	type place struct {
		machine string
		block   int
	}
	byKey, seen := make(map[string]*Machine), make(map[place]bool)
	of = func(rec *cell.Record) *Machine {
		_, key := machineID(home, rec)
		return byKey[key]
	}
	for _, rec := range recs {
		if rec.Err != nil {
			continue
		}
		id, key := machineID(home, rec)
		m := byKey[key]
		if m == nil {
			m = &Machine{ID: id, key: key, Workers: []string{}, Fingerprint: home}
			byKey[key] = m
			all = append(all, m)
		}
		m.Records++
		if at := (place{key, rec.Cell.Block}); !seen[at] {
			seen[at] = true
			m.Blocks = append(m.Blocks, rec.Cell.Block)
		}
		if o := rec.Origin; o != nil {
			m.Fingerprint = o.Machine
			if !slices.Contains(m.Workers, o.Worker) {
				m.Workers = append(m.Workers, o.Worker)
			}
		}
	}
	names := make(map[string]int)
	for _, m := range all {
		slices.Sort(m.Blocks)
		slices.Sort(m.Workers)
		m.Name = cmp.Or(strings.Join(m.Workers, "+"), m.ID, "this machine")
		names[m.Name]++
	}
	for _, m := range all {
		if names[m.Name] > 1 {
			m.Name += " " + m.ID + " " + m.Fingerprint.CPU
		}
	}
	slices.SortStableFunc(all, func(a, b *Machine) int { return a.Blocks[0] - b.Blocks[0] })
	return all, of
}

// machineID returns the ID of the record's machine, and a key that also distinguishes machines of
// one host name, such as localhost or that of a pod that has moved, by their processors.
func machineID(home cell.Machine, rec *cell.Record) (id, key string) {
	m, worker := home, ""
	if o := rec.Origin; o != nil {
		m, worker = o.Machine, o.Worker
	}
	id = cmp.Or(m.Hostname, worker)
	return id, strings.Join([]string{id, m.Arch, m.CPU}, "\x00")
}

// heterogeneity tests whether the machines of c agree; logs holds the
// logarithms of each machine's ratios.
func heterogeneity(c *Comparison, logs [][]float64) *Heterogeneity {
	h := &Heterogeneity{P: 1}
	if !slices.ContainsFunc(c.Machines, func(m MachineComparison) bool { return math.IsInf(m.Ratio, 0) || m.Ratio == 0 }) {
		h.test(logs)
	}
	byRatio := func(a, b MachineComparison) int { return cmp.Compare(a.Ratio, b.Ratio) }
	low, high := slices.MinFunc(c.Machines, byRatio), slices.MaxFunc(c.Machines, byRatio)
	var better, worse, above, below int
	for _, m := range c.Machines {
		switch {
		case m.Verdict == Better:
			better++
		case m.Verdict == Worse:
			worse++
		}
		switch {
		case m.Lo > 1:
			above++
		case m.Hi < 1:
			below++
		}
	}
	h.Differ = h.Tested && h.P < alpha && high.Ratio/low.Ratio > c.Floor
	oneSide := above == len(c.Machines) || below == len(c.Machines)
	h.Opposed = h.Differ && (better+worse > 0 && !oneSide || above > 0 && below > 0)
	extremes := fmt.Sprintf("%s on %s, %s on %s", low.text(), low.Machine.Name, high.text(), high.Machine.Name)
	if n := len(c.Machines); n > 2 {
		extremes = fmt.Sprintf("from %s on %s to %s on %s, of %d machines", low.text(), low.Machine.Name, high.text(),
			high.Machine.Name, n)
	}
	switch {
	case !h.Tested:
		h.Text = fmt.Sprintf("cannot tell whether %d machines agree: that takes two pairs on each of two machines",
			len(c.Machines))
	case h.Opposed:
		h.Text = "the machines disagree: " + extremes + "; " + h.figures()
	case h.Differ:
		h.Text = "the machines agree on the direction but not on the size: " + extremes + "; " + h.figures()
	default:
		h.Text = fmt.Sprintf("no difference shown between the %d machines: %s", len(c.Machines), h.figures())
	}
	return h
}

func (c *Comparison) text() string { return factorOf(*c, "") }

func (h *Heterogeneity) figures() string {
	p := fmt.Sprintf("p = %.3f", h.P)
	if h.P < 0.001 {
		p = "p < 0.001"
	}
	return fmt.Sprintf("Cochran's Q = %.3g, I² = %.0f %%, %s", h.Q, 100*h.I2, p)
}

// leastSpread is the smallest credible standard deviation of a ratio's
// logarithm: counts can be equal in all pairs, which says nothing about how
// they vary.
const leastSpread = 1e-4

// test computes Q, I² and P of the machines with two or more values.
func (h *Heterogeneity) test(logs [][]float64) {
	var means, weights, sizes []float64
	var weight, weighted float64
	for _, values := range logs {
		n := float64(len(values))
		if n < 2 {
			continue
		}
		sum, squares := 0.0, 0.0
		for _, v := range values {
			sum += v
		}
		mean := sum / n
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		w := n / max(squares/(n-1), leastSpread*leastSpread)
		means, weights, sizes = append(means, mean), append(weights, w), append(sizes, n)
		weight, weighted = weight+w, weighted+w*mean
	}
	k := float64(len(means))
	if k < 2 {
		return
	}
	overall, lambda := weighted/weight, 0.0
	for i, w := range weights {
		h.Q += w * (means[i] - overall) * (means[i] - overall)
		lambda += (1 - w/weight) * (1 - w/weight) / (sizes[i] - 1)
	}
	h.Tested, h.DF = true, len(means)-1
	if h.Q > k-1 {
		h.I2 = (h.Q - (k - 1)) / h.Q
	}
	f := h.Q / (k - 1) / (1 + 2*(k-2)/(k*k-1)*lambda)
	h.P = fTail(f, k-1, (k*k-1)/(3*lambda))
}

// fTail is the probability that a value of the F distribution with d1 and d2
// degrees of freedom exceeds f.
func fTail(f, d1, d2 float64) float64 { return mathx.BetaInc(d2/(d2+d1*f), d2/2, d1/2) }

// align returns the group with its blocks renumbered per machine. A fleet
// assigns blocks to machines as they come; after renumbering, two of its runs
// share the first block of a machine, the second, and so on.
func (a *Analysis) align(g *Group) *Group {
	out := &Group{Key: g.Key, Config: g.Config, Records: g.Records, Latency: g.Latency,
		Series: make(map[string]Series, len(g.Series))}
	for metric, s := range g.Series {
		next := Series{Metric: s.Metric, Values: s.Values}
		for i, block := range s.Blocks {
			m := s.machine(i)
			if m == nil {
				m = a.Machines[0]
			}
			at, _ := slices.BinarySearch(m.Blocks, block)
			next.Blocks, next.Machines = append(next.Blocks, at), append(next.Machines, m)
		}
		out.Series[metric] = next
	}
	return out
}

// strangers says why two runs have no common machine; "" if they may have one.
func strangers(a, b *Analysis) string {
	names := [2][]string{}
	for side, x := range []*Analysis{a, b} {
		if len(x.Machines) == 0 {
			return ""
		}
		for _, m := range x.Machines {
			if m.ID == "" {
				return ""
			}
			name := m.Name
			for _, o := range [2]*Analysis{b, a}[side].Machines {
				switch {
				case o.key == m.key:
					return ""
				case o.ID == m.ID:
					name = m.Name + " with " + m.Fingerprint.CPU
				}
			}
			names[side] = append(names[side], name)
		}
	}
	return fmt.Sprintf("measured on different machines (%s; %s), which are never compared: measure both on one machine",
		list(names[0], "and"), list(names[1], "and"))
}
