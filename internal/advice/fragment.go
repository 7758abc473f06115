package advice

import (
	"bytes"
	"errors"
	"html"
	"html/template"
	"regexp"
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

// fragment matches what a page has of its own; the page around it has a main, too.
var fragment = regexp.MustCompile(`(?s)<h1>(.*?)</h1>.*?(<dl class="facts">.*?</dl>).*?` +
	`(<nav aria-label="Contents">.*?</nav>).*?<main id="content">(.*?)</main>`)

// FragmentOf takes a page that Page wrote apart. The page is trusted: it is the
// caller's to know that Page wrote it.
func FragmentOf(page []byte) (*Fragment, error) {
	m := fragment.FindSubmatch(page)
	if m == nil {
		return nil, errors.New("advise: the page lacks a part: save it again with 'isobar advise --save'")
	}
	return &Fragment{html.UnescapeString(string(m[1])), template.HTML(bytes.Join(m[2:], nil))}, nil
}
