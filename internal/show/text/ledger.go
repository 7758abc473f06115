package text

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A Ledger is the verdicts on claims, for LedgerLines, LedgerStory,
// LedgerMarkdown and LedgerJSON.
type Ledger struct {
	Title   string
	Version string // of the program that measured
	Machine cell.Machine
	// Created is when the latest run began; zero if nothing was measured here. Then the
	// published figures are shown instead of this machine's.
	Created   time.Time
	Verdicts  []string // all verdicts, in the order of counting
	Documents []LedgerDocument
	Runs      []string // each published run on a line
	Forecast  string   // how well the published runs predict one another, "" if unknown
}

// A LedgerDocument is a document with the claims to show.
type LedgerDocument struct {
	ID     string        `json:"id"`
	Title  string        `json:"title"`
	Claims []LedgerClaim `json:"claims"`
}

// A LedgerClaim is one claim with its verdict.
type LedgerClaim struct {
	ID       string `json:"id"`
	Section  string `json:"section"`
	Quote    string `json:"quote"`
	Figure   string `json:"figure"`
	Predicts string `json:"predicts"`
	Refutes  string `json:"refutes"`
	LedgerFigure
	Why string `json:"why"` // why it differs; "" if it does not
	// Published is the pooled result of the published runs; Beside says how this machine's
	// result compares, "" if there is none.
	Published LedgerPublished `json:"published"`
	Beside    string          `json:"beside,omitempty"`
	Run       int64           `json:"run"` // in the store; 0 if there is none
	// Repeat is the command that repeats the measurement.
	Repeat  string         `json:"repeat"`
	Samples []LedgerSample `json:"samples"`
}

// A LedgerFigure is a verdict and the figure that decided. Unit is "x" for a ratio;
// otherwise Metric may be set. N is 0 if nothing was measured.
type LedgerFigure struct {
	Verdict string `json:"verdict"`
	// Tentative: the interval reaches into the adjacent verdict.
	Tentative bool   `json:"tentative,omitempty"`
	Reason    string `json:"reason"` // what decided, in one sentence
	Estimate  number `json:"estimate"`
	Lo        number `json:"lo"`
	Hi        number `json:"hi"`
	N         int    `json:"repetitions"`
	Floor     number `json:"floor"`
	Unit      string `json:"unit"`
	Metric    string `json:"metric,omitempty"`
}

// A LedgerPublished is the pooled verdict of the published runs, and those of the single
// runs: "holds 1, 2; weaker 3".
type LedgerPublished struct {
	LedgerFigure
	ByRun string `json:"by_run"`
}

// Word is the verdict, with a question mark if it is tentative.
func (c *LedgerFigure) Word() string {
	if c.Tentative {
		return c.Verdict + "?"
	}
	return c.Verdict
}

// SetEstimate sets the deciding figure.
func (c *LedgerFigure) SetEstimate(v, lo, hi, floor float64, n int) {
	c.Estimate, c.Lo, c.Hi, c.Floor, c.N = number(v), number(lo), number(hi), number(floor), n
}

// A LedgerSample holds every value of a figure used by the test, in order of blocks.
type LedgerSample struct {
	Metric string   `json:"metric"`
	Where  string   `json:"where"`
	Values []number `json:"values"`
}

// NewLedgerSample returns the values of a metric for one configuration.
func NewLedgerSample(metric, where string, values []float64) LedgerSample {
	return LedgerSample{metric, where, numbers(values)}
}

// Measured returns the deciding figure with its interval.
func (c *LedgerFigure) Measured() string {
	if c.N == 0 {
		return Absent
	}
	show := func(v number) string { return Digits(float64(v)) }
	unit := " " + c.Unit
	switch {
	case c.Unit == "x":
		show, unit = func(v number) string { return Ratio(float64(v)) }, ""
	case c.Unit == "of trials":
		show, unit = func(v number) string { return Digits(100*float64(v)) + " %" }, " of trials"
	case c.Metric != "":
		show, unit = func(v number) string { return Format(c.Metric, float64(v)) }, ""
	}
	if c.Lo == c.Hi || math.IsNaN(float64(c.Lo)) {
		return show(c.Estimate) + unit
	}
	return fmt.Sprintf("%s%s [%s, %s]", show(c.Estimate), unit, show(c.Lo), show(c.Hi))
}

// line returns the sample as one line.
func (s LedgerSample) line() string {
	parts := mapped(s.Values, func(v number) string { return Format(s.Metric, float64(v)) })
	name := s.Metric
	if s.Where != "" {
		name += " (" + s.Where + ")"
	}
	return name + ":  " + strings.Join(parts, "  ")
}

