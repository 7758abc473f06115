package advice

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/isobar-go/isobar/advise/check"
)

// docFuncs are the functions of the template of the checks page: the first line of a
// check's documentation, and the others as one paragraph, escaped as Markdown.
var docFuncs = template.FuncMap{
	"escape": escape,
	"short": func(c *check.Check) string {
		short, _, _ := strings.Cut(strings.TrimSpace(c.Doc), "\n")
		return escape(short)
	},
	"rest": func(c *check.Check) string {
		_, rest, _ := strings.Cut(strings.TrimSpace(c.Doc), "\n")
		return escape(strings.Join(strings.Fields(rest), " "))
	},
}

// Docs writes a page about the checks, in Markdown, from their own documentation alone.
func Docs(w io.Writer, checks []*check.Check) error {
	page := template.Must(template.New("checks.md.tmpl").Funcs(docFuncs).ParseFS(assets, "assets/checks.md.tmpl"))
	if err := page.Execute(w, checks); err != nil {
		return fmt.Errorf("advise: checks: %w", err)
	}
	return nil
}

// escape keeps code from being read as Markdown.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "[", `\[`, "_", `\_`).Replace(s)
}
