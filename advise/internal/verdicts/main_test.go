package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testdata = "../../testdata"

func TestPageHasTheTables(t *testing.T) {
	want, err := tables(testdata)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/results/advise-quality.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), want) {
		t.Error("docs/results/advise-quality.md has other tables than go run ./advise/internal/verdicts prints")
	}
	modules, err := os.ReadFile(filepath.Join(testdata, "default-modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := read(filepath.Join(testdata, "default-runs.tsv"), 4, toRun)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if !strings.Contains(string(modules), "\n"+r.module+" ") {
			t.Errorf("default-modules.txt has no %s", r.module)
		}
	}
}

func TestTables(t *testing.T) {
	const runs, verdicts = "# runs\nold\tm v1\t2000\t2\n", "# verdicts\nold;new\tm v1\ta.go:1\tboxing\tyes\thot\n"
	const no = "old\tm v1\ta.go:2\tsprintf\tno\tcold\n"
	for name, c := range map[string]struct{ runs, verdicts, want string }{
		"one of two":    {runs, verdicts + no, "| together | 2,000 | 2 | 1.00 | 2 | 1 (50 %) |"},
		"unread":        {runs, verdicts, "m v1, rule old: 1 verdicts of 2 findings; want ten, or all"},
		"another":       {runs, verdicts + no + no, "m v1, rule old: 3 verdicts of 2 findings; want ten, or all"},
		"undecided":     {runs, verdicts + strings.Replace(no, "no", "?", 1), `default-verdicts.tsv:3: verdict "?"`},
		"a field less":  {runs, "old\tm v1\n", "default-verdicts.tsv:1: 2 fields; want 6"},
		"no lines":      {"old\tm v1\t0\t2\n", verdicts, `default-runs.tsv:1: "0" lines`},
		"less than any": {"old\tm v1\t9\t-1\n", verdicts, `default-runs.tsv:1: "-1" findings`},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"default-runs.tsv": c.runs, "default-verdicts.tsv": c.verdicts} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := tables(dir)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	const report = `{"findings": [{"file": "a.go", "line": 3, "check": "boxing"}], "lines": 40}`
	const want = "new\tm v1\t40\t1\nnew\tm v1\ta.go:3\tboxing\t?\t?\n"
	if got, err := rows(strings.NewReader(report), "m v1", "new"); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := rows(strings.NewReader("no report"), "m v1", "new"); err == nil {
		t.Error("takes what is no report")
	}
}
