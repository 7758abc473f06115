package fleet

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Collector exposes a fleet's Status as Prometheus metrics. It asks the fleet
// at each scrape, which takes a quarter of a second, or longer if a worker that
// answered the last time is late; see Members. NewCollector makes one.
type Collector struct{ fleet *Fleet }

// NewCollector returns a Collector of the fleet.
func NewCollector(f *Fleet) *Collector { return &Collector{f} }

var (
	worker = []string{"worker", "cpu", "platform"}

	upDesc      = desc("up", "1 if the fleet answered.")
	workersDesc = desc("workers", "Workers that answered, by state.", "state")
	queuedDesc  = desc("queued_blocks", "Published blocks that no worker holds.", "sweep")
	runningDesc = desc("running_blocks", "Blocks that a worker holds.", "sweep")
	resultsDesc = desc("unstored_results", "Results that the coordinator has not stored yet.", "sweep")
	deadDesc    = desc("dead_messages", "Messages that were given up.")
	cellsDesc   = desc("cells_total", "Cells run since the worker joined.", worker...)
	failedDesc  = desc("failed_cells_total", "Cells that failed since the worker joined.", worker...)
	retriesDesc = desc("retries_total", "Blocks given to the worker, since it joined, that had been given out before.",
		worker...)
	lostDesc    = desc("lost_heartbeats_total", "Heartbeats that found no connection.", worker...)
	refusedDesc = desc("refused_blocks_total", "Blocks that the worker gave up.", worker...)
	floorDesc   = desc("noise_floor_ratio", "Ratio between equal cells on the worker: 1 means no difference.", worker...)
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("isobar_fleet_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector. It describes nothing: every scrape is checked by itself.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s, err := c.fleet.Status(ctx, 250*time.Millisecond)
	if err != nil {
		gauge(upDesc, 0)
		return
	}
	gauge(upDesc, 1)
	gauge(deadDesc, float64(s.Dead))
	for _, sweep := range s.Sweeps {
		gauge(queuedDesc, float64(sweep.Queued), sweep.ID)
		gauge(runningDesc, float64(sweep.Running), sweep.ID)
		gauge(resultsDesc, float64(sweep.Results), sweep.ID)
	}
	states := map[string]int{"idle": 0, "running": 0, "draining": 0}
	named := map[string]bool{}
	for _, m := range s.Workers {
		states[m.State]++
		if named[m.Name] { // a series cannot occur twice
			continue
		}
		named[m.Name] = true
		labels := []string{m.Name, m.Machine.CPU, m.platform()}
		for desc, n := range map[*prometheus.Desc]int64{
			cellsDesc: m.CellsDone, failedDesc: m.CellsFailed, retriesDesc: m.Retries, lostDesc: m.LostHeartbeats,
			refusedDesc: m.Refused,
		} {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
		}
		if m.Floor > 0 {
			gauge(floorDesc, m.Floor, labels...)
		}
	}
	for state, n := range states {
		gauge(workersDesc, float64(n), state)
	}
}
