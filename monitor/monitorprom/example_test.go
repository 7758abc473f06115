package monitorprom_test

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/monitor"
	"github.com/isobar-go/isobar/monitor/monitorprom"
	"github.com/isobar-go/isobar/pool"
)

// A pool's figures beside the runtime's.
func Example() {
	orders := pool.New(pool.Config[[64]int]{New: func() *[64]int { return new([64]int) }})
	orders.Put(orders.Get())
	m, err := monitor.New(monitor.Config{Sources: []monitor.Source{monitor.Of("orders", orders.Stats)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(monitorprom.New(m))

	families, err := registry.Gather() // as a scrape does
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "isobar_pool_orders_") {
			m := f.GetMetric()[0]
			fmt.Println(f.GetName(), m.GetCounter().GetValue()+m.GetGauge().GetValue()) // one of the pool's
		}
	}
	// Output:
	// isobar_pool_orders_hits_gets_total 0
	// isobar_pool_orders_idle_objects 1
	// isobar_pool_orders_in_use_objects 0
	// isobar_pool_orders_misses_gets_total 1
}
