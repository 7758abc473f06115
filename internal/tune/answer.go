package tune

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// settingText is a setting as environment variables. What the runtime does by
// itself is left out, unless nothing would remain.
func settingText(c cell.Config) string {
	var parts []string
	if c.GC.Percent != cell.DefaultGC.Percent || c.GC.LimitBytes == 0 && c.GOMAXPROCS == 0 {
		parts = append(parts, "GOGC="+c.GC.GOGC())
	}
	if c.GC.LimitBytes > 0 {
		parts = append(parts, "GOMEMLIMIT="+cell.FormatBytes(c.GC.LimitBytes))
	}
	if c.GOMAXPROCS > 0 {
		parts = append(parts, fmt.Sprintf("GOMAXPROCS=%d", c.GOMAXPROCS))
	}
	return strings.Join(parts, " ")
}

var metricNames = map[string]string{
	cell.WallTime: "wall time", cell.TotalCPU: "CPU time", cell.RSSPeak: "peak memory",
	cell.GCCPUTotal: "GC CPU time", cell.GCPauseTotal: "GC pauses, sum", P99.metric(true): "p99 response",
	P999.metric(true):      "p99.9 response",
	"1/" + cell.Throughput: "time a request",
}

// nameOf is a metric for a person.
func nameOf(metric string) string {
	if name := metricNames[metric]; name != "" {
		return name
	}
	return strings.Replace(metric, cell.FigurePrefix, "", 1)
}

