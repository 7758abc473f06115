package advice

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// A hiding rewrites a file so that values do not take some ways to the heap. Line numbers stay the same.
type hiding struct {
	life.Source
	size  int          // of the file
	lines map[int]bool // with ways
	puts  []insertion
}

// hidden returns the text of a file with its ways hidden: each value that is assigned, returned, passed on or put
// into another one in a line with a way. back returns the column that a spot had before; 0 for the hiding itself.
func hidden(s life.Source, name string, ways []way) (with []byte, back func(spot) int, err error) {
	i := slices.IndexFunc(s.Files, func(f *ast.File) bool { return s.Fset.Position(f.Package).Filename == name })
	if i < 0 {
		return nil, nil, errors.New("no such file in the package")
	}
	text, err := os.ReadFile(name)
	f := s.Files[i]
	file := s.Fset.File(f.Package)
	if err != nil || file.Size() != len(text) {
		return nil, nil, errors.Join(err, errors.New("changed since it was read"))
	}
	h := &hiding{Source: s, size: len(text), lines: map[int]bool{}}
	for _, w := range ways {
		if w.at.file == name {
			h.lines[w.at.line] = true
		}
	}
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		h.node(n, stack)
		return true
	})
	return inserted(text, h.puts), func(at spot) int {
		if at.line < 1 || at.line > file.LineCount() {
			return 0
		}
		begin := file.Offset(file.LineStart(at.line))
		offset := begin + at.column - 1
		for _, put := range h.puts {
			if put.offset < begin || offset < put.offset {
				continue
			}
			if offset -= len(put.text); offset < put.offset {
				return 0
			}
		}
		return offset - begin + 1
	}, nil
}

// node hides the values that a node passes on in one of the lines.
func (h *hiding) node(n ast.Node, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if h.on(n.Pos(), n.TokPos, n.End()) && len(n.Lhs) == len(n.Rhs) {
			h.assign(n)
		}
	case *ast.ValueSpec:
		if h.on(n.Pos(), n.End()) && len(n.Names) == len(n.Values) {
			for i, v := range n.Values {
				h.value(v, h.Info.TypeOf(n.Names[i]))
			}
		}
	case *ast.ReturnStmt:
		results := h.results(stack)
		if h.on(n.Pos(), n.End()) && results != nil && len(n.Results) == results.Len() {
			for i, v := range n.Results {
				h.value(v, results.At(i).Type())
			}
		}
	case *ast.SendStmt:
		if c, ok := h.underlying(n.Chan).(*types.Chan); ok && h.on(n.Pos(), n.Arrow, n.End()) {
			h.value(n.Value, c.Elem())
		}
	case *ast.CompositeLit:
		h.literal(n)
	case *ast.CallExpr:
		if h.on(n.Pos(), n.Lparen, n.End()) {
			h.call(n)
		}
	}
}

func (h *hiding) assign(n *ast.AssignStmt) {
	for i, v := range n.Rhs {
		switch n.Tok {
		case token.ASSIGN:
			h.value(v, h.Info.TypeOf(n.Lhs[i]))
		case token.DEFINE:
			h.value(v, nil)
		}
		if index, ok := n.Lhs[i].(*ast.IndexExpr); ok {
			if m, ok := h.underlying(index.X).(*types.Map); ok {
				h.value(index.Index, m.Key())
			}
		}
	}
}

// results returns the results of the function around a node.
func (h *hiding) results(stack []ast.Node) *types.Tuple {
	for _, n := range slices.Backward(stack) {
		switch n := n.(type) {
		case *ast.FuncLit:
			return h.Info.TypeOf(n).(*types.Signature).Results()
		case *ast.FuncDecl:
			return h.Info.Defs[n.Name].Type().(*types.Signature).Results()
		}
	}
	return nil
}

