package heap

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A View bounds what Write shows.
type View struct {
	Lines int     // of each table
	Share float64 // of the live heap that a holder has at least
}

// Write prints a report for a terminal.
func (r *Report) Write(out io.Writer, v View) error {
	w := &writer{out: out}
	w.head(r)
	w.holders(r.Holders(v.Share), v.Lines)
	w.types(r, v.Lines)
	w.goroutines(r, v.Lines)
	for _, warning := range r.Warnings {
		w.printf("\nnote: %s\n", text.Clean(warning))
	}
	return w.err
}

type writer struct {
	out io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

func (w *writer) head(r *Report) {
	w.printf("%s: %s, %s\n", text.Clean(r.Target), text.Clean(r.Program), r.Go)
	w.printf("live %s in %s objects; marking reads %s and follows %s pointers; type unknown %.1f %%\n",
		size(r.Live), count(r.Objects), size(r.ScanBytes), count(r.Pointers), 100*share(r.Untyped, r.Live))
	w.printf("of what is live %s is unused: capacity, what slices and strings have left, room of maps\n", size(r.Unused))
	w.printf("garbage not collected yet %s, free slots %s, stacks %s\n", size(r.Garbage), size(r.Spans.Free),
		size(r.Spans.Stacks))
	if s := r.Collector.String(); s != "" {
		w.printf("collections %s\n", s)
	}
	if r.Duplicates > 0 {
		w.printf("strings that others hold as well: %s\n", size(r.Duplicates))
	}
	if r.Stop > 0 {
		w.printf("stopped %s\n", r.stopped())
	}
}

// stopped says for how long the process stood still, and what for.
func (r *Report) stopped() string {
	way := "to copy"
	if r.Forked {
		way = "to fork, and read the fork:"
	}
	return fmt.Sprintf("for %v, %s %s", r.Stop.Round(10*time.Microsecond), way, size(r.Copied))
}

func count(n uint64) string { return text.Count(float64(n)) }

func (w *writer) holders(all []Holder, lines int) {
	w.printf("\n%10s %6s %6s %6s %9s  holder\n", "retained", "live", "mark", "CPU", "objects")
	for i, h := range all {
		if i == lines {
			w.printf("%41s  and %d more: --lines\n", "", len(all)-lines)
			break
		}
		cpu := ""
		if h.CPU > 0 {
			cpu = fmt.Sprintf("%.1f %%", 100*h.CPU)
		}
		w.printf("%10s %4.0f %% %4.0f %% %6s %9s  %s", size(h.Retained), 100*h.Live, 100*h.Mark, cpu, count(h.Objects),
			clean(h.Path))
		if h.Type != "" {
			w.printf("  %s", clean(h.Type))
		}
		w.printf("\n")
		indent := strings.Repeat(" ", 43)
		if h.Mostly != "" {
			w.printf("%smostly %s\n", indent, clean(h.Mostly))
		}
		if h.Unused > h.Retained/20 {
			w.printf("%s%s of it unused\n", indent, size(h.Unused))
		}
		if h.Duplicates > h.Retained/20 {
			w.printf("%s%s of it strings that others hold as well\n", indent, size(h.Duplicates))
		}
		if h.Remedy != "" {
			w.printf("%s%s", indent, h.Remedy)
			if s := h.saves(); s != "" {
				w.printf(" (%s)", s)
			}
			w.printf("\n")
		}
	}
	if len(all) == 0 {
		w.printf("no path holds enough: lower --share\n")
	}
}

// clean makes the target's names fit to print.
func clean(s string) string { return text.Shorten(text.Clean(s), 300) }

func (w *writer) types(r *Report, lines int) {
	w.printf("\n%10s %10s %9s  type\n", "bytes", "retained", "objects")
	for _, t := range r.Types[:min(lines, len(r.Types))] {
		w.printf("%10s %10s %9s  %s\n", size(t.Bytes), size(t.Retained), count(t.Objects), clean(t.Name))
	}
}

func (w *writer) goroutines(r *Report, lines int) {
	if s := r.forever(); s != "" {
		w.printf("\n%s\n", s)
	}
	w.printf("\n%10s %10s %9s  goroutines, where they stand\n", "retained", "stacks", "count")
	for _, g := range r.Goroutines[:min(lines, len(r.Goroutines))] {
		w.printf("%10s %10s %9d  %s, in %s\n", size(g.Retained), size(g.Stacks), g.Count, clean(g.Start), clean(g.In))
		if wait := g.waits(); wait != "" {
			w.printf("%33s%s\n", "", wait)
		}
		if g.Forever {
			w.printf("%33sgo statement in %s\n", "", clean(g.Created))
		}
	}
}
