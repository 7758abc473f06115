package web

import (
	"errors"
	"html/template"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/store"
)

func TestAdvicePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var advice *Advice
	var failure error
	server := newServer(t, Config{Store: path, AdviceStyle: ".advice { color: red }", Advice: func(*store.Store) (*Advice, error) { return advice, failure }})
	empty := func(when string) {
		t.Helper()
		if status, body, _ := get(t, server, "/advice"); status != 200 || !strings.Contains(body, "isobar advise --bench . --save ./...") {
			t.Errorf("%s: %d %s", when, status, body)
		}
	}
	empty("no store")
	testStore(t, path)
	empty("nothing saved")
	advice = &Advice{Title: "of <m>", Created: time.Unix(1700000000, 0), Parts: template.HTML("<section><h2>Findings</h2></section>")}
	status, body, _ := get(t, server, "/advice")
	for _, want := range []string{"of &lt;m&gt;</h1>", "Saved 2023-11-14 22:13 UTC", "<section><h2>Findings</h2></section>", `href="/assets/advice.css"`, `aria-current="page">Advice`} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d: the page lacks %q: %s", status, want, body)
		}
	}
	if _, css, h := get(t, server, "/assets/advice.css"); css != ".advice { color: red }" || !strings.HasPrefix(h.Get("Content-Type"), "text/css") {
		t.Errorf("style %q", css)
	}
	if _, body, _ := get(t, server, "/fleet"); strings.Contains(body, "advice.css") {
		t.Error("another page asks for the style of advice")
	}
	failure = errors.New("damaged <b>")
	if status, body, _ := get(t, server, "/advice"); status != 500 || !strings.Contains(body, "damaged &lt;b&gt;") {
		t.Errorf("%d %s", status, body)
	}
}
