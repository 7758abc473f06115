package advice

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/cover"
)

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
