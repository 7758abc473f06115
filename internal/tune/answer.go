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
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/show/text"
)

// settingText formats a setting as environment variables. It leaves out defaults of the runtime,
// unless nothing else would remain.
func settingText(c cell.Config) string {
	var parts []string
	if c.GC.Percent != cell.DefaultGC.Percent || c.GC.LimitBytes > 0 || c.GOMAXPROCS == 0 {
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

// toSet formats the variables to set; it turns off a GOMEMLIMIT of today that would otherwise stay.
func (r *Answer) toSet() string {
	c := r.Applied()
	if r.Base.GC.LimitBytes > 0 && c.GC.LimitBytes == 0 {
		return settingText(c) + " GOMEMLIMIT=off"
	}
	return settingText(c)
}

var metricNames = map[string]string{
	cell.WallTime: "wall time", cell.TotalCPU: "CPU time", cell.RSSPeak: "peak memory",
	cell.GCCPUTotal: "GC CPU time", cell.GCPauseTotal: "GC pauses, sum", P99.metric(true): "p99 response",
	P999.metric(true):      "p99.9 response",
	"1/" + cell.Throughput: "time a request",
}

// nameOf returns the name of a metric for people.
func nameOf(metric string) string {
	if name := metricNames[metric]; name != "" {
		return name
	}
	return strings.Replace(metric, cell.FigurePrefix, "", 1)
}

// less formats how far a ratio lies below or above 1, with its interval: in percent, or as a
// factor if the interval runs from below 1 to above 2.
func less(i Interval, what string) string {
	if i.Lo < 1 && i.Hi > 2 {
		return fmt.Sprintf("between %.2g and %s times the %s", i.Lo, digits(i.Hi, 2), what)
	}
	way, mid, lo, hi := "less", 1-i.Mid, 1-i.Hi, 1-i.Lo
	if i.Mid > 1 {
		way, mid, lo, hi = "more", i.Mid-1, i.Lo-1, i.Hi-1
	}
	percent := func(share float64) string { return stat.Distinct(100*share, 0, 0) }
	if !i.excludes(1) && mid < 0.005 { // a change: below 0 is less
		return fmt.Sprintf("no difference in %s [%s, %s] %%", what, percent(i.Lo-1), percent(i.Hi-1))
	}
	return fmt.Sprintf("%s %% %s %s [%s, %s]", percent(mid), way, what, percent(lo), percent(hi))
}

// gained describes a ratio of the objective's cost, and the best case that its interval allows.
// If more of a printed figure is better, it states the increase of that figure.
func (r *Answer) gained(cost Interval) (says, best string) {
	name := r.costName()
	figure, rises := r.figure()
	if !rises || cost.Lo <= 0 {
		return less(cost, nameOf(name)), stat.Distinct(100*(1-cost.Lo), 0, 0) + " % may be saved"
	}
	return less(cost.inverse(), nameOf(figure)), stat.Distinct(100*(1/cost.Lo-1), 0, 0) + " % may be gained"
}

// costName returns the name of the objective as a cost.
func (r *Answer) costName() string { return r.Objective.costName(isServed(r.Base)) }

// figure returns the objective's metric; rises reports whether it is a printed figure of which more is better.
func (r *Answer) figure() (metric string, rises bool) {
	metric, rises = strings.CutPrefix(r.costName(), "1/")
	return metric, rises && metric != cell.Throughput
}

func (i Interval) inverse() Interval { return Interval{1 / i.Mid, 1 / i.Hi, 1 / i.Lo} }

// excludes reports whether the interval lies on one side of v.
func (i Interval) excludes(v float64) bool { return i.Hi < v || i.Lo > v }

// gain returns the measured effect on a metric; Pairs is 0 if there is none.
func (c *Choice) gain(metric string) Gain { return gainIn(c.Gains, metric) }

// gainIn returns the gain in a metric, the zero Gain if there is none.
func gainIn(gains []Gain, metric string) Gain {
	i := slices.IndexFunc(gains, func(g Gain) bool { return g.Metric == metric })
	if i < 0 {
		return Gain{}
	}
	return gains[i]
}

// rests says how many rounds and runs a choice rests on.
func (c *Choice) rests(metric string) string {
	pairs := fmt.Sprintf("%d paired rounds", c.gain(metric).Pairs)
	if c.Runs > 0 {
		pairs += fmt.Sprintf(" and a model of all %d runs", c.Runs)
	}
	return pairs
}

// Sentence says what to set, what it saves, what it costs and how sure that is.
func (r *Answer) Sentence() string {
	switch r.Outcome {
	case Recommended:
		c := &r.Choices[0]
		objective := r.costName()
		gained, _ := r.gained(c.Cost)
		parts := []string{gained}
		for _, metric := range []string{cell.TotalCPU, cell.RSSPeak} {
			if g := c.gain(metric); g.Pairs > 0 && metric != objective {
				parts = append(parts, less(g.Ratio, nameOf(metric)))
			}
		}
		sure := "proven in "
		if c.Runs > 0 && c.Cost.Hi < 1 {
			sure = "95 % sure, by "
		}
		says := fmt.Sprintf("set %s%s: %s; %s against %s", r.toSet(), variantText(r.Variant),
			strings.Join(parts, ", "), sure+c.rests(objective), settingText(r.Base))
		if bound, kept := strings.CutPrefix(r.Reason, keepsBound); kept {
			bound, _, _ = strings.Cut(bound, "; ")
			says += "; it keeps the bound that today's setting breaks: " + bound
		}
		// Below highMargin it is a doubt.
		margin := float64(r.Setting.GC.LimitBytes) / float64(max(r.CliffBytes, 1))
		switch {
		case r.GuardBytes > 0:
			says += "; the limit is a guard above what the runs took, for when live data grows"
		case margin >= highMargin && r.CliffBytes > 0:
			says += fmt.Sprintf("; tune again before live data grows to %.1f times: under this limit collection would then "+
				"take nearly half of the CPU time", margin)
		}
		return says
	case DefaultGood:
		says := "leave " + settingText(r.Base) + ": " + r.ofSetting()
		if len(r.Choices) > 0 {
			says += "; by " + r.Choices[0].rests(r.costName())
		}
		return says + r.besides()
	case SetsItself:
		return "nothing to set: " + r.Reason
	}
	if len(r.Choices) > 0 && strings.HasPrefix(r.Reason, Open) {
		return "no recommendation: " + r.open(&r.Choices[0]) + r.besides()
	}
	return "no recommendation: " + r.ofSetting() + r.besides()
}

// ofSetting returns the reason, with the setting that it is about unless that is today's.
func (r *Answer) ofSetting() string {
	if len(r.Choices) > 0 && r.Reason == r.Choices[0].Reason && r.Reason != nothingToSave {
		return settingText(r.Choices[0].Setting) + ": " + r.Reason
	}
	return r.Reason
}

// open says what the runs leave open about a choice, and how many more may decide.
func (r *Answer) open(c *Choice) string {
	objective := r.costName()
	gained, best := r.gained(c.Cost)
	says := fmt.Sprintf("%s: %s by %s", settingText(c.Setting), gained, c.rests(objective))
	// For runs that wait for a CPU, wall time stays uncertain for longer than CPU time.
	if cpu := c.gain(cell.TotalCPU); objective != cell.TotalCPU && cpu.Verdict == string(stat.Better) {
		says += fmt.Sprintf(", but for sure %s, which --objective cpu goes by", less(cpu.Ratio, nameOf(cell.TotalCPU)))
	}
	if c.Runs == 0 && c.Cost.Hi < 1 { // the interval alone would prove it
		says += ", but " + strings.TrimPrefix(c.Reason, Open)
	}
	says += fmt.Sprintf("; up to %s; ", best)
	pairs := c.gain(objective).Pairs
	rounds := c.decisive(r.Tolerance, pairs)
	if rounds <= pairs { // the interval is narrow enough: the rank test or the noise floor leaves the doubt
		rounds = 2 * pairs
	}
	switch {
	case isAttached(r.Base): // its blocks share a fixed budget of time
		longer := time.Duration(math.Ceil(r.Seconds*float64(rounds)/float64(max(pairs, 1))/60)) * time.Minute
		return says + fmt.Sprintf("about --budget %s may tell, less under a steady load",
			strings.TrimSuffix(longer.String(), "0s"))
	case rounds <= manyRounds:
		says += fmt.Sprintf("about --rounds %d may tell", rounds)
	default:
		says += fmt.Sprintf("it would take more than --rounds %d", manyRounds)
	}
	if r.Waiting > muchWaiting {
		return says + ", fewer on a quieter machine"
	}
	return says + ", fewer where a run does more"
}

// manyRounds is the most rounds that an answer suggests.
const manyRounds = 100

// decisive estimates how many rounds prove a gain or exclude one above the tolerance, if the
// interval shrinks with the square root of their number and its middle stays.
func (c *Choice) decisive(tolerance float64, rounds int) int {
	proves, excludes := (1-c.Cost.Mid)/(c.Cost.Hi-c.Cost.Mid), (c.Cost.Mid-1+tolerance)/(c.Cost.Mid-c.Cost.Lo)
	by := max(proves, excludes, 0.01)
	return int(min(math.Ceil(float64(rounds)/(by*by)), manyRounds+1))
}

// besides lists other choices that are proven when the objective gains nothing for sure.
func (r *Answer) besides() (says string) {
	for _, c := range r.Choices {
		if c.Outcome == Recommended {
			says += fmt.Sprintf("; proven besides, %s: set %s: %s, %s", c.Name, settingText(c.Setting),
				less(c.Memory, "memory"), less(c.CPU, "CPU time"))
		}
	}
	return says
}

// Lines returns the answer as sentences, the headline first.
func (r *Answer) Lines() []string {
	out := []string{r.Headline}
	for _, d := range r.Doubts {
		out = append(out, "Doubt: "+d)
	}
	for _, c := range r.ran() {
		name := strings.ToUpper(c.Name[:1]) + c.Name[1:]
		out = append(out, fmt.Sprintf("%s: %s takes %s and %s at its peak: %s, %s. %s", name, settingText(c.Setting),
			valueText(cell.TotalCPU, c.gain(cell.TotalCPU).Tuned), bytesText(c.PeakBytes.Mid),
			less(c.CPU, "CPU time"), less(c.Memory, "memory"), proof(c)))
		for _, w := range c.Warnings {
			out = append(out, "Doubt about "+settingText(c.Setting)+": "+w)
		}
	}
	if line := r.podLine(); line != "" {
		out = append(out, strings.ToUpper(line[:1])+line[1:])
	}
	return append(out, r.Others...)
}

// proof says that a choice is proven, or why not.
func proof(c Choice) string {
	if c.Outcome == Recommended {
		return "Proven."
	}
	return "Not proven: " + c.Reason + "."
}

// fewDoubts is how many doubts the short answer shows.
const fewDoubts = 2

// Write prints the answer in about ten lines.
func (r *Answer) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Headline + "\n")
	var warnings []string
	for _, c := range r.Choices {
		for _, warning := range c.Warnings {
			if c.Outcome == Recommended {
				warnings = append(warnings, settingText(c.Setting)+": "+warning)
			}
		}
	}
	// Warnings about the recommended setting follow the first doubt about the study, before the others.
	doubts := slices.Insert(slices.Clone(r.Doubts), min(1, len(r.Doubts)), warnings...)
	for i, d := range doubts {
		if i == fewDoubts {
			fmt.Fprintf(&b, "  %s: in the report, or with --verbose\n", text.Plural(len(doubts)-i, "more doubt"))
			break
		}
		fmt.Fprintf(&b, "  doubt: %s\n", d)
	}
	r.writeChoices(&b)
	r.writePods(&b)
	for _, other := range r.Others {
		fmt.Fprintf(&b, "also      %s\n", other)
	}
	if r.Outcome == Recommended {
		fmt.Fprintf(&b, "apply     %s COMMAND\n", r.toSet())
	}
	fmt.Fprintf(&b, "measured  %s, %.1f s; objective %s\n", text.Plural(r.Runs, "run"), r.Seconds, r.Objective)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Answer) writeChoices(b *strings.Builder) {
	ran := r.ran()
	if len(ran) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	objective := r.costName()
	other := objective != cell.TotalCPU && objective != cell.RSSPeak
	head, today := "  choice\tsetting\tpeak memory\tCPU time\t", ran[0]
	row := fmt.Sprintf("  today\t%s\t%s\t%s\t", settingText(r.Base), bytesText(today.gain(cell.RSSPeak).Default),
		valueText(cell.TotalCPU, today.gain(cell.TotalCPU).Default))
	figure, rises := r.figure()
	if other {
		value := today.gain(objective).Default
		switch {
		case rises:
			head += nameOf(figure) + "\t"
			row += valueText(figure, 1/value) + "\t"
		case objective == "1/"+cell.Throughput:
			head += nameOf(objective) + "\t"
			row += text.Duration(1e9*value) + "\t"
		default:
			head += nameOf(objective) + "\t"
			row += valueText(objective, value) + "\t"
		}
	}
	fmt.Fprintln(t, head)
	fmt.Fprintln(t, row)
	for _, c := range ran {
		row := fmt.Sprintf("  %s\t%s\t%s %s\t%s\t", c.Name, settingText(c.Setting), bytesText(c.PeakBytes.Mid),
			ratioText(c.Memory), ratioText(c.CPU))
		if other && rises && c.Cost.Lo > 0 {
			row += ratioText(c.Cost.inverse()) + "\t"
		} else if other {
			row += ratioText(c.Cost) + "\t"
		}
		fmt.Fprintln(t, row+c.proven())
	}
	t.Flush()
}