// Counts says how many claims have each verdict.
func (l *Ledger) Counts() string {
	n := map[string]int{}
	total, tentative := 0, 0
	for _, d := range l.Documents {
		total += len(d.Claims)
		for _, c := range d.Claims {
			f := l.Figure(&c)
			n[f.Verdict]++
			if f.Tentative {
				tentative++
			}
		}
	}
	var parts []string
	for _, v := range l.Verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	counts := fmt.Sprintf("%s: %s", Plural(total, "claim"), strings.Join(parts, ", "))
	if tentative > 0 {
		counts += fmt.Sprintf("; %d of them tentative, marked ?", tentative)
	}
	return counts
}

// Elsewhere reports whether the ledger shows published verdicts, because
// nothing was measured here.
func (l *Ledger) Elsewhere() bool { return l.Created.IsZero() && len(l.Runs) > 0 }

// Figure returns the verdict to show: this machine's, or the published one.
func (l *Ledger) Figure(c *LedgerClaim) *LedgerFigure {
	if l.Elsewhere() {
		return &c.Published.LedgerFigure
	}
	return &c.LedgerFigure
}

// claimLooks are the looks of a claim's verdicts; others are dim on a terminal.
var claimLooks = map[string]look{
	"holds": {"better", green}, "refuted": {"worse", red}, "reversed": {"worse", red},
	"weaker": {"", yellow}, "varies": {"", yellow}, "open": {"", yellow},
}

// Class is the verdict's class in a page.
func (c *LedgerFigure) Class() string { return claimLooks[c.Verdict].class }

// LedgerLines writes one line per claim.
func LedgerLines(w io.Writer, l *Ledger, s Style) error {
	p := &terminal{style: s}
	width := 0
	for _, d := range l.Documents {
		for _, c := range d.Claims {
			width = max(width, len(c.ID))
		}
	}
	for _, d := range l.Documents {
		p.line(bold, "%s  %s", d.ID, Clean(d.Title))
		for _, c := range d.Claims {
			f := l.Figure(&c)
			ink := cmp.Or(claimLooks[f.Verdict].ink, dim)
			head := fmt.Sprintf("  %-*s  %s  ", width, c.ID, p.paint(ink, fmt.Sprintf("%-10s", f.Word())))
			room := max(s.width()-width-16, 20)
			text := f.Measured()
			if strings.HasPrefix(c.Beside, "differs") {
				text += ", published: " + c.Published.Word()
			}
			if c.Figure != "" {
				text += ", said: " + Clean(c.Figure)
			}
			p.line(plainInk, "%s%s", head, Shorten(text, room))
		}
		p.line(plainInk, "")
	}
	p.line(plainInk, "%s", l.Counts())
	if l.Elsewhere() {
		p.line(plainInk, "nothing was measured here: these are the %s published", Plural(len(l.Runs), "run"))
	} else if beside := l.Agreement(); beside != "" {
		p.line(plainInk, "%s", beside)
	}
	return p.flush(w)
}

// Agreement says how this machine's results compare with the published ones, "" if there is
// nothing to compare.
func (l *Ledger) Agreement() string {
	n := map[string]int{}
	total := 0
	for _, d := range l.Documents {
		for _, c := range d.Claims {
			if c.Beside != "" {
				total++
				n[c.Beside]++
			}
		}
	}
	if total == 0 {
		return ""
	}
	var parts []string
	for _, words := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d: %s", n[words], words))
	}
	return fmt.Sprintf("beside the %s published, %s", Plural(len(l.Runs), "run"), strings.Join(parts, "; "))
}

// LedgerStory writes everything about each claim.
func LedgerStory(w io.Writer, l *Ledger, s Style) error {
	p := &terminal{style: s}
	for _, d := range l.Documents {
		for _, c := range d.Claims {
			p.line(bold, "%s  %s", c.ID, l.Figure(&c).Word())
			for _, row := range c.Rows(d) {
				p.paragraph(fmt.Sprintf("  %-10s ", row[0]), row[1])
			}
			p.line(plainInk, "")
		}
	}
	return p.flush(w)
}

