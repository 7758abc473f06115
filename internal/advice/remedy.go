package advice

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	m := &remedy{finding: f, pkgs: []string{f.Pkg}, broken: v.read(f.Edits)}
	m.make = func(context.Context) (*Patch, error) { return v.edit(f.Edits) }
	if m.broken != nil {
		return m
	}
	m.spots = [][]spot{{spotOf(f.Pkg, f.Spans[0].File, f.Line, f.Column)}}
	for _, s := range f.Spans[1:] {
		m.spots = append(m.spots, []spot{spotOf(f.Pkg, s.File, s.From, s.Column)})
	}
	for name, changes := range f.Edits {
		for _, c := range changes {
			if !importEdit.MatchString(c.Text) {
				line, column := position(v.source[name], c.Start)
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

// read takes the original files of a fix and checks that the copy has them.
func (v *verifier) read(f fix) error {
	for name := range f {
		if _, ok := v.at(name); !ok {
			return fmt.Errorf("%s is outside the module that was copied", name)
		}
		if v.source[name] != nil {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		v.source[name] = src
	}
	return nil
}

// edit returns what a fix changes beside those kept.
func (v *verifier) edit(f fix) (*Patch, error) {
	alone := &Patch{base: v.patch.base, files: map[string]contents{}}
	for name, changes := range f {
		was, err := edited(name, v.source[name], v.kept[name])
		if err != nil {
			return nil, err
		}
		text, err := edited(name, v.source[name], append(slices.Clone(v.kept[name]), changes...))
		if err != nil {
			return nil, fmt.Errorf("%w as one that was kept; run it again after applying the patch", err)
		}
		alone.files[name] = contents{was, text}
	}
	return alone, nil
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

// keep makes a remedy part of the result. The copy holds it already.
func (v *verifier) keep(m *remedy) {
	for name, changes := range m.finding.Edits {
		v.kept[name] = append(v.kept[name], changes...)
	}
	for name, c := range m.alone.files {
		original := c.old
		if was, ok := v.patch.files[name]; ok {
			original = was.old
		}
		v.patch.files[name] = contents{original, c.new}
	}
	clear(v.old)
}
