package monitor

import (
	"fmt"
	"strings"
)

// A Figure is one number of a sample.
type Figure struct {
	// Key names the figure and its unit, as runtime/metrics does:
	// /gc/heap/goal:bytes.
	Key  string `json:"key"`
	Help string `json:"help"`
	// Counter is set if the number only grows. Pages show its rate.
	Counter bool `json:"counter"`
	// Chart is the title of the figure's chart. All figures of a chart have the
	// same unit.
	Chart string `json:"chart"`
}

// Unit returns the part of the key after the colon.
func (f Figure) Unit() string {
	_, unit, _ := strings.Cut(f.Key, ":")
	return unit
}

func (f Figure) check() error {
	path, unit, ok := strings.Cut(f.Key, ":")
	if !ok || unit == "" || !strings.HasPrefix(path, "/") || strings.ContainsAny(f.Key, " \t\r\n") || f.Help == "" ||
		f.Chart == "" {
		return fmt.Errorf("figure %q of chart %q: want a key as /path/name:unit, a help text and a chart", f.Key, f.Chart)
	}
	return nil
}

// A Source is a set of figures read together.
type Source struct {
	Figures []Figure
	// Read stores the current values in the order of Figures; NaN means no value.
	// One goroutine at a time calls it. It should take microseconds and not
	// allocate.
	Read func(values []float64)
}
