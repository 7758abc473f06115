package web

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAnswerComesLast looks at a run before and after what it says is stored, with
// no record in between.
func TestAnswerComesLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	addRun(t, s, 1, 3)
	server := newServer(t, Config{Store: path})
	if _, body, _ := get(t, server, "/run/1"); strings.Contains(body, "set GOGC=400") {
		t.Fatal("an answer before there is one")
	}
	answer := `{"headline": "set GOGC=400", "outcome": "recommended", "service": "shop",
		"base": {"workload": "exec", "gc": {"name": "default", "percent": 100}},
		"setting": {"workload": "exec", "gc": {"percent": 400}},
		"gains": [{"metric": "/memory/rss/peak:bytes", "tuned": 94371840}]}`
	if err := s.KeepAnswer(1, []byte(answer)); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"/run/1", "/run/1/report.html"} {
		status, body, _ := get(t, server, address)
		for _, want := range []string{"<li>set GOGC=400</li>", `id="answer"`, "kubernetes.yaml", "value: &#34;400&#34;"} {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: status %d, no %q", address, status, want)
			}
		}
	}
}
