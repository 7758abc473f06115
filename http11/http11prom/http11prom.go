// Package http11prom exposes an HTTP server of package http11 to Prometheus.
//
//	prometheus.MustRegister(http11prom.New(server))
//
// It is a separate package so that http11 needs only the standard library. Each
// scrape calls Stats once; nothing runs between scrapes. Names begin with
// isobar_http11_ and end with their unit; the label memory is the mode of
// request memory. To register several servers, wrap the registry with
// prometheus.WrapRegistererWith and a label for each. A collector is safe for
// concurrent use, and keeps reporting after the server is closed.
package http11prom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/http11"
)

// prefix begins all names, and memory those of request memory, which have its mode as label.
const prefix, memory = "isobar_http11_", "memory_"

// figures calls gauge and counter for each figure, in a fixed order.
func figures(s *http11.Stats, gauge, counter func(name, help string, value float64)) {
	gauge("connections_open", "Connections that are open, hijacked ones not included.", float64(s.Conns))
	counter("connections_total", "Connections that were accepted.", float64(s.Accepted))
	counter("accept_errors_total", "Errors after which accepting paused.", float64(s.AcceptErrors))
	counter("panics_total", "Panics of handlers.", float64(s.Panics))
	counter("refused_total", "Requests that were malformed or beyond a limit.", float64(s.Refused))
	counter("handshake_errors_total", "Connections whose TLS handshake failed.", float64(s.HandshakeErrors))
	counter("held_loops_total", "Handlers that held a loop for more than 10 ms.", float64(s.Held))
	counter("late_uses_total", "Uses of a request after its handler had returned, which were refused.", float64(s.Late))
	counter("timeouts_total", "Time-outs of reading a request or writing a response.", float64(s.Timeouts))
	m := &s.Memory
	gauge(memory+"requests", "Requests, or connections between two of them, that have memory.", float64(m.Requests))
	counter(memory+"hits_total", "Blocks served from memory that was at hand.", float64(m.Hits))
	counter(memory+"misses_total", "Blocks for which memory had to be made.", float64(m.Misses))
	gauge(memory+"blocks_in_use", "Blocks in use.", float64(m.InUse))
	gauge(memory+"in_use_bytes", "Memory of blocks in use.", float64(m.InUseBytes))
	gauge(memory+"held_bytes", "Memory of blocks in use, of idle ones, and of the rest of their chunks.",
		float64(m.HeldBytes))
	gauge(memory+"utilization_ratio", "Share of the held memory that is in use; the rest is idle or fragmentation.",
		m.Utilization())
	counter(memory+"chunks_made_total", "Chunks made, by slab and arena.", float64(m.ChunksMade))
	counter(memory+"chunks_freed_total", "Chunks given back, by slab and arena.", float64(m.ChunksFreed))
	counter(memory+"pooled_total", "Blocks that pools served in place of slab or arena.", float64(m.Pooled))
}

type collector struct{ server *http11.Server }

// New returns a collector of s's figures.
func New(s *http11.Server) prometheus.Collector { return collector{s} }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	describe := func(name, help string, _ float64) { ch <- desc(name, help) }
	figures(&http11.Stats{}, describe, describe)
}

func desc(name, help string) *prometheus.Desc {
	var labels []string
	if strings.HasPrefix(name, memory) {
		labels = []string{"memory"}
	}
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.server.Stats()
	of := func(kind prometheus.ValueType) func(name, help string, value float64) {
		return func(name, help string, value float64) {
			var labels []string
			if strings.HasPrefix(name, memory) {
				labels = []string{s.Memory.Mode.String()}
			}
			ch <- prometheus.MustNewConstMetric(desc(name, help), kind, value, labels...)
		}
	}
	figures(&s, of(prometheus.GaugeValue), of(prometheus.CounterValue))
}
