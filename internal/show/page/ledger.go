package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/isobar-go/isobar/internal/show/text"
)

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
	page := &Ledger{Ledger: l, Sheet: Sheet{Name: l.Title, Lead: l.Counts() + ".", Repeat: "isobar claims run --quick",
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
		page.List(true, "document-"+d.ID, "Document "+d.ID)
	}
	page.List(true, "reading", "How to read this")
	return page
}

// A Ledger is the data for a ledger, in a self-contained file or a page of
// package web. Its fields and methods are for the templates.
type Ledger struct {
	Sheet
	*text.Ledger
	Reading []string
}

// Anchor is the id of a claim in the page.
func (p *Ledger) Anchor(id string) string { return "claim-" + strings.ReplaceAll(id, "/", "-") }

// Table has the claims of a document, with links to their stories.
func (p *Ledger) Table(d text.LedgerDocument) *text.Table {
	t := &text.Table{Label: "Claims of document " + d.ID, Left: 6,
		Head: []string{"claim", "verdict", "figure", "measured", "published", "beside"}}
	for _, c := range d.Claims {
		f := p.Figure(&c)
		t.Add(c.ID, f.Word(), text.Clean(c.Figure), text.Clean(f.Measured()), p.Published(&c), c.Beside)
		row := t.Rows[len(t.Rows)-1]
		row[0].Link, row[1].Class = "#"+p.Anchor(c.ID), "text "+f.Class()
	}
	return t
}
