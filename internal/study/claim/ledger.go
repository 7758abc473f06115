package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/text"
)

// NewLedger sorts outcomes by document.
func NewLedger(outcomes []Outcome) *text.Ledger {
	l := &text.Ledger{Title: "Claims of the documents, measured", Version: host.Version(), Machine: host.Fingerprint()}
	for _, v := range Verdicts {
		l.Verdicts = append(l.Verdicts, string(v))
	}
	for _, d := range Documents() {
		doc := text.LedgerDocument{ID: d.ID, Title: d.Title}
		for _, o := range outcomes {
			if !strings.HasPrefix(o.ID, d.ID+"/") {
				continue
			}
			doc.Claims = append(doc.Claims, ledgerClaim(o))
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

func ledgerClaim(o Outcome) text.LedgerClaim {
	c := text.LedgerClaim{
		ID: o.ID, Section: o.Section, Quote: o.Quote, Figure: o.Figure, Predicts: o.Predicts, Refutes: o.Refutes,
		Verdict: string(o.Verdict), Tentative: o.Tentative, Reason: o.Text, Unit: o.Unit, Metric: o.Result.Metric,
	}
	if o.Verdict != Holds && o.Verdict != Untestable {
		c.Why = o.Why
	}
	c.SetEstimate(o.Estimate.Value, o.Estimate.Lo, o.Estimate.Hi, o.Estimate.Floor, o.Estimate.N)
	if o.Run != nil {
		c.Run, c.Repeat = o.Run.ID, repeatExperiment(o.Run, o.Repetitions)
	}
	c.Samples = []text.LedgerSample{}
	for _, s := range o.Samples {
		c.Samples = append(c.Samples, text.NewLedgerSample(s.Side.Metric, s.Side.Where, s.Values))
	}
	return c
}

// repeatExperiment is the command that measures the same plan again, with all
// its passes at once.
func repeatExperiment(run *store.Run, repetitions int) string {
	words := slices.Clone(run.Args)
	at := len(words)
	if i := slices.Index(words, "--"); i >= 0 {
		at = i
	}
	if i := slices.Index(words, "--reps"); i >= 0 && i+1 < at {
		words[i+1] = fmt.Sprint(repetitions)
	}
	return "isobar " + strings.Join(slices.Insert(words, at, "--seed", fmt.Sprint(run.Seed)), " ")
}
