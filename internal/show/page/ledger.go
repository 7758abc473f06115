package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/internal/show/text"
)

// claimAnchor is the id of a claim in a page.
func claimAnchor(id string) string { return "claim-" + strings.ReplaceAll(id, "/", "-") }

// WriteLedger writes the ledger as one self-contained file.
func WriteLedger(w io.Writer, l *text.Ledger) error {
	p := NewLedger(l)
	if err := p.WriteFile(w, Templates(), "ledger", p); err != nil {
		return fmt.Errorf("report: ledger: %w", err)
	}
	return nil
}

// NewLedger returns the data for the template ledger.
func NewLedger(l *text.Ledger) *Ledger {
	page := &Ledger{Sheet: Sheet{Name: l.Title, Lead: l.Counts() + ".", Repeat: "isobar claims run --quick",
		Version: text.Clean(l.Version)}}
	if !l.Created.IsZero() {
		page.Facts = append(page.Facts, Fact{"Measured", l.Created.UTC().Format("2006-01-02 15:04 UTC")})
	}
	if !l.Elsewhere() {
		page.Facts = append(page.Facts, Fact{"Machine", text.MachineLine(l.Machine)})
	}
	page.Facts = append(page.Facts, Fact{"Beside", l.Agreement()})
	for i, run := range l.Runs {
		page.Facts = append(page.Facts, Fact{fmt.Sprint("Run ", i+1), text.Clean(run)})
	}
	page.Facts = present(append(page.Facts, Fact{"Forecast", l.Forecast}))
	for _, line := range text.LedgerReading {
		page.Reading = append(page.Reading, strings.NewReplacer("**", "", "`", "").Replace(line))
	}
	for _, d := range l.Documents {
		doc := ledgerPageDocument{ID: d.ID, Title: text.Clean(d.Title),
			Table: text.Table{Label: "Claims of document " + d.ID, Head: []string{"claim", "verdict", "figure", "measured",
				"published", "beside"}, Left: 6}}
		for _, c := range d.Claims {
			f := l.Figure(&c)
			doc.Claims = append(doc.Claims, claimOf(&c, f, d))
			published := c.Published.Word()
			if c.Published.ByRun != "" {
				published += ": " + c.Published.ByRun
			}
			doc.Table.Add(c.ID, f.Word(), text.Clean(c.Figure), text.Clean(f.Measured()), published, c.Beside)
			row := doc.Table.Rows[len(doc.Table.Rows)-1]
			row[0].Link, row[1].Class = "#"+claimAnchor(c.ID), "text "+claimClass(f.Verdict)
		}
		page.Documents = append(page.Documents, doc)
		page.List(true, "document-"+d.ID, "Document "+d.ID)
	}
	page.List(true, "reading", "How to read this")
	return page
}

// A Ledger is the data for a ledger, in a self-contained file or a page of
// package web. Its fields are for the templates.
type Ledger struct {
	Sheet
	Reading   []string
	Documents []ledgerPageDocument
}

type ledgerPageDocument struct {
	ID, Title string
	Table     text.Table
	Claims    []ledgerPageClaim
}

type ledgerPageClaim struct {
	Anchor, ID, Verdict string
	Rows                [][2]string
	Samples             text.Table
}

func claimOf(c *text.LedgerClaim, f *text.LedgerFigure, d text.LedgerDocument) ledgerPageClaim {
	h := ledgerPageClaim{Anchor: claimAnchor(c.ID), ID: c.ID, Verdict: f.Word(), Rows: c.Rows(d)}
	h.Samples = text.Table{Label: "Samples of " + c.ID, Head: []string{"figure", "values"}, Left: 2}
	for _, s := range c.Samples {
		name, values := s.Line()
		h.Samples.Add(name, values)
	}
	return h
}

// claimClass is the CSS class of a verdict.
func claimClass(verdict string) string {
	switch verdict {
	case "holds":
		return "better"
	case "refuted", "reversed":
		return "worse"
	}
	return ""
}
