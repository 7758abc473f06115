package web

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNavigation follows each link of the navigation, without a store: the page says how to
// get something to show in this store, from any directory, and marks its own link as the current one.
func TestNavigation(t *testing.T) {
	t.Chdir(t.TempDir())
	store, err := filepath.Abs("none.db")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(t, Config{Store: "none.db"})
	links := new(frame).Site()
	if len(links) < 6 || links[0].Href != "/" {
		t.Fatalf("navigation %+v", links)
	}
	for i, link := range links {
		for _, other := range links[:i] {
			if other.Section == link.Section || other.Place == link.Place {
				t.Errorf("%s and %s have one section or place", other.Name, link.Name)
			}
		}
		t.Run(link.Section, func(t *testing.T) {
			status, body, h := get(t, server, link.Href)
			if status != 200 || h.Get("Content-Security-Policy") != policy {
				t.Errorf("status %d, headers %v: %.300s", status, h, body)
			}
			current := `<a href="` + link.Href + `" aria-current="page">` + link.Name + `</a>`
			if n := strings.Count(body, current); n != 1 || strings.Count(body, "<h1>") != 1 {
				t.Errorf("%s is in the page %d times: %.600s", current, n, body)
			}
			if !strings.Contains(body, `<pre class="command" tabindex="0">isobar --store `+store+" ") {
				t.Errorf("no command that brings something to show, in this store: %.900s", body)
			}
		})
	}
}
