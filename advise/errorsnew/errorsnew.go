// Package errorsnew is an allocation check: see Check.
package errorsnew

import (
	"flag"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"go/version"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags constant errors that are made anew.
var Check = check.New(check.Check{
	Name:     "errorsnew",
	Exercise: 15,
	Severity: check.Hint,
	Doc: `errors.New of a constant text in a function

Each rejection allocates an error that is always the same. A package variable is made
once, and callers can ask for it with errors.Is. The same holds for errors that other packages make of constants, for
struct literals of them, for those that methods of package variables make of these, and, where callers only ask whether there is one, for errors
that are formatted.`,
	When:     "rejections are frequent. Where the function is inlined (from Go 1.26: short bodies without loops), nothing is gained.",
	WhenNot:  "texts that are joined; errors that wrap another that is not a package variable; short functions, from Go 1.26, where it is errors.New; init, main, tests.",
	Measured: "13 to 16 times the time and 1 allocation -> 0 where the call is not inlined; otherwise nothing (Go 1.26.8)",
	Run:      run,
	Flags: func(f *flag.FlagSet) {
		f.BoolVar(&hoist, "hoist", true, "offer to move the error to a package variable")
	},
})

// hoist is set by the analyzer's flag before it runs.
var hoist bool

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if !constantError(p, call) || kept(p, cur) {
			continue
		}
		decl := check.FuncDecl(cur)
		if decl == nil {
			if inLiteral(cur) {
				p.Hint(call, p.HeatOfPath(cur), "the same error is made anew in each call; return a package variable")
			}
			continue
		}
		if version.Compare(p.GoVersion(call.Pos()), "go1.26") >= 0 && inlinable(decl) {
			continue
		}
		var edits []analysis.TextEdit
		if hoist && local(p, cur) {
			edits, _ = p.Hoist(cur, "err"+check.Title(decl.Name.Name))
		}
		p.Report(call, p.HeatOfPath(cur), "the same error is made anew in each call; return a package variable", edits...)
	}
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil)) {
		others(p, cur)
	}
}

// inLiteral reports whether cur lies in a function literal.
func inLiteral(cur inspector.Cursor) bool {
	for range cur.Enclosing((*ast.FuncLit)(nil)) {
		return true
	}
	return false
}

// constantError reports whether call makes an error of constant text.
func constantError(p *check.Pass, call *ast.CallExpr) bool {
	if _, ok := p.IsCall(call, "errors", "New"); ok {
		return p.IsConst(call.Args[0])
	}
	if _, ok := p.IsCall(call, "fmt", "Errorf"); ok && len(call.Args) == 1 {
		value := p.Info.Types[call.Args[0]].Value
		return value != nil && value.Kind() == constant.String && !strings.Contains(constant.StringVal(value), "%")
	}
	return false
}

// local reports whether the error at cur is returned, or held in a variable of
// the function.
func local(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.AssignStmt:
		v := p.Var(parent.Lhs[0])
		return len(parent.Lhs) == 1 && (v == nil || p.Local(v))
	}
	return false
}

// others reports, at cur, errors that other functions make of constants or
// format, and literals of them.
func others(p *check.Pass, cur inspector.Cursor) {
	at := cur
	if u, ok := cur.Parent().Node().(*ast.UnaryExpr); ok && u.Op == token.AND {
		at = cur.Parent()
	}
	if check.FuncDecl(cur) == nil && !inLiteral(cur) || kept(p, at) {
		return
	}
	if lit, ok := cur.Node().(*ast.CompositeLit); ok {
		t := p.TypeOf(lit)
		_, isStruct := t.Underlying().(*types.Struct)
		if !isStruct || !check.IsError(t) && !check.IsError(types.NewPointer(t)) {
			return
		}
		if len(lit.Elts) > 0 && sameEach(p, values(lit.Elts)) {
			p.Hint(lit, p.HeatOfPath(cur), "the same error is made anew in each call; return a package variable")
		} else if formats(p, lit.Elts) {
			p.Hint(lit, p.HeatOfPath(cur), "the text of an error is formatted in each call; hold what it is made of, and format in Error")
		}
		return
	}
	call := cur.Node().(*ast.CallExpr)
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Results().Len() != 1 || !check.IsError(fn.Signature().Results().At(0).Type()) {
		return
	}
	if ofSentinel(p, call) && sameEach(p, call.Args) {
		p.Hint(call, p.HeatOfPath(cur), fn.FullName()+" makes another error of a package variable in each call, with its stack perhaps; return the variable, or one that is made of it once")
		return
	}
	if len(call.Args) == 0 {
		return
	}
	if _, ok := p.IsCall(call, "fmt", "Errorf"); ok {
		if format := p.Info.Types[call.Args[0]].Value; len(call.Args) > 1 && format != nil && sameEach(p, call.Args[1:]) {
			p.Hint(call, p.HeatOfPath(cur), "the same error is formatted anew in each call; return a package variable")
		} else if len(call.Args) > 1 && format != nil && !strings.Contains(format.ExactString(), "%w") && p.HeatOfPath(cur) != check.Cold {
			p.Hint(call, p.HeatOfPath(cur), "an error is formatted in each call; where callers only ask whether there is one, return a package variable, or a type that formats in Error")
		}
		return
	}
	switch {
	case check.Standard(fn) || !makes.MatchString(fn.Name()):
	case texts(p, call.Args):
		p.Hint(call, p.HeatOfPath(cur), fn.FullName()+" makes the same error anew in each call; return a package variable")
	case strings.HasSuffix(fn.Name(), "f") && fn.Signature().Recv() == nil && fn.Signature().Variadic() && !takesError(p, call):
		p.Hint(call, p.HeatOfPath(cur), "an error is formatted in each call; where callers only ask whether there is one, return a package variable, or a type that formats in Error")
	}
}