// ratioText formats a ratio with its interval. It rounds no figure onto a bound that decided
// something, nor onto 1 if the whole interval lies on one side of it.
func ratioText(i Interval, bounds ...float64) string {
	if i.excludes(1) {
		bounds = append(bounds, 1)
	}
	figure := func(v float64) string { return stat.Distinct(v, 2, bounds...) }
	return fmt.Sprintf("%sx [%s, %s]", figure(i.Mid), figure(i.Lo), figure(i.Hi))
}

// WriteMore prints the details: every doubt and comparison, the race and the frontier.
func (r *Answer) WriteMore(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s\n", r.Outcome, r.Reason)
	for _, d := range r.Doubts {
		fmt.Fprintf(&b, "  doubt: %s\n", d)
	}
	for _, c := range r.Choices {
		r.writeGains(&b, c)
	}
	r.writeRace(&b)
	r.writeFrontier(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func variantText(name string) string {
	if name == "" {
		return ""
	}
	return ", built with " + name
}

func (r *Answer) writeGains(b *strings.Builder, c Choice) {
	if len(c.Gains) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s, %s: measured in %d fresh paired rounds; %s\n", c.Name, settingText(c.Setting), c.Gains[0].Pairs,
		c.Reason)
	for _, warning := range c.Warnings {
		fmt.Fprintf(b, "  doubt: %s\n", warning)
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\ttoday\ttuned\tratio and interval\tequal runs\t")
	for _, g := range c.Gains {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%.3f\t%s\n", nameOf(g.Metric), valueText(g.Metric, g.Default),
			valueText(g.Metric, g.Tuned), ratioText(g.Ratio), g.Floor, g.Verdict)
	}
	t.Flush()
}

// writeRace prints the measured rounds of an objective that no model predicts.
func (r *Answer) writeRace(b *strings.Builder) {
	first := true
	for _, c := range r.Candidates {
		if c.Cost == nil {
			continue
		}
		if first {
			fmt.Fprintf(b, "\nmeasured in rounds: %s, as a ratio to today's\n", nameOf(r.costName()))
			first = false
		}
		line := fmt.Sprintf("  %-14s %s  %s", c.GC, ratioText(*c.Cost), c.Out)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// frontierRows is how many settings of the frontier an answer shows, besides today's
// and the recommended one.
const frontierRows = 7

// shown returns the predictions to print, by ascending memory: a sample of the frontier, today's
// setting and the recommended one.
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
	b.WriteString("\nCPU time against memory: measured where it ran, else predicted with 90 % intervals\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  GOGC[:GOMEMLIMIT]\tpeak memory\tCPU time\twall time\tGC share of CPU\t")
	for _, p := range shown {
		var marks []string
		if !r.onFrontier(p.GC) {
			marks = append(marks, "not on the frontier")
		}
		if len(p.Withheld) > 0 {
			marks = append(marks, "unsure")
		}
		if m := p.Measured; m != nil {
			marks = append(marks, fmt.Sprintf("measured, runs: %d", m.Runs))
			p.Figures = m.Figures
		}
		share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", p.GC, intervalText(p.PeakBytes, bytesText),
			intervalText(p.CPU, secondsText), intervalText(p.Wall, secondsText), intervalText(p.GCShare, share),
			strings.Join(marks, ", "))
	}
	t.Flush()
	fmt.Fprintf(b, "  %d of %d predicted settings are on the frontier: none needs less of both (the report and "+
		"--json list all)\n", len(r.Frontier), len(r.Predicted))
}

func secondsText(v float64) string { return valueText(cell.WallTime, v) }

// intervalText formats an interval, or a dash if it is zero.
func intervalText(i Interval, text func(float64) string) string {
	if i == (Interval{}) {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", text(i.Mid), text(i.Lo), text(i.Hi))
}

func valueText(metric string, v float64) string {
	unit := cell.Unit(metric)
	switch {
	case unit == "bytes":
		return bytesText(v)
	case unit == "ns":
		return text.Duration(v)
	case unit != "seconds":
		return digits(v, 4)
	case math.Abs(v) < 0.9995e-3:
		return fmt.Sprintf("%.3g µs", 1e6*v)
	case math.Abs(v) < 0.1:
		return fmt.Sprintf("%.1f ms", 1000*v)
	}
	return fmt.Sprintf("%.2f s", v)
}

// digits formats a number with n digits, and more if it is so large: no exponent.
func digits(v float64, n int) string {
	if math.Abs(v) >= math.Pow10(n)-0.5 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*g", n, v)
}

func bytesText(v float64) string {
	if v >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", v/mib)
}
