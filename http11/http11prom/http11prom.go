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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/http11"
)

const prefix = "isobar_http11_"

// A metric is one figure of Stats.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*http11.Stats) float64
}

func server(kind prometheus.ValueType, name, help string, value func(*http11.Stats) float64) metric {
	return metric{prometheus.NewDesc(prefix+name, help, nil, nil), kind, value}
}

// memory is a request memory metric, labelled with its mode.
func memory(kind prometheus.ValueType, name, help string, value func(*http11.MemoryStats) float64) metric {
	return metric{prometheus.NewDesc(prefix+"memory_"+name, help, []string{"memory"}, nil), kind,
		func(s *http11.Stats) float64 { return value(&s.Memory) }}
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var serverMetrics = []metric{
	server(gauge, "connections_open", "Connections that are open, hijacked ones not included.",
		func(s *http11.Stats) float64 { return float64(s.Conns) }),
	server(counter, "connections_total", "Connections that were accepted.",
		func(s *http11.Stats) float64 { return float64(s.Accepted) }),
	server(counter, "accept_errors_total", "Errors after which accepting paused.",
		func(s *http11.Stats) float64 { return float64(s.AcceptErrors) }),
	server(counter, "panics_total", "Panics of handlers.", func(s *http11.Stats) float64 { return float64(s.Panics) }),
	server(counter, "refused_total", "Requests that were malformed or beyond a limit.",
		func(s *http11.Stats) float64 { return float64(s.Refused) }),
	server(counter, "handshake_errors_total", "Connections whose TLS handshake failed.",
		func(s *http11.Stats) float64 { return float64(s.HandshakeErrors) }),
	server(counter, "held_loops_total", "Handlers that held a loop for more than 10 ms.",
		func(s *http11.Stats) float64 { return float64(s.Held) }),
	server(counter, "late_uses_total", "Uses of a request after its handler had returned, which were refused.",
		func(s *http11.Stats) float64 { return float64(s.Late) }),
	server(counter, "timeouts_total", "Time-outs of reading a request or writing a response.",
		func(s *http11.Stats) float64 { return float64(s.Timeouts) }),
}

var memoryMetrics = []metric{
	memory(gauge, "requests", "Requests, or connections between two of them, that have memory.",
		func(m *http11.MemoryStats) float64 { return float64(m.Requests) }),
	memory(counter, "hits_total", "Blocks served from memory that was at hand.",
		func(m *http11.MemoryStats) float64 { return float64(m.Hits) }),
	memory(counter, "misses_total", "Blocks for which memory had to be made.",
		func(m *http11.MemoryStats) float64 { return float64(m.Misses) }),
	memory(gauge, "blocks_in_use", "Blocks in use.", func(m *http11.MemoryStats) float64 { return float64(m.InUse) }),
	memory(gauge, "in_use_bytes", "Memory of blocks in use.",
		func(m *http11.MemoryStats) float64 { return float64(m.InUseBytes) }),
	memory(gauge, "held_bytes", "Memory of blocks in use, of idle ones, and of the rest of their chunks.",
		func(m *http11.MemoryStats) float64 { return float64(m.HeldBytes) }),
	memory(gauge, "utilization_ratio", "Share of the held memory that is in use; the rest is idle or fragmentation.",
		func(m *http11.MemoryStats) float64 { return m.Utilization() }),
	memory(counter, "chunks_made_total", "Chunks made, by slab and arena.",
		func(m *http11.MemoryStats) float64 { return float64(m.ChunksMade) }),
	memory(counter, "chunks_freed_total", "Chunks given back, by slab and arena.",
		func(m *http11.MemoryStats) float64 { return float64(m.ChunksFreed) }),
	memory(counter, "pooled_total", "Blocks that pools served in place of slab or arena.",
		func(m *http11.MemoryStats) float64 { return float64(m.Pooled) }),
}

type collector struct{ server *http11.Server }

// New returns a collector of s's figures.
func New(s *http11.Server) prometheus.Collector { return collector{s} }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range serverMetrics {
		ch <- m.desc
	}
	for _, m := range memoryMetrics {
		ch <- m.desc
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.server.Stats()
	for _, m := range serverMetrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s))
	}
	mode := s.Memory.Mode.String()
	for _, m := range memoryMetrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s), mode)
	}
}
