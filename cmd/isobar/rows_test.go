package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/study/claim"
)

// A documentRow is one thing that a source document describes or states, with its counterpart here.
type documentRow struct {
	Document string // "000"
	Kind     string // system, metric, mode, experiment, exercise, safeguard, figure ...
	Says     string // what the document says
	Commands []string
	Claims   []string // by ID
	// Corrected says why this project deviates from the document; "" if it does not.
	Corrected string
}

// A rowDocument is a document with its rows.
type rowDocument struct {
	ID, Title string
	Rows      []documentRow
}

// readRowFile reads the list of rows.
func readRowFile(t *testing.T) []rowDocument {
	t.Helper()
	text, err := os.ReadFile("../../internal/study/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := readRows(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func readRows(text string) (docs []rowDocument, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if title, ok := strings.CutPrefix(line, "= "); ok {
			id, title, _ := strings.Cut(title, " ")
			docs = append(docs, rowDocument{ID: id, Title: title})
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 4 || len(docs) == 0 {
			return nil, fmt.Errorf("rows.txt:%d: want kind | says | where | verdict below a document", n+1)
		}
		doc := &docs[len(docs)-1]
		row := documentRow{Document: doc.ID, Kind: fields[0], Says: fields[1]}
		for _, where := range strings.Split(fields[2], "; ") {
			if strings.HasPrefix(where, "isobar ") {
				row.Commands = append(row.Commands, where)
			} else {
				row.Claims = append(row.Claims, where)
			}
		}
		reason, corrected := strings.CutPrefix(fields[3], "corrected: ")
		if corrected {
			row.Corrected = reason
		} else if fields[3] != "works" {
			return nil, fmt.Errorf("rows.txt:%d: verdict %q: want works, or corrected: and the reason", n+1, fields[3])
		}
		doc.Rows = append(doc.Rows, row)
	}
	return docs, nil
}

// rowsPage writes the rows as Markdown.
func rowsPage(docs []rowDocument) string {
	var b strings.Builder
	total, corrected := 0, 0
	for _, d := range docs {
		for _, r := range d.Rows {
			total++
			if r.Corrected != "" {
				corrected++
			}
		}
	}
	fmt.Fprintf(&b, `# The five documents, row by row

Written by `+"`go test ./cmd/isobar -run TestDocuments -update-documents`"+
		` from internal/study/rows.txt: %d rows, %d of
them corrected. "Works" says that the command does or measures what the document describes; whether a statement holds is
for the [ledger](claims.md), by the claim's name.
`, total, corrected)
	for _, d := range docs {
		fmt.Fprintf(&b, "\n## %s: %s\n\n| kind | the document | here | verdict |\n| --- | --- | --- | --- |\n", d.ID, d.Title)
		for _, r := range d.Rows {
			var where []string
			for _, c := range r.Commands {
				where = append(where, "`"+c+"`")
			}
			verdict := "works"
			if r.Corrected != "" {
				verdict = "corrected: " + r.Corrected
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Kind, strings.ReplaceAll(r.Says, "|", `\|`),
				strings.Join(append(where, r.Claims...), ", "), verdict)
		}
	}
	return b.String()
}

// TestRowsNameClaims: the list is long enough and contains each document and exercise, each
// row has a counterpart, and rows and claims name each other completely.
func TestRowsNameClaims(t *testing.T) {
	docs := readRowFile(t)
	all, err := claim.Select(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range all {
		known[c.ID] = false
	}
	total, exercises := 0, 0
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.ID)
		total += len(d.Rows)
		says := map[string]bool{}
		for _, r := range d.Rows {
			if len(r.Commands)+len(r.Claims) == 0 || r.Says == "" || says[r.Kind+r.Says] {
				t.Errorf("%s: %q has no place here, or is twice", d.ID, r.Says)
			}
			says[r.Kind+r.Says] = true
			if r.Kind == "exercise" {
				exercises++
			}
			for _, id := range r.Claims {
				if _, ok := known[id]; !ok {
					t.Errorf("%s: %q: there is no claim %s", d.ID, r.Says, id)
				}
				known[id] = true
			}
		}
	}
	if !slices.Equal(ids, []string{"000", "001", "002", "003", "004"}) || total < 137 || exercises != 18 {
		t.Errorf("documents %v, %d rows, %d exercises; want five, 137 or more, 18", ids, total, exercises)
	}
	for id, named := range known {
		if !named {
			t.Errorf("no row names claim %s", id)
		}
	}
	t.Logf("%d rows, %d claims", total, len(all))
}

func TestReadRowsRefuses(t *testing.T) {
	for _, text := range []string{"a | b | c | works", "= 000 T\na | b | c", "= 000 T\na | b | c | partly"} {
		if _, err := readRows(text); err == nil {
			t.Errorf("readRows(%q): want an error", text)
		}
	}
}
