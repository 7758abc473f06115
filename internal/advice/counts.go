package advice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// Count runs the benchmarks that match bench once and counts how often a call of
// its function makes each allocation of the account.
func Count(ctx context.Context, c Config, bench string, r *Result, progress func(string)) error {
	if r.Evidence == nil || len(r.Evidence.Account.Sites) == 0 {
		return nil
	}
	var covered []string
	for _, e := range r.Evidence.Account.Sites {
		if pkg := path.Dir(e.spot.file); !slices.Contains(covered, pkg) {
			covered = append(covered, pkg)
		}
	}
	in := command{c.Dir, c.Env}
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
		r.Evidence.Account.count(reached)
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
			if ok && b.EndLine > lines {
				return nil, fmt.Errorf("advise: coverage: %s has no line %d; take a profile of this source, or check out the one "+
					"it was taken of", file, b.EndLine)
			}
		}
	}
	if !within {
		return nil, fmt.Errorf("advise: coverage: nothing of %s lies in the packages named; take a profile with "+
			"-coverpkg=./..., or name others", strings.Join(names, ", "))
	}
	return reached, nil
}

// count gives the sites how often a call makes them.
func (a *Account) count(reached reach) {
	for i := range a.Sites {
		e := &a.Sites[i]
		if calls := reached.times(e.entry); calls > 0 {
			e.PerCall = float64(reached.times(e.spot)) / float64(calls)
		}
	}
}
