package advice

import (
	"context"
	"fmt"
	"path/filepath"
)

// A remedy is what is tried: the fix of a finding, or a hand-written patch.
type remedy struct {
	finding   Finding
	pkgs      []string       // import paths of the packages that it changes
	functions []string       // that it changes, and around its finding, named as in a Finding
	seen      map[judge]seen // what judges allocate there
	broken    error          // why it cannot be tried
	alone     *Patch         // during its trial: what it changes beside the kept ones,
	with      command        // a command that sees it,
	tests     []*suite       // and the tests that must still pass

	// make returns what it changes beside the kept ones.
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
	if alone, err := v.patch.beyond(f.Edits); err == nil { // room is made where a list begins, which others may call
		for _, c := range alone.files {
			names, _ := changed(c.old, c.new)
			m.functions = append(m.functions, names...)
		}
	}
	return m
}

// within reports whether a file lies below a directory.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
