package advice

import (
	"context"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A way is the step by which a value reaches the heap, and its place.
type way struct {
	text string
	at   place
}

// hide is the function that a value passes through on a way, so that the compiler does not see where it goes.
const hide = "isobarHide"

// hider is the file that defines hide. The compiler follows no pointer through integer arithmetic.
const hider = `package %s

import "unsafe"

func ` + hide + `[T any](v T) T {
	at := uintptr(unsafe.Pointer(&v))
	return *(*T)(unsafe.Pointer(at ^ 0))
}
`

// A prover compiles packages without some of the ways to the heap, to see what still goes there.
type prover struct {
	x    *explainer
	ctx  context.Context
	said map[string]escapes // by the ways left out; nil if that does not build
	left int                // compilations left
	by   time.Time          // when to stop, at the latest
}

// ways returns the ways of a site to the heap, beginning with the one that the compiler names,
// and whether these are all: without them, the compiler leaves the site on the stack. Each of
// them alone takes it to the heap. made is the weight of what takes the first one.
func (p *prover) ways(e *Explained, first way, made int64) (all []way, proven bool) {
	const most = 4
	all = []way{first}
	for len(all) <= most {
		next, stays := p.next(e, all, made)
		if stays {
			break
		}
		if next.text == "" || slices.ContainsFunc(all, func(w way) bool { return w.at == next.at }) {
			return all, false
		}
		all = append(all, next)
	}
	for i := len(all) - 1; i >= 0 && len(all) > 1; i-- { // a later one may lie on the way of an earlier one
		rest := slices.Delete(slices.Clone(all), i, i+1)
		if _, stays := p.next(e, rest, made); stays {
			all = rest
		}
	}
	return all, len(all) <= most
}

// next returns the way that the compiler names once others are left out, the zero way
// if unknown, and whether it names none.
func (p *prover) next(e *Explained, without []way, made int64) (next way, stays bool) {
	const much = 0.05 // fraction of what is made
	said := p.without(without)
	if said == nil || e.hides(said) || e.grown(without, said) {
		return way{}, false
	}
	next, _, weight := p.x.way(e, said)
	return next, float64(weight) <= much*float64(made)
}

// without returns what the compiler says once ways are left out, or nil if that does not build.
func (p *prover) without(ways []way) escapes {
	key := fmt.Sprint(ways)
	said, known := p.said[key]
	if !known && p.left > 0 && time.Now().Before(p.by) {
		p.left--
		said = p.compile(ways)
		p.said[key] = said
	}
	return said
}

func (p *prover) compile(ways []way) escapes {
	dir, err := os.MkdirTemp("", "isobar-ways-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	files, lang, pkgs, backs := overlay{}, "", []string(nil), map[string]func(spot) int{}
	for _, w := range ways {
		u, of := p.x.units[w.at.file], p.x.pkg(frame{place: w.at})
		if of == nil {
			return nil
		}
		if files[w.at.file] != "" {
			continue
		}
		text, back, err := hidden(of.Source, w.at.file, ways)
		backs[w.at.file] = back
		with := fmt.Appendf(nil, hider, of.Pkg.Name())
		if err != nil || files.add(dir, w.at.file, text) != nil ||
			files.add(dir, filepath.Join(filepath.Dir(w.at.file), hide+".go"), with) != nil {
			return nil
		}
		if u.Module != nil && version.Compare("go"+u.Module.GoVersion, "go1.18") < 0 {
			lang = " -lang=go1.21" // the newest whose loops have one variable for all rounds
		}
		pkgs = append(pkgs, u.PkgPath)
	}
	said, err := p.x.escapes(p.ctx, files, func(at spot) int {
		if back := backs[at.file]; back != nil {
			return back(at)
		}
		return at.column
	}, lang, "build", pkgs...)
	if err != nil {
		return nil
	}
	return said
}

// hides reports whether the hiding itself puts something on the heap in the line of a site, such as what it boxes.
func (e *Explained) hides(said escapes) bool {
	return slices.ContainsFunc(e.spots, func(s spot) bool {
		return slices.ContainsFunc(said[spot{s.place, 0}], escaping)
	})
}

// grown reports whether hiding ways in the inlined function of a site makes it too
// large to inline, which creates other ways.
func (e *Explained) grown(without []way, said escapes) bool {
	here := func(w way) bool { return filepath.Dir(w.at.file) == filepath.Dir(e.begins.Filename) }
	return e.inlined && slices.ContainsFunc(without, here) &&
		!slices.ContainsFunc(said[spotOf(e.begins)], func(f *Fact) bool { return f.Code == inlinable })
}
