package page

import (
	"fmt"
	"strconv"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/show/plot"
	"github.com/isobar-go/isobar/internal/show/text"
)

// maxCollections bounds the rows of a table of collections.
const maxCollections = 200

var collectionHead = []string{"collection", "kind", "began at", "GC CPU so far", "sweep termination", "marking",
	"mark termination", "pause",
	"heap before", "at mark termination", "live", "goal", "stacks", "globals", "assist CPU", "dedicated CPU", "idle CPU",
	"CPU of pauses", "Ps"}

// collectionsOf lists the record's collections that began within part of its time; nil if
// the record has no collections.
func collectionsOf(s *text.Section, rec *cell.Record, part plot.Stretch) *detail {
	if len(rec.Cycles) == 0 {
		return nil
	}
	h := &detail{Table: &text.Table{Label: "Table of collections", Left: 2, Head: collectionHead}}
	whole, processes, listed := plot.Whole(rec), false, 0
	for _, c := range rec.Cycles {
		processes = processes || c.Stream != rec.Cycles[0].Stream
	}
	for i, c := range rec.Cycles {
		if part != whole && !part.Has(c.AtNs) {
			continue
		}
		if listed++; listed <= maxCollections {
			h.Table.Add(collectionCells(s, c, i, processes)...)
		}
	}
	h.Note = "From the gctrace lines. Sizes are whole MiB, rounded down; assists, dedicated and idle workers are " +
		"marking's CPU time, over all CPUs; both terminations stop the world."
	if part != whole {
		h.Note += fmt.Sprintf(" From %s to %s.", text.Duration(part.From), text.Duration(part.To))
	}
	if listed > maxCollections {
		h.Note += fmt.Sprintf(" The first %d; %d more are in the record.", maxCollections, listed-maxCollections)
	}
	if more := int(rec.Metrics[cell.GCCycles]) - len(rec.Cycles); more > 0 {
		h.Note += fmt.Sprintf(" The record lists the first %d collections; there were %d more.", len(rec.Cycles), more)
	}
	return h
}

// collectionCells is the row of the i-th collection. Fields that old records lack are shown as absent.
func collectionCells(s *text.Section, c cell.Cycle, i int, processes bool) []string {
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
			return text.Absent
		}
		return s.Format(metric, float64(v))
	}
	share := text.Absent
	if full {
		share = fmt.Sprintf("%d %%", c.Percent)
	}
	return []string{name, kind, s.Format(":ns", float64(c.AtNs)), share,
		known(full, ":ns", c.SweepNs), s.Format(":ns", float64(c.MarkNs)), known(full, ":ns", c.TerminationNs),
		known(full, ":ns", c.PauseNs()),
		s.Format(":bytes", float64(c.StartBytes)), s.Format(":bytes", float64(c.EndBytes)),
		s.Format(":bytes", float64(c.LiveBytes)), known(c.GoalBytes > 0, ":bytes", c.GoalBytes),
		s.Format(":bytes", float64(c.StackBytes)), s.Format(":bytes", float64(c.GlobalBytes)),
		known(full, ":ns", c.AssistNs), known(full, ":ns", c.DedicatedNs), s.Format(":ns", float64(c.IdleNs)),
		known(full, ":ns", c.PauseCPUNs()),
		strconv.Itoa(c.Procs)}
}
