package monitor

import (
	"math"
	"strings"
	"time"

	"github.com/isobar-go/isobar/latency"
)

// Of returns the figures of a library. stats is a method that returns the
// library's statistics, such as pool.Pool.Stats, eventloop.Loop.Stats,
// http11.Server.Stats or gcctl.Controller.Stats. The statistics' method Figures
// calls add for each figure, always the same ones in the same order.
//
// The name distinguishes several sources of a kind: with the name orders, the
// key /pool/hits:gets becomes /pool/orders/hits:gets, and the chart Pool
// becomes Pool orders. It may be empty.
func Of[S interface {
	Figures(add func(key, chart, help string, counter bool, value float64))
}](name string, stats func() S) Source {
	var figures []Figure
	stats().Figures(func(key, chart, help string, counter bool, _ float64) {
		if name != "" {
			key, chart = named(name, key, chart)
		}
		figures = append(figures, Figure{Key: key, Help: help, Counter: counter, Chart: chart})
	})
	var values []float64
	next := func(_, _, _ string, _ bool, value float64) { // made once, to keep Read from allocating
		values[0], values = value, values[1:]
	}
	return Source{Figures: figures, Read: func(to []float64) {
		values = to
		stats().Figures(next)
	}}
}

// named inserts a name after the first part of a key and of a chart's title.
func named(name, key, chart string) (string, string) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	title, part, parts := strings.Cut(chart, ":")
	if parts {
		part = ":" + part
	}
	return "/" + kind + "/" + name + "/" + rest, title + " " + name + part
}

// Latency returns quantiles of what r recorded since the previous sample, such
// as the latency of tasks (eventloop.Config.Latency) or of requests; NaN if it
// recorded nothing. The name distinguishes the recorders of a program. It is for
// one Monitor: two would each see a part.
func Latency(name string, r *latency.Recorder) Source {
	shares, to, w := []float64{0.5, 0.99, 0.999, 1}, make([]time.Duration, 4), r.Window()
	key := func(of string) string { return "/latency/" + name + "/" + of }
	chart := "Latency " + name
	count := 0.0
	return Source{
		Figures: []Figure{
			{Key: key("p50:seconds"), Help: "Half of them took less.", Chart: chart},
			{Key: key("p99:seconds"), Help: "99 % of them took less.", Chart: chart},
			{Key: key("p99.9:seconds"), Help: "99.9 % of them took less.", Chart: chart},
			{Key: key("max:seconds"), Help: "The longest.", Chart: chart},
			{Key: key("recorded:events"), Help: "Number recorded.", Counter: true, Chart: chart + ": number"},
		},
		Read: func(v []float64) {
			n := w.Next(shares, to)
			for i, d := range to {
				v[i] = d.Seconds()
				if n == 0 {
					v[i] = math.NaN()
				}
			}
			count += float64(n)
			v[4] = count
		},
	}
}
