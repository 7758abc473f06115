// Package closurecapture is an allocation check: see Check.
package closurecapture

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags goroutines that capture variables of their loop.
var Check = check.New(check.Check{
	Name:     "closurecapture",
	Exercise: 7,
	Severity: check.Hint,
	Until:    "go1.26",
	Doc: `a goroutine in a loop that captures the loop's variables

Each round makes a closure, and moves what it captures to the heap. With the values as arguments of the
literal that was fewer allocations once. With Go 1.26 it is more, so the advice is withdrawn there. The same holds for
literals that a loop gives to calls, for goroutines that capture what is assigned again, and for literals given to
interfaces that write to several variables of the function.`,
	When:     "before Go 1.26, where a profile shows the closures.",
	WhenNot:  "closures that are called at once or given to the library; variables that the closure writes to; start-up code.",
	Measured: "12 allocations -> 22: reversed (10 items, Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	said := map[*ast.FuncLit]bool{}
	for cur := range p.Root.Preorder((*ast.GoStmt)(nil)) {
		goStmt := cur.Node().(*ast.GoStmt)
		lit, ok := ast.Unparen(goStmt.Call.Fun).(*ast.FuncLit)
		loop := p.Loop(cur)
		if !ok || loop == nil {
			continue
		}
		vars := captured(p, cur, lit)
		if len(vars) == 0 {
			continue
		}
		said[lit] = true
		var names []string
		for _, v := range vars {
			names = append(names, v.Name())
		}
		p.Report(goStmt, p.HeatAt(cur), "the goroutine captures "+strings.Join(names, ", ")+" of the loop; pass them as arguments", fix(p, cur, goStmt.Call, lit, vars)...)
	}
	for cur := range p.Root.Preorder((*ast.FuncLit)(nil)) {
		if lit := cur.Node().(*ast.FuncLit); !said[lit] {
			others(p, cur, lit)
		}
	}
}

// others reports literals that are given to a call or a goroutine, and capture
// what the round of a loop declares, or, of a goroutine, what is assigned again
// and so lies on the heap.
func others(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) {
	call, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok || p.Builtin(call) != "" || library(p, call) {
		return
	}
	_, routine := cur.Parent().Parent().Node().(*ast.GoStmt)
	if call.Fun == lit && !routine {
		return
	}
	if !routine {
		shared(p, cur, call, lit)
	}
	loop := p.Loop(cur.Parent())
	var names []string
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, isIdent := n.(*ast.Ident)
		if !isIdent {
			return true
		}
		v, isVar := p.Info.Uses[id].(*types.Var)
		if !isVar || !p.Local(v) || v.Pos() >= lit.Pos() && v.Pos() < lit.End() || slices.Contains(names, v.Name()) || p.Assigned(v, lit) {
			return true
		}
		if loop != nil && v.Pos() >= loop.Pos() && v.Pos() < loop.End() || routine && reassigned(p, v) {
			names = append(names, v.Name())
		}
		return true
	})
	if len(names) > 0 {
		p.Needs(check.Interface, !routine && !p.Free(p.Callee(call))).Report(lit, p.HeatAt(cur), "the function literal captures "+strings.Join(names, ", ")+"; pass them as arguments, or call a method of a value that is there already")
	}
}

// shared reports variables of the function that a literal given to something
// unknown writes to, so that they lie on the heap.
func shared(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, lit *ast.FuncLit) {
	fn := p.Callee(call)
	if fn != nil && (fn.Signature().Recv() == nil || !types.IsInterface(fn.Signature().Recv().Type())) {
		return
	}
	var names []string
	var at []ast.Node
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || !p.Local(v) || v.Pos() >= lit.Pos() && v.Pos() < lit.End() || slices.Contains(names, v.Name()) || !modified(p, v, lit) {
			return true
		}
		names = append(names, v.Name())
		at = append(at, span{v})
		return true
	})
	if len(names) > 1 {
		p.ReportWith(lit, at, p.HeatAt(cur), "the function literal writes to "+strings.Join(names, ", ")+", which lie on the heap for that, each on its own; let it write to one value, or return what it finds")
	}
}

// A span is where a variable is declared.
type span struct{ v *types.Var }

func (s span) Pos() token.Pos { return s.v.Pos() }
func (s span) End() token.Pos { return s.v.Pos() + token.Pos(len(s.v.Name())) }

// modified reports whether lit gives v, or a field of it, another value.
func modified(p *check.Pass, v *types.Var, lit *ast.FuncLit) bool {
	for _, use := range p.Uses(v) {
		if !check.Within(use.Node(), lit) {
			continue
		}
		at := use
		if _, ok := at.Parent().Node().(*ast.SelectorExpr); ok {
			if _, isStruct := v.Type().Underlying().(*types.Struct); isStruct {
				at = at.Parent()
			}
		}
		if p.Writes(at) {
			return true
		}
	}
	return false
}

// library reports whether call is of the standard library, which keeps few of
// the functions it is given.
func library(p *check.Pass, call *ast.CallExpr) bool {
	fn := p.Callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg() != p.Code.Pkg && check.Standard(fn) && fn.Pkg().Path() != "time"
}

// reassigned reports whether v is given another value after its declaration,
// or its address is taken, so that closures hold it by reference.
func reassigned(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		if p.Writes(use) {
			return true
		}
	}
	return false
}

// captured returns the variables that the loops around cur declare and lit
// reads, in order; none where one of them is written to.
func captured(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) []*types.Var {
	var loops []ast.Stmt
	for at := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		loop, ok := at.Node().(ast.Stmt)
		if !ok {
			break // the function
		}
		loops = append(loops, loop)
	}
	var vars []*types.Var
	ok := true
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, isIdent := n.(*ast.Ident)
		if !isIdent {
			return true
		}
		v, isVar := p.Info.Uses[id].(*types.Var)
		if !isVar || slices.Contains(vars, v) {
			return true
		}
		for _, loop := range loops {
			header := header(loop)
			if v.Pos() < loop.Pos() || v.Pos() >= header {
				continue
			}
			for _, use := range p.Uses(v) {
				if check.Within(use.Node(), loop) && use.Node().Pos() > header && p.Assigned(v, use.Parent().Node()) {
					ok = false
				}
			}
			vars = append(vars, v)
		}
		return true
	})
	if !ok {
		return nil
	}
	return vars
}

// header is where the body of loop begins.
func header(loop ast.Stmt) token.Pos {
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		return loop.Body.Pos()
	case *ast.ForStmt:
		return loop.Body.Pos()
	}
	return token.NoPos
}

// fix passes the variables as arguments of the same names. Before Go 1.22 that
// would change what the program does.
func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, lit *ast.FuncLit, vars []*types.Var) []analysis.TextEdit {
	if version.Compare(p.GoVersion(cur.Node().Pos()), "go1.22") < 0 || lit.Type.Params.NumFields() > 0 {
		return nil
	}
	var params, args []string
	for _, v := range vars {
		named := check.NamedOf(v.Type())
		if named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg() != p.Code.Pkg {
			return nil // its package may not be imported here
		}
		params = append(params, v.Name()+" "+types.TypeString(v.Type(), types.RelativeTo(p.Code.Pkg)))
		args = append(args, v.Name())
	}
	return []analysis.TextEdit{
		check.Insert(lit.Type.Params.Closing, strings.Join(params, ", ")),
		check.Insert(call.Rparen, strings.Join(args, ", ")),
	}
}
