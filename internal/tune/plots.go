package tune

import (
	"cmp"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/plot"
)

// Search returns what the plots of CPU time and memory show: predictions, without those that are
// withheld, and the settings that the answer names.
func (r *Answer) Search() plot.Search {
	s := plot.Search{Named: r.named()}
	for _, p := range r.Predicted {
		if p.CPU.Mid > 0 && p.PeakBytes.Mid > 0 && p.Wall.Mid > 0 {
			shown := p.forecast(0)
			shown.Best = r.onFrontier(p.GC)
			s.Forecasts = append(s.Forecasts, shown)
		}
	}
	return s
}

// forecast converts a prediction. Measured figures take the place of predicted ones.
func (p *Prediction) forecast(procs int) plot.Forecast {
	three := func(i Interval) [3]float64 { return [3]float64{i.Mid, i.Lo, i.Hi} }
	f := p.Figures
	if p.Measured != nil {
		f = p.Measured.Figures
	}
	return plot.Forecast{GC: p.GC, Procs: procs, Bytes: three(f.PeakBytes), CPU: three(f.CPU), Wall: three(f.Wall),
		Measured: p.Measured != nil}
}

// named returns today's setting and the choices, in the order of the answer; nil if
// there was nothing to prove.
func (r *Answer) named() (out []plot.Named) {
	for i, c := range r.ran() {
		cpu, memory := c.gain(cell.TotalCPU), c.gain(cell.RSSPeak)
		if i == 0 {
			out = append(out, plot.Named{Name: "today", Setting: settingText(r.Base), Key: r.Base.Key(), Bytes: memory.Default,
				CPU: cpu.Default})
		}
		out = append(out, plot.Named{Name: c.Name, Setting: settingText(c.Setting) + ", " + c.proven(), Key: c.Setting.Key(),
			Bytes: cmp.Or(c.PeakBytes.Mid, memory.Tuned), CPU: cpu.Tuned})
	}
	return out
}

// ProcsMap returns the map of GC settings and GOMAXPROCS; nil if nothing was predicted. It shows the
// objective and wall time. For a server, or if the objective is wall time, CPU time takes its place; if
// that is the objective, peak memory.
func (r *Answer) ProcsMap() *plot.ProcsMap {
	if len(r.Rows) == 0 {
		return nil
	}
	served := isServed(r.Base)
	first, second := r.Objective.metric(served), cell.WallTime
	if served || first == second {
		second = cell.TotalCPU
	}
	if first == second {
		second = cell.RSSPeak
	}
	m := &plot.ProcsMap{Figures: []plot.MapFigure{{Metric: first, Rises: r.Objective.rises(served)}, {Metric: second}}}
	for _, row := range r.Rows {
		for _, p := range row.Settings {
			if len(p.Withheld) == 0 {
				m.Forecasts = append(m.Forecasts, p.forecast(row.Procs))
			}
		}
	}
	return m
}
