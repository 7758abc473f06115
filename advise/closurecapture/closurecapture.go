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

// Check flags closures that are allocated: goroutines that capture variables of
// their loop, and function values that go further than their function.
var Check = check.New(check.Check{
	Name:     "closurecapture",
	Exercise: 7,
	Severity: check.Hint,
	Doc: `a goroutine in a loop that captures the loop's variables

Each round makes a closure, and moves what it captures to the heap. With the values as arguments of the
literal that was fewer allocations once. With Go 1.26 it is more, so for goroutines the advice is withdrawn there.
Literals that capture anything and are returned, held in fields, or given to functions that may hold them are allocated
as well, with what they write to, and so are method values: a type with a method, made once, needs none of it.`,
	When:     "a profile shows the closures; for goroutines, before Go 1.26.",
	WhenNot:  "closures that are called at once, given to the library, or to functions of the package that only call them; HTTP handlers, which are put together once; goroutines whose variables the closure writes to; start-up code and error paths.",
	Measured: "12 allocations -> 22: reversed (10 items, Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	said := map[*ast.FuncLit]bool{}
	for cur := range p.Root.Preorder((*ast.GoStmt)(nil)) {
		goStmt := cur.Node().(*ast.GoStmt)
		lit, ok := ast.Unparen(goStmt.Call.Fun).(*ast.FuncLit)
		loop := p.Loop(cur)
		if !ok || loop == nil || withdrawn(p, goStmt) {
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
	for cur := range p.Root.Preorder((*ast.SelectorExpr)(nil)) {
		bound(p, cur)
	}
}

// others reports a function value that is allocated: a goroutine's literal that
// captures what is assigned again, and so lies on the heap, or a literal or method
// value that goes further than this function.
func others(p *check.Pass, cur inspector.Cursor, lit *ast.FuncLit) {
	if call, ok := cur.Parent().Node().(*ast.CallExpr); ok && call.Fun == lit {
		if _, routine := cur.Parent().Parent().Node().(*ast.GoStmt); routine {
			var names []string
			for _, v := range free(p, lit) {
				if reassigned(p, v) && !p.Assigned(v, lit) {
					names = append(names, v.Name())
				}
			}
			if len(names) > 0 && withdrawn(p, lit) {
				return
			}
			if len(names) > 0 {
				p.Report(lit, p.HeatAt(cur), "the function literal captures "+strings.Join(names, ", ")+"; pass them as arguments, or call a method of a value that is there already")
			}
		}
		return
	}
	vars := free(p, lit)
	if len(vars) == 0 || check.Handler(p.TypeOf(lit)) || !escapes(p, cur, 3) {
		return
	}
	var names, written []string
	var at []ast.Node
	for _, v := range vars {
		names = append(names, v.Name())
		if modified(p, v, lit) {
			written = append(written, v.Name())
		}
		if reassigned(p, v) || modified(p, v, lit) {
			at = append(at, span{v})
		}
	}
	p = p.Needs(check.Interface, asked(p, cur))
	if len(written) > 0 {
		p.ReportWith(lit, at, p.HeatAt(cur), "the function literal writes to "+strings.Join(written, ", ")+", on the heap for that, each on its own; let it write to one value, or return what it finds")
		return
	}
	p.ReportWith(lit, at, p.HeatAt(cur), "the function literal captures "+strings.Join(names, ", ")+" and is allocated; pass them as arguments, or call a method of a value that is there already")
}

// asked reports whether a function or type that this package cannot change asks
// for the function value at cur.
func asked(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.CallExpr:
		return !p.Free(p.Callee(parent))
	case *ast.ReturnStmt:
		return !p.FreeAround(cur)
	}
	return false
}

// bound reports a method value that goes further: it is a closure that holds
// its receiver.
func bound(p *check.Pass, cur inspector.Cursor) {
	sel := cur.Node().(*ast.SelectorExpr)
	s := p.Info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	if call, ok := cur.Parent().Node().(*ast.CallExpr); ok && call.Fun == sel || !escapes(p, cur, 3) {
		return
	}
	p.Needs(check.Interface, asked(p, cur)).Report(sel, p.HeatAt(cur), types.ExprString(sel)+" is a closure, allocated here each time; keep it in a field, or hand on "+types.ExprString(sel.X)+" itself")
}

// free returns the variables of the functions around lit that it names, in
// order.
func free(p *check.Pass, lit *ast.FuncLit) (vars []*types.Var) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := p.Info.Uses[id].(*types.Var)
		if ok && p.Local(v) && v.Pkg() == p.Code.Pkg && !(v.Pos() >= lit.Pos() && v.Pos() < lit.End()) && !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
		return true
	})
	return vars
}

