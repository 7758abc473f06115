package advice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// Counts are how often the code ran that a finding with the caveat
// check.Estimate is about: what the code does not tell and coverage profiles do.
type Counts struct {
	Begins int `json:"begins"`           // of these grew
	Rounds int `json:"rounds,omitempty"` // of the loop whose rounds the finding names as their size; 0 where it names none
	Adds   int `json:"adds"`             // to all of them
}

// several is how much is added on average to what is worth a size of its own,
// where the code names none.
const several = 4

// tell reports whether a size can be told by the counts: at least half of what
// the loop would allocate is used, or several are added on average.
func (c *Counts) tell() bool {
	if c.Rounds > 0 {
		return 2*c.Adds >= c.Rounds
	}
	return c.Adds >= several*c.Begins
}

func (c *Counts) String() string {
	if c.Begins == 0 {
		return "not run by what was counted"
	}
	text := fmt.Sprintf("%.3g are added on average", float64(c.Adds)/float64(c.Begins))
	if c.Rounds > 0 {
		text += fmt.Sprintf(", in %.0f %% of the rounds", 100*float64(c.Adds)/float64(c.Rounds))
	}
	return text
}

// Count runs the benchmarks that match bench once, counts what the findings
// that need an estimate are about, and sorts all findings again: those whose
// size can be told now need none. It is for results with shares of a profile.
func Count(ctx context.Context, c Config, bench string, r *Result, progress func(string)) error {
	in := command{c.Dir, c.Env}
	var covered []string
	for _, f := range r.Findings {
		if f.begins.Line > 0 && f.Share.weight() > 0 && !slices.Contains(covered, f.pkg) {
			covered = append(covered, f.pkg)
		}
	}
	if len(covered) == 0 {
		return nil
	}
	all, err := in.benchPackages(ctx, c.Patterns)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p *testPackage) bool { return !slices.ContainsFunc(covered, p.imports) })
	tmp, err := os.MkdirTemp("", "isobar-counts-")
	if err != nil {
		return fmt.Errorf("advise: bench: %w", err)
	}
	reached, err := in.reaching(ctx, coverage{pkgs: all, covered: covered, bench: bench, tmp: tmp, progress: progress})
	if err == nil {
		r.count(reached)
		slices.SortFunc(r.Findings, before)
	}
	return errors.Join(err, os.RemoveAll(tmp))
}

// counted reads coverage profiles of the units.
func counted(names []string, units []*unit) (reach, error) {
	lengths := map[string]int{} // lines of a file, by its name as the profiles have it
	for _, u := range units {
		for _, f := range u.Files {
			lengths[spotOf(u.PkgPath, f.Name, 0, 0).file] = f.Lines
		}
	}
	reached := reach{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("advise: coverage: %w", err)
		}
		if mode, _, _ := strings.Cut(string(text), "\n"); mode != "mode: count" && mode != "mode: atomic" {
			return nil, fmt.Errorf("advise: coverage: %s: the first line is %.40q; want a profile that counts, of "+
				"-covermode=count or atomic", name, mode)
		}
		if err := reached.read(name, benchmark{}); err != nil {
			return nil, err
		}
	}
	within := false
	for file, blocks := range reached {
		lines, ok := lengths[file]
		within = within || ok
		for _, b := range blocks {
			if ok && b.toLine > lines {
				return nil, fmt.Errorf("advise: coverage: %s has no line %d; take a profile of this source, or check out the one "+
					"it was taken of", file, b.toLine)
			}
		}
	}
	if !within {
		return nil, fmt.Errorf("advise: coverage: nothing of %s lies in the packages named; take a profile with "+
			"-coverpkg=./..., or name others", strings.Join(names, ", "))
	}
	return reached, nil
}

// count gives the findings that need an estimate their counts, and takes the
// caveat of those whose size these tell.
func (r *Result) count(reached reach) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.begins.Line == 0 || len(reached[spotOf(f.pkg, f.spans[0].File, 0, 0).file]) == 0 {
			continue
		}
		at := func(s mark) int {
			return reached.times(spotOf(f.pkg, f.spans[0].File, s.Line, s.Column))
		}
		c := &Counts{Begins: at(f.begins)}
		if f.rounds.Line > 0 {
			c.Rounds = at(f.rounds)
		}
		for _, s := range f.spans[1:] {
			c.Adds += at(mark{s.From, s.Column})
		}
		if f.Counts = c; c.Adds > 0 && c.tell() {
			f.Caveat = ""
		}
	}
}

// A mark is a place in the file of a finding.
type mark struct{ Line, Column int }

// marked enters a place that a check names to be counted.
func (d *diagnosis) marked(message string, at mark) bool {
	switch check.Count(message) {
	case check.Begins:
		d.Begins = at
	case check.Rounds:
		d.Rounds = at
	default:
		return false
	}
	return true
}
