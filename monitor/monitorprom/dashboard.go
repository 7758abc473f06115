package monitorprom

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/isobar-go/isobar/monitor"
)

//go:embed dashboard.json.tmpl
var model string

// dashboard is Grafana's model of the dashboard, with one panel per element of its data.
var dashboard = template.Must(template.New("dashboard").Funcs(template.FuncMap{"json": quote}).Parse(model))

type panel struct {
	ID, X, Y                 int
	Title, Description, Unit string
	Targets                  []target
}

type target struct{ Expr, Legend, Ref string }

// Dashboard writes a Grafana dashboard, ready for import, with one panel per chart of the
// figures. dashboard.json covers the runtime's own figures; for a Monitor with other
// sources, write a dashboard that covers those as well:
//
//	monitorprom.Dashboard(file, m.Figures())
func Dashboard(w io.Writer, figures []monitor.Figure) error {
	var panels []*panel
	at := map[string]*panel{} // by chart
	for _, f := range figures {
		p := at[f.Chart]
		if p == nil {
			i := len(panels)
			p = &panel{ID: i + 1, X: i % 2 * 12, Y: i / 2 * 8, Title: f.Chart, Unit: grafanaUnit(f)}
			at[f.Chart], panels = p, append(panels, p)
		}
		p.Description = strings.TrimSpace(p.Description + "\n" + label(f) + ": " + f.Help)
		p.Targets = append(p.Targets, target{query(f), "{{instance}} " + label(f), fmt.Sprintf("Q%d", len(p.Targets)+1)})
	}
	var compact, indented bytes.Buffer
	err := dashboard.Execute(&compact, panels)
	if err == nil {
		err = json.Indent(&indented, bytes.TrimSpace(compact.Bytes()), "", "  ")
	}
	if err == nil {
		indented.WriteByte('\n')
		_, err = indented.WriteTo(w)
	}
	if err != nil {
		return fmt.Errorf("monitorprom: Dashboard: %w", err)
	}
	return nil
}

// quote returns a text as JSON.
func quote(text string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// query returns a panel's expression for a figure; for a counter, its rate.
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
