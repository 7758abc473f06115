package stringconv

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// cuts are the functions of package strings whose results are parts of their
// first argument, and that package bytes has with the same meaning.
var cuts = map[string]bool{
	"Cut": true, "CutPrefix": true, "CutSuffix": true, "Fields": true, "Split": true, "SplitAfter": true, "SplitN": true,
	"Trim": true, "TrimLeft": true, "TrimPrefix": true, "TrimRight": true, "TrimSpace": true, "TrimSuffix": true,
}

// ofStrings reports string(b) as the first argument of a function of package
// strings.
func ofStrings(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, name string, b ast.Expr) {
	switch {
	case inBytes[name]:
		p.Report(call, p.HeatAt(cur), "string(b) copies for strings."+name+"; bytes."+name+" reads the slice", fix(p, cur, call, b)...)
	case name == "NewReader":
		p.Report(call, p.HeatAt(cur), "string(b) copies for strings.NewReader; bytes.NewReader reads the slice")
	case cuts[name] && read(p, cur, map[*types.Var]bool{}):
		p.Report(call, p.HeatAt(cur), "string(b) copies for strings."+name+", and what is cut from it is only read; package bytes has the same functions")
	}
}

// held reports the conversion at cur where it is held in a variable that is
// only read.
func held(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || assign.Tok != token.DEFINE {
		return
	}
	v := p.Var(assign.Lhs[0])
	switch {
	case v == nil:
	case read(p, cur, map[*types.Var]bool{}):
		if searched(p, v) {
			p.Report(call, p.HeatAt(cur), "the copy in "+v.Name()+" is only read; package bytes has the same functions for the slice")
		}
	case looksUp(p, v) && len(p.Uses(v)) > 1:
		p.Report(call, min(p.HeatAt(cur), check.Warm), "the copy in "+v.Name()+" is made for a look-up, too; m[string(b)] needs none, so that only what is not found is copied")
	}
}

// looksUp reports whether a map is read with v as the key.
func looksUp(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		index, ok := use.Parent().Node().(*ast.IndexExpr)
		if !ok || index.Index != use.Node() {
			continue
		}
		if assign, ok := use.Parent().Parent().Node().(*ast.AssignStmt); ok && assign.Lhs[0] == index {
			continue
		}
		return true
	}
	return false
}

// searched reports whether v is an argument anywhere: what is only compared
// may as well be a string.
func searched(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		if call, ok := use.Parent().Node().(*ast.CallExpr); ok && p.Builtin(call) == "" {
			return true
		}
	}
	return false
}

// read reports whether the text at cur, and all that is cut from it, is only
// searched, compared and measured, all of which package bytes does as well.
func read(p *check.Pass, cur inspector.Cursor, seen map[*types.Var]bool) bool {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return read(p, cur.Parent(), seen)
	case *ast.SliceExpr:
		return parent.X != e || read(p, cur.Parent(), seen)
	case *ast.IndexExpr:
		return parent.X == e && (!check.IsString(p.TypeOf(parent)) || read(p, cur.Parent(), seen))
	case *ast.BinaryExpr:
		return parent.Op != token.ADD
	case *ast.SwitchStmt:
		return parent.Tag == e
	case *ast.CaseClause:
		return true
	case *ast.RangeStmt:
		return parent.X == e && (check.IsString(p.TypeOf(parent.X)) || parent.Value == nil || readVar(p, parent.Value, seen))
	case *ast.AssignStmt:
		return readAssigned(p, parent, e, seen)
	case *ast.CallExpr:
		return readArgument(p, cur, parent, seen)
	}
	return false
}

// readVar is read for all uses of the variable that e declares.
func readVar(p *check.Pass, e ast.Expr, seen map[*types.Var]bool) bool {
	if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
		return true
	}
	v := p.Var(e)
	if !p.Local(v) {
		return false
	}
	if !check.IsString(v.Type()) && !types.Identical(v.Type().Underlying(), types.NewSlice(types.Typ[types.String])) {
		return true // the second result of Cut
	}
	if seen[v] {
		return true
	}
	seen[v] = true
	for _, use := range p.Uses(v) {
		if !read(p, use, seen) {
			return false
		}
	}
	return true
}

func readAssigned(p *check.Pass, assign *ast.AssignStmt, e ast.Node, seen map[*types.Var]bool) bool {
	for _, lhs := range assign.Lhs {
		if lhs == e {
			return true // another value takes its place
		}
	}
	if len(assign.Rhs) != 1 || assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN {
		return false
	}
	for _, lhs := range assign.Lhs {
		if !readVar(p, lhs, seen) {
			return false
		}
	}
	return true
}

func readArgument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, seen map[*types.Var]bool) bool {
	switch p.Builtin(call) {
	case "len":
		return true
	case "":
	default:
		return false
	}
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "strings" || fn.Signature().Recv() != nil {
		return false
	}
	if call.Args[0] != cur.Node() { // what is searched for
		return inBytes[fn.Name()] || cuts[fn.Name()]
	}
	return inBytes[fn.Name()] || cuts[fn.Name()] && read(p, cur.Parent(), seen)
}

// formatted is the edit that formats b itself.
func formatted(p *check.Pass, arg, b ast.Expr) []analysis.TextEdit {
	if _, text := b.(*ast.CallExpr); text || !types.Identical(types.Unalias(p.TypeOf(b)), types.NewSlice(types.Typ[types.Byte])) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(arg, p.Source(b))}
}
