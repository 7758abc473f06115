package http11

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// An adapted handler in a mounted server sends the trailer fields and the type
// that it does behind net/http alone.
func TestMountedAdapt(t *testing.T) {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	std := httptest.NewServer(mux)
	defer std.Close()
	mounted := httptest.NewServer(&Server{Handler: Adapt(mux)})
	defer mounted.Close()
	for path := range handlers {
		if !strings.HasPrefix(path, "/trailer") && !strings.HasPrefix(path, "/pieces") {
			continue
		}
		want := ask(t, std.URL, "GET", path, nil, "", false)
		if got := ask(t, mounted.URL, "GET", path, nil, "", false); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\n, want\n%s", path, got, want)
		}
	}
}

// A mounted server sends no informational response once the head is sent.
func TestMountedInform(t *testing.T) {
	handler := HandlerFunc(func(c *Context) {
		if err := c.Inform(103, "Link", "early"); err != nil {
			t.Error(err)
		}
		c.SetHeader("X-A", "1")
		c.Flush()
		if err := c.Inform(103, "Link", "late"); err != ErrHeadWritten {
			t.Errorf("after the head: %v", err)
		}
	})
	std := httptest.NewServer(&Server{Handler: handler})
	defer std.Close()
	for _, base := range []string{std.URL, "http://" + serve(t, &Server{Handler: handler})} {
		got := ask(t, base, "GET", "/", nil, "", false)
		if got.header.Get("X-A") != "1" || got.header.Get("Link") != "" {
			t.Errorf("%s", got)
		}
	}
}
