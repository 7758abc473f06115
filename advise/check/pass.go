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

// A Pass is one run of a check on one package.
type Pass struct {
	*analysis.Pass
	*Code
	Life   *life.Package // lifetimes: nil unless Check.Lifetimes is set; without sites if SSA cannot be built
	check  *Check
	given  map[string]bool // names that FreeName returned
	caveat Caveat          // added to each report
}

// Report reports node, unless its file or line is exempt. The edits form one suggested fix.
func (p *Pass) Report(node ast.Node, message string, edits ...analysis.TextEdit) {
	p.ReportWith(node, nil, message, edits...)
}

// ReportWith is Report for a finding that also allocates in other lines, those of also.
// Their share of a profile counts for the finding.
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

// dropsComment reports whether an edit would drop a comment.
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

// Calls calls f for each call of a function or method of package path with one of the
// given names; a method is named "Type.Name".
func (p *Pass) Calls(path string, names []string, f func(cur inspector.Cursor, call *ast.CallExpr, name string)) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		if call, ok := p.IsCall(cur.Node().(ast.Expr), path, names...); ok {
			f(cur, call, FuncName(p.Callee(call)))
		}
	}
}

// Callee returns the function or method that call names, or nil if it names none.
func (c *Code) Callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(c.Info, call).(*types.Func)
	return fn
}

// IsCall reports whether e calls a function of package path with one of the given names, and returns the call.
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

// Builtin returns the name of the builtin function that call calls, including those of
// package unsafe, or "".
func (c *Code) Builtin(call *ast.CallExpr) string {
	if b, ok := typeutil.Callee(c.Info, call).(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// Appends returns v if assign is v = append(v, …), else nil.
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

// Conversion returns the operand of e if e is a conversion to a type that to accepts.
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

// TypeOf returns the type of e, or types.Typ[types.Invalid] if it is unknown; never nil.
func (c *Code) TypeOf(e ast.Expr) types.Type {
	if t := c.Info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// Base strips parentheses, dereferences, indexes and type assertions from e.
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

// FuncName returns the name of a function, or Type.Name for a method.
func FuncName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		if named := NamedOf(recv.Type()); named != nil {
			return named.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// NamedOf returns the named type that t is or points to, or nil.
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

// Is reports whether the underlying type of t is a T, such as a *types.Slice.
func Is[T types.Type](t types.Type) bool {
	_, ok := t.Underlying().(T)
	return ok
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

// HasPointers reports whether the garbage collector scans a value of type t.
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

// Source returns the source text of node, or a printed form of the expression if the file cannot be read.
func (p *Pass) Source(node ast.Node) string {
	data, err := p.ReadFile(p.Fset.File(node.Pos()).Name())
	if err != nil {
		return types.ExprString(node.(ast.Expr))
	}
	return string(data[p.Fset.Position(node.Pos()).Offset:p.Fset.Position(node.End()).Offset])
}

// Indent returns the leading white space of the line with pos.
func (p *Pass) Indent(pos token.Pos) string {
	at := p.Fset.PositionFor(pos, false) // ignores //line directives
	data, err := p.ReadFile(p.Fset.File(pos).Name())
	if err != nil {
		return strings.Repeat("\t", at.Column-1)
	}
	line := data[at.Offset-(at.Column-1) : at.Offset]
	return string(line[:len(line)-len(strings.TrimLeft(string(line), "\t "))])
}
