package advice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// flows gives the sites the step that takes them to the heap, as the compiler
// has it: it compiles the packages of the heaviest ones again. What does not
// build stays without, and what is inlined, where the compiler decides again.
func (x *explainer) flows(sites []Explained) {
	const most = 100 // sites
	sites = sites[:min(most, len(sites))]
	var pkgs []string
	for _, e := range sites {
		if u := x.units[absolute(x.base, e.File)]; u != nil && e.Callee == "" && !slices.Contains(pkgs, u.PkgPath) {
			pkgs = append(pkgs, u.PkgPath)
		}
	}
	if len(pkgs) == 0 {
		return
	}
	dir, err := compiled(x.ctx, x.dir, pkgs...)
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	for i := range sites {
		e := &sites[i]
		if e.Callee != "" || e.inlined {
			continue
		}
		all, _ := facts(dir, filepath.Base(e.File), e.Line)
		steps := map[string]bool{}
		for _, f := range all {
			escapes := strings.HasPrefix(f.Code, "escape") && f.Message != "" // "escapes" with some toolchains
			if escapes && named(e.What, shortened(f.Message)) {
				e.Flow = f.decides()
				steps[e.Flow] = true
			}
		}
		if len(steps) > 1 { // of several expressions that are spelled alike
			e.Flow = ""
		}
	}
}

// named reports whether an expression begins with what an escape message is about.
func named(what, message string) bool {
	rest, ok := strings.CutPrefix(what, message)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && message != "" && !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_' && next != '.'
}

// absolute undoes relative.
func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(base, name)
}

// shortened is what an escape message is about, up to where it is spelled in the
// compiler's own way.
func shortened(message string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(message, "moved to heap: "), " escapes to heap")
	name = strings.TrimSuffix(name, " literal")
	name, _, _ = strings.Cut(name, "{")
	name, _, _ = strings.Cut(name, "(")
	return name
}
