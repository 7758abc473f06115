package session

import (
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/tune"
)

// forecast converts a prediction for the plots.
func forecast(p tune.Prediction, procs int) plot.Forecast {
	three := func(i tune.Interval) [3]float64 { return [3]float64{i.Mid, i.Lo, i.Hi} }
	if m := p.Measured; m != nil { // a map shows what was measured where it was
		p.PeakBytes, p.CPU, p.Wall = m.PeakBytes, m.CPU, m.Wall
	}
	return plot.Forecast{GC: p.GC, Procs: procs, Bytes: three(p.PeakBytes), CPU: three(p.CPU), Wall: three(p.Wall),
		Measured: p.Measured != nil}
}

// procsMap is the map of GC settings and GOMAXPROCS, nil if nothing was
// predicted.
func procsMap(result *tune.Answer, run store.Run) *plot.ProcsMap {
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
	switch {
	case slices.Contains(result.Base.Command, "scaling"):
		m.Hint, m.Command = "For a map of goroutines, a parameter of this workload:",
			"isobar lab run scaling --goroutines 1,2,16 --gc default,400,3200,off"
	case len(result.Rows) == 1:
		m.Hint, m.Command = "Only one value of GOMAXPROCS was measured; for more rows:", moreProcs(run, result.Rows[0].Ran)
	}
	return m
}

// moreProcs is the run's command with further values of GOMAXPROCS, below the
// program's own.
func moreProcs(run store.Run, had int) string {
	var values []string
	for _, n := range []int{1, had / 4, had / 2} {
		if text := strconv.Itoa(n); n > 0 && n != had && !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	if len(values) == 0 {
		values = []string{"2"}
	}
	var args []string
	for i, arg := range run.Args {
		if own := !slices.Contains(run.Args[:i], "--"); !own || arg != "--resume" {
			args = append(args, arg)
		}
		if arg == "tune" && !slices.Contains(run.Args[:i], "tune") {
			args = append(args, "--gomaxprocs", strings.Join(values, ","))
		}
	}
	run.Args = args
	return run.Repeat()
}
