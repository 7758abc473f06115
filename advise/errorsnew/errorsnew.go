// Package errorsnew is an allocation check: see Check.
package errorsnew

import (
	"go/ast"
	"go/constant"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags constant errors that are made again in each call.
var Check = check.New(check.Check{
	Name:     "errorsnew",
	Exercise: 15,
	Severity: check.Advice,
	Doc: `errors.New of a constant text in a function

Each rejection allocates an error that is always the same. A package variable is made once, and callers can
ask for it with errors.Is.`,
	When: "rejections are frequent. Where the function is inlined (from Go 1.26: short bodies without loops), " +
		"nothing is gained.",
	WhenNot: "texts that are joined; errors that wrap another that is not a package variable; short functions, from Go " +
		"1.26; init, main, tests.",
	Measured: "13 to 16 times the time and 1 allocation -> 0 where the call is not inlined; otherwise nothing (Go 1.26.8)",
	Run:      run,
	Hoists:   "the error",
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if !constantError(p, call) {
			continue
		}
		kept, local := kept(p, cur)
		decl := check.FuncDecl(cur)
		if kept || decl == nil || p.Once(cur) {
			continue
		}
		if p.AtLeast(call.Pos(), "go1.26") && inlinable(decl) {
			continue
		}
		var edits []analysis.TextEdit
		if local {
			edits, _ = p.Hoist(cur, "err"+check.Title(decl.Name.Name))
		}
		p.Report(call, "the same error is made again in each call; return a package variable", edits...)
	}
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

// kept reports whether the error needs no package variable: it initializes one, ends the
// program, or goes somewhere unknown. local reports whether it is returned or assigned alone.
func kept(p *check.Pass, cur inspector.Cursor) (kept, local bool) {
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt:
		return false, true
	case *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
		return false, false
	case *ast.CallExpr:
		return p.Stops(parent), false
	case *ast.AssignStmt:
		i := slices.Index(parent.Rhs, cur.Node().(ast.Expr))
		if len(parent.Lhs) != len(parent.Rhs) {
			return true, false
		}
		v := p.Var(parent.Lhs[i])
		return v != nil && !p.Local(v), len(parent.Lhs) == 1
	case *ast.ValueSpec:
		return !p.Local(p.Var(parent.Names[0])), false
	}
	return true, false
}

// inlinable guesses whether the compiler inlines decl: it is short and uses nothing
// that prevents inlining.
func inlinable(decl *ast.FuncDecl) bool {
	nodes, refused := 0, check.NoInline(decl)
	for n := range ast.Preorder(decl.Body) {
		switch n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.FuncLit:
			refused = true
		case *ast.CallExpr:
			nodes += 8
		}
		nodes++
	}
	return !refused && nodes <= 60
}
