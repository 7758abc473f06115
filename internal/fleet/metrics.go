package fleet

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeMetrics serves the Status of the server's fleet as Prometheus metrics at an address,
// until stop is called. Each scrape asks the fleet, which takes a quarter of a second, or
// longer if a worker that answered last time is late; see Members.
func (s *Server) ServeMetrics(ctx context.Context, address string) (url string, stop func(), err error) {
	f, err := Connect(ctx, Options{Server: s, Name: "isobar metrics"})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		f.Close()
		return "", nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{f})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener) // until Close
	return "http://" + listener.Addr().String() + "/metrics", func() {
		server.Close()
		f.Close()
	}, nil
}

// A collector implements prometheus.Collector.
type collector struct{ fleet *Fleet }

// Describe describes nothing, so the registry checks each scrape by itself.
func (c collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	send := func(kind prometheus.ValueType, name, help string, v float64, labels prometheus.Labels) {
		desc := prometheus.NewDesc("isobar_fleet_"+name, help, nil, labels)
		metrics <- prometheus.MustNewConstMetric(desc, kind, v)
	}
	gauge := func(name, help string, v float64, labels prometheus.Labels) {
		send(prometheus.GaugeValue, name, help, v, labels)
	}
	const upHelp = "1 if the fleet answered."
	s, err := c.fleet.Status(ctx, 250*time.Millisecond)
	if err != nil {
		gauge("up", upHelp, 0, nil)
		return
	}
	gauge("up", upHelp, 1, nil)
	gauge("dead_messages", "Messages that were given up.", float64(s.Dead), nil)
	for _, sweep := range s.Sweeps {
		of := prometheus.Labels{"sweep": sweep.ID}
		gauge("queued_blocks", "Published blocks that no worker holds.", float64(sweep.Queued), of)
		gauge("running_blocks", "Blocks that a worker holds.", float64(sweep.Running), of)
		gauge("unstored_results", "Results that the coordinator has not stored yet.", float64(sweep.Results), of)
	}
	states := map[string]int{"idle": 0, "running": 0, "draining": 0}
	named := map[string]bool{}
	for _, m := range s.Workers {
		states[m.State]++
		if named[m.Name] { // a series cannot occur twice
			continue
		}
		named[m.Name] = true
		of := prometheus.Labels{"worker": m.Name, "cpu": m.Machine.CPU, "platform": m.platform()}
		count := func(name, help string, n int64) { send(prometheus.CounterValue, name, help, float64(n), of) }
		count("cells_total", "Cells run since the worker joined.", m.CellsDone)
		count("failed_cells_total", "Cells that failed since the worker joined.", m.CellsFailed)
		count("retries_total", "Blocks given to the worker, since it joined, that had been given out before.", m.Retries)
		count("lost_heartbeats_total", "Heartbeats that found no connection.", m.LostHeartbeats)
		count("refused_blocks_total", "Blocks that the worker gave up.", m.Refused)
		if m.Floor > 0 {
			gauge("noise_floor_ratio", "Ratio between equal cells on the worker: 1 means no difference.", m.Floor, of)
		}
	}
	for state, n := range states {
		gauge("workers", "Workers that answered, by state.", float64(n), prometheus.Labels{"state": state})
	}
}
