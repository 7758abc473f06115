package monitorprom

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/monitor"
)

// Dashboard writes a Grafana dashboard, ready for import, with one panel per
// chart of the figures. dashboard.json covers the runtime's own figures; for a
// Monitor with other sources, write one that has those, too:
//
//	monitorprom.Dashboard(file, m.Figures())
func Dashboard(w io.Writer, figures []monitor.Figure) error {
	d := dashboard{
		Title: "Isobar: what the garbage collector does", UID: "isobar-monitor", Tags: []string{"go", "gc", "isobar"},
		Schema: 36, Refresh: "5s", Time: span{"now-15m", "now"}, Editable: true, Tooltip: 1,
	}
	source := reference{"prometheus", "${datasource}"}
	d.Templating.List = []variable{
		{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"},
		{Name: "instance", Label: "Instance", Type: "query", Source: &source,
			Query:   "label_values(isobar_heap_objects_bytes, instance)",
			Refresh: 2, Multi: true, All: true, AllValue: ".*", Current: &choice{"All", "$__all"}},
	}
	at := map[string]int{} // panel of a chart
	for _, f := range figures {
		i, ok := at[f.Chart]
		if !ok {
			i = len(d.Panels)
			at[f.Chart] = i
			p := panel{ID: i + 1, Title: f.Chart, Type: "timeseries", Source: source, Grid: grid{8, 12, i % 2 * 12, i / 2 * 8}}
			p.Field.Defaults = defaults{Unit: grafanaUnit(f)}
			p.Options.Legend, p.Options.Tooltip = legend{"list", "bottom", true}, tooltip{"multi"}
			d.Panels = append(d.Panels, p)
		}
		p := &d.Panels[i]
		p.Description = strings.TrimSpace(p.Description + "\n" + label(f) + ": " + f.Help)
		p.Targets = append(p.Targets, target{Source: source, Expr: query(f), Legend: "{{instance}} " + label(f),
			Ref: fmt.Sprintf("Q%d", len(p.Targets)+1)})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("monitorprom: Dashboard: %w", err)
	}
	return nil
}

// query returns what a panel shows of a figure; for a counter, its rate.
func query(f monitor.Figure) string {
	selector := name(f) + `{instance=~"$instance"}`
	if f.Counter {
		return "rate(" + selector + "[$__rate_interval])"
	}
	return selector
}

// label returns the last two parts of a key, as on the page.
func label(f monitor.Figure) string {
	path, _, _ := strings.Cut(f.Key, ":")
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(len(parts)-2, 1):], " ")
}

// grafanaUnit returns Grafana's name for the unit of a figure or of its rate.
func grafanaUnit(f monitor.Figure) string {
	switch unit := f.Unit(); {
	case unit == "bytes" && f.Counter:
		return "Bps"
	case unit == "bytes":
		return "bytes"
	case unit == "seconds":
		return "s"
	case unit == "cpu-seconds" && f.Counter: // seconds per second: CPUs
		return "percentunit"
	case unit == "percent":
		return "percent"
	case f.Counter:
		return "cps"
	}
	return "short"
}

// The part of Grafana's dashboard model that we need.

type dashboard struct {
	Title      string   `json:"title"`
	UID        string   `json:"uid"`
	Tags       []string `json:"tags"`
	Schema     int      `json:"schemaVersion"`
	Refresh    string   `json:"refresh"`
	Time       span     `json:"time"`
	Editable   bool     `json:"editable"`
	Tooltip    int      `json:"graphTooltip"` // 1: crosshair over all panels
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type reference struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type variable struct {
	Name     string     `json:"name"`
	Label    string     `json:"label"`
	Type     string     `json:"type"`
	Source   *reference `json:"datasource,omitempty"`
	Query    string     `json:"query"`
	Refresh  int        `json:"refresh,omitempty"`
	Multi    bool       `json:"multi"`
	All      bool       `json:"includeAll"`
	AllValue string     `json:"allValue,omitempty"`
	Current  *choice    `json:"current,omitempty"`
}

type choice struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

type panel struct {
	ID          int       `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Type        string    `json:"type"`
	Source      reference `json:"datasource"`
	Grid        grid      `json:"gridPos"`
	Field       struct {
		Defaults  defaults `json:"defaults"`
		Overrides [0]int   `json:"overrides"`
	} `json:"fieldConfig"`
	Options struct {
		Legend  legend  `json:"legend"`
		Tooltip tooltip `json:"tooltip"`
	} `json:"options"`
	Targets []target `json:"targets"`
}

type grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type defaults struct {
	Unit string `json:"unit"`
	Min  int    `json:"min"`
}

type legend struct {
	Mode      string `json:"displayMode"`
	Placement string `json:"placement"`
	Show      bool   `json:"showLegend"`
}

type tooltip struct {
	Mode string `json:"mode"`
}

type target struct {
	Source reference `json:"datasource"`
	Expr   string    `json:"expr"`
	Legend string    `json:"legendFormat"`
	Ref    string    `json:"refId"`
}
