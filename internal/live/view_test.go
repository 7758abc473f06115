package live

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/monitor"
)

func TestView(t *testing.T) {
	var h History
	figures := []monitor.Figure{{Key: "/heap/objects:bytes"}, {Key: "/heap/goal:bytes"}, {Key: "/alloc/size:bytes", Counter: true}, {Key: "/gc/pause/max:seconds"}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 5 {
		h.Add(Sample{At: at.Add(time.Duration(i) * time.Second), Process: monitor.Process{Program: "orders\x1b[2J", PID: 7}, Figures: figures,
			Values: []float64{float64(i) * (1 << 20), 8 << 20, float64(i) * (3 << 20), math.NaN()}, Epoch: 1})
	}
	screen := strings.Join(h.Screen("here", 100), "\n")
	for _, want := range []string{`orders\x1b[2J · pid 7 · here · 03:04:09`, "▁▂▃▄▅   4.00 MiB  goal 8.00 MiB", "3.00 MiB/s"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "pause") {
		t.Errorf("a row without a figure:\n%s", screen)
	}
	for _, line := range h.Screen("here", 40) {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if got := h.Line(); got != "03:04:09; heap 4.00 MiB (goal 8.00 MiB); allocation 3.00 MiB/s" {
		t.Errorf("line %q", got)
	}
	d := h.Document("here")
	if d.Figures["/alloc/size:bytes"] != 12<<20 || d.Rates["/alloc/size:bytes"] != 3<<20 || len(d.Figures) != 3 {
		t.Errorf("document %+v", d)
	}
	h.Add(Sample{At: at, Figures: figures, Values: []float64{1, 1, 1, 1}, Epoch: 2})
	if h.Ready() || !math.IsNaN(h.Value("/alloc/size:bytes")) {
		t.Error("a rate across two processes")
	}
}

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		monotonic, wall time.Duration
		want            bool
	}{
		{time.Second, time.Second, true},
		{time.Second, 1050 * time.Millisecond, true}, // NTP corrects the clock
		{time.Second, time.Hour, false},              // asleep, or set ahead
		{time.Second, -time.Hour, false},             // set back
		{time.Minute, time.Minute - 7*time.Second, false},
		{0, 0, false},
	} {
		if got := steady(c.monotonic, c.wall); got != c.want {
			t.Errorf("%v by the monotonic, %v by the wall clock: %v", c.monotonic, c.wall, got)
		}
	}
}

func TestSpark(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		ceiling float64
		want    string
	}{
		{[]float64{0, 1, 2, 4, 8}, 0, "▁▂▃▅█"},
		{[]float64{1, math.NaN(), 1}, 8, "  ▂ ▂"},
		{[]float64{9, 9, 0, 0, 0, 0, 0}, 0, "▁▁▁▁▁"},
		{nil, 1, "     "},
		{[]float64{math.Inf(1), 1}, 2, "   █▅"},
	} {
		if got := Spark(c.values, c.ceiling, 5); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
