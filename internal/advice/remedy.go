package advice

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A remedy is what is tried: the fix of a finding, or a patch that somebody
// wrote.
type remedy struct {
	finding Finding
	pkgs    []string // import paths of the packages that it changes
	spots   [][]spot // the code that it is about: the first of these that a benchmark runs
	broken  error    // why it cannot be tried
	alone   *Patch   // while it is tried: what it changes in the copy
	tests   []*suite // and the tests that it must not break

	// make returns what it changes in the copy as that is now.
	make func(context.Context) (*Patch, error)
}

// A spot is a place as the cover tool names it.
type spot struct {
	file         string // import path and base name
	line, column int
}

func spotOf(pkg, name string, line, column int) spot {
	return spot{path.Join(pkg, filepath.Base(name)), line, column}
}

// benchmarks returns the benchmarks in the reach that run the remedy's code,
// those that run it most often first.
func (m *remedy) benchmarks(r reach) []benchmark {
	for _, spots := range m.spots {
		if found := r.of(spots...); len(found) > 0 {
			return found
		}
	}
	return nil
}

// mechanical returns the remedy of a finding with a fix.
func (v *verifier) mechanical(f Finding) *remedy {
	m := &remedy{finding: f, pkgs: []string{f.Pkg}}
	m.make = func(context.Context) (*Patch, error) {
		alone, err := v.patch.beyond(f.Edits)
		if err != nil {
			return nil, fmt.Errorf("%w as one that was kept; run it again after applying the patch", err)
		}
		return alone, nil
	}
	m.spots = [][]spot{{spotOf(f.Pkg, f.Spans[0].File, f.Line, f.Column)}}
	for _, s := range f.Spans[1:] {
		m.spots = append(m.spots, []spot{spotOf(f.Pkg, s.File, s.From, s.Column)})
	}
	for name, changes := range f.Edits {
		src := v.patch.src.of(name)
		if m.broken = src.err; m.broken != nil {
			return m
		}
		if _, ok := v.at(name); !ok {
			m.broken = fmt.Errorf("%s is outside the module that was copied", name)
			return m
		}
		for _, c := range changes {
			if !importEdit.MatchString(c.Text) {
				line, column := position(src.text, c.Start)
				m.spots = append(m.spots, []spot{spotOf(f.Pkg, name, line, column)})
			}
		}
	}
	return m
}

// position is the line and column of a byte.
func position(src []byte, offset int) (line, column int) {
	before := string(src[:min(offset, len(src))])
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
}

// put writes what a remedy makes of its files into the copy, or what they were
// without it.
func (v *verifier) put(alone *Patch, with bool) error {
	for name, c := range alone.files {
		text := c.old
		if with {
			text = c.new
		}
		copied, _ := v.at(name)
		if err := overwrite(copied, text); err != nil {
			return fmt.Errorf("advise: verify: %w", err)
		}
	}
	return nil
}

// overwrite gives a file its contents; nil removes it.
func overwrite(name string, text []byte) error {
	if text == nil {
		return os.RemoveAll(name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
