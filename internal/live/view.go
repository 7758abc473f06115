package live

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/monitor"
)

// A History keeps the samples that a terminal shows, and turns counters into
// rates. The zero value is ready to use. It must not be copied and is for one
// goroutine.
type History struct {
	last, before Sample // of the same epoch; before is zero if there is none
	columns      map[string]int
	lines        [][]float64 // the values in each of rows, oldest first
}

// sparkWidth is how many samples a spark-line shows.
const sparkWidth = 40

// Add adds the next sample.
func (h *History) Add(s Sample) {
	if h.columns == nil || s.Epoch != h.last.Epoch || len(s.Figures) != len(h.last.Figures) {
		h.columns = make(map[string]int, len(s.Figures))
		for i, f := range s.Figures {
			h.columns[f.Key] = i
		}
		h.last = Sample{}
	}
	h.before, h.last = h.last, s
	if h.lines == nil {
		h.lines = make([][]float64, len(rows))
	}
	for i, r := range rows {
		h.lines[i] = append(h.lines[i], r.value(h))
		if n := len(h.lines[i]); n > sparkWidth {
			h.lines[i] = h.lines[i][n-sparkWidth:]
		}
	}
}

// Ready reports whether there are two samples of one process, as rates require.
func (h *History) Ready() bool { return h.before.Values != nil }

// Last returns the newest sample.
func (h *History) Last() Sample { return h.last }

// Value returns a figure of the newest sample, or the rate per second of a counter; NaN if missing.
func (h *History) Value(key string) float64 {
	i, ok := h.columns[key]
	if !ok {
		return math.NaN()
	}
	v := h.last.Values[i]
	if !h.last.Figures[i].Counter {
		return v
	}
	elapsed, wall := h.last.At.Sub(h.before.At), h.last.At.Round(0).Sub(h.before.At.Round(0))
	if h.before.Values == nil || !steady(elapsed, wall) {
		return math.NaN()
	}
	return (v - h.before.Values[i]) / elapsed.Seconds()
}

// steady reports whether the monotonic and the wall clock agree on the time between two samples. They
// differ if this machine slept, which a process elsewhere did not, or if its clock was set.
func steady(monotonic, wall time.Duration) bool {
	return monotonic > 0 && (wall-monotonic).Abs() <= monotonic/10
}

// A row is a line of the terminal: a spark-line, and a text with further figures.
type row struct {
	name  string
	unit  string // of the value, named as in a metric
	value func(*History) float64
	// ceiling is the key of a figure that the full height of the spark-line represents,
	// unless a shown value is larger; "" for none.
	ceiling string
	before  string   // begins the text
	of      string   // unit of the further figures
	more    []string // their names and keys, in turn
}

func figure(key string) func(*History) float64 {
	return func(h *History) float64 { return h.Value(key) }
}

var rows = []row{
	{"heap", ":bytes", figure("/heap/objects:bytes"), "/heap/goal:bytes", "", ":bytes", []string{
		"goal", "/heap/goal:bytes", "live", "/heap/live:bytes", "limit", "/memory/limit:bytes"}},
	{"resident", ":bytes", figure("/memory/resident:bytes"), "", "", ":bytes", []string{
		"most", "/memory/resident-max:bytes", "mapped", "/memory/mapped:bytes", "stacks", "/memory/stacks:bytes"}},
	{"longest pause", ":seconds", figure("/gc/pause/max:seconds"), "", "", ":seconds", []string{
		"p99", "/gc/pause/p99:seconds"}},
	{"GC CPU", ":ratio", gcCPU, "", "of a CPU", ":ratio", []string{"assist", "/gc/cpu/assist:cpu-seconds",
		"dedicated", "/gc/cpu/dedicated:cpu-seconds", "idle", "/gc/cpu/idle:cpu-seconds"}},
	{"GC CPU, total", ":ratio", func(h *History) float64 { return h.Value("/gc/cpu/share:percent") / 100 }, "",
		"of the available CPU time since the start", "", nil},
	{"CPU", ":ratio", figure("/process/cpu:cpu-seconds"), "", "of a CPU", ":count", []string{
		"threads", "/process/threads:threads"}},
	{"allocation", ":bytes/s", figure("/alloc/size:bytes"), "", "", "", nil},
	{"collections", ":count/s", figure("/gc/cycles:gc-cycles"), "", "", ":count/s", []string{
		"forced", "/gc/cycles-forced:gc-cycles"}},
	{"goroutines", ":count", figure("/sched/goroutines:goroutines"), "", "", "", nil},
	{"waiting for a CPU", ":seconds", figure("/sched/latency/p99:seconds"), "", "at p99", ":seconds", []string{
		"longest", "/sched/latency/max:seconds"}},
}

