package advice

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// A fix holds the edits of a finding, by the absolute name of the file.
type fix map[string][]change

// A change puts text in the place of the bytes from start to end.
type change struct {
	Start, End int
	Text       string
}

// functionAt returns the name of the declared function around pos, or "".
func functionAt(p *packages.Package, pos token.Pos) string {
	for _, file := range p.Syntax {
		if pos < file.FileStart || pos >= file.FileEnd {
			continue
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Pos() <= pos && pos < fn.End() {
				return funcName(fn)
			}
		}
	}
	return ""
}

// edits returns the first fix of a diagnostic.
func edits(p *packages.Package, d analysis.Diagnostic) fix {
	if len(d.SuggestedFixes) == 0 {
		return nil
	}
	out := fix{}
	for _, e := range d.SuggestedFixes[0].TextEdits {
		from, to := p.Fset.Position(e.Pos), p.Fset.Position(max(e.Pos, e.End))
		name := from.Filename
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real // as git and the copy of the module know it
		}
		out[name] = append(out[name], change{from.Offset, to.Offset, string(e.NewText)})
	}
	return out
}

// funcName is the name of a declared function, or Type.Name of a method.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
			continue
		case *ast.IndexExpr:
			t = u.X
			continue
		case *ast.IndexListExpr:
			t = u.X
			continue
		case *ast.Ident:
			return u.Name + "." + fn.Name.Name
		}
		return fn.Name.Name
	}
}

// importEdit is what an edit that imports a package inserts. Several fixes of
// a file may insert the same one.
var importEdit = regexp.MustCompile(`^\s*(import )?"[^"]+"\s*$`)

// edited returns the source with the changes made, which may come from several
// fixes: gofmt-clean where it was so before, and without the imports of the
// standard library that the changes made unused.
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
	return format.Source(text)
}

// prune removes the imports that src uses and text no longer does.
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

// std reports whether path looks like one of the standard library, whose
// packages are named by its last element.
func std(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != "C" && path != "unsafe"
}
