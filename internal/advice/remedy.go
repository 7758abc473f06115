package advice

import (
	"context"
	"fmt"
	"path/filepath"
)

// A remedy is what is tried: the fix of a finding, or a patch that somebody
// wrote.
type remedy struct {
	finding   Finding
	pkgs      []string       // import paths of the packages that it changes
	functions []string       // around what it changes, as a Finding has them
	seen      map[judge]seen // what allocates there
	broken    error          // why it cannot be tried
	alone     *Patch         // while it is tried: what it changes beside those kept,
	with      command        // what runs with it,
	tests     []*suite       // and the tests that it must not break

	// make returns what it changes beside those that were kept.
	make func(context.Context) (*Patch, error)
}

// mechanical returns the remedy of a finding with a fix.
func (v *verifier) mechanical(f Finding) *remedy {
	m := &remedy{finding: f, pkgs: []string{f.Pkg}, seen: map[judge]seen{}}
	if f.Function != "" {
		m.functions = []string{f.Function}
	}
	m.make = func(context.Context) (*Patch, error) {
		alone, err := v.patch.beyond(f.Edits)
		if err != nil {
			return nil, fmt.Errorf("%w as one that was kept; run it again after applying the patch", err)
		}
		return alone, nil
	}
	for name := range f.Edits {
		if !within(name, v.at.root) {
			m.broken = fmt.Errorf("%s is outside the module", name)
		}
	}
	return m
}

// within reports whether a file lies below a directory.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