// gcCPU is the collector's CPU time, in CPUs.
func gcCPU(h *History) float64 {
	sum, any := 0.0, false
	for _, kind := range []string{"assist", "dedicated", "idle", "pause"} {
		if v := h.Value("/gc/cpu/" + kind + ":cpu-seconds"); !math.IsNaN(v) {
			sum, any = sum+v, true
		}
	}
	if !any {
		return math.NaN()
	}
	return sum
}

// text returns the row's further figures that exist, each after its name.
func (r *row) text(h *History) string {
	out := r.before
	for i := 0; i < len(r.more); i += 2 {
		if v := h.Value(r.more[i+1]); !math.IsNaN(v) {
			out += "  " + r.more[i] + " " + show(r.of, v)
		}
	}
	return strings.TrimPrefix(out, "  ")
}

// show formats a value of a row.
func show(unit string, v float64) string {
	if unit, ok := strings.CutSuffix(unit, "/s"); ok {
		return text.Format(unit, v) + "/s"
	}
	return text.Format(unit, v)
}

// Screen returns the text for a terminal with the given number of columns: a
// heading, then a line for each row that has a figure.
func (h *History) Screen(source string, columns int) []string {
	lines := []string{text.Shorten(h.heading(source), columns)}
	for i, r := range rows {
		values := h.lines[i]
		if !anyNumber(values) {
			continue
		}
		ceiling := 0.0
		if c := h.Value(r.ceiling); c > 0 {
			ceiling = c
		}
		now := "–"
		if v := values[len(values)-1]; !math.IsNaN(v) {
			now = show(r.unit, v)
		}
		room := min(max(columns-62, 10), sparkWidth)
		line := fmt.Sprintf("%-17s %s %10s  %s", r.name, Spark(values, ceiling, room), now, r.text(h))
		lines = append(lines, strings.TrimRight(text.Shorten(line, columns), " "))
	}
	return lines
}

func (h *History) heading(source string) string {
	p := h.last.Process
	parts := []string{}
	if p.Program != "" {
		parts = append(parts, p.Program)
	}
	if p.PID != 0 {
		parts = append(parts, fmt.Sprintf("pid %d", p.PID))
	}
	if p.Go != "" {
		parts = append(parts, p.Go)
	}
	if p.Procs != 0 {
		parts = append(parts, fmt.Sprintf("GOMAXPROCS %d", p.Procs))
	}
	return text.Clean(strings.Join(append(parts, source, h.last.At.Format(time.TimeOnly)), " · "))
}

// Line returns the newest sample as one line.
func (h *History) Line() string {
	parts := []string{h.last.At.Format(time.TimeOnly)}
	for i, r := range rows {
		values := h.lines[i]
		v := values[len(values)-1]
		if math.IsNaN(v) {
			continue
		}
		part := r.name + " " + show(r.unit, v)
		if more := r.text(h); more != "" {
			part += " (" + strings.ReplaceAll(more, "  ", ", ") + ")"
		}
		parts = append(parts, part)
	}
	return text.Clean(strings.Join(parts, "; "))
}

func anyNumber(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

var bars = []rune("▁▂▃▄▅▆▇█")

// Spark draws the last values, as many as fit the columns, on a scale from 0 to
// the larger of their maximum and ceiling. A missing value is a space.
func Spark(values []float64, ceiling float64, columns int) string {
	if len(values) > columns {
		values = values[len(values)-columns:]
	}
	top := ceiling
	for _, v := range values {
		if v > top && !math.IsInf(v, 1) {
			top = v
		}
	}
	line := make([]rune, columns)
	for i := range line {
		line[i] = ' '
	}
	for i, v := range values {
		at := columns - len(values) + i
		switch {
		case math.IsNaN(v):
		case v >= top && v > 0:
			line[at] = bars[len(bars)-1]
		case v <= 0:
			line[at] = bars[0]
		default:
			line[at] = bars[int(v/top*float64(len(bars)))]
		}
	}
	return string(line)
}

// A Document is a sample as JSON, without NaN and infinite values.
type Document struct {
	Time    time.Time          `json:"time"`
	Process monitor.Process    `json:"process"`
	Source  string             `json:"source"`
	Epoch   int                `json:"epoch"` // counts the watched processes
	Figures map[string]float64 `json:"figures"`
	// Rates are the counters' rates per second since the last sample.
	Rates map[string]float64 `json:"rates"`
}

// Document returns the newest sample.
func (h *History) Document(source string) Document {
	d := Document{Time: h.last.At, Process: h.last.Process, Source: source, Epoch: h.last.Epoch,
		Figures: map[string]float64{}, Rates: map[string]float64{}}
	for i, f := range h.last.Figures {
		if v := h.last.Values[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			d.Figures[f.Key] = v
		}
		if rate := h.Value(f.Key); f.Counter && !math.IsNaN(rate) {
			d.Rates[f.Key] = rate
		}
	}
	return d
}
