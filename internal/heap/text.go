package heap

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A View limits what Write shows.
type View struct {
	Lines int     // of each table
	Share float64 // least share of the live heap that a holder has
}

// Write prints a report for a terminal.
func (r *Report) Write(out io.Writer, v View) error {
	w := bufio.NewWriter(out)
	r.writeHead(w)
	r.writeHolders(w, v)
	r.writeTypes(w, v.Lines)
	r.writeGoroutines(w, v.Lines)
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "\nnote: %s\n", text.Clean(warning))
	}
	return w.Flush()
}

func (r *Report) writeHead(w io.Writer) {
	fmt.Fprintf(w, "%s: %s, %s\n", text.Clean(r.Target), text.Clean(r.Program), r.Go)
	for _, f := range r.facts() {
		fmt.Fprintf(w, "%-12s %s\n", strings.ToLower(f.Name), f.Value)
	}
}

// stopped says for how long the process was stopped, and why.
func (r *Report) stopped() string {
	way := "to copy"
	if r.Forked {
		way = "to fork, and read the fork:"
	}
	return fmt.Sprintf("for %s, %s %s", text.Duration(float64(r.Stop)), way, size(r.Copied))
}

func count(n uint64) string { return text.Count(float64(n)) }

func (r *Report) writeHolders(w io.Writer, v View) {
	all := r.Holders(v.Share)
	fmt.Fprintf(w, "\n%10s %6s %6s %6s %9s  holder\n", "retained", "live", "mark", "CPU", "objects")
	for i, h := range all {
		if i == v.Lines {
			fmt.Fprintf(w, "%41s  and %d more: --lines\n", "", len(all)-v.Lines)
			break
		}
		cpu := ""
		if h.CPU > 0 {
			cpu = fmt.Sprintf("%.1f %%", 100*h.CPU)
		}
		fmt.Fprintf(w, "%10s %4.0f %% %4.0f %% %6s %9s  %s", size(h.Retained), 100*h.Live, 100*h.Mark, cpu,
			count(h.Objects), clean(h.Path))
		if h.Type != "" {
			fmt.Fprintf(w, "  %s", clean(h.Type))
		}
		fmt.Fprintf(w, "\n")
		indent := strings.Repeat(" ", 43)
		if h.Mostly != "" {
			fmt.Fprintf(w, "%smostly %s\n", indent, clean(h.Mostly))
		}
		if h.Unused > h.Retained/20 {
			fmt.Fprintf(w, "%s%s of it unused\n", indent, size(h.Unused))
		}
		if h.Duplicates > h.Retained/20 {
			fmt.Fprintf(w, "%s%s of it strings that others hold as well\n", indent, size(h.Duplicates))
		}
		if h.Remedy != "" {
			fmt.Fprintf(w, "%s%s", indent, h.Remedy)
			if s := h.saves(); s != "" {
				fmt.Fprintf(w, " (%s)", s)
			}
			fmt.Fprintf(w, "\n")
		}
	}
	if rest := r.below(v.Share); share(rest, r.Live) > v.Share {
		fmt.Fprintf(w, "%10s %4.0f %% %25s  what holds less than %.3g %% each: --share\n", size(rest),
			100*share(rest, r.Live), "", 100*v.Share)
	} else if len(all) == 0 {
		fmt.Fprintf(w, "no path holds enough: lower --share\n")
	}
}

// clean makes a name from the target printable. A path's end says most: a long one lacks its middle.
func clean(s string) string {
	s = text.Clean(s)
	if r := []rune(s); len(r) > 300 {
		s = string(r[:100]) + "…" + string(r[len(r)-199:])
	}
	return s
}

func (r *Report) writeTypes(w io.Writer, lines int) {
	fmt.Fprintf(w, "\n%10s %10s %9s  type\n", "bytes", "retained", "objects")
	for _, t := range r.Types[:min(lines, len(r.Types))] {
		fmt.Fprintf(w, "%10s %10s %9s  %s\n", size(t.Bytes), size(t.Retained), count(t.Objects), clean(t.Name))
	}
}

func (r *Report) writeGoroutines(w io.Writer, lines int) {
	if s := r.forever(); s != "" {
		fmt.Fprintf(w, "\n%s\n", s)
	}
	fmt.Fprintf(w, "\n%10s %10s %9s  goroutines, and where they are\n", "retained", "stacks", "count")
	for _, g := range r.Goroutines[:min(lines, len(r.Goroutines))] {
		fmt.Fprintf(w, "%10s %10s %9d  %s, in %s\n", size(g.Retained), size(g.Stacks), g.Count, clean(g.Start),
			clean(g.In))
		if wait := g.waits(); wait != "" {
			fmt.Fprintf(w, "%33s%s\n", "", wait)
		}
		if g.Forever {
			fmt.Fprintf(w, "%33sgo statement in %s\n", "", clean(g.Created))
		}
	}
}
