// Command program is what test/prometheus scrapes: it allocates and has the
// figures of a monitor at /metrics, and prints its address.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/isobar-go/isobar/monitor"
	"github.com/isobar-go/isobar/monitor/monitorprom"
)

var kept [64][]byte

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func run() error {
	m, err := monitor.New(monitor.Config{Interval: 500 * time.Millisecond})
	if err != nil {
		return err
	}
	defer m.Close()
	registry := prometheus.NewRegistry()
	if err := registry.Register(monitorprom.New(m)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for i := 0; ; i++ {
			kept[i%len(kept)] = make([]byte, 1<<(i%18))
			time.Sleep(200 * time.Microsecond)
		}
	}()
	fmt.Println(listener.Addr())
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return http.Serve(listener, nil)
}
