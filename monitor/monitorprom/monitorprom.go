// Package monitorprom exposes the figures of a monitor to Prometheus.
//
//	prometheus.MustRegister(monitorprom.New(m))
//
// A scrape reports the newest sample and reads nothing itself. Names follow
// from the keys: /gc/heap/goal:bytes becomes isobar_gc_heap_goal_bytes, and
// counters end with _total. A figure without a value is left out. Quantiles are
// those of the last [monitor.Config.Interval]: of a shorter one than that of the
// scrapes they show a part. Any number of goroutines may use a collector.
package monitorprom

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/monitor"
)

type collector struct {
	monitor *monitor.Monitor
	descs   []*prometheus.Desc // of the monitor's figures, in order
}

// New returns a collector of m's figures. It panics if two of them have the same
// name, as those of the sources eu-west and eu.west have: no scrape would succeed.
func New(m *monitor.Monitor) prometheus.Collector {
	c := collector{monitor: m}
	keys := map[string]string{} // by name
	for _, f := range m.Figures() {
		n := name(f)
		if other, twice := keys[n]; twice {
			panic("monitorprom: New: the keys " + other + " and " + f.Key + " both become " + n +
				"; give the sources names that differ in letters or digits")
		}
		keys[n] = f.Key
		c.descs = append(c.descs, prometheus.NewDesc(n, f.Help, nil, nil))
	}
	return c
}

// name turns a figure's key into a metric name.
func name(f monitor.Figure) string {
	path, unit, _ := strings.Cut(f.Key, ":")
	path = strings.TrimPrefix(path, "/")
	if base := strings.ReplaceAll(unit, "cpu-seconds", "seconds"); !strings.HasSuffix(path, base) {
		path += "/" + base
	}
	n := []byte("isobar_" + path)
	for i, c := range n {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			n[i] = '_'
		}
	}
	if f.Counter {
		return string(n) + "_total"
	}
	return string(n)
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	values := make([]float64, len(c.descs))
	if _, err := c.monitor.Last(values); err != nil {
		return // values and figures always match in number
	}
	for i, f := range c.monitor.Figures() {
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		if !math.IsNaN(values[i]) {
			ch <- prometheus.MustNewConstMetric(c.descs[i], kind, values[i])
		}
	}
}