// Write prints the answer on one screen.
func (r *Answer) Write(w io.Writer) error {
	var b strings.Builder
	switch r.Outcome {
	case Recommended:
		fmt.Fprintf(&b, "recommended: %s%s\n", settingText(r.Setting), variantText(r.Variant))
	case DefaultGood:
		fmt.Fprintf(&b, "the default is as good: leave GOGC at 100\n")
	default:
		fmt.Fprintf(&b, "inconclusive: no recommendation\n")
	}
	fmt.Fprintf(&b, "  %s (objective %s, %d runs of %.1f s in all)\n", r.Reason, r.Objective, r.Runs, r.Seconds)
	for _, d := range r.Doubts {
		fmt.Fprintf(&b, "  doubt: %s\n", d)
	}
	r.writeGains(&b)
	r.writeRace(&b)
	r.writeFrontier(&b)
	if r.CliffBytes > 0 {
		fmt.Fprintf(&b, "\ncliff: a GOMEMLIMIT below about %s makes collection take nearly half of the CPU time, and the "+
			"program crawl", bytesText(float64(r.CliffBytes)))
		if limit := r.Setting.GC.LimitBytes; limit > 0 {
			fmt.Fprintf(&b, "; the limit here is %.1f times that", float64(limit)/float64(r.CliffBytes))
		} else if peak := r.Expected.PeakBytes.Mid; peak > 0 {
			fmt.Fprintf(&b, "; this setting peaks at %.1f times that", peak/float64(r.CliffBytes))
		}
		b.WriteString("\n")
	}
	if r.Outcome == Recommended {
		r.writeApply(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func variantText(name string) string {
	if name == "" {
		return ""
	}
	return ", built with the collector " + name
}

func (r *Answer) writeGains(b *strings.Builder) {
	if len(r.Gains) == 0 {
		return
	}
	fmt.Fprintf(b, "\nmeasured in %d fresh paired rounds, %s against the default:\n", r.Gains[0].Pairs,
		settingText(r.Setting))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tdefault\ttuned\tratio\tinterval\tequal runs\t")
	for _, g := range r.Gains {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%.3f\t[%.3f, %.3f]\t%.3f\t%s\n", nameOf(g.Metric), valueText(g.Metric, g.Default),
			valueText(g.Metric, g.Tuned),
			g.Ratio.Mid, g.Ratio.Lo, g.Ratio.Hi, g.Floor, g.Verdict)
	}
	t.Flush()
}

// writeRace shows what was measured of an objective that is not predicted.
func (r *Answer) writeRace(b *strings.Builder) {
	first := true
	for _, c := range r.Candidates {
		if c.Cost == nil {
			continue
		}
		if first {
			fmt.Fprintf(b, "\nmeasured in rounds: %s as a ratio to the default\n",
				nameOf(r.Objective.costName(isServed(r.Base))))
			first = false
		}
		line := fmt.Sprintf("  %-14s %.3f [%.3f, %.3f]  %s", c.GC, c.Cost.Mid, c.Cost.Lo, c.Cost.Hi, c.Out)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// frontierRows is how many settings of the frontier an answer shows, beside the
// default and the setting chosen.
const frontierRows = 7

// shown are the predictions to print, by ascending memory: some of the frontier
// from end to end, the default and the setting chosen.
func (r *Answer) shown() []Prediction {
	var out []Prediction
	for i, p := range r.Frontier {
		if n := len(r.Frontier) - 1; i*(frontierRows-1)/max(n, 1) != (i-1)*(frontierRows-1)/max(n, 1) || i == 0 {
			out = append(out, p)
		}
	}
	for _, p := range r.Predicted {
		known := slices.ContainsFunc(out, func(other Prediction) bool { return other.GC == p.GC })
		if !known && (p.GC == r.Base.GC || p.GC == r.Setting.GC) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Prediction) int { return cmp.Compare(a.PeakBytes.Mid, b.PeakBytes.Mid) })
	return out
}

func (r *Answer) writeFrontier(b *strings.Builder) {
	shown := r.shown()
	if len(shown) == 0 {
		return
	}
	b.WriteString("\npredicted, with 90 % intervals: what CPU time costs in memory\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  GOGC[:GOMEMLIMIT]\tpeak memory\tCPU time\twall time\tGC share of CPU\t")
	for _, p := range shown {
		var marks []string
		if !r.OnFrontier(p.GC) {
			marks = append(marks, "not on the frontier")
		}
		if r.Unsure(p) {
			marks = append(marks, "unsure")
		} else if len(p.MemoryDoubts) > 0 {
			marks = append(marks, "memory unsure")
		}
		fmt.Fprintf(t, "  %s\t%s [%s, %s]\t%.2f s [%.2f, %.2f]\t%.2f s [%.2f, %.2f]\t%.1f %% [%.1f, %.1f]\t%s\n", p.GC,
			bytesText(p.PeakBytes.Mid), bytesText(p.PeakBytes.Lo), bytesText(p.PeakBytes.Hi), p.CPU.Mid, p.CPU.Lo, p.CPU.Hi,
			p.Wall.Mid, p.Wall.Lo, p.Wall.Hi, 100*p.GCShare.Mid, 100*p.GCShare.Lo, 100*p.GCShare.Hi, strings.Join(marks, ", "))
	}
	t.Flush()
	fmt.Fprintf(b, "  %d of %d predicted settings are on the frontier: no other needs less of both (the report and "+
		"--json have all)\n", len(r.Frontier), len(r.Predicted))
}

// writeApply says how to put the setting into force.
func (r *Answer) writeApply(b *strings.Builder) {
	c := r.Setting
	env := strings.Fields(settingText(c))
	fmt.Fprintf(b, "\napply\n  shell       %s COMMAND\n", strings.Join(env, " "))
	fmt.Fprintf(b, "  systemd     Environment=%s\n", strings.Join(env, " "))
	fmt.Fprintf(b, "  Dockerfile  ENV %s\n", strings.Join(env, " "))
	b.WriteString("  Kubernetes  env:")
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if name == "GOMEMLIMIT" {
			b.WriteString(" [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]")
			continue
		}
		fmt.Fprintf(b, " [{name: %s, value: %q}]", name, value)
	}
	b.WriteString("\n")
	if c.GC.LimitBytes > 0 {
		b.WriteString("              (the downward API gives the whole limit of the container: set that about a tenth " +
			"above the GOMEMLIMIT measured here)\n")
	}
	if c.GC.Percent > 0 {
		fmt.Fprintf(b, "  in Go       gcctl.Start(gcctl.Config{Mode: gcctl.Percent(%d)})\n", c.GC.Percent)
	} else if c.GC.LimitBytes > 0 {
		fmt.Fprintf(b, "  in Go       gcctl.Start(gcctl.Config{Mode: gcctl.Off, LimitBytes: %d})\n", c.GC.LimitBytes)
	}
}

func valueText(metric string, v float64) string {
	unit := cell.Unit(metric)
	switch {
	case unit == "bytes":
		return bytesText(v)
	case unit == "ns":
		return time.Duration(v).Round(10 * time.Microsecond).String()
	case unit != "seconds":
		return fmt.Sprintf("%.4g", v)
	case math.Abs(v) < 0.1:
		return fmt.Sprintf("%.1f ms", 1000*v)
	}
	return fmt.Sprintf("%.2f s", v)
}

func bytesText(v float64) string {
	if v >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", v/mib)
}
