package gcctlprom_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/gcctl/gcctlprom"
)

func Example() {
	controller, err := gcctl.Start(gcctl.Config{Mode: gcctl.Hybrid, LimitBytes: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer controller.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(gcctlprom.New(controller))

	defer controller.Pause().End()
	families, err := registry.Gather() // as a scrape does
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		switch f.GetName() {
		case "isobar_gcctl_mode_info":
			fmt.Println(f.GetName(), f.GetMetric()[0].GetLabel()[0].GetValue())
		case "isobar_gcctl_budget_bytes", "isobar_gcctl_sections_open":
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	// Output:
	// isobar_gcctl_budget_bytes 1.073741824e+09
	// isobar_gcctl_mode_info hybrid
	// isobar_gcctl_sections_open 1
}
