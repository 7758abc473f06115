package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// names of metrics in the page.
var names = map[string]string{cpu: "CPU a request", tail: "p99.9 response time", memory: "peak memory", "/op/time:ns": "time"}

// page measures the rows that are chosen, then writes the page of all.
func (l *lab) page(out io.Writer, chosen *regexp.Regexp) error {
	needed := append(append([]row(nil), rows...), plain, work)
	for _, r := range needed {
		if chosen.MatchString(r.name) {
			if err := l.measure(r); err != nil {
				return err
			}
		}
	}
	all := make([]*result, len(needed))
	for i, r := range needed {
		var err error
		if all[i], err = l.read(r); err != nil {
			return err
		}
	}
	table, plaintext, memoryWork := all[:len(rows)], all[len(rows)], all[len(rows)+1]
	fmt.Fprintf(out, "# Which request memory for which service\n\n")
	fmt.Fprintf(out, "Written by `cd bench && go run ./cmd/modes -out ../docs/results/http11-modes.md`, on %s.\n", table[0].machine)
	fmt.Fprintf(out, "Server and load are processes of one machine. The figures are of the server's process, response times are what the load saw.\n")
	fmt.Fprintf(out, "%d blocks a row; medians, ratios to %s paired by block with their 95 %% interval. A verdict needs an interval\n", len(table[0].groups[modes[0]].Series[cpu].Values), modes[0])
	fmt.Fprintf(out, "without 1, a rank test, and an effect beyond what equal configurations differed by in that run.\n\n")
	fmt.Fprintf(out, "| service | what counts | measured best | how sure |\n| --- | --- | --- | --- |\n")
	for _, r := range table {
		best, sure := r.choice()
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", r.row.title, list(r.row.metrics), best, sure)
	}
	writeShare(out, plaintext, memoryWork)
	for _, r := range append(table, plaintext) {
		writeRow(out, r)
	}
	return nil
}

// choice is the mode to take, and why.
func (r *result) choice() (best, sure string) {
	candidates, decided := r.best()
	if len(decided) == 0 {
		return "any", "no difference shown: " + strings.Join(r.spans(), ", ")
	}
	var why []string
	for _, metric := range decided {
		for _, loser := range modes {
			if c := r.compare(candidates[0], loser, metric); c.Verdict == stat.Worse {
				why = append(why, fmt.Sprintf("%s takes %.3gx the %s of %s [%.3g, %.3g], p = %.2g", loser, c.Ratio, names[metric], candidates[0], c.Lo, c.Hi, c.P))
			}
		}
	}
	return strings.Join(candidates, " or "), strings.Join(why, "; ")
}

// spans says within what the modes are, by the intervals of their ratios.
func (r *result) spans() (spans []string) {
	for _, metric := range r.row.metrics {
		lo, hi := math.Inf(1), 0.0
		for _, mode := range modes[1:] {
			c := r.compare(modes[0], mode, metric)
			lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		}
		spans = append(spans, fmt.Sprintf("%s within %.2f to %.2f of %s", names[metric], lo, hi, modes[0]))
	}
	return spans
}

// writeShare says what part of a request its memory is.
func writeShare(out io.Writer, plaintext, work *result) {
	metric := work.row.metrics[0]
	lo, hi := math.Inf(1), 0.0
	var each []string
	for _, mode := range modes {
		v := work.summary(mode, metric).Median
		lo, hi = min(lo, v), max(hi, v)
		each = append(each, fmt.Sprintf("%s %.0f ns", mode, v))
	}
	request := plaintext.summary(modes[0], cpu).Median
	fmt.Fprintf(out, "\n**On plaintext the choice hardly shows.** Memory for the 8 headers and 512 bytes of a request, filled and read (`isobar %s`), takes %s;\n",
		strings.Join(work.row.args(10), " "), strings.Join(each, ", "))
	fmt.Fprintf(out, "a whole request over loopback takes %.1f µs of the server's CPU time. The modes are %.0f ns apart, %.1f %% of a request. What they are for is the\n", request/1000, hi-lo, (hi-lo)/request*100)
	fmt.Fprintf(out, "collector's work, memory, and safety: take the one whose contract suits the handlers, unless a row above says otherwise.\n")
}

func writeRow(out io.Writer, r *result) {
	fmt.Fprintf(out, "\n## %s\n\n%s.\n\n```sh\nisobar %s\n```\n\n", strings.ToUpper(r.row.title[:1])+r.row.title[1:], r.row.about, strings.Join(r.row.args(10), " "))
	fmt.Fprintf(out, "| | %s |", modes[0])
	for _, mode := range modes[1:] {
		fmt.Fprintf(out, " %s | ratio | verdict |", mode)
	}
	fmt.Fprintf(out, " noise floor |\n| --- | ---: |%s ---: |\n", strings.Repeat(" ---: | --- | --- |", len(modes)-1))
	for _, metric := range r.row.metrics {
		fmt.Fprintf(out, "| %s | %s |", names[metric], figure(metric, r.summary(modes[0], metric)))
		for _, mode := range modes[1:] {
			c := r.compare(modes[0], mode, metric)
			fmt.Fprintf(out, " %s | %.3g [%.3g, %.3g] | %s |", figure(metric, r.summary(mode, metric)), c.Ratio, c.Lo, c.Hi, c.Verdict)
		}
		fmt.Fprintf(out, " %.3g |\n", max(r.floor[metric], 1))
	}
}

func figure(metric string, s stat.Summary) string {
	switch metric {
	case cpu:
		return fmt.Sprintf("%.1f µs", s.Median/1e3)
	case tail:
		return fmt.Sprintf("%.2f ms", s.Median/1e6)
	}
	return fmt.Sprintf("%.1f MB", s.Median/1e6)
}

func list(metrics []string) string {
	var all []string
	for _, m := range metrics {
		all = append(all, names[m])
	}
	return strings.Join(all, ", then ")
}
