// Package replay runs the checks on commits of public projects that removed one of the
// eighteen patterns: on the line before the commit, and on the lines that replaced it.
//
//	go test ./advise/internal/replay -timeout 0 -v -mirror DIR
//
// The list is advise/testdata/history.jsonl; DIR holds the repositories as OWNER/NAME,
// OWNER+NAME or OWNER+NAME/repo, with or without a work tree. Nothing is built: only the
// package of the line is type-checked, with the packages of the same commit that it imports,
// if they are there. Other imports stay unknown, and checks that need them stay silent.
package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
)

var (
	mirror   = flag.String("mirror", "", "`directory` of the repositories")
	exercise = flag.Int("exercise", 0, "only this exercise")
	blind    = flag.Bool("blind", false, "only the commits that no check was changed for")
	set      = flag.String("set", "", "only the commits of this `set`, which were gathered together")
)

func TestPublicHistory(t *testing.T) {
	if *mirror == "" {
		t.Skip("needs the repositories of the list: -mirror DIR")
	}
	commits, err := read(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range advise.All() {
		c.ReportAll(true)
		defer c.ReportAll(false)
	}
	var sum tally
	for _, c := range commits {
		if *exercise != 0 && c.Exercise != *exercise || *blind && !c.Blind || *set != "" && c.Set != *set {
			continue
		}
		if c.Not != "" {
			sum.relabelled++
			continue
		}
		dir := repository(*mirror, c.Repository)
		if dir == "" {
			sum.absent++
			continue
		}
		r, err := replay(dir, c)
		if err != nil {
			t.Logf("%s %.10s: %v", c.Repository, c.Commit, err)
			sum.failed++
			continue
		}
		sum.add(c, r)
		if testing.Verbose() {
			fmt.Printf("%2d before=%-5v after=%-5v %s %.10s %s:%d\n", c.Exercise, r.before, r.after,
				c.Repository, c.Commit, c.File, c.Line)
		}
	}
	if err := sum.write(os.Stdout); err != nil {
		t.Fatal(err)
	}
	if !sum.passes() {
		t.Error("the bars are missed")
	}
}

// list is the list of commits.
const list = "../../testdata/history.jsonl"

// A commit removed a pattern from a line. Line is its number before the commit.
type commit struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	Exercise   int    `json:"exercise"`
	Not        string `json:"not,omitempty"`   // why it is no example of the pattern; it is not counted then
	Blind      bool   `json:"blind,omitempty"` // no check was changed for it
	Set        string `json:"set,omitempty"`   // commits that were gathered together; "" for the first ones
}

func (c commit) validate() error {
	if strings.Count(c.Repository, "/") != 1 || len(c.Commit) != 40 || !strings.HasSuffix(c.File, ".go") || c.Line < 1 ||
		c.Exercise < 1 || c.Exercise > 18 {
		return fmt.Errorf("%+v: want OWNER/NAME, 40 hex digits, a Go file, a line, and an exercise from 1 to 18", c)
	}
	return nil
}

func read(name string) ([]commit, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var commits []commit
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var c commit
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(commits)+1, err)
		}
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(commits)+1, err)
		}
		commits = append(commits, c)
	}
	return commits, sc.Err()
}

// repository returns the directory of a repository, or "".
func repository(mirror, name string) string {
	joined := strings.ReplaceAll(name, "/", "+")
	for _, dir := range []string{name, joined, filepath.Join(joined, "repo")} {
		dir = filepath.Join(mirror, dir)
		for _, mark := range []string{".git", "HEAD"} {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
	}
	return ""
}

// A verdict is what the checks report for a commit.
type verdict struct {
	before bool // the line is flagged before the commit
	after  bool // the lines that replaced it are flagged
}

// replay runs the checks on the state before a commit and after it.
func replay(dir string, c commit) (r verdict, err error) {
	from, to, err := replaced(dir, c)
	if err != nil {
		return r, err
	}
	repo, err := open(dir)
	if err != nil {
		return r, err
	}
	defer repo.close()
	old, err := findings(repo.at(c.Commit+"^"), c)
	if err != nil {
		return r, err
	}
	mended, err := findings(repo.at(c.Commit), c)
	if errors.Is(err, errAbsent) {
		mended, err = nil, nil // the commit removed the file
	}
	if err != nil {
		return r, err
	}
	r.before, r.after = covers(old, c.Line, c.Line), covers(mended, from, to)
	return r, nil
}

// covers reports whether a finding overlaps the lines from to to.
func covers(found []lines, from, to int) bool {
	return slices.ContainsFunc(found, func(l lines) bool { return l.from <= to && from <= l.to })
}

// A tally counts commits and findings by exercise; row 0 is the sum.
type tally struct {
	rows                       [19]row
	absent, failed, relabelled int
}

type row struct{ commits, before, after int }

func (t *tally) add(c commit, v verdict) {
	for _, r := range []*row{&t.rows[c.Exercise], &t.rows[0]} {
		r.commits++
		if v.before {
			r.before++
		}
		if v.after {
			r.after++
		}
	}
}

// The shares of commits that must be flagged before the commit, in total and per
// pattern, and silent after it.
const wantBefore, wantEach, wantSilent = 0.70, 0.50, 0.95

func (t *tally) passes() bool {
	all := t.rows[0]
	if all.commits == 0 || t.failed > 0 || !all.flagged(wantBefore) ||
		float64(all.commits-all.after) < wantSilent*float64(all.commits) {
		return false
	}
	for _, r := range t.rows[1:] {
		if !r.flagged(wantEach) {
			return false
		}
	}
	return true
}

func (r row) flagged(share float64) bool { return float64(r.before) >= share*float64(r.commits) }

func (t *tally) write(w io.Writer) error {
	names := map[int]string{0: "all"}
	for _, c := range advise.All() {
		if c.Exercise > 0 {
			names[c.Exercise] = c.Name
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %8s %15s %14s\n", "exercise", "commits", "flagged before", "flagged after")
	for i := range t.rows {
		i = (i + 1) % len(t.rows) // the sum comes last
		if r := t.rows[i]; r.commits > 0 || i == 0 {
			fmt.Fprintf(&b, "%2d %-17s %8d %15d %14d\n", i, names[i], r.commits, r.before, r.after)
		}
	}
	if t.absent > 0 {
		fmt.Fprintf(&b, "%d commits of repositories that are not there\n", t.absent)
	}
	if t.failed > 0 {
		fmt.Fprintf(&b, "%d commits failed\n", t.failed)
	}
	if t.relabelled > 0 {
		fmt.Fprintf(&b, "%d commits are no case of their pattern, the list says why\n", t.relabelled)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