// escapes reports whether the function value at cur goes where it may be held:
// back to the caller, into a field, an element or a channel, or to a function
// that does not only call it.
func escapes(p *check.Pass, cur inspector.Cursor, depth int) bool {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return escapes(p, cur.Parent(), depth)
	case *ast.ReturnStmt, *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
		return true
	case *ast.ValueSpec:
		for i, value := range parent.Values {
			if value == e && len(parent.Values) == len(parent.Names) {
				return heldFurther(p, parent.Names[i], depth)
			}
		}
	case *ast.AssignStmt:
		for i, value := range parent.Rhs {
			if value == e && len(parent.Rhs) == len(parent.Lhs) {
				return heldFurther(p, parent.Lhs[i], depth)
			}
		}
	case *ast.CallExpr:
		if p.Info.Types[parent.Fun].IsType() {
			return escapes(p, cur.Parent(), depth)
		}
		if parent.Fun == e || p.Builtin(parent) != "" && p.Builtin(parent) != "append" || library(p, parent) {
			return false
		}
		fn := p.Callee(parent)
		if _, decl := p.Decl(fn); decl == nil {
			return true
		}
		params := fn.Origin().Signature().Params()
		for i, arg := range parent.Args {
			if arg == e {
				return depth == 0 || i >= params.Len() || fn.Signature().Variadic() && i == params.Len()-1 || further(p, params.At(i), depth-1)
			}
		}
	}
	return false
}

// heldFurther is escapes for what is assigned to e.
func heldFurther(p *check.Pass, e ast.Expr, depth int) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := p.Var(e)
		return e.Name != "_" && v != nil && (!p.Local(v) || depth > 0 && further(p, v, depth-1))
	case *ast.SelectorExpr, *ast.IndexExpr:
		return true
	}
	return false
}

// further reports whether any use of v does more than to call it.
func further(p *check.Pass, v *types.Var, depth int) bool {
	for _, use := range p.Uses(v) {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if ok && call.Fun == use.Node() {
			if _, routine := use.Parent().Parent().Node().(*ast.GoStmt); routine {
				return true
			}
			if depth > 0 && inFurther(p, v, use, depth-1) {
				return true
			}
		} else if escapes(p, use, depth) {
			return true
		}
	}
	return false
}

// inFurther reports whether the use of v lies in a function literal that v is
// not of, and that goes further: it holds v.
func inFurther(p *check.Pass, v *types.Var, use inspector.Cursor, depth int) bool {
	for at := range use.Enclosing((*ast.FuncLit)(nil)) {
		lit := at.Node()
		if v.Pos() >= lit.Pos() && v.Pos() < lit.End() {
			return false
		}
		if call, ok := at.Parent().Node().(*ast.CallExpr); ok && call.Fun == lit {
			if _, routine := at.Parent().Parent().Node().(*ast.GoStmt); routine {
				return true
			}
		} else if escapes(p, at, depth) {
			return true
		}
	}
	return false
}

// withdrawn reports whether node is of a language version for which captures
// cost a goroutine less than arguments.
func withdrawn(p *check.Pass, node ast.Node) bool {
	return version.Compare(p.GoVersion(node.Pos()), "go1.26") >= 0
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
	if fn == nil || fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()) {
		return false // who knows what stands behind it
	}
	return fn.Pkg() != nil && fn.Pkg() != p.Code.Pkg && check.Standard(fn) && fn.Pkg().Path() != "time"
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
