package http11prom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/http11/http11prom"
)

// Two servers in one registry, distinguished by a label.
func Example() {
	answer := http11.HandlerFunc(func(c *http11.Context) { c.WriteString("ok") })
	registry := prometheus.NewRegistry()
	for _, name := range []string{"api", "admin"} {
		server := &http11.Server{Handler: answer}
		wrapped := prometheus.WrapRegistererWith(prometheus.Labels{"server": name}, registry)
		wrapped.MustRegister(http11prom.New(server))
		if name == "api" { // mounted under another server, for the sake of the example
			server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
	}
	families, err := registry.Gather() // as a scrape does
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() != "isobar_http11_memory_misses_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			memory, server := m.GetLabel()[0].GetValue(), m.GetLabel()[1].GetValue()
			fmt.Println("server", server, "with memory", memory, "missed", m.GetCounter().GetValue())
		}
	}
	// Output:
	// server admin with memory pooled missed 0
	// server api with memory pooled missed 1
}
