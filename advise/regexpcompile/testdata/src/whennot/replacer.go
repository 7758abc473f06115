package whennot

import "strings"

var escaper = strings.NewReplacer("<", "&lt;", ">", "&gt;")

type page struct{ quotes *strings.Replacer }

// Kept, or made of what the call is given.
func newPage(mark string) *page { return &page{quotes: strings.NewReplacer("'", "&#39;")} }

func (p *page) render(s, mark string) string {
	s = escaper.Replace(s)
	return strings.NewReplacer("%", mark).Replace(p.quotes.Replace(s))
}
