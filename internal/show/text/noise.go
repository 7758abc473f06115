package text

import (
	"math"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// NoiseLine summarizes other activity on the machine, over all cells.
func NoiseLine(a *stat.Analysis) string {
	var parts []string
	for _, kind := range noises {
		var values []float64
		for _, g := range a.Groups {
			for _, rec := range g.Records {
				if v := kind.Of(rec.Noise); v >= 0 && !math.IsInf(v, 0) {
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
			parts = append(parts, kind.Name+" none")
			continue
		}
		says, atMost := Format(kind.Metric, middle)+kind.After, Format(kind.Metric, most)+kind.After
		if says != atMost {
			says += " (at most " + atMost + ")"
		}
		parts = append(parts, kind.Name+" "+says)
	}
	return strings.Join(parts, "; ")
}

// noises are the kinds of noise in a record. Missing ones are negative.
var noises = []struct {
	Name, Metric, After string
	Of                  func(cell.Noise) float64
}{
	{"CPU steal", ":ratio", "", func(n cell.Noise) float64 { return n.Steal }},
	{"CPU pressure", ":ratio", "", func(n cell.Noise) float64 { return n.CPUPressure }},
	{"memory pressure", ":ratio", "", func(n cell.Noise) float64 { return n.MemoryPressure }},
	{"other processes", ":cpus", " CPUs", func(n cell.Noise) float64 { return n.OtherCPU }},
}
