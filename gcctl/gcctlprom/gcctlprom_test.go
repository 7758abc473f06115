package gcctlprom

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/isobar-go/isobar/gcctl"
)

func TestCollector(t *testing.T) {
	c, err := gcctl.Start(gcctl.Config{Mode: gcctl.Percent(200), LimitBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(c))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if err := c.Force(t.Context()); err != nil {
		t.Fatal(err)
	}
	section := c.Pause()
	defer section.End()
	err = testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP isobar_gcctl_budget_bytes Memory budget, 0 for none.
# TYPE isobar_gcctl_budget_bytes gauge
isobar_gcctl_budget_bytes 1.073741824e+09
# HELP isobar_gcctl_collections_total Collections started by the controller, by cause.
# TYPE isobar_gcctl_collections_total counter
isobar_gcctl_collections_total{cause="forced"} 1
isobar_gcctl_collections_total{cause="idle"} 0
isobar_gcctl_collections_total{cause="schedule"} 0
isobar_gcctl_collections_total{cause="watchdog"} 0
# HELP isobar_gcctl_goal_percent GOGC that the controller collects by, -1 for the budget only.
# TYPE isobar_gcctl_goal_percent gauge
isobar_gcctl_goal_percent 200
# HELP isobar_gcctl_mode_info Always 1; the label is the mode last set.
# TYPE isobar_gcctl_mode_info gauge
isobar_gcctl_mode_info{mode="percent=200"} 1
# HELP isobar_gcctl_sections_open Open critical sections, including cut ones.
# TYPE isobar_gcctl_sections_open gauge
isobar_gcctl_sections_open 1
`), "isobar_gcctl_budget_bytes", "isobar_gcctl_collections_total", "isobar_gcctl_goal_percent",
		"isobar_gcctl_mode_info", "isobar_gcctl_sections_open")
	if err != nil {
		t.Error(err)
	}
}

// TestEveryFigureIsExposed sets the fields of Stats one at a time and expects a
// figure to change, except for those that only Close uses.
func TestEveryFigureIsExposed(t *testing.T) {
	exposed := func(s *gcctl.Stats) (all []float64) {
		add := func(_, _ string, value float64) { all = append(all, value) }
		figures(s, add, add)
		for _, cause := range slices.Sorted(maps.Keys(causes(s))) {
			add("", "", float64(causes(s)[cause]))
		}
		return all
	}
	kind := reflect.TypeFor[gcctl.Stats]()
	zero := exposed(new(gcctl.Stats))
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		if name == "Mode" || strings.HasPrefix(name, "Found") {
			continue
		}
		var s gcctl.Stats
		switch f := reflect.ValueOf(&s).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Uint64:
			f.SetUint(1)
		default:
			f.SetInt(1)
		}
		if reflect.DeepEqual(exposed(&s), zero) {
			t.Errorf("no metric shows Stats.%s", name)
		}
	}
}
