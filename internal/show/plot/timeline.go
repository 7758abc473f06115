package plot

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/text"
)

// A Stretch is a part of a record's timeline, in nanoseconds.
type Stretch struct{ From, To float64 }

// Whole returns all of a record's timeline.
func Whole(rec *cell.Record) Stretch {
	all := Stretch{0, 1}
	for _, at := range rec.Timeline.AtNs {
		all.To = max(all.To, float64(at))
	}
	if len(rec.Timeline.AtNs) == 0 {
		for _, p := range rec.Pauses {
			all.To = max(all.To, float64(p.AtNs))
		}
	}
	return all
}

// Within returns the part of s from one moment to another, or all of s if the part is
// shorter than 1 µs. A to of 0 is the end of s.
func (s Stretch) Within(from, to time.Duration) Stretch {
	part := Stretch{max(s.From, float64(from)), s.To}
	if to > 0 {
		part.To = min(s.To, float64(to))
	}
	if part.To-part.From < 1e3 {
		return s
	}
	return part
}

func (s Stretch) Has(at int64) bool { return float64(at) >= s.From && float64(at) <= s.To }

// axis is the time axis of a drawing.
func (s Stretch) axis(f frame) scale {
	return scale{metric: ":ns", lo: s.From, hi: s.To, from: f.left, to: f.right}
}

// heapChart draws the heap of one record over part of its time, its goal, and
// the pauses as ticks on the lower axis.
func heapChart(id, name string, rec *cell.Record, part Stretch) template.HTML {
	line := rec.Timeline
	f := frame{left: 72, top: 10, right: 464, bottom: 160}
	var at, heap []int64
	var goals []float64
	top := 0.0
	for i := range line.AtNs {
		if part.Has(line.AtNs[i]) {
			at, heap, goals = append(at, line.AtNs[i]), append(heap, line.HeapBytes[i]), append(goals, goalAt(line, i))
			top = max(top, float64(line.HeapBytes[i]), goalAt(line, i))
		}
	}
	d := newDrawing(id, "Heap over time, "+name, fmt.Sprintf("%s over %s, reaching %s.", heapText(rec),
		text.Duration(part.To-part.From), text.Bytes(top)), 186)
	x, y := part.axis(f), linearScale(":bytes", top, f.bottom, f.top)
	d.vertical(f, y, y.ticks(4))
	d.horizontal(f, x, x.ticks(5), nil)
	var heapLine, goalLine []point
	for _, i := range thin(heap, 320) {
		left := x.at(float64(at[i]))
		heapLine = append(heapLine, point{left, y.at(float64(heap[i]))})
		if goals[i] > 0 {
			goalLine = append(goalLine, point{left, y.at(goals[i])})
		}
	}
	d.area("heap-area", heapLine, f.bottom)
	d.curve("heap", heapLine)
	d.curve("goal", goalLine)
	last := math.Inf(-1)
	for _, p := range rec.Pauses {
		// Ticks that would touch become one.
		if left := x.at(float64(p.AtNs)); part.Has(p.AtNs) && left-last >= 2 {
			d.line("pause", left, f.bottom-9, left, f.bottom)
			last = left
		}
	}
	return d.done()
}

func goalAt(line cell.Timeline, i int) float64 {
	if i < len(line.GoalBytes) && line.GoalBytes[i] < cell.NoGoal {
		return float64(line.GoalBytes[i])
	}
	return 0
}

// heapText summarizes what the collector did in a record.
func heapText(rec *cell.Record) string {
	longest := int64(0)
	for _, p := range rec.Pauses {
		longest = max(longest, p.Ns)
	}
	words := text.Plural(int(rec.Metrics[cell.GCCycles]), "GC cycle")
	if len(rec.Pauses) > 0 {
		words += fmt.Sprintf(", %s, longest %s", text.Plural(len(rec.Pauses), "pause"), text.Duration(float64(longest)))
	}
	return words
}

// thin returns at most n indexes into values. It keeps the least and the
// greatest value of every stretch, so the teeth of a saw survive.
func thin(values []int64, n int) []int {
	var out []int
	if len(values) <= n {
		for i := range values {
			out = append(out, i)
		}
		return out
	}
	stretches := n / 2
	for k := range stretches {
		from, to := k*len(values)/stretches, (k+1)*len(values)/stretches
		least, most := from, from
		for i := from; i < to; i++ {
			if values[i] < values[least] {
				least = i
			}
			if values[i] > values[most] {
				most = i
			}
		}
		out = append(out, min(least, most))
		if least != most {
			out = append(out, max(least, most))
		}
	}
	return out
}
