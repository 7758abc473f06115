// Package gcctlprom exposes a GC controller to Prometheus.
//
//	prometheus.MustRegister(gcctlprom.New(controller))
//
// It is a separate package so that gcctl needs only the standard library. Each
// scrape calls Stats once; nothing runs between scrapes. Names begin with
// isobar_gcctl_ and end with their unit. Any number of goroutines may use a
// collector. After the controller is closed, the collector keeps reporting its
// last state.
package gcctlprom

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/gcctl"
)

const prefix = "isobar_gcctl_"

// A metric is one figure of Stats.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*gcctl.Stats) float64
}

func gauge(name, help string, value func(*gcctl.Stats) float64) metric {
	return metric{prometheus.NewDesc(prefix+name, help, nil, nil), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(*gcctl.Stats) uint64) metric {
	return metric{prometheus.NewDesc(prefix+name, help, nil, nil), prometheus.CounterValue,
		func(s *gcctl.Stats) float64 { return float64(value(s)) }}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is +Inf for a time that never comes.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return math.Inf(1)
	}
	return d.Seconds()
}

// causeDesc describes the collections started by the controller, by cause.
var causeDesc = prometheus.NewDesc(prefix+"collections_total", "Collections started by the controller, by cause.",
	[]string{"cause"}, nil)

var causes = []struct {
	name  string
	value func(*gcctl.Stats) uint64
}{
	{"schedule", func(s *gcctl.Stats) uint64 { return s.Scheduled }},
	{"idle", func(s *gcctl.Stats) uint64 { return s.Idle }},
	{"forced", func(s *gcctl.Stats) uint64 { return s.Forced }},
	{"watchdog", func(s *gcctl.Stats) uint64 { return s.Watchdog }},
}

var modeDesc = prometheus.NewDesc(prefix+"mode_info", "Always 1; the label is the mode last set.", []string{"mode"},
	nil)

var metrics = []metric{
	gauge("fallback", "1 after a fallback to standard behaviour.",
		func(s *gcctl.Stats) float64 { return flag(s.Fallback) }),
	gauge("alarm", "1 while the budget leaves the collector no room.",
		func(s *gcctl.Stats) float64 { return flag(s.Alarm) }),
	gauge("holding", "1 while GOGC is off and the controller starts collections.",
		func(s *gcctl.Stats) float64 { return flag(s.Holding) }),
	gauge("gogc_percent", "GOGC in force, -1 for off.", func(s *gcctl.Stats) float64 { return float64(s.Percent) }),
	gauge("goal_percent", "GOGC that the controller collects by, -1 for the budget only.",
		func(s *gcctl.Stats) float64 { return float64(s.GoalPercent) }),
	gauge("limit_bytes", "The runtime's memory limit in force.",
		func(s *gcctl.Stats) float64 { return float64(s.LimitBytes) }),
	gauge("budget_bytes", "Memory budget, 0 for none.", func(s *gcctl.Stats) float64 { return float64(s.BudgetBytes) }),
	gauge("memory_bytes", "Memory that counts against the budget.",
		func(s *gcctl.Stats) float64 { return float64(s.MemoryBytes) }),
	gauge("heap_bytes", "Live and dead objects.", func(s *gcctl.Stats) float64 { return float64(s.HeapBytes) }),
	gauge("live_bytes", "Objects marked by the last collection.",
		func(s *gcctl.Stats) float64 { return float64(s.LiveBytes) }),
	gauge("time_to_limit_seconds", "Time until memory reaches the budget at the present rate, +Inf for never.",
		func(s *gcctl.Stats) float64 { return seconds(s.TimeToLimit) }),
	gauge("gc_cpu_ratio", "The collector's share of used CPU time over recent collections.",
		func(s *gcctl.Stats) float64 { return s.GCCPU }),
	gauge("sections_open", "Open critical sections, including cut ones.",
		func(s *gcctl.Stats) float64 { return float64(s.Open) }),
	counter("sections_total", "Critical sections.", func(s *gcctl.Stats) uint64 { return s.Begun }),
	counter("sections_cut_total", "Critical sections cut by the watchdog.", func(s *gcctl.Stats) uint64 { return s.Cut }),
	counter("cycles_total", "Collections, no matter who started them.", func(s *gcctl.Stats) uint64 { return s.Cycles }),
	counter("limit_collections_total", "Collections started by the runtime's limit despite sections.",
		func(s *gcctl.Stats) uint64 { return s.RuntimeStart }),
	counter("gogc_changes_total", "GOGC changes by the adaptive mode.",
		func(s *gcctl.Stats) uint64 { return s.PercentChanges }),
	counter("mode_changes_total", "Mode changes.", func(s *gcctl.Stats) uint64 { return s.ModeChanges }),
	counter("foreign_changes_total", "Changes of GOGC or the memory limit by someone else.",
		func(s *gcctl.Stats) uint64 { return s.ForeignChanges }),
	counter("alarms_total", "Alarms.", func(s *gcctl.Stats) uint64 { return s.Alarms }),
	counter("sheds_total", "Requests to the program to shed load.", func(s *gcctl.Stats) uint64 { return s.Sheds }),
	counter("polls_total", "Reads of the runtime's metrics.", func(s *gcctl.Stats) uint64 { return s.Polls }),
	{prometheus.NewDesc(prefix+"poll_seconds_total", "Wall time spent reading the runtime's metrics.", nil, nil),
		prometheus.CounterValue,
		func(s *gcctl.Stats) float64 { return s.PollTime.Seconds() }},
}

type collector struct{ controller *gcctl.Controller }

// New returns a collector of c's figures.
func New(c *gcctl.Controller) prometheus.Collector { return collector{c} }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- modeDesc
	ch <- causeDesc
	for _, m := range metrics {
		ch <- m.desc
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.controller.Stats()
	ch <- prometheus.MustNewConstMetric(modeDesc, prometheus.GaugeValue, 1, s.Mode.String())
	for _, cause := range causes {
		ch <- prometheus.MustNewConstMetric(causeDesc, prometheus.CounterValue, float64(cause.value(&s)), cause.name)
	}
	for _, m := range metrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s))
	}
}
