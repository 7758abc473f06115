package sprintf

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// fix appends the pieces one by one, if the call at cur only fills a []byte or a writer
// in memory, as a statement:
//
//	buf = append(buf, fmt.Sprintf(…)...)
//	sb.WriteString(fmt.Sprintf(…))
//
// Elsewhere, and if an argument could see or change the target between two pieces, it
// concatenates at most four pieces.
func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, pieces []check.Piece) []analysis.TextEdit {
	s, stmt := target(p, cur, call)
	pkg, edits, ok := p.Import(cur, "strconv")
	if !ok || s.name == "" && len(pieces) > 4 {
		return nil
	}
	var parts []string
	used, arg := false, 1
	for _, pc := range pieces {
		if pc.Verb == 0 {
			parts = append(parts, s.text(constant.MakeString(pc.Text).ExactString()))
			continue
		}
		part, needs := s.value(p, call.Args[arg], pc.Verb, pkg)
		parts, used, arg = append(parts, part), used || needs, arg+1
	}
	if !used {
		edits = nil
	}
	if s.name != "" {
		return append(edits, check.Replace(stmt, strings.Join(parts, "\n"+p.Indent(stmt.Pos()))))
	}
	text := strings.Join(parts, " + ")
	if _, ok := cur.Parent().Node().(*ast.BinaryExpr); ok && len(parts) > 1 {
		text = "(" + text + ")"
	}
	return append(edits, check.Replace(call, text))
}

// A sink is where the pieces go: a variable that append extends, or a writer. The zero
// sink is a concatenation.
type sink struct {
	name   string
	writer string // Builder, Buffer or Writer; "" for a slice
	spare  bool   // it has AvailableBuffer
}

// target returns the sink that a statement fills with the call at cur, and the statement.
func target(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) (s sink, stmt ast.Node) {
	outer, ok := cur.Parent().Node().(*ast.CallExpr)
	at := cur.Parent().Parent()
	if !ok || !inBlock(at) {
		return s, nil
	}
	for _, arg := range call.Args[1:] {
		if !simple(p, arg) {
			return s, nil
		}
	}
	if assign, ok := at.Node().(*ast.AssignStmt); ok {
		v := p.Appends(assign)
		if v != nil && outer.Ellipsis.IsValid() && outer.Args[1] == call &&
			types.Identical(v.Type(), types.NewSlice(types.Typ[types.Byte])) {
			s.name = v.Name()
		}
		return s, assign
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "WriteString" || !simple(p, sel.X) {
		return s, nil
	}
	for _, known := range []struct{ path, name, since string }{{"strings", "Builder", ""}, {"bytes", "Buffer", "go1.21"},
		{"bufio", "Writer", "go1.18"}} {
		if check.IsNamed(p.TypeOf(sel.X), known.path, known.name) {
			spare := known.since != "" && p.AtLeast(call.Pos(), known.since)
			s = sink{p.Source(sel.X), known.name, spare}
		}
	}
	return s, at.Node()
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

// simple reports whether evaluating e only reads variables, fields or constants.
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

// text returns the code that writes the string expression e.
func (s sink) text(e string) string {
	switch {
	case s.name == "":
		return e
	case s.writer == "":
		return s.name + " = append(" + s.name + ", " + e + "...)"
	}
	return s.name + ".WriteString(" + e + ")"
}

// value returns the code that writes e formatted by verb.
func (s sink) value(p *check.Pass, e ast.Expr, verb byte, pkg string) (code string, strconvUsed bool) {
	source, t := p.Source(e), p.TypeOf(e).Underlying().(*types.Basic)
	name, args, text := "", source, ""
	switch {
	case t.Info()&types.IsString != 0 && verb == 'q':
		name, text = "Quote", pkg+".Quote("+source+")"
	case t.Info()&types.IsString != 0:
		if _, sum := e.(*ast.BinaryExpr); sum && s.name == "" {
			source = "(" + source + ")"
		}
		return s.text(source), false
	case t.Info()&types.IsBoolean != 0:
		name = "Bool"
	case t.Info()&types.IsUnsigned != 0:
		name, args = "Uint", converted(source, t, types.Uint64, "uint64")+", 10"
	default:
		name, args = "Int", converted(source, t, types.Int64, "int64")+", 10"
	}
	switch {
	case s.name != "" && s.writer == "":
		return s.name + " = " + pkg + ".Append" + name + "(" + s.name + ", " + args + ")", true
	case s.writer != "" && (name == "Int" || name == "Uint" || name == "Quote" && s.spare):
		return s.name + ".Write(" + pkg + ".Append" + name + "(" + s.room(name) + ", " + args + "))", true
	case t.Kind() == types.Int || t.Kind() == types.UntypedInt:
		text = pkg + ".Itoa(" + source + ")"
	case text == "":
		text = pkg + ".Format" + name + "(" + args + ")"
	}
	return s.text(text), true
}

// room returns the code for memory to append a value to. An empty Buffer has no spare
// bytes; 20 bytes on the stack fit any 64-bit number.
func (s sink) room(name string) string {
	if s.spare && (s.writer != "Buffer" || name == "Quote") {
		return s.name + ".AvailableBuffer()"
	}
	return "make([]byte, 0, 20)"
}

func converted(source string, t *types.Basic, want types.BasicKind, name string) string {
	if t.Kind() == want {
		return source
	}
	return name + "(" + source + ")"
}
