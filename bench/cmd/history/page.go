package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/advise"
)

// exercises are the names of the exercises: of the checks for them.
func exercises() map[int]string {
	names := map[int]string{}
	for _, c := range advise.All() {
		if c.Exercise > 0 {
			names[c.Exercise] = c.Name
		}
	}
	return names
}

// columns are those of the rows to judge; the last three are filled by hand.
var columns = []string{"fix", "exercise", "module", "line", "right", "silent", "reason"}

// write writes report.md, and judge.tsv unless it is there.
func (r *runner) write() error {
	var report, rows strings.Builder
	names := exercises()
	report.WriteString("# What advise says of the fixes\n")
	rows.WriteString(strings.Join(columns, "\t") + "\n")
	for i, f := range r.fixes {
		results := map[string]*result{}
		for _, side := range sides {
			data, err := os.ReadFile(r.name(i, side+".result.json"))
			if os.IsNotExist(err) {
				continue
			}
			one := &result{}
			if err == nil {
				err = json.Unmarshal(data, one)
			}
			if err != nil {
				return err
			}
			results[side] = one
		}
		if len(results) == 0 {
			continue // not tried yet
		}
		at := fmt.Sprintf("%s:%d", f.File, f.Line)
		fmt.Fprintf(&report, "\n## %d. %s: %s@%s %s\n\nThe fix: %s\n", i+1, names[f.Exercise], f.Module, f.Before, at, f.Did)
		marks := []string{"", ""}
		for n, side := range sides {
			version, line := f.on(side)
			one := results[side]
			switch {
			case one == nil:
				fmt.Fprintf(&report, "\n%s, %s: nothing stands there\n", side, version)
				marks[n] = "-"
			case one.Problem != "":
				fmt.Fprintf(&report, "\n%s, %s line %d: not run: %s\n", side, version, line, one.Problem)
				marks[n] = "-"
			default:
				fmt.Fprintf(&report, "\n%s, %s line %d; the profile has there: %s\n\n```text\n%s\n\n%s\n```\n", side, version,
					line, one.Profile, one.Source, one.Text)
			}
		}
		fmt.Fprintf(&rows, "%d\t%s\t%s\t%s\t%s\t%s\t\n", i+1, names[f.Exercise], f.Module, at, marks[0], marks[1])
	}
	if err := os.WriteFile(filepath.Join(r.dir, "report.md"), []byte(report.String()), 0o644); err != nil {
		return err
	}
	judge := filepath.Join(r.dir, "judge.tsv")
	if _, err := os.Stat(judge); err == nil {
		return nil
	}
	return os.WriteFile(judge, []byte(rows.String()), 0o644)
}

// A row is what a reader says of a fix: right and silent are yes, no, or - for what was not run.
type row struct {
	fix           int
	right, silent string
}

func readJudged(name string, fixes int) (rows []row, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	seen, valid := map[int]bool{}, map[string]bool{"yes": true, "no": true, "-": true}
	_, text, _ := strings.Cut(string(data), "\n")
	for l := range strings.Lines(text) {
		f := append(strings.Split(strings.TrimRight(l, "\n"), "\t"), make([]string, len(columns))...)
		n, err := strconv.Atoi(f[0])
		r := row{n, f[4], f[5]}
		if err != nil || n < 1 || n > fixes || seen[n] || !valid[r.right] || !valid[r.silent] ||
			r.right != "-" && f[6] == "" {
			return nil, fmt.Errorf("%s: %q: want a number from 1 to %d, once; yes, no or - twice; and a reason", name, l, fixes)
		}
		seen[n] = true
		rows = append(rows, r)
	}
	return rows, nil
}

// table counts judged rows by exercise; the sum comes last.
func table(fixes []fix, rows []row) string {
	type count struct{ fixes, judged, right, after, silent int }
	var counts [19]count
	names := exercises()
	names[0] = "all"
	for _, f := range fixes {
		counts[f.Exercise].fixes++
		counts[0].fixes++
	}
	for _, r := range rows {
		for _, n := range []int{0, fixes[r.fix-1].Exercise} {
			c := &counts[n]
			if r.right != "-" {
				c.judged++
			}
			if r.right == "yes" {
				c.right++
			}
			if r.silent != "-" {
				c.after++
			}
			if r.silent == "yes" {
				c.silent++
			}
		}
	}
	var b strings.Builder
	b.WriteString("| pattern | fixes | judged | right | | judged after | silent |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range counts {
		i = (i + 1) % len(counts)
		if c := counts[i]; c.fixes > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %d | %d |\n", cmp.Or(names[i], strconv.Itoa(i)), c.fixes, c.judged,
				c.right, percent(c.right, c.judged), c.after, c.silent)
		}
	}
	return b.String()
}

func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}
