package web

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// TestAnswerComesLast views a run before and after its answer is stored, with no record in between.
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

// TestPathsAreReadable: a run of a program shows the program's name as given.
func TestPathsAreReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	config := cell.Config{Workload: "exec", Command: []string{"./bin/prog", "a b"}, GC: cell.DefaultGC}
	plan := []cell.Cell{{Config: config}, {Config: config, Index: 1, Order: 1, Block: 1}}
	id, err := s.CreateRun(store.Run{Name: "tune", Created: time.Unix(1700000000, 0), Args: []string{"tune"}}, plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(id, testRecord(plan[0]), nil); err != nil {
		t.Fatal(err)
	}
	server := newServer(t, Config{Store: path})
	for _, address := range []string{"/run/1", "/run/1/cell/0", "/run/1/cell/1"} {
		if _, body, _ := get(t, server, address); !strings.Contains(body, "exec/command=./bin/prog a b/gc=default") ||
			strings.Contains(body, "%2F") {
			t.Errorf("%s: a path with escapes, or none", address)
		}
	}
}

// TestFindingsComeFirst: a run's page and file begin with what was found, however long the
// command; how it was measured and how to repeat it follow.
func TestFindingsComeFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	name := "exec ./prog " + strings.Repeat("argument ", 100)
	id, err := testStore(t, path).CreateRun(store.Run{Name: name, Args: []string{"lab", "run"}}, testPlan(1))
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	server := newServer(t, Config{Store: path})
	for _, address := range []string{"/run/1", "/run/1/report.html"} {
		_, body, _ := get(t, server, address)
		above, below, found := strings.Cut(body, `id="found"`)
		if !found || strings.Contains(above, "Repeat with") || !strings.Contains(below, "<code>isobar lab run") {
			t.Errorf("%s: the command that repeats it is not below the findings", address)
		}
		_, heading, _ := strings.Cut(above, "<h1>")
		if heading, _, _ = strings.Cut(heading, "</h1>"); len(heading) > 130 || !strings.HasSuffix(heading, "…") {
			t.Errorf("%s: the heading has %d bytes: %s", address, len(heading), heading)
		}
	}
}
