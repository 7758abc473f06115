package web

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/store"
)

// TestLargeStore compares the pages of a store of 10,000 runs and 1,000,000
// records with the sqlite3 shell reading the same rows, alternately. It creates
// the store at ISOBAR_LARGE_STORE, or uses an existing one.
func TestLargeStore(t *testing.T) {
	if os.Getenv("ISOBAR_SOAK") == "" {
		t.Skip("makes a store of several gigabytes: set ISOBAR_SOAK")
	}
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs the sqlite3 shell, which is not installed")
	}
	path := os.Getenv("ISOBAR_LARGE_STORE")
	if path == "" {
		path = filepath.Join(t.TempDir(), "large.db")
	}
	if _, err := os.Stat(path); err != nil {
		makeLargeStore(t, shell, path, 10_000)
	}
	read := func(query string) time.Duration {
		begun := time.Now()
		cmd := exec.Command(shell, "-readonly", path, query) // its output goes to the null device
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	var open, openShell, list, listShell, page, rows, rowsShell []time.Duration
	const listQuery = `SELECT *, (SELECT count(*) FROM record WHERE run = id AND NOT failed), (SELECT count(*) FROM record WHERE run = id AND failed) FROM run
		WHERE id < %d ORDER BY id DESC LIMIT 50; SELECT count(*) FROM run`
	for i := range 11 {
		id := int64(700*i + 100)
		server := New(Config{Store: path})
		looks := func(target string) time.Duration {
			begun := time.Now()
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", target, nil)
			r.Host = "localhost"
			if server.ServeHTTP(w, r); w.Code != 200 {
				t.Fatalf("%s: %d %s", target, w.Code, w.Body)
			}
			return time.Since(begun)
		}
		open, openShell = append(open, looks("/")), append(openShell, read(fmt.Sprintf(listQuery, 1<<62)))
		list, listShell = append(list, looks(fmt.Sprintf("/?before=%d", id+50))), append(listShell, read(fmt.Sprintf(listQuery, id+50)))
		page = append(page, looks(fmt.Sprintf("/run/%d", id)))
		rowsShell = append(rowsShell, read(fmt.Sprintf("SELECT * FROM run WHERE id = %[1]d; SELECT doc FROM cell WHERE run = %[1]d; SELECT cell, doc, hex(data) FROM cell JOIN document USING (run, cell) WHERE run = %[1]d; SELECT cell, metric, value FROM sample WHERE run = %[1]d", id)))
		s, err := server.source.get()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, _, _, err := s.Whole(id); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, time.Since(begun))
		server.Close()
	}
	for _, c := range []struct {
		name         string
		ours, shells []time.Duration
		most         float64 // multiple of the shell's time
	}{{"open and list", open, openShell, 5}, {"a page of the list", list, listShell, 5}, {"the rows of a run, decoded", rows, rowsShell, 5}, {"the page of a run", page, rowsShell, 8}} { // 4 on an idle machine
		ours, shells := median(c.ours), median(c.shells)
		ratio := float64(ours) / float64(shells)
		t.Logf("%s: %v, the shell %v, ratio %.1f", c.name, ours, shells, ratio)
		if c.most > 0 && ratio > c.most {
			t.Errorf("%s takes %.1f times as long as in the shell, more than %g", c.name, ratio, c.most)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// makeLargeStore makes one run of 100 records and copies it with the shell.
func makeLargeStore(t *testing.T, shell, path string, runs int) {
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id := largeRun(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < %d) SELECT i FROM n;\n", runs)
	for _, table := range []struct{ name, columns string }{
		{"run", "name || ' ' || i, created, args, version, machine, seed, cells, imported"}, {"cell", "cell, doc"}, {"record", "cell, failed"}, {"sample", "cell, metric, value"}, {"document", "cell, data"},
	} {
		key := "run"
		if table.name == "run" {
			key = "id"
		}
		script += fmt.Sprintf("INSERT INTO %s SELECT i, %s FROM n CROSS JOIN %s WHERE %s = %d;\n", table.name, table.columns, table.name, key, id)
	}
	cmd := exec.Command(shell, path)
	cmd.Stdin = strings.NewReader(script + "PRAGMA journal_mode = WAL;\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
