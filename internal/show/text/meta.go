// Package text shows an analysis in words: on a terminal, as Markdown, as JSON.
//
// [Report] prints all measurements as tables, [Summary] the single screen after a run, [Comparisons]
// the comparison of two runs. [JSON] and [ComparisonsJSON] write documents with a stable schema (see
// [Document]). [Sections] arranges an analysis; plots and pages show the same sections.
//
// A figure is the median over the repetitions; "±" is the larger side of its
// confidence interval in percent. "*" marks an interval that is only the range,
// because there were too few repetitions. Latency percentiles come from the
// merged histograms; their "±" comes from the percentiles of the single
// repetitions. Verdicts and findings come from the analysis, never from here.
//
// Every name, parameter, command and message is user text: control characters
// are made visible. Not-a-number is shown as "–" and is null in JSON.
//
// The functions are pure: they read no clock, no environment and no file, and
// may be called from several goroutines as long as nobody changes the analysis.
package text

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Style says how to print to a terminal or a pipe.
type Style struct {
	Color bool
	Width int // columns; below 40 means 80
}

func (s Style) width() int {
	if s.Width < 40 {
		return 80
	}
	return s.Width
}

// RunName is the name of the run in headings.
func RunName(r cell.Run) string {
	name := "Isobar run"
	if r.ID != 0 {
		name = fmt.Sprintf("Isobar run %d", r.ID)
	}
	if r.Name != "" {
		name += ": " + Clean(r.Name)
	}
	return name
}

// RunProgress says how much of the plan is done.
func RunProgress(r cell.Run) string {
	s := fmt.Sprintf("%d of %d cells finished", r.Finished, r.Total)
	if r.Failed > 0 {
		s += fmt.Sprintf(", %d failed", r.Failed)
	}
	return s
}

// RunWhen returns the start of the run, "" if unknown.
func RunWhen(r cell.Run) string {
	if r.Created.IsZero() {
		return ""
	}
	return r.Created.UTC().Format("2006-01-02 15:04 UTC")
}

// MachineLine describes the machine in one line, without unknown facts.
func MachineLine(m cell.Machine) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, Clean(s))
		}
	}
	if m.OS != "" || m.Arch != "" {
		add(m.OS + "/" + m.Arch)
	}
	add(m.CPU)
	if m.CPUs > 0 {
		add(Plural(m.CPUs, "CPU"))
	}
	if m.CPUQuota > 0 {
		add(fmt.Sprintf("limited to %.3g CPUs", m.CPUQuota))
	}
	if m.MemoryBytes > 0 {
		add(Bytes(float64(m.MemoryBytes)) + " memory")
	}
	add(m.GoVersion)
	return strings.Join(parts, ", ")
}
