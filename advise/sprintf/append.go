package sprintf

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// appended returns the edits that append the pieces one by one, where the call
// at cur does nothing but fill a []byte or a writer in memory, as a statement:
//
//	buf = append(buf, fmt.Sprintf(…)...)
//	sb.WriteString(fmt.Sprintf(…))
//
// Nil where it does something else, or where an argument could see or change
// the target between two pieces.
func appended(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, pieces []piece) []analysis.TextEdit {
	outer, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok || len(pieces) == 0 {
		return nil
	}
	stmt := cur.Parent().Parent()
	if !inBlock(stmt) {
		return nil
	}
	for _, arg := range call.Args[1:] {
		if !simple(p, arg) {
			return nil
		}
	}
	w := target(p, stmt.Node(), outer, call)
	if w == nil {
		return nil
	}
	strconvName, edits, ok := p.Import(cur, "strconv")
	if !ok {
		return nil
	}
	var lines []string
	used, arg := false, 1
	for _, pc := range pieces {
		if pc.verb == 0 {
			lines = append(lines, w.text(quote(pc.text)))
			continue
		}
		e := call.Args[arg]
		arg++
		line, needs := w.value(p.Source(e), p.TypeOf(e).Underlying().(*types.Basic), pc.verb, strconvName)
		lines, used = append(lines, line), used || needs
	}
	if !used {
		edits = nil
	}
	return append(edits, check.Replace(stmt.Node(), strings.Join(lines, "\n"+p.Indent(stmt.Node().Pos()))))
}

// inBlock reports whether the statement at cur is one of a list.
func inBlock(cur inspector.Cursor) bool {
	switch cur.Node().(type) {
	case *ast.ExprStmt, *ast.AssignStmt:
	default:
		return false
	}
	switch cur.Parent().Node().(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	}
	return false
}

// simple reports whether e is a value that is only looked up.
func simple(p *check.Pass, e ast.Expr) bool {
	if p.IsConst(e) {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s == nil || s.Kind() == types.FieldVal && simple(p, e.X)
	}
	return false
}

// A sink is where pieces go: a variable that append is given, or a writer.
type sink struct {
	name   string
	slice  bool
	writer string // Builder, Buffer or Writer
	spare  bool   // it has AvailableBuffer
}

// target returns what the statement fills with the call, or nil.
func target(p *check.Pass, stmt ast.Node, outer, call *ast.CallExpr) *sink {
	if assign, ok := stmt.(*ast.AssignStmt); ok {
		if assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || p.Builtin(outer) != "append" || !outer.Ellipsis.IsValid() ||
			outer.Args[1] != call {
			return nil
		}
		v := p.Var(assign.Lhs[0])
		if v == nil || v != p.Var(outer.Args[0]) || !types.Identical(v.Type(), types.NewSlice(types.Typ[types.Byte])) {
			return nil
		}
		return &sink{name: v.Name(), slice: true}
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "WriteString" || !simple(p, sel.X) {
		return nil
	}
	t := p.TypeOf(sel.X)
	for _, known := range []struct{ path, name, since string }{{"strings", "Builder", ""}, {"bytes", "Buffer", "go1.21"},
		{"bufio", "Writer", "go1.18"}} {
		if check.IsNamed(t, known.path, known.name) {
			spare := known.since != "" && version.Compare(p.GoVersion(call.Pos()), known.since) >= 0
			return &sink{name: p.Source(sel.X), writer: known.name, spare: spare}
		}
	}
	return nil
}

// text is the statement that writes a string.
func (s *sink) text(e string) string {
	if s.slice {
		return s.name + " = append(" + s.name + ", " + e + "...)"
	}
	return s.name + ".WriteString(" + e + ")"
}

// digits is room for any 64-bit number, on the stack.
const digits = "make([]byte, 0, 20)"

// value is the statement that writes a value formatted by verb.
func (s *sink) value(source string, t *types.Basic, verb byte, strconvName string) (stmt string, strconvUsed bool) {
	into := s.name
	switch {
	case s.spare && (s.writer != "Buffer" ||
		verb == 'q'): // an empty Buffer has nothing to spare, and numbers fit the stack
		into = s.name + ".AvailableBuffer()"
	case !s.slice:
		into = digits
	}
	var e string
	switch {
	case t.Info()&types.IsString != 0 && verb == 'q' && !s.slice && !s.spare:
		return s.text(strconvName + ".Quote(" + source + ")"), true
	case t.Info()&types.IsString != 0 && verb == 'q':
		e = strconvName + ".AppendQuote(" + into + ", " + source + ")"
	case t.Info()&types.IsString != 0:
		return s.text(source), false
	case t.Info()&types.IsBoolean != 0 && !s.slice:
		return s.text(strconvName + ".FormatBool(" + source + ")"), true
	case t.Info()&types.IsBoolean != 0:
		e = strconvName + ".AppendBool(" + into + ", " + source + ")"
	case t.Info()&types.IsUnsigned != 0:
		e = strconvName + ".AppendUint(" + into + ", " + converted(source, t, types.Uint64, "uint64") + ", 10)"
	default:
		e = strconvName + ".AppendInt(" + into + ", " + converted(source, t, types.Int64, "int64") + ", 10)"
	}
	if s.slice {
		return s.name + " = " + e, true
	}
	return s.name + ".Write(" + e + ")", true
}

func converted(source string, t *types.Basic, want types.BasicKind, name string) string {
	if t.Kind() == want {
		return source
	}
	return name + "(" + source + ")"
}
