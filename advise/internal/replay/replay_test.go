package replay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
)

// makeRepository makes a repository of two commits, the second of which fixes the
// first. It returns the mirror directory and the hash of the second commit.
func makeRepository(t *testing.T) (mirror, hash string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	mirror = t.TempDir()
	dir := filepath.Join(mirror, "owner+name")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	git("init", "-q")
	write("ids/ids.go", "package ids\n\nfunc List() []int { return nil }\n")
	write("p/p.go", before)
	git("add", "-A")
	git("commit", "-qm", "before")
	write("p/p.go", after)
	git("commit", "-qam", "after")
	return mirror, git("rev-parse", "HEAD")
}

// The list comes from another package of the tree: without it the elements have no
// type. Package unknown does not exist.
const before = `package p

import (
	"fmt"

	"example.org/m/ids"
	"example.org/unknown"
)

func All() {
	for _, id := range ids.List() {
		unknown.Put(fmt.Sprintf("id=%d", id))
	}
}
`

const after = `package p

import (
	"strconv"

	"example.org/m/ids"
	"example.org/unknown"
)

func All() {
	for _, id := range ids.List() {
		unknown.Put("id=" + strconv.Itoa(id))
	}
}
`

func TestReplay(t *testing.T) {
	mirror, hash := makeRepository(t)
	c := commit{Repository: "owner/name", Commit: hash, File: "p/p.go", Line: 12, Exercise: 1}
	dir := repository(mirror, c.Repository)
	if dir == "" {
		t.Fatal("the repository is not found")
	}
	for _, ch := range advise.All() {
		ch.ReportAll(true)
		defer ch.ReportAll(false)
	}
	if r, err := replay(dir, c); err != nil || r != (verdict{before: true}) {
		t.Errorf("%+v, %v; want flagged before and silent after", r, err)
	}
	c.Exercise = 4
	if r, err := replay(dir, c); err != nil || r != (verdict{}) {
		t.Errorf("exercise 4: %+v, %v; want nothing", r, err)
	}
	c.Line = 11
	if _, err := replay(dir, c); err == nil || !strings.Contains(err.Error(), "does not change this line") {
		t.Errorf("a line that stays: %v", err)
	}
	c.Line, c.File = 12, "p/none.go"
	if _, err := replay(dir, c); err == nil {
		t.Error("a file that is not there: no error")
	}
	if dir := repository(mirror, "owner/other"); dir != "" {
		t.Errorf("another repository is at %s", dir)
	}
}

// TestHistory checks the list of commits itself, with or without the repositories.
func TestHistory(t *testing.T) {
	commits, err := read(list)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[commit]bool{}
	repositories, exercises := map[string]bool{}, map[int]bool{}
	for _, c := range commits {
		reason, blind := c.Not, c.Blind
		c.Not, c.Blind, c.Set = "", false, ""
		if seen[c] {
			t.Errorf("%+v is there twice", c)
		}
		if reason != "" && (blind || len(strings.Fields(reason)) < 4) {
			t.Errorf("%+v: %q is no reason", c, reason)
		}
		seen[c], repositories[c.Repository], exercises[c.Exercise] = true, true, true
	}
	if len(commits) < 40 || len(repositories) < 5 || len(exercises) < 12 {
		t.Errorf("%d commits of %d repositories and %d exercises, want 40, 5 and 12", len(commits), len(repositories), len(exercises))
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"no JSON", `{"repository":"a/b"}`, `{"repository":"ab","commit":"` + strings.Repeat("0", 40) + `","file":"x.go","line":1,"exercise":1}`} {
		name := filepath.Join(t.TempDir(), "history.jsonl")
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if commits, err := read(name); err == nil {
			t.Errorf("%s: %v, want an error", text, commits)
		}
	}
}

func TestTallyHoldsTheBars(t *testing.T) {
	add := func(t *tally, exercise, n, before, after int) {
		for i := range n {
			t.add(commit{Exercise: exercise}, verdict{before: i < before, after: i < after})
		}
	}
	for name, c := range map[string]struct {
		fill func(*tally)
		want bool
	}{
		"nothing":          {func(*tally) {}, false},
		"all":              {func(t *tally) { add(t, 1, 20, 20, 0) }, true},
		"too few before":   {func(t *tally) { add(t, 1, 20, 13, 0) }, false},
		"one pattern poor": {func(t *tally) { add(t, 1, 20, 20, 0); add(t, 2, 3, 1, 0) }, false},
		"flagged after":    {func(t *tally) { add(t, 1, 20, 20, 2) }, false},
		"a failure":        {func(t *tally) { add(t, 1, 20, 20, 0); t.failed = 1 }, false},
	} {
		var t1 tally
		c.fill(&t1)
		if t1.passes() != c.want {
			t.Errorf("%s: %v", name, t1.passes())
		}
	}
}

func TestCovers(t *testing.T) {
	found := []lines{{3, 5}, {5, 5}, {9, 9}}
	for line, want := range map[int]bool{2: false, 4: true, 5: true, 6: false, 9: true} {
		if got := covers(found, line, line); got != want {
			t.Errorf("line %d: %v, want %v", line, got, want)
		}
	}
}