// sameEach reports whether all of the list are constants or package variables, of
// this or another package.
func sameEach(p *check.Pass, list []ast.Expr) bool {
	for _, e := range list {
		if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && p.Info.Selections[sel] == nil {
			e = sel.Sel
		}
		v := p.Var(e)
		if !p.IsConst(e) && (v == nil || v.Pkg() == nil || v.Parent() != v.Pkg().Scope()) {
			return false
		}
	}
	return true
}

// makes is how functions are named that make errors.
var makes = regexp.MustCompile(`^New|Err|Wrapf?$|WithStack$|WithMessagef?$|Invalid|Illegal|NotFound`)

// values returns the elements of a composite literal without their keys.
func values(elts []ast.Expr) []ast.Expr {
	list := make([]ast.Expr, len(elts))
	for i, e := range elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		list[i] = e
	}
	return list
}

// texts reports whether all of the list are constants or package variables, one
// of them a text or an error. A context that comes first does not count.
func texts(p *check.Pass, list []ast.Expr) bool {
	if len(list) > 1 && check.IsNamed(p.TypeOf(list[0]), "context", "Context") {
		list = list[1:]
	}
	for _, e := range list {
		if t := p.TypeOf(e); check.IsString(t) || check.IsError(t) {
			return sameEach(p, list)
		}
	}
	return false
}

// formats reports whether one of the elements formats a text.
func formats(p *check.Pass, elts []ast.Expr) bool {
	for _, e := range values(elts) {
		if _, ok := p.IsCall(e, "fmt", "Sprintf", "Sprint", "Sprintln"); ok {
			return true
		}
	}
	return false
}

// takesError reports whether an argument is an error: the result wraps it.
func takesError(p *check.Pass, call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if check.IsError(p.TypeOf(arg)) {
			return true
		}
	}
	return false
}

// ofSentinel reports whether call calls a method of a package variable that is an
// error.
func ofSentinel(p *check.Pass, call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || p.Info.Selections[sel] == nil {
		return false
	}
	return check.IsError(p.TypeOf(sel.X)) && !p.IsConst(sel.X) && sameEach(p, []ast.Expr{sel.X})
}

// kept reports whether the error already goes to something that outlives the
// call, or into another call.
func kept(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt, *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
		return false
	case *ast.CallExpr:
		return p.Stops(parent)
	case *ast.AssignStmt:
		for i, rhs := range parent.Rhs {
			if rhs == cur.Node() && len(parent.Lhs) == len(parent.Rhs) {
				v := p.Var(parent.Lhs[i])
				return v != nil && !v.IsField() && !p.Local(v)
			}
		}
	case *ast.ValueSpec:
		return len(parent.Names) == 0 || !p.Local(p.Var(parent.Names[0]))
	}
	return true
}

// inlinable guesses whether the compiler inlines decl: a few statements, none
// of which it refuses.
func inlinable(decl *ast.FuncDecl) bool {
	if decl.Doc != nil {
		for _, c := range decl.Doc.List {
			if strings.HasPrefix(c.Text, "//go:noinline") {
				return false
			}
		}
	}
	nodes, refused := 0, false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n.(type) {
		case nil:
			return true
		case *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.FuncLit:
			refused = true
		case *ast.CallExpr:
			nodes += 8
		}
		nodes++
		return true
	})
	return !refused && nodes <= 60
}
