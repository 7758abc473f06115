package report

import (
	"fmt"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Traced is a configuration whose collections the report lists one by one, as
// one of its runs traced them.
type Traced struct {
	Name string // such as "the default"
	Key  string // of the configuration
}

// maxCollections bounds the rows of a table of collections.
const maxCollections = 200

// An htmlCollections is the collections of one record.
type htmlCollections struct {
	Title, Note string
	Table       *htmlTable // nil for none
}

var collectionHead = []string{"collection", "kind", "began at", "GC CPU so far", "sweep termination", "marking", "mark termination", "pause",
	"heap before", "at mark termination", "live", "goal", "stacks", "globals", "assist CPU", "dedicated CPU", "idle CPU", "CPU of pauses", "Ps"}

// collectionsOf lists the collections of a record that began in a stretch of
// its time; nil if the record has none.
func (s *section) collectionsOf(rec *cell.Record, label string, part stretch) *htmlCollections {
	if len(rec.Cycles) == 0 {
		return nil
	}
	h := &htmlCollections{Table: &htmlTable{Label: label, Left: 2, Head: collectionHead}}
	whole, processes, listed := wholeOf(rec), false, 0
	for _, c := range rec.Cycles {
		processes = processes || c.Stream != rec.Cycles[0].Stream
	}
	for i, c := range rec.Cycles {
		if part != whole && !part.has(c.AtNs) {
			continue
		}
		if listed++; listed <= maxCollections {
			h.Table.add(s.collectionCells(c, i, processes)...)
		}
	}
	h.Note = "What the gctrace lines say. Sizes are whole MiB, rounded down; assists, dedicated and idle workers are CPU time of marking, over all CPUs; the world stands still during both terminations."
	if part != whole {
		h.Note += fmt.Sprintf(" From %s to %s.", durationText(part.from), durationText(part.to))
	}
	if listed > maxCollections {
		h.Note += fmt.Sprintf(" The first %d; %d more are in the record.", maxCollections, listed-maxCollections)
	}
	if more := int(rec.Metrics[cell.GCCycles]) - len(rec.Cycles); more > 0 {
		h.Note += fmt.Sprintf(" The record lists the first %d collections; there were %d more.", len(rec.Cycles), more)
	}
	return h
}

// collectionCells is the row of the i-th collection listed. What records did
// not keep in the past, when they did not number collections either, is absent.
func (s *section) collectionCells(c cell.Cycle, i int, processes bool) []string {
	kind := "automatic"
	if c.Forced {
		kind = "forced"
	}
	if c.Leaks {
		kind += ", leak check"
	}
	full := c.N > 0
	name := strconv.Itoa(i + 1)
	if full {
		name = strconv.FormatUint(c.N, 10)
	}
	if processes {
		name = fmt.Sprintf("%s of process %d", name, c.Stream+1)
	}
	known := func(known bool, metric string, v int64) string {
		if !known {
			return absent
		}
		return s.format(metric, float64(v))
	}
	share := absent
	if full {
		share = fmt.Sprintf("%d %%", c.Percent)
	}
	return []string{name, kind, s.format(":ns", float64(c.AtNs)), share,
		known(full, ":ns", c.SweepNs), s.format(":ns", float64(c.MarkNs)), known(full, ":ns", c.TerminationNs), known(full, ":ns", c.SweepNs+c.TerminationNs),
		s.format(":bytes", float64(c.StartBytes)), s.format(":bytes", float64(c.EndBytes)), s.format(":bytes", float64(c.LiveBytes)), known(c.GoalBytes > 0, ":bytes", c.GoalBytes),
		s.format(":bytes", float64(c.StackBytes)), s.format(":bytes", float64(c.GlobalBytes)),
		known(full, ":ns", c.AssistNs), known(full, ":ns", c.DedicatedNs), s.format(":ns", float64(c.IdleNs)), known(full, ":ns", c.CPUNs-c.AssistNs-c.DedicatedNs),
		strconv.Itoa(c.Procs)}
}

// collections are the tables of those configurations that are rows of the
// section: of the repetition that is nearest to the median.
func (s *section) collections(traced []Traced) []htmlCollections {
	var out []htmlCollections
	for _, t := range traced {
		for _, r := range s.rows {
			rec := r.representative(s.primary())
			if r.Key != t.Key || rec == nil {
				continue
			}
			title := fmt.Sprintf("Collections under %s: %s, repetition %d", clean(t.Name), r.label, rec.Cell.Block+1)
			h := s.collectionsOf(rec, title+", "+s.name, wholeOf(rec))
			if h == nil && rec.Metrics[cell.GCCycles] == 0 {
				h = &htmlCollections{Note: "There was none."}
			}
			if h != nil {
				h.Title = title
				h.Note += " One repetition, the one nearest to the median."
				out = append(out, *h)
			}
		}
	}
	return out
}