// Rows returns the story of a claim: name and text of each part.
func (c *LedgerClaim) Rows(d LedgerDocument) [][2]string {
	run := ""
	if c.Run > 0 {
		run = fmt.Sprintf("run %d in the store: isobar lab show %d", c.Run, c.Run)
	}
	measured := c.Reason
	if c.N > 0 {
		measured = c.Measured() + ": " + c.Reason
	}
	rows := [][2]string{
		{"says", fmt.Sprintf("“%s” (document %s, %s)", c.Quote, d.ID, c.Section)}, {"figure", c.Figure},
		{"predicts", c.Predicts},
		{"measured", measured}, {"noise", c.noise()}, {"published", c.Published.story()}, {"beside", c.Beside},
		{"why", c.Why}, {"refutes", c.Refutes}, {"data", run}, {"repeat", c.Repeat},
	}
	for _, sample := range c.Samples {
		rows = append(rows, [2]string{"samples", sample.line()})
	}
	rows = slices.DeleteFunc(rows, func(r [2]string) bool { return r[1] == "" })
	for i := range rows {
		rows[i][1] = Clean(rows[i][1])
	}
	return rows
}

// story returns the published verdict with its figure and the verdicts by run.
func (p *LedgerPublished) story() string {
	if p.ByRun == "" {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s (by run: %s)", p.Word(), p.Measured(), p.Reason, p.ByRun)
}

// noise says how much equal configurations differed, if that matters.
func (c *LedgerFigure) noise() string {
	if c.N == 0 || c.Floor <= 1 {
		return ""
	}
	return fmt.Sprintf("two equal configurations of the run differed by up to %s", Ratio(float64(c.Floor)))
}

// LedgerJSON writes the ledger as an object with a stable schema.
func LedgerJSON(w io.Writer, l *Ledger) error {
	doc := struct {
		Schema    int              `json:"schema"`
		Version   string           `json:"version"`
		Created   *time.Time       `json:"created"`
		Machine   cell.Machine     `json:"machine"`
		Published []string         `json:"published"` // the published runs
		Documents []LedgerDocument `json:"documents"`
	}{Schema: Schema, Version: l.Version, Machine: l.Machine, Published: list(l.Runs),
		Documents: mapped(l.Documents, func(d LedgerDocument) LedgerDocument {
			d.Claims = list(d.Claims)
			return d
		})}
	if !l.Created.IsZero() {
		doc.Created = &l.Created
	}
	return encode(w, doc)
}

//go:embed ledger.md.tmpl
var ledgerText string

var ledgerTemplate = template.Must(template.New("ledger").Funcs(template.FuncMap{
	"clean": Clean, "cut": strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;").Replace,
	"machine": MachineLine, "sentence": sentence,
	"number":  func(i int) int { return i + 1 },
	"reading": func() []string { return LedgerReading },
}).Parse(ledgerText))

// LedgerMarkdown writes the ledger as a page of documentation.
func LedgerMarkdown(w io.Writer, l *Ledger) error {
	if err := ledgerTemplate.Execute(w, l); err != nil {
		return fmt.Errorf("report: ledger: %w", err)
	}
	return nil
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Count returns how many claims of the document have the verdict.
func (l *Ledger) Count(d LedgerDocument, verdict string) (n int) {
	for _, c := range d.Claims {
		if l.Figure(&c).Verdict == verdict {
			n++
		}
	}
	return n
}

// Published returns the verdicts of the published runs on a claim, with the pooled one
// unless that is already shown.
func (l *Ledger) Published(c *LedgerClaim) string {
	if l.Elsewhere() || c.Published.ByRun == "" {
		return c.Published.ByRun
	}
	return c.Published.Word() + ": " + c.Published.ByRun
}

// Why explains the verdict shown, "" if there is nothing to explain.
func (l *Ledger) Why(c *LedgerClaim) string {
	why, f := c.Why, l.Figure(c)
	switch f.Verdict {
	case "untestable":
		why += f.Reason
	case "varies":
		why = sentence(f.Reason) + ". " + why
	}
	return strings.TrimSpace(why)
}

// LedgerReading says how to read a ledger.
var LedgerReading = []string{
	"Ratios are medians of ratios paired by block, with a bootstrap interval at 95 %. A claim **holds** if the effect " +
		"is on the claimed side by more than half of the figure; it is **weaker** if the effect is smaller than that, " +
		"**refuted** if it is absent or less than a quarter of the figure, and **reversed** if it goes the other way by " +
		"more than that quarter. The estimate gives the verdict: it is tentative (**?**) if the interval reaches into the " +
		"next verdict, and **open** if it reaches farther. A difference within that of two equal configurations of the " +
		"same run does not count as an effect.",
	"Published runs are pooled with the variance between runs (random effects: Paule and Mandel's variance, Hartung " +
		"and Knapp's interval). Where all agree, that is the verdict; where two surely decide differently, the claim " +
		"**varies**; otherwise the pooled estimate decides. A result of another machine differs more than runs do if it " +
		"lies outside the prediction interval.",
	"`isobar claims run --quick` measures everything again, `isobar claims show ID` tells the story of one claim with " +
		"its samples.",
}
