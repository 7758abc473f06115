package study

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed rows.txt
var rows string

// A Row is one thing that a source document describes or states, with its place
// here.
type Row struct {
	Document string // "000"
	Kind     string // system, metric, mode, experiment, exercise, safeguard, figure ...
	Says     string // what the document says
	Commands []string
	Claims   []string // by ID
	// Corrected says why it differs here from the document; "" where it is as the
	// document has it.
	Corrected string
}

// A RowDocument is a document with its rows.
type RowDocument struct {
	ID, Title string
	Rows      []Row
}

// Rows returns the list of rows.
func Rows() ([]RowDocument, error) { return readRows(rows) }

func readRows(text string) (docs []RowDocument, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if title, ok := strings.CutPrefix(line, "= "); ok {
			id, title, _ := strings.Cut(title, " ")
			docs = append(docs, RowDocument{ID: id, Title: title})
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 4 || len(docs) == 0 {
			return nil, fmt.Errorf("study: rows.txt:%d: want kind | says | where | verdict below a document", n+1)
		}
		doc := &docs[len(docs)-1]
		row := Row{Document: doc.ID, Kind: fields[0], Says: fields[1]}
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
			return nil, fmt.Errorf("study: rows.txt:%d: verdict %q: want works, or corrected: and the reason", n+1, fields[3])
		}
		doc.Rows = append(doc.Rows, row)
	}
	return docs, nil
}

// Page writes the rows as Markdown.
func Page(docs []RowDocument) string {
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
