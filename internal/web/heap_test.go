package web

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/heap"
)

func TestHeapPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file has such a name there")
	}
	t.Chdir(t.TempDir())
	report := &heap.Report{Format: 1, Program: "/bin/x", Tree: &heap.Node{Retained: 5000, Children: []*heap.Node{
		{Label: "main.sessions", Type: "[]uint8", Retained: 5000, Reached: 5000, Bytes: 5000, Objects: 1}}}}
	if err := report.Save("a<b>.heap"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("text<x>.heap", []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newServer(t, Config{Store: "none.db", Heaps: []string{"a<b>.heap", "text<x>.heap"}})
	for _, tc := range []struct {
		address, want string
		status        int
	}{
		{"/heap", `<a href="/heap/1">a&lt;b&gt;.heap</a>`, 200},
		{"/heap/1", "main.sessions", 200},
		{"/heap/2", "text&lt;x&gt;.heap", 500},
		{"/heap/3", "", 404},
		{"/heap/x", "", 404},
	} {
		status, body, h := get(t, server, tc.address)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d, want %d with %q: %.500s", tc.address, status, tc.status, tc.want, body)
		}
		rules := h.Get("Content-Security-Policy")
		if rules != policy || !strings.Contains(body, `<nav aria-label="Isobar">`) {
			t.Errorf("%s has the policy %q, or no navigation", tc.address, rules)
		}
	}
}
