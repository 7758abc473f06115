package http11prom

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/isobar-go/isobar/http11"
)

func TestCollector(t *testing.T) {
	s := &http11.Server{Memory: http11.Memory{Mode: http11.Arena}, Handler: http11.HandlerFunc(func(c *http11.Context) { c.WriteString("ok") })}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(s))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- s.Serve(l) }()
	transport := new(http.Transport)
	for range 3 {
		resp, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	transport.CloseIdleConnections()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(nc, "BAD\r\n\r\n")
	io.Copy(io.Discard, nc) // until the server has refused it
	nc.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-end
	err = testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP isobar_http11_connections_open Connections that are open, hijacked ones not included.
# TYPE isobar_http11_connections_open gauge
isobar_http11_connections_open 0
# HELP isobar_http11_connections_total Connections that were accepted.
# TYPE isobar_http11_connections_total counter
isobar_http11_connections_total 2
# HELP isobar_http11_refused_total Requests that were malformed or beyond a limit.
# TYPE isobar_http11_refused_total counter
isobar_http11_refused_total 1
# HELP isobar_http11_memory_in_use_bytes Memory of blocks in use.
# TYPE isobar_http11_memory_in_use_bytes gauge
isobar_http11_memory_in_use_bytes{memory="arena"} 0
`), "isobar_http11_connections_open", "isobar_http11_connections_total", "isobar_http11_refused_total", "isobar_http11_memory_in_use_bytes")
	if err != nil {
		t.Error(err)
	}
	if m := s.Stats().Memory; m.Hits+m.Misses == 0 {
		t.Errorf("no block was counted: %+v", m)
	}
}

// TestEveryFigureIsExposed sets one field of Stats after the other and expects
// a figure to change.
func TestEveryFigureIsExposed(t *testing.T) {
	valuesOf := func(s *http11.Stats) (values []float64) {
		add := func(_, _ string, value float64) { values = append(values, value) }
		figures(s, add, add)
		return values
	}
	zero := valuesOf(new(http11.Stats))
	seen := 0
	check := func(s *http11.Stats, part reflect.Value) {
		for i := range part.NumField() {
			field, name := part.Field(i), part.Type().Field(i).Name
			switch {
			case name == "Mode", field.Kind() == reflect.Struct:
				continue
			case field.CanInt():
				field.SetInt(1)
			default:
				field.SetUint(1)
			}
			if reflect.DeepEqual(valuesOf(s), zero) {
				t.Errorf("no metric shows %s", name)
			}
			field.SetZero()
			seen++
		}
	}
	var s http11.Stats
	check(&s, reflect.ValueOf(&s).Elem())
	check(&s, reflect.ValueOf(&s.Memory).Elem())
	if seen < len(zero)-1 { // utilization depends on two fields
		t.Errorf("%d fields for %d metrics", seen, len(zero))
	}
}
