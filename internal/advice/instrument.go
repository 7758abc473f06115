package advice

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A probe is a function whose calls are sampled.
type probe struct {
	file     string
	from, to int // lines of its body
}

// An instrumenter adds hooks to the source of functions. A body becomes a function of its own,
// so that what it alone holds is free when the hook looks. Line numbers stay the same.
type instrumenter struct {
	hooks  string // import path of the package of the hooks
	probes []probe
}

// hookPackage is the name of the hooks' package.
const hookPackage = "isobarmeasured"

// file returns the source of a file with hooks in the functions around the lines; nil
// if there are none.
func (in *instrumenter) file(name string, src []byte, at []int) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
		return nil
	}
	e := &hooks{in: in, fset: fset, src: src, at: at, name: name}
	for _, d := range f.Decls {
		ast.Inspect(d, e.visit)
	}
	if len(e.puts) == 0 {
		return nil
	}
	e.put(f.Name.End(), fmt.Sprintf("; import %s %q", hookPackage, in.hooks))
	return inserted(src, e.puts)
}

// hooks is what is put into one file.
type hooks struct {
	in   *instrumenter
	fset *token.FileSet
	src  []byte
	at   []int
	name string
	puts []insertion
}

// An insertion puts text at an offset of a file; at equal offsets, lower orders come first.
type insertion struct {
	offset, order int
	text          string
}

// inserted returns a text with insertions.
func inserted(text []byte, puts []insertion) (out []byte) {
	slices.SortStableFunc(puts, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.order, b.order))
	})
	at := 0
	for _, p := range puts {
		out = append(append(out, text[at:p.offset]...), p.text...)
		at = p.offset
	}
	return append(out, text[at:]...)
}

func (e *hooks) put(at token.Pos, text string) {
	e.puts = append(e.puts, insertion{e.fset.Position(at).Offset, 0, text})
}

func (e *hooks) line(p token.Pos) int { return e.fset.PositionFor(p, false).Line }

// hot reports whether one of the lines lies in body, outside of the function literals within.
func (e *hooks) hot(body *ast.BlockStmt) bool {
	var inner []lines
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok && e.line(lit.Body.Lbrace) < e.line(lit.Body.Rbrace) {
			inner = append(inner, lines{int64(e.line(lit.Body.Lbrace)) + 1, int64(e.line(lit.Body.Rbrace)) - 1})
		}
		return !ok
	})
	return slices.ContainsFunc(e.at, func(l int) bool {
		return e.line(body.Lbrace) <= l && l <= e.line(body.Rbrace) && !slices.ContainsFunc(inner, func(in lines) bool {
			return in.from <= int64(l) && int64(l) <= in.to
		})
	})
}

func (e *hooks) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		directive := n.Doc != nil && slices.ContainsFunc(n.Doc.List, func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, "//go:") && c.Text != "//go:noinline"
		})
		if n.Body != nil && n.Recv == nil && n.Name.Name == "init" || directive {
			return false
		}
		if n.Body != nil && e.hot(n.Body) {
			e.function(n.Recv, n.Type, n.Body)
		}
	case *ast.FuncLit:
		if e.hot(n.Body) {
			e.function(nil, n.Type, n.Body)
		}
	}
	return true
}

// function lays hooks around a body.
func (e *hooks) function(recv *ast.FieldList, t *ast.FuncType, body *ast.BlockStmt) {
	if recovers(body) {
		return
	}
	id := len(e.in.probes)
	e.in.probes = append(e.in.probes, probe{e.name, e.line(body.Lbrace), e.line(body.Rbrace)})
	given := strings.Join(append(parameters(recv), parameters(t.Params)...), ", ")
	var results, names []string
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				name := fmt.Sprint("isobarR", len(names))
				names = append(names, name)
				results = append(results, "var "+name+" "+e.source(f.Type)+"; ")
			}
		}
	}
	assign, back := "", ""
	list := strings.Join(names, ", ")
	if len(names) > 0 {
		assign, back = list+" = ", "return "+list
	}
	signature := ""
	if t.Results != nil {
		signature = e.source(t.Results)
	}
	e.put(body.Lbrace+1, fmt.Sprintf(" isobarK := %s.In(%d); var isobarG []interface{}; "+
		"if isobarK != 0 { isobarG = []interface{}{%s} }; isobarF := func() %s { recover(); ", // so that it is not inlined
		hookPackage, id, given, signature))
	e.put(body.Rbrace, fmt.Sprintf("}; %s"+
		"if isobarK == 0 { %sisobarF() } else { %s.Call(isobarK, func() { %sisobarF() }); "+
		"%s.Out(%d, isobarK, isobarG, []interface{}{%s}) }; %s ",
		strings.Join(results, ""), assign, hookPackage, assign, hookPackage, id, list, back))
}

func (e *hooks) source(n ast.Node) string {
	text := string(e.src[e.fset.PositionFor(n.Pos(), false).Offset:e.fset.PositionFor(n.End(), false).Offset])
	return strings.Join(strings.Fields(text), " ")
}

// recovers reports whether a function itself calls recover, which only works in a deferred function.
func recovers(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == "recover"
		}
		_, inner := n.(*ast.FuncLit)
		return !inner && !found
	})
	return found
}

// parameters returns the names of the parameters that have one.
func parameters(l *ast.FieldList) (names []string) {
	if l == nil {
		return nil
	}
	for _, f := range l.List {
		for _, id := range f.Names {
			if id.Name != "_" {
				names = append(names, id.Name)
			}
		}
	}
	return names
}
