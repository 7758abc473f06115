package web

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestGuardOnLoopback(t *testing.T) {
	server := newServer(t, Config{Store: filepath.Join(t.TempDir(), "none.db")})
	for _, tc := range []struct {
		name   string
		header []string
		status int
	}{
		{"the address itself", nil, 200},
		{"localhost", []string{"Host", "localhost:8080"}, 200},
		{"a tunnel", []string{"Host", "LOCALHOST.:9000"}, 200},
		{"IPv6", []string{"Host", "[::1]:8080"}, 200},
		{"a name below localhost", []string{"Host", "isobar.localhost"}, 200},
		{"a rebound name", []string{"Host", "evil.example:8080"}, 403},
		{"a name that begins right", []string{"Host", "localhost.evil.example"}, 403},
		{"an address that begins right", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"another address", []string{"Host", "192.0.2.1:8080"}, 403},
		{"no name", []string{"Host", ""}, 403},
		{"its own page", []string{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-origin"}, 200},
		{"a page of another site", []string{"Origin", "https://evil.example"}, 403},
		{"a page of another port", []string{"Origin", "http://127.0.0.1:9999"}, 403},
		{"a page without an origin", []string{"Origin", "null"}, 403},
		{"a request by another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"a request by another port", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
		{"a frame in another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"a link from another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"typed by the reader", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
	} {
		for _, target := range []string{"/", "/live", "/assets/ui.js"} {
			status, body, h := get(t, server, target, tc.header...)
			if status != tc.status {
				t.Errorf("%s: %s: %d, want %d: %s", tc.name, target, status, tc.status, body)
			}
			if h.Get("Content-Security-Policy") == "" {
				t.Errorf("%s: no policy", tc.name)
			}
		}
	}
}

// TestNothingChanges checks that every page answers only methods that read.
func TestNothingChanges(t *testing.T) {
	for _, config := range []Config{{}, {Token: "secret"}} {
		config.Store = filepath.Join(t.TempDir(), "none.db")
		server := newServer(t, config)
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "ANY"} {
			r := httptest.NewRequest(method, "http://127.0.0.1/", nil)
			r.Header.Set("Authorization", "Bearer secret")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %d", method, w.Code)
			}
		}
		r := httptest.NewRequest("HEAD", "http://127.0.0.1/", nil)
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("HEAD: %d", w.Code)
		}
	}
}

func TestToken(t *testing.T) {
	token := rand.Text()
	server := newServer(t, Config{Store: filepath.Join(t.TempDir(), "none.db"), Token: token})
	host := []string{"Host", "192.0.2.1:8080"}
	for _, target := range []string{"/", "/run/1", "/live", "/assets/ui.js", "/run/1/events", "/nothing"} {
		for name, header := range map[string][]string{
			"no token": nil, "a wrong cookie": {"Cookie", "isobar-ui-8080=wrong"}, "the cookie of another port": {"Cookie", "isobar-ui-9090=" + token},
			"a wrong header": {"Authorization", "Bearer wrong"}, "an empty one": {"Authorization", "Bearer "},
		} {
			if status, body, _ := get(t, server, target, append(host, header...)...); status != 401 || !strings.Contains(body, "isobar ui") || strings.Contains(body, token) {
				t.Errorf("%s: %s: %d %s", target, name, status, body)
			}
		}
	}
	if status, _, h := get(t, server, "/?token=wrong", host...); status != 401 || h.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d %v", status, h)
	}
	for target, want := range map[string]string{"/run/1?units=base&token=" + token: "/run/1?units=base", "//evil.example/?token=" + token: "/evil.example/", "/?token=" + token: "/"} {
		status, _, h := get(t, server, target, host...)
		if status != http.StatusSeeOther || h.Get("Location") != want {
			t.Errorf("%s: %d to %q, want %q", target, status, h.Get("Location"), want)
		}
		set := h.Get("Set-Cookie")
		for _, part := range []string{"isobar-ui-8080=" + token, "HttpOnly", "SameSite=Strict", "Path=/"} {
			if !strings.Contains(set, part) {
				t.Errorf("the cookie %q lacks %s", set, part)
			}
		}
	}
	for _, header := range [][]string{{"Cookie", "isobar-ui-8080=" + token}, {"Authorization", "Bearer " + token}} {
		if status, body, _ := get(t, server, "/", append(host, header...)...); status != 200 {
			t.Errorf("%v: %d %s", header, status, body)
		}
		// A token does not let other sites in.
		if status, _, _ := get(t, server, "/", append(append(host, "Origin", "https://evil.example"), header...)...); status != 403 {
			t.Errorf("a foreign page with %v: %d", header, status)
		}
	}
}
