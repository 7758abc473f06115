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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/gcctl"
)

const prefix = "isobar_gcctl_"

// figures calls gauge and counter for each figure, in a fixed order.
func figures(s *gcctl.Stats, gauge, counter func(name, help string, value float64)) {
	gauge("fallback", "1 after a fallback to standard behaviour.", flag(s.Fallback))
	gauge("alarm", "1 while the budget leaves the collector no room.", flag(s.Alarm))
	gauge("holding", "1 while GOGC is off and the controller starts collections.", flag(s.Holding))
	gauge("gogc_percent", "GOGC in force, -1 for off.", float64(s.Percent))
	gauge("goal_percent", "GOGC that the controller collects by, -1 for the budget only.", float64(s.GoalPercent))
	gauge("limit_bytes", "The runtime's memory limit in force.", float64(s.LimitBytes))
	gauge("budget_bytes", "Memory budget, 0 for none.", float64(s.BudgetBytes))
	gauge("memory_bytes", "Memory that counts against the budget.", float64(s.MemoryBytes))
	gauge("heap_bytes", "Live and dead objects.", float64(s.HeapBytes))
	gauge("live_bytes", "Objects marked by the last collection.", float64(s.LiveBytes))
	left := s.TimeToLimit.Seconds()
	if left < 0 {
		left = math.Inf(1)
	}
	gauge("time_to_limit_seconds", "Time until memory reaches the budget at the present rate, +Inf for never.", left)
	gauge("gc_cpu_ratio", "The collector's share of used CPU time over recent collections.", s.GCCPU)
	gauge("sections_open", "Open critical sections, including cut ones.", float64(s.Open))
	counter("sections_total", "Critical sections.", float64(s.Begun))
	counter("sections_cut_total", "Critical sections cut by the watchdog.", float64(s.Cut))
	counter("cycles_total", "Collections, no matter who started them.", float64(s.Cycles))
	counter("limit_collections_total", "Collections started by the runtime's limit despite sections.",
		float64(s.RuntimeStart))
	counter("gogc_changes_total", "GOGC changes by the adaptive mode.", float64(s.PercentChanges))
	counter("mode_changes_total", "Mode changes.", float64(s.ModeChanges))
	counter("foreign_changes_total", "Changes of GOGC or the memory limit by someone else.", float64(s.ForeignChanges))
	counter("alarms_total", "Alarms.", float64(s.Alarms))
	counter("sheds_total", "Requests to the program to shed load.", float64(s.Sheds))
	counter("polls_total", "Reads of the runtime's metrics.", float64(s.Polls))
	counter("poll_seconds_total", "Wall time spent reading the runtime's metrics.", s.PollTime.Seconds())
}

// causes are the collections started by the controller.
func causes(s *gcctl.Stats) map[string]uint64 {
	return map[string]uint64{
		"schedule": s.Scheduled, "idle": s.Idle, "forced": s.Forced, "watchdog": s.Watchdog,
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The figures that have a label.
var (
	modeDesc = prometheus.NewDesc(prefix+"mode_info", "Always 1; the label is the mode last set.", []string{"mode"},
		nil)
	causeDesc = prometheus.NewDesc(prefix+"collections_total", "Collections started by the controller, by cause.",
		[]string{"cause"}, nil)
)

type collector struct {
	controller *gcctl.Controller
	descs      []*prometheus.Desc // of the figures, in order
}

// New returns a collector of c's figures.
func New(c *gcctl.Controller) prometheus.Collector {
	out := collector{controller: c}
	add := func(name, help string, _ float64) {
		out.descs = append(out.descs, prometheus.NewDesc(prefix+name, help, nil, nil))
	}
	figures(&gcctl.Stats{}, add, add)
	return out
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- modeDesc
	ch <- causeDesc
	for _, d := range c.descs {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.controller.Stats()
	ch <- prometheus.MustNewConstMetric(modeDesc, prometheus.GaugeValue, 1, s.Mode.String())
	for cause, n := range causes(&s) {
		ch <- prometheus.MustNewConstMetric(causeDesc, prometheus.CounterValue, float64(n), cause)
	}
	descs := c.descs
	of := func(kind prometheus.ValueType) func(_, _ string, value float64) {
		return func(_, _ string, value float64) {
			ch <- prometheus.MustNewConstMetric(descs[0], kind, value)
			descs = descs[1:]
		}
	}
	figures(&s, of(prometheus.GaugeValue), of(prometheus.CounterValue))
}
