package monitorprom

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/gcctl/gcctlprom"
	"github.com/isobar-go/isobar/monitor"
	"github.com/isobar-go/isobar/pool"
)

func TestCollector(t *testing.T) {
	m, err := monitor.New(monitor.Config{Sources: []monitor.Source{{
		Figures: []monitor.Figure{
			{Key: "/pool/my-orders/hits:gets", Help: "Gets served by an idle object.", Counter: true, Chart: "Pool"},
			{Key: "/nothing:bytes", Help: "No value.", Chart: "Nothing"},
		},
		Read: func(v []float64) { v[0], v[1] = 42, math.NaN() },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := New(m)
	want := `
# HELP isobar_pool_my_orders_hits_gets_total Gets served by an idle object.
# TYPE isobar_pool_my_orders_hits_gets_total counter
isobar_pool_my_orders_hits_gets_total 42
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "isobar_pool_my_orders_hits_gets_total", "isobar_nothing_bytes"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c); n < 20 || n >= len(m.Figures()) {
		t.Errorf("%d metrics of %d figures", n, len(m.Figures()))
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
}

// TestBesideGCCtlProm: a controller's figures on the page and those of gcctlprom
// fit in one registry.
func TestBesideGCCtlProm(t *testing.T) {
	controller, err := gcctl.Start(gcctl.Config{LimitBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer controller.Close()
	m, err := monitor.New(monitor.Config{Sources: []monitor.Source{monitor.Of("", controller.Stats)}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := prometheus.NewPedanticRegistry()
	for _, c := range []prometheus.Collector{gcctlprom.New(controller), New(m)} {
		if err := r.Register(c); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
}

// TestNamesThatCoincide are refused at once: a registry accepts them and fails
// at each scrape.
func TestNamesThatCoincide(t *testing.T) {
	p := pool.New(pool.Config[[64]byte]{})
	m, err := monitor.New(monitor.Config{Sources: []monitor.Source{monitor.Of("eu-west", p.Stats),
		monitor.Of("eu.west", p.Stats)}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "/pool/eu-west/hits:gets and /pool/eu.west/hits:gets") {
			t.Errorf("panic %q, want one that names both keys", text)
		}
	}()
	New(m)
}
