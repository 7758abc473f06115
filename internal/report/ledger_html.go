package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed assets/ledger.html.tmpl
var ledgerAssets embed.FS

var ledgerTemplate = template.Must(template.New("ledger.html.tmpl").
	Funcs(ledgerFuncs).ParseFS(ledgerAssets, "assets/ledger.html.tmpl"))

var ledgerFuncs = template.FuncMap{"anchor": claimAnchor}

// claimAnchor is the id of a claim in a page.
func claimAnchor(id string) string { return "claim-" + strings.ReplaceAll(id, "/", "-") }

// LedgerHTML writes the ledger as one file that needs nothing outside it.
func LedgerHTML(w io.Writer, l *Ledger) error {
	if err := ledgerTemplate.Execute(w, NewLedgerPage(l)); err != nil {
		return fmt.Errorf("report: ledger: %w", err)
	}
	return nil
}

// NewLedgerPage returns what the template ledger draws.
func NewLedgerPage(l *Ledger) *LedgerPage {
	page := &LedgerPage{CSS: StyleSheet(), Title: l.Title, Counts: l.counts(), Version: clean(l.Version)}
	if !l.Created.IsZero() {
		page.Facts = append(page.Facts, htmlFact{"Measured", l.Created.UTC().Format("2006-01-02 15:04 UTC")})
	}
	page.Facts = present(append(page.Facts, htmlFact{"Machine", machineLine(l.Machine)}))
	for _, line := range ledgerReading {
		page.Reading = append(page.Reading, strings.NewReplacer("**", "", "`", "").Replace(line))
	}
	for _, d := range l.Documents {
		doc := ledgerPageDocument{ID: d.ID, Title: clean(d.Title), Table: htmlTable{Label: "Claims of document " + d.ID, Head: []string{"claim", "verdict", "figure", "measured"}, Left: 4}}
		for _, c := range d.Claims {
			doc.Claims = append(doc.Claims, c.html(d))
			doc.Table.Rows = append(doc.Table.Rows, []htmlCell{{c.ID, "text"}, {c.word(), "text " + claimClass(c.Verdict)}, {clean(c.Figure), "text"}, {clean(c.Measured()), "text"}})
		}
		page.Documents = append(page.Documents, doc)
	}
	return page
}

// A LedgerPage is a ledger as templates draw it: in the self-contained file and
// in a page of package web. Its fields are for the templates.
type LedgerPage struct {
	CSS                    template.CSS
	Title, Counts, Version string
	Facts                  []htmlFact
	Reading                []string
	Documents              []ledgerPageDocument
}

type ledgerPageDocument struct {
	ID, Title string
	Table     htmlTable
	Claims    []ledgerPageClaim
}

type ledgerPageClaim struct {
	Anchor, ID, Verdict string
	Rows                [][2]string
	Samples             htmlTable
}

func (c *LedgerClaim) html(d LedgerDocument) ledgerPageClaim {
	h := ledgerPageClaim{Anchor: claimAnchor(c.ID), ID: c.ID, Verdict: c.word(), Rows: c.rows(d)}
	h.Samples = htmlTable{Label: "Samples of " + c.ID, Head: []string{"figure", "values"}, Left: 2}
	for _, s := range c.Samples {
		name, values := s.text()
		h.Samples.add(name, values)
	}
	return h
}

// claimClass is the class of a verdict, as the style sheet has it.
func claimClass(verdict string) string {
	switch verdict {
	case "holds":
		return "better"
	case "refuted", "reversed":
		return "worse"
	}
	return ""
}
