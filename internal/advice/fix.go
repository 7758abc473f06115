package advice

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// A fix holds the edits of a finding, by absolute file name.
type fix map[string][]change

// A change replaces the bytes from Start to End by Text.
type change struct {
	Start, End int
	Text       string
}

// functionAt returns the name of the declared function around pos, Type.Name for a method, or "".
func functionAt(p *packages.Package, pos token.Pos) string {
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Pos() <= pos && pos < fn.End() {
				if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
					return check.FuncName(obj)
				}
			}
		}
	}
	return ""
}

// edits returns the edits of the first fix of a diagnostic; none in code that is made of another file.
func edits(p *packages.Package, d analysis.Diagnostic) fix {
	if len(d.SuggestedFixes) == 0 || translated(p.Fset, d.Pos) {
		return nil
	}
	out := fix{}
	for _, e := range d.SuggestedFixes[0].TextEdits {
		from, to := p.Fset.Position(e.Pos), p.Fset.Position(max(e.Pos, e.End))
		name := realName(from.Filename)
		out[name] = append(out[name], change{from.Offset, to.Offset, string(e.NewText)})
	}
	return out
}

// translated reports whether //line names another file as the source of a place.
func translated(fset *token.FileSet, at token.Pos) bool {
	return fset.Position(at).Filename != fset.File(at).Name()
}

// realName returns the name of a file without symbolic links, as git has it.
func realName(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// importEdit matches the text of an edit that imports a package. Several fixes of a
// file may insert the same one.
var importEdit = regexp.MustCompile(`^\s*(import )?"[^"]+"\s*$`)

// edited applies changes, which may come from several fixes, to the source. The result is gofmt-clean
// if src was, and has no imports of the standard library that the changes made unused.
func edited(name string, src []byte, changes []change) ([]byte, error) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	imported := map[change]bool{}
	var out bytes.Buffer
	at := 0
	for _, c := range changes {
		if importEdit.MatchString(c.Text) {
			if imported[c] {
				continue
			}
			imported[c] = true
		}
		if c.Start < at || c.End < c.Start || c.End > len(src) {
			return nil, fmt.Errorf("%s: two fixes change the same place", name)
		}
		out.Write(src[at:c.Start])
		out.WriteString(c.Text)
		at = c.End
	}
	out.Write(src[at:])
	text, err := prune(name, src, out.Bytes())
	if err != nil {
		return nil, err
	}
	if was, err := format.Source(src); err != nil || !bytes.Equal(was, src) {
		return text, nil
	}
	for before := []byte(nil); err == nil && !bytes.Equal(before, text); { // gofmt drops empty statements one at a time
		before = text
		text, err = format.Source(text)
	}
	return text, err
}

// prune removes the imports that src uses and text does not.
func prune(name string, src, text []byte) ([]byte, error) {
	before, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	after, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("the fix does not parse: %w", err)
	}
	var gone []change
	for _, decl := range after.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			continue
		}
		var unused []ast.Node
		for _, spec := range gen.Specs {
			path, _ := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
			if std(path) && astutil.UsesImport(before, path) && !astutil.UsesImport(after, path) {
				unused = append(unused, spec)
			}
		}
		if len(unused) > 0 && len(unused) == len(gen.Specs) {
			unused = []ast.Node{gen}
		}
		for _, n := range unused {
			from, to := fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
			if end := bytes.IndexByte(text[to:], '\n'); end >= 0 && strings.TrimSpace(string(text[to:to+end])) == "" {
				to += end + 1
				for from > 0 && (text[from-1] == ' ' || text[from-1] == '\t') {
					from--
				}
			}
			gone = append(gone, change{from, to, ""})
		}
	}
	for _, c := range slices.Backward(gone) {
		text = slices.Delete(slices.Clone(text), c.Start, c.End)
	}
	return text, nil
}

// std reports whether path looks like a standard package, whose name is the last element of its path.
func std(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != "C" && path != "unsafe"
}
