package web

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestHeapPages(t *testing.T) {
	server := newServer(t, Config{Store: filepath.Join(t.TempDir(), "none.db"), Heaps: []Heap{
		{"a<b>.heap", func(w io.Writer) error {
			_, err := io.WriteString(w, "<style>p{}</style><p>holders</p>")
			return err
		}},
		{"gone.heap", func(io.Writer) error { return errors.New("no such file <x>") }},
	}})
	for _, tc := range []struct {
		address, want string
		status        int
	}{
		{"/heap", `<a href="/heap/1">a&lt;b&gt;.heap</a>`, 200},
		{"/heap/1", "<p>holders</p>", 200},
		{"/heap/2", "no such file &lt;x&gt;", 500},
		{"/heap/3", "", 404},
		{"/heap/x", "", 404},
	} {
		status, body, h := get(t, server, tc.address)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d, want %d with %q: %.500s", tc.address, status, tc.status, tc.want, body)
		}
		rules := h.Get("Content-Security-Policy")
		own := tc.address == "/heap/1" // a report, with its style in itself
		if strings.Contains(rules, "'unsafe-inline'") != own || own && strings.Contains(rules, "script-src") {
			t.Errorf("%s has the policy %q", tc.address, rules)
		}
	}
}
