package advice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/cover"
)

// Count runs the benchmarks that match bench and counts how often a call of its
// function makes each allocation of the account.
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
	tmp, err := os.MkdirTemp("", "isobar-counts-")
	if err != nil {
		return fmt.Errorf("advise: bench: %w", err)
	}
	reached := reach{}
	for _, p := range all {
		if err == nil && slices.ContainsFunc(covered, p.imports) {
			err = in.reach(ctx, p, covered, bench, tmp, reached, progress)
		}
	}
	if err == nil {
		r.Evidence.Account.count(reached)
	}
	return errors.Join(err, os.RemoveAll(tmp))
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
		if err := reached.read(name); err != nil {
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

// A spot is a place as the cover tool names it.
type spot struct {
	file         string // import path and base name
	line, column int
}

func spotOf(pkg, name string, line, column int) spot {
	return spot{path.Join(pkg, filepath.Base(name)), line, column}
}

// reach is how often stretches of code ran, by import path and base name of the file.
type reach map[string][]cover.ProfileBlock

// reach adds what each benchmark of a package runs of the covered packages in one
// iteration, without what it prepares. One that fails counts nothing.
func (c command) reach(ctx context.Context, p *testPackage, covered []string, bench, tmp string, to reach,
	progress func(string)) error {
	top, sub, _ := strings.Cut(bench, "/")
	if sub != "" {
		sub = "/" + sub
	}
	matches, err := regexp.Compile(top)
	if err != nil {
		return fmt.Errorf("advise: bench: %w; want a regular expression", err)
	}
	progress("building the benchmarks of " + p.ImportPath + " with coverage")
	binary, out := filepath.Join(tmp, "cover.test"), filepath.Join(tmp, "cover.out")
	if _, err := c.run(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-covermode=atomic",
		"-coverpkg="+strings.Join(covered, ","), p.ImportPath); err != nil {
		return ctx.Err() // no benchmark here can count anything
	}
	at := command{p.Dir, c.env}
	list, err := at.run(ctx, binary, "-test.list=^Benchmark")
	if err != nil {
		return fmt.Errorf("advise: bench: %s: %w", p.ImportPath, err)
	}
	for name := range strings.FieldsSeq(string(list)) {
		if !strings.HasPrefix(name, "Benchmark") || !matches.MatchString(name) {
			continue
		}
		progress("what " + name + " of " + p.ImportPath + " runs")
		ran, err := timedReach(func(n int) (reach, time.Duration, error) {
			within, cancel := context.WithTimeout(ctx, single)
			defer cancel()
			begun := time.Now()
			flags := judge{p, name, sub}.flags(fmt.Sprintf("%dx", n))
			if _, err := at.run(within, binary, append(flags, "-test.coverprofile="+out)...); err != nil {
				return nil, 0, err
			}
			ran := reach{}
			return ran, time.Since(begun), ran.read(out)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			for file, blocks := range ran {
				to[file] = append(to[file], blocks...)
			}
		}
	}
	return nil
}

// brief is the time within which an iteration must end for a benchmark to run
// several, which tells its preparation from what it times.
const brief = 2 * time.Second

// timedReach returns what one iteration of a benchmark runs. iterate runs it with
// a number of iterations. Two and three of them differ by one, and prepare alike;
// but not one and two, as the testing package begins with one. Where the first
// takes long, its preparation counts, too.
func timedReach(iterate func(n int) (reach, time.Duration, error)) (reach, error) {
	once, took, err := iterate(1)
	if err != nil || took > brief {
		return once, err
	}
	two, _, err := iterate(2)
	if err != nil {
		return nil, err
	}
	three, _, err := iterate(3)
	if err != nil {
		return nil, err
	}
	for file, blocks := range three {
		before := two[file]
		if len(before) != len(blocks) {
			return once, nil
		}
		for i := range blocks {
			was := before[i]
			grown := max(0, blocks[i].Count-was.Count)
			if was.Count = blocks[i].Count; was != blocks[i] {
				return once, nil
			}
			blocks[i].Count = grown
		}
	}
	return three, nil
}

// read adds a cover profile.
func (r reach) read(name string) error {
	profiles, err := cover.ParseProfiles(name)
	if err != nil {
		return fmt.Errorf("advise: coverage: %s: %w", name, err)
	}
	for _, p := range profiles {
		r[p.FileName] = append(r[p.FileName], p.Blocks...)
	}
	return nil
}

// times returns how often all benchmarks together ran the spot: profiles of
// several packages name a block once for each.
func (r reach) times(s spot) (n int) {
	var best *cover.ProfileBlock
	for i := range r[s.file] {
		b := &r[s.file][i]
		switch {
		case !holds(b, s.line, s.column):
		case best != nil && b.StartLine == best.StartLine && b.StartCol == best.StartCol:
			n += b.Count
		case best == nil || holds(best, b.StartLine, b.StartCol) && b.EndLine <= best.EndLine: // the innermost
			best, n = b, b.Count
		}
	}
	return n
}

func holds(b *cover.ProfileBlock, line, column int) bool {
	return (line > b.StartLine || line == b.StartLine && column >= b.StartCol) &&
		(line < b.EndLine || line == b.EndLine && column < b.EndCol)
}
