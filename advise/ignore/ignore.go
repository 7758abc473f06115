// Package ignore checks the directive //isobar:ignore: see Check.
package ignore

import (
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags directives without a check or a reason.
var Check = check.New(check.Check{
	Name:     "ignore",
	Severity: check.Trap,
	Doc: `//isobar:ignore without a check or a reason

Such a directive ignores nothing. Write //isobar:ignore CHECK REASON on the line or the
one above; several checks are separated by commas.`,
	When:    "always.",
	WhenNot: "complete directives.",
	Run:     run,
})

func run(p *check.Pass) {
	for _, f := range p.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, check.Ignore)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				if len(strings.Fields(rest)) < 2 {
					p.Report(c, "want //isobar:ignore CHECK REASON: nothing is ignored without a reason")
				}
			}
		}
	}
}
