package advice

import (
	"bytes"
	"errors"
	"html"
	"html/template"
)

// A Fragment is what a page has of its own: for another page to show.
type Fragment struct {
	Title string
	Parts template.HTML // facts, contents and main
}

// Style is what a Fragment needs beyond the style of package report.
func Style() template.CSS {
	css, err := assets.ReadFile("assets/advice.css")
	if err != nil {
		panic("advice: Style: " + err.Error()) // it is embedded
	}
	return template.CSS(css)
}

// FragmentOf takes a page that Page wrote apart. The page is trusted: it is the
// caller's to know that Page wrote it.
func FragmentOf(page []byte) (*Fragment, error) {
	var parts []byte
	f := &Fragment{}
	for _, cut := range []struct{ from, to string }{{"<h1>", "</h1>"}, {`<dl class="facts">`, "</dl>"},
		{`<nav aria-label="Contents">`, "</nav>"}, {`<main id="content">`, "</main>"}} {
		_, after, ok := bytes.Cut(page, []byte(cut.from))
		inner, rest, closed := bytes.Cut(after, []byte(cut.to))
		if !ok || !closed {
			return nil, errors.New("advise: the page lacks " + cut.from + ": save it again with 'isobar advise --save'")
		}
		page = rest
		switch cut.from {
		case "<h1>":
			f.Title = html.UnescapeString(string(inner))
		case `<main id="content">`: // the page around it has a main of its own
			parts = append(parts, inner...)
		default:
			parts = append(parts, cut.from...)
			parts = append(parts, inner...)
			parts = append(parts, cut.to...)
		}
	}
	f.Parts = template.HTML(parts)
	return f, nil
}
