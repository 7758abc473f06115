package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/isobar-go/isobar/advise/life"
)

// A Pass is one check on one package.
type Pass struct {
	*analysis.Pass
	*Code
	Life   *life.Package // who keeps what, for a check that asks: without sites where a package has no SSA
	check  *Check
	given  map[string]bool // names that FreeName gave out
	caveat Caveat          // of what is reported
}

// Report reports node unless its line is excused. The edits are one fix.
func (p *Pass) Report(node ast.Node, message string, edits ...analysis.TextEdit) {
	p.ReportWith(node, nil, message, edits...)
}

// ReportWith is Report for what allocates in other lines, too: those of also,
// whose share of a profile is the finding's as well.
func (p *Pass) ReportWith(node ast.Node, also []ast.Node, message string, edits ...analysis.TextEdit) {
	f := p.file(node.Pos())
	if f == nil || f.generated || !p.check.holds(f.version) ||
		p.check.Severity != Trap && !*p.check.all {
		return
	}
	if silenced(f.ignores[p.Fset.Position(node.Pos()).Line], p.check.Name) {
		return
	}
	d := analysis.Diagnostic{Pos: node.Pos(), End: node.End(), Category: p.check.Severity.String(), Message: message}
	for _, n := range also {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: n.Pos(), End: n.End(), Message: "allocates here"})
	}
	if p.caveat != "" {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: node.Pos(), End: node.End(),
			Message: string(p.caveat)})
	}
	if len(edits) > 0 && !p.dropsComment(edits) {
		d.SuggestedFixes = []analysis.SuggestedFix{{Message: p.check.Name, TextEdits: edits}}
	}
	p.Pass.Report(d)
}

// dropsComment reports whether an edit replaces a comment.
func (p *Pass) dropsComment(edits []analysis.TextEdit) bool {
	for _, f := range p.Files {
		for _, group := range f.Comments {
			for _, e := range edits {
				if e.Pos < group.End() && group.Pos() < e.End && !strings.Contains(string(e.NewText), group.List[0].Text) {
					return true
				}
			}
		}
	}
	return false
}

// Calls calls f for each call of a function or method of package path with one
// of the given names; methods are written "Type.Name".
func (p *Pass) Calls(path string, names []string, f func(cur inspector.Cursor, call *ast.CallExpr, name string)) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		if call, ok := p.IsCall(cur.Node().(ast.Expr), path, names...); ok {
			f(cur, call, FuncName(p.Callee(call)))
		}
	}
}

// Callee returns the function or method that call names, or nil.
func (c *Code) Callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(c.Info, call).(*types.Func)
	return fn
}

// IsCall reports whether e is a call of the function path.name.
func (c *Code) IsCall(e ast.Expr, path string, names ...string) (*ast.CallExpr, bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	fn := c.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != path || !slices.Contains(names, FuncName(fn)) {
		return nil, false
	}
	return call, true
}

// Builtin returns the name of the builtin function that call calls, also of
// package unsafe, or "".
func (c *Code) Builtin(call *ast.CallExpr) string {
	if b, ok := typeutil.Callee(c.Info, call).(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// Appends returns the variable that assign appends to, as v = append(v, …), or nil.
func (c *Code) Appends(assign *ast.AssignStmt) *types.Var {
	if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok != token.ASSIGN {
		return nil
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if v := c.Var(assign.Lhs[0]); ok && c.Builtin(call) == "append" && c.Var(call.Args[0]) == v {
		return v
	}
	return nil
}

// Conversion returns the operand of e where e converts it to a type for which
// to holds.
func (c *Code) Conversion(e ast.Expr, to func(types.Type) bool) (ast.Expr, bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil, false
	}
	tv, ok := c.Info.Types[call.Fun]
	if !ok || !tv.IsType() || !to(tv.Type) {
		return nil, false
	}
	return call.Args[0], true
}

// Var returns the variable that e names, or nil.
func (c *Code) Var(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := c.Info.ObjectOf(id).(*types.Var)
	return v
}

// TypeOf returns the type of e: an invalid one, never nil, where it is unknown.
func (c *Code) TypeOf(e ast.Expr) types.Type {
	if t := c.Info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// Base returns what e points to, is an element of or asserts: the outermost operand.
func Base(e ast.Expr) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return Base(e.X)
	case *ast.IndexExpr:
		return Base(e.X)
	case *ast.TypeAssertExpr:
		return Base(e.X)
	}
	return ast.Unparen(e)
}

// Local reports whether v is declared inside a function.
func (c *Code) Local(v *types.Var) bool {
	return v != nil && !v.IsField() && v.Parent() != c.Pkg.Scope() && v.Parent() != types.Universe
}

// IsConst reports whether e has a constant value.
func (c *Code) IsConst(e ast.Expr) bool { return c.Info.Types[e].Value != nil }

// FuncName is the name of a function, or Type.Name of a method.
func FuncName(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	if named := NamedOf(recv.Type()); named != nil {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}

// NamedOf returns the named type of t or of what t points to, or nil.
func NamedOf(t types.Type) *types.Named {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// IsNamed reports whether t, or what it points to, is the type path.name.
func IsNamed(t types.Type, path, name string) bool {
	named := NamedOf(t)
	return named != nil && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

// IsString reports whether the underlying type of t is a string.
func IsString(t types.Type) bool { return life.IsString(t) }

// IsInteger reports whether the underlying type of t is an integer.
func IsInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// IsBytes reports whether the underlying type of t is []byte.
func IsBytes(t types.Type) bool { return life.IsBytes(t) }

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// IsError reports whether t implements error.
func IsError(t types.Type) bool {
	return t != nil && types.Implements(t, errorType)
}

// HasPointers reports whether the collector scans a value of type t.
func HasPointers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer
	case *types.Array:
		return HasPointers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if HasPointers(f.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// Source returns the text of node as gofmt prints it where it fits a line.
func (p *Pass) Source(node ast.Node) string {
	data, err := p.ReadFile(p.Fset.File(node.Pos()).Name())
	if err != nil {
		return types.ExprString(node.(ast.Expr))
	}
	return string(data[p.Fset.Position(node.Pos()).Offset:p.Fset.Position(node.End()).Offset])
}

// Indent returns the white space that the line of pos begins with.
func (p *Pass) Indent(pos token.Pos) string {
	at := p.Fset.PositionFor(pos, false) // not where a line comment says
	data, err := p.ReadFile(p.Fset.File(pos).Name())
	if err != nil {
		return strings.Repeat("\t", at.Column-1)
	}
	line := data[at.Offset-(at.Column-1) : at.Offset]
	return string(line[:len(line)-len(strings.TrimLeft(string(line), "\t "))])
}
