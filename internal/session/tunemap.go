package session

import (
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/tune"
)

// forecast converts a prediction for the plots.
func forecast(p tune.Prediction, procs int) plot.Forecast {
	three := func(i tune.Interval) [3]float64 { return [3]float64{i.Mid, i.Lo, i.Hi} }
	if m := p.Measured; m != nil { // measured figures replace predictions in the map
		p.Figures = m.Figures
	}
	return plot.Forecast{GC: p.GC, Procs: procs, Bytes: three(p.PeakBytes), CPU: three(p.CPU), Wall: three(p.Wall),
		Measured: p.Measured != nil}
}

// procsMap returns the map of GC settings and GOMAXPROCS; nil if nothing was predicted.
func procsMap(result *tune.Answer) *plot.ProcsMap {
	if len(result.Rows) == 0 {
		return nil
	}
	m := &plot.ProcsMap{}
	metrics, rises := result.MapMetrics()
	for i, metric := range metrics {
		m.Figures = append(m.Figures, plot.MapFigure{Metric: metric, Rises: rises[i]})
	}
	for _, row := range result.Rows {
		for _, p := range row.Settings {
			if len(p.Withheld) > 0 {
				continue
			}
			m.Forecasts = append(m.Forecasts, forecast(p, row.Procs))
		}
	}
	return m
}
