package advice

import (
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/life"
)

// A lifetimes builds the SSA of packages, and knows what the functions of their imports
// do. It analyzes an import from source when first asked, and caches the facts by the
// contents of the export data. It belongs to one goroutine.
type lifetimes struct {
	store    *cache
	session  *session
	packages map[string]*packages.Package // by import path: the units and all that they import
	facts    map[string]*life.Facts
	built    map[*packages.Package]*life.Package
}

func newLifetimes(store *cache, units []*unit) *lifetimes {
	l := &lifetimes{store, newSession(nil), map[string]*packages.Package{}, map[string]*life.Facts{},
		map[*packages.Package]*life.Package{}}
	var roots []*packages.Package
	for _, u := range units {
		roots = append(roots, u.Package)
	}
	packages.Visit(roots, nil, func(p *packages.Package) { l.packages[p.PkgPath] = p })
	return l
}

// of returns the SSA of a package, or nil, and keeps it.
func (l *lifetimes) of(p *packages.Package) *life.Package {
	built, ok := l.built[p]
	if !ok {
		built = l.build(p)
		l.built[p] = built
	}
	return built
}

// build returns the SSA of a package, or nil if it has none.
func (l *lifetimes) build(p *packages.Package) *life.Package {
	checked, _ := l.session.check(p, p.CompiledGoFiles) // Build refuses the errors that matter
	built, err := life.Build(life.Source{Fset: checked.Fset, Pkg: checked.Types, Files: checked.Syntax,
		Info: checked.TypesInfo, Sizes: checked.TypesSizes, Facts: l.imported})
	if err != nil {
		return nil
	}
	return built
}

// imported returns the facts of an imported package, or nil.
func (l *lifetimes) imported(path string) *life.Facts {
	if facts, ok := l.facts[path]; ok {
		return facts
	}
	l.facts[path] = nil
	p := l.packages[path]
	contracted := path == "unsafe" || path == "runtime" || strings.HasPrefix(path, "internal/runtime/")
	if p == nil || contracted {
		return nil
	}
	key := l.store.key("life", p)
	if facts := stored[life.Facts](l.store, key); facts != nil {
		l.facts[path] = facts
		return facts
	}
	built := l.build(p)
	if built == nil {
		return nil
	}
	l.facts[path] = built.Facts()
	l.store.put(key, l.facts[path])
	return l.facts[path]
}
