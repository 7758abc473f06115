package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// A mender writes the fix of a remedy that the account proves, such as the capacity of a slice that a loop fills.
type mender struct {
	*subject
	file  *ast.File
	path  []ast.Node // from the expression that allocates up to the file
	edits fix
}

// mend gives the remedy a fix where it has a mechanical one, and reports whether.
func (k *subject) mend() fix {
	if k.e.Fix || k.e.Verdict != Candidate || k.how == nil {
		return nil
	}
	if m := k.mender(); m != nil && m.wanted() && k.how(m) {
		return m.edits
	}
	return nil
}

// mender returns what can change the code of the expression; nil where nothing can.
func (k *subject) mender() *mender {
	path := k.path()
	if len(path) == 0 {
		return nil
	}
	file := path[len(path)-1].(*ast.File)
	if ast.IsGenerated(file) || translated(k.p.Fset, k.s.Node.Pos()) {
		return nil
	}
	return &mender{subject: k, file: file, path: path, edits: fix{}}
}

// wanted reports whether the check that the fix is of was asked for, and no comment
// silences it.
func (m *mender) wanted() bool {
	named := func(c *check.Check) bool { return c.Name == m.e.Check }
	return (len(m.x.Checks) == 0 || slices.ContainsFunc(m.x.Checks, named)) &&
		!check.Ignored(m.p.Fset, m.file, m.p.Fset.Position(m.s.Pos()).Line, m.e.Check)
}

func (m *mender) put(from, to token.Pos, text string) {
	name := realName(m.p.Fset.File(from).Name())
	m.edits[name] = append(m.edits[name], change{m.p.Fset.Position(from).Offset, m.p.Fset.Position(to).Offset, text})
}

// capacity lets the slice grow once, in the loop that appends to it, as the first element is appended: one that is nil
// stays so where none is. A number of rounds that may be negative counts where it is not.
func (m *mender) capacity() bool {
	call, ok := m.s.Node.(*ast.CallExpr)
	assign, of := m.assigns(), m.s.Value.Type().Underlying().(*types.Slice).Elem()
	if !ok || assign == nil || len(call.Args) < 2 || call.Ellipsis.IsValid() || !plain(m.p.Info, assign.Lhs[0]) ||
		m.text(call.Args[0]) != m.text(assign.Lhs[0]) || !nameable(m.p.Source, of, assign.Pos()) {
		return false
	}
	room, list, when := m.number(), m.text(assign.Lhs[0]), ""
	if check.IsInteger(m.p.Info.TypeOf(m.growth.Rounds)) {
		when = room + " > 0 && "
	}
	m.put(assign.Pos(), assign.Pos(), fmt.Sprintf("if %[1]slen(%[2]s) == cap(%[2]s) {\n"+
		"%[2]s = append(%[2]s, make([]%[3]s, %[4]s)...)[:len(%[2]s)]\n}\n", when, list, named(m.p.Pkg, of), room))
	return true
}

// assigns is the assignment of the expression to one variable or element; nil where there is none.
func (m *mender) assigns() *ast.AssignStmt {
	if len(m.path) < 2 {
		return nil
	}
	assign, ok := m.path[1].(*ast.AssignStmt)
	if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || !m.listed(assign) {
		return nil
	}
	return assign
}

// number is how often the loop runs, as an int.
func (m *mender) number() string {
	of, ok := m.p.Info.TypeOf(m.growth.Rounds).Underlying().(*types.Basic)
	if ok && of.Kind() != types.Int && of.Kind() != types.UntypedInt {
		return "int(" + m.length() + ")"
	}
	return m.length()
}

// sized gives an expression that makes an empty map room for n entries.
func (m *mender) sized(e ast.Expr, n int64) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			m.put(e.Args[0].End(), e.Args[0].End(), fmt.Sprint(", ", n))
			return true
		}
	case *ast.CompositeLit:
		if len(e.Elts) == 0 && e.Type != nil {
			m.put(e.Pos(), e.End(), fmt.Sprintf("make(%s, %d)", m.text(e.Type), n))
			return true
		}
	}
	return false
}

// plain reports whether evaluating e once more changes nothing, and costs nothing.
func plain(info *types.Info, e ast.Expr) bool {
	for n := range ast.Preorder(e) {
		switch n := n.(type) {
		case *ast.CallExpr:
			fun, _ := n.Fun.(*ast.Ident)
			_, builtin := info.Uses[fun].(*types.Builtin)
			if !builtin && !tells(info, n) && !(info.Types[n.Fun].IsType() && check.IsInteger(info.TypeOf(n))) {
				return false
			}
		case *ast.FuncLit, *ast.UnaryExpr, *ast.IndexExpr, *ast.TypeAssertExpr, *ast.StarExpr, *ast.CompositeLit:
			return false
		}
	}
	return true
}

// tells reports whether a call is of a method that says how many there are, by its name.
func tells(info *types.Info, call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || info.Selections[sel] == nil || len(call.Args) > 0 || !check.IsInteger(info.TypeOf(call)) {
		return false
	}
	name := sel.Sel.Name
	return name == "Len" || name == "Length" || name == "Size" || strings.HasPrefix(name, "Num")
}

// listed reports whether a statement is one of a list, so that another may stand
// before it.
func (m *mender) listed(stmt ast.Stmt) bool {
	path, _ := astutil.PathEnclosingInterval(m.file, stmt.Pos(), stmt.End())
	i := slices.Index(path, ast.Node(stmt))
	return i >= 0 && i+1 < len(path) && slices.Contains(listOf(path[i+1]), stmt)
}

// listOf returns the statements of a node that has a list of them.
func listOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// nameable reports whether the code can name a type at a place.
func nameable(s life.Source, t types.Type, at token.Pos) bool {
	got, err := types.Eval(s.Fset, s.Pkg, at, named(s.Pkg, t))
	return err == nil && got.IsType() && types.Identical(got.Type, t)
}

// text is the source of a node.
func (m *mender) text(n ast.Node) string {
	from, to := m.p.Fset.PositionFor(n.Pos(), false), m.p.Fset.Position(n.End())
	src := m.x.src.read(from.Filename)
	return string(src[min(from.Offset, len(src)):min(to.Offset, len(src))])
}

// free is a name like the one wanted that means nothing yet in the package.
func (m *mender) free(name string) string {
	taken := map[string]bool{}
	for id := range m.p.Info.Defs {
		taken[id.Name] = true
	}
	for taken[name] {
		name += "2"
	}
	return name
}

// mended is the finding that stands for a remedy with a fix.
func (k *subject) mended(f fix) Finding {
	at, end := k.p.Fset.Position(k.s.Node.Pos()), k.p.Fset.Position(k.s.Node.End())
	in := ""
	if fn, ok := outermost(k.s.Func).Object().(*types.Func); ok {
		in = check.FuncName(fn)
	}
	return Finding{File: k.e.File, Line: at.Line, Column: at.Column, EndLine: end.Line, Check: k.e.Check,
		Severity: check.Advice.String(), Message: k.e.Remedy, Fix: true, Function: in, Pkg: k.p.Pkg.Path(),
		Spans: []span{{File: at.Filename, From: at.Line, To: end.Line, Column: at.Column, Start: at.Offset,
			End: end.Offset}}, Edits: f}
}
