package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/stat"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// NewLedger sorts outcomes by document and adds the results of the published runs.
func NewLedger(outcomes []Outcome, runs []*PublishedRun) *text.Ledger {
	l := &text.Ledger{Title: "Claims of the documents, measured", Version: host.Version(), Machine: host.Fingerprint()}
	for _, v := range Verdicts {
		l.Verdicts = append(l.Verdicts, string(v))
	}
	for _, run := range runs {
		l.Runs = append(l.Runs, run.line())
	}
	if len(runs) > 1 {
		var claims []*Claim
		for _, o := range outcomes {
			claims = append(claims, o.Claim)
		}
		contradicted, stated := LeaveOneOut(claims, runs)
		l.Forecast = fmt.Sprintf("Each run against the others pooled: it contradicts %d of %d verdicts that they state.",
			contradicted, stated)
	}
	for _, d := range Documents() {
		doc := text.LedgerDocument{ID: d.ID, Title: d.Title}
		for _, o := range outcomes {
			if !strings.HasPrefix(o.ID, d.ID+"/") {
				continue
			}
			doc.Claims = append(doc.Claims, ledgerClaim(o, runs))
			if o.Run != nil && o.Run.Created.After(l.Created) {
				l.Created, l.Machine, l.Version = o.Run.Created, o.Run.Machine, o.Run.Version
			}
		}
		if len(doc.Claims) > 0 {
			l.Documents = append(l.Documents, doc)
		}
	}
	return l
}

func ledgerClaim(o Outcome, runs []*PublishedRun) text.LedgerClaim {
	pooled := o.Pool(runs)
	c := text.LedgerClaim{
		ID: o.ID, Section: o.Section, Quote: o.Quote, Figure: o.Figure, Predicts: o.Predicts, Refutes: o.Refutes,
		LedgerFigure: o.figure(), Beside: pooled.Beside(o.Result), Samples: append([]text.LedgerSample{}, o.Samples...),
		Published: text.LedgerPublished{LedgerFigure: pooled.figure(), ByRun: pooled.byRun()},
	}
	shown := o.Verdict
	if o.Run == nil && len(pooled.Runs) > 0 {
		shown = pooled.Verdict
	}
	if shown != Holds && shown != Untestable {
		c.Why = o.Why
	}
	if o.Run != nil {
		c.Run, c.Repeat = o.Run.ID, repeatExperiment(o.Run, o.Repetitions)
	}
	return c
}

func (r Result) figure() text.LedgerFigure {
	f := text.LedgerFigure{Verdict: string(r.Verdict), Tentative: r.Tentative, Reason: r.Text, Unit: r.Unit,
		Metric: r.Metric}
	f.SetEstimate(r.Estimate.Value, r.Estimate.Lo, r.Estimate.Hi, r.Estimate.Floor, r.Estimate.N)
	return f
}

// byRun groups the runs by verdict: "holds 1, 3; weaker? 2".
func (p *Pooled) byRun() string {
	var words []string
	for _, runs := range stat.Split(p.Runs, RunVerdict.word) {
		var numbers []string
		for _, r := range runs {
			numbers = append(numbers, fmt.Sprint(r.Run+1))
		}
		words = append(words, runs[0].word()+" "+strings.Join(numbers, ", "))
	}
	return strings.Join(words, "; ")
}

// word is the verdict, with a question mark if it is tentative.
func (r RunVerdict) word() string {
	f := text.LedgerFigure{Verdict: string(r.Verdict), Tentative: r.Tentative}
	return f.Word()
}

// line describes the run.
func (r *PublishedRun) line() string {
	line := fmt.Sprintf("%s, %s, %s, %s", r.Day, text.MachineLine(r.Machine), r.Size,
		text.Plural(len(r.findings), "claim"))
	if r.Note != "" {
		line += ", " + r.Note
	}
	return line
}

// repeatExperiment returns the command that measures the plan again, with all passes at once.
func repeatExperiment(run *store.Run, repetitions int) string {
	whole := *run
	whole.Args = slices.Clone(run.Args)
	if i := slices.Index(whole.Args, "--reps"); i >= 0 && i+1 < len(whole.Args) {
		whole.Args[i+1] = fmt.Sprint(repetitions)
	}
	return whole.Repeat()
}
