package monitorprom

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isobar-go/isobar/monitor"
)

var update = flag.Bool("update", false, "write dashboard.json")

// TestDashboardFile checks dashboard.json against the runtime's figures.
func TestDashboardFile(t *testing.T) {
	m, err := monitor.New(monitor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var b bytes.Buffer
	if err := Dashboard(&b, m.Figures()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("dashboard.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Error("dashboard.json is out of date; run go test ./monitor/monitorprom -update")
	}
}

// TestDashboardHasAll: the dashboard has every metric of a collector, including
// those of other sources.
func TestDashboardHasAll(t *testing.T) {
	m, err := monitor.New(monitor.Config{Sources: []monitor.Source{{
		Figures: []monitor.Figure{{Key: "/pool/orders/hits:gets", Help: "Hits.", Counter: true, Chart: "Pool orders"}},
		Read:    func(v []float64) { v[0] = 1 },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var b bytes.Buffer
	if err := Dashboard(&b, m.Figures()); err != nil {
		t.Fatal(err)
	}
	var d struct{ Panels []panel }
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	queries := ""
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			queries += q.Expr + "\n"
		}
	}
	r := prometheus.NewRegistry()
	r.MustRegister(New(m))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.Contains(queries, f.GetName()+"{") {
			t.Errorf("%s is on no panel", f.GetName())
		}
	}
	if !strings.Contains(queries, `rate(isobar_pool_orders_hits_gets_total{instance=~"$instance"}[$__rate_interval])`) {
		t.Errorf("queries:\n%s", queries)
	}
}
