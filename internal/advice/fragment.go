package advice

import (
	"bytes"
	"errors"
	"html"
	"html/template"
	"regexp"
)

// A Fragment is the content of a page, for another page to show.
type Fragment struct {
	Title string
	Parts template.HTML // facts, contents and main
}

// Style returns what a Fragment needs in addition to the style of package report.
func Style() template.CSS {
	css, err := assets.ReadFile("assets/advice.css")
	if err != nil {
		panic("advice: Style: " + err.Error()) // it is embedded
	}
	return template.CSS(css)
}

// fragment matches the content of a page; the outer page has a main element, too.
var fragment = regexp.MustCompile(`(?s)<h1>(.*?)</h1>.*?(<dl class="facts">.*?</dl>).*?` +
	`(<nav aria-label="Contents">.*?</nav>).*?<main id="content">(.*?)</main>`)

// FragmentOf extracts the content of a page that Page wrote. It trusts the page: the
// caller must know that Page wrote it.
func FragmentOf(page []byte) (*Fragment, error) {
	m := fragment.FindSubmatch(page)
	if m == nil {
		return nil, errors.New("advise: the page lacks a part: save it again with 'isobar advise --save'")
	}
	return &Fragment{html.UnescapeString(string(m[1])), template.HTML(bytes.Join(m[2:], nil))}, nil
}
