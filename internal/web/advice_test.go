package web

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/lab/store"
)

func TestAdvicePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	server := newServer(t, Config{Store: path})
	empty := func(when string) {
		t.Helper()
		if status, body, _ := get(t, server, "/advice"); status != 200 || !strings.Contains(body, " advise --bench . --save ./...") {
			t.Errorf("%s: %d %s", when, status, body)
		}
	}
	empty("no store")
	s := testStore(t, path)
	save := func(page string) {
		t.Helper()
		if _, err := s.SaveAdvice(store.Advice{Name: "m", Created: time.Unix(1700000000, 0), Page: []byte(page)}); err != nil {
			t.Fatal(err)
		}
	}
	empty("nothing saved")
	save(`<h1>of &lt;m&gt;</h1><dl class="facts"></dl><nav aria-label="Contents"></nav><main id="content"><section><h2>Findings</h2></section></main>`)
	status, body, _ := get(t, server, "/advice")
	for _, want := range []string{"of &lt;m&gt;</h1>", "Saved 2023-11-14 22:13 UTC", "<section><h2>Findings</h2></section>", `href="/assets/advice.css"`, `aria-current="page">Advice`} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d: the page lacks %q: %s", status, want, body)
		}
	}
	if _, css, h := get(t, server, "/assets/advice.css"); css != string(advice.Style()) || css == "" || !strings.HasPrefix(h.Get("Content-Type"), "text/css") {
		t.Errorf("style %q", css)
	}
	if _, body, _ := get(t, server, "/fleet"); strings.Contains(body, "advice.css") {
		t.Error("another page asks for the style of advice")
	}
	save("damaged <b>")
	if status, body, _ := get(t, server, "/advice"); status != 500 || !strings.Contains(body, "the page lacks a part") {
		t.Errorf("%d %s", status, body)
	}
}