func (h *hiding) literal(n *ast.CompositeLit) {
	t := h.underlying(n)
	if p, ok := t.(*types.Pointer); ok { // an element written without its type
		t = p.Elem().Underlying()
	}
	for i, v := range n.Elts {
		if !h.on(n.Pos(), v.Pos(), v.End()) {
			continue
		}
		pair, keyed := v.(*ast.KeyValueExpr)
		if keyed {
			v = pair.Value
		}
		switch t := t.(type) {
		case *types.Struct:
			field := t.Field(i)
			if keyed {
				field = h.Info.Uses[pair.Key.(*ast.Ident)].(*types.Var)
			}
			h.value(v, field.Type())
		case *types.Map:
			h.value(pair.Key, t.Key())
			h.value(v, t.Elem())
		case interface{ Elem() types.Type }: // a slice or an array
			h.value(v, t.Elem())
		}
	}
}

func (h *hiding) call(n *ast.CallExpr) {
	fun := h.Info.Types[ast.Unparen(n.Fun)]
	switch {
	case fun.IsType():
		return
	case fun.IsBuiltin():
		h.builtin(n)
		return
	}
	of, ok := h.underlying(n.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, v := range n.Args {
		switch last := of.Params().Len() - 1; {
		case of.Variadic() && i >= last && !n.Ellipsis.IsValid():
			if list, ok := of.Params().At(last).Type().(*types.Slice); ok {
				h.value(v, list.Elem())
			}
		case i <= last:
			h.value(v, of.Params().At(i).Type())
		}
	}
	sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok || h.Info.Selections[sel] == nil || h.Info.Selections[sel].Kind() != types.MethodVal {
		return
	}
	method := h.Info.Selections[sel].Obj().Type().(*types.Signature)
	_, has := h.underlying(sel.X).(*types.Pointer)
	if _, wants := method.Recv().Type().(*types.Pointer); wants && !has {
		h.wrap(sel.X, hide+"(&")
	} else {
		h.value(sel.X, nil)
	}
}

func (h *hiding) builtin(n *ast.CallExpr) {
	list, _ := h.underlying(n).(*types.Slice)
	switch name, ok := ast.Unparen(n.Fun).(*ast.Ident); {
	case !ok: // of package unsafe: its result is hidden where it goes
	case name.Name == "append" && list != nil && !n.Ellipsis.IsValid():
		for _, v := range n.Args[1:] {
			h.value(v, list.Elem())
		}
	case name.Name == "append", name.Name == "copy":
		for _, v := range n.Args {
			h.value(v, nil)
		}
	case name.Name == "panic":
		h.value(n.Args[0], types.Universe.Lookup("any").Type())
	}
}

// value hides v as a value of type to, or of its own type if to is nil. Constants and
// nil stay as they are.
func (h *hiding) value(v ast.Expr, to types.Type) {
	lit, _ := v.(*ast.CompositeLit)
	is := h.Info.Types[v]
	if _, several := is.Type.(*types.Tuple); is.Type == nil || several || is.Value != nil || is.IsNil() ||
		lit != nil && lit.Type == nil {
		return
	}
	open := hide + "("
	if to == nil || types.Identical(is.Type, to) {
		to = is.Type
	} else if open = hide + "[" + named(h.Pkg, to) + "]("; !nameable(h.Source, to, v.Pos()) {
		return
	}
	if check.HasPointers(to) {
		h.wrap(v, open)
	}
}

// wrap puts a call around an expression, inside the calls around enclosing expressions.
func (h *hiding) wrap(v ast.Expr, open string) {
	from, to := h.Fset.Position(v.Pos()).Offset, h.Fset.Position(v.End()).Offset
	h.puts = append(h.puts, insertion{from, h.size - to, open}, insertion{to, -1 - from, ")"})
}

func (h *hiding) underlying(v ast.Expr) types.Type {
	if t := h.Info.TypeOf(v); t != nil {
		return t.Underlying()
	}
	return nil
}

// on reports whether one of the positions is in a line with a way.
func (h *hiding) on(at ...token.Pos) bool {
	return slices.ContainsFunc(at, func(p token.Pos) bool { return h.lines[h.Fset.Position(p).Line] })
}
