package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// Cold reports whether the code at cur is not worth a finding: it runs only at
// start-up, in tests, or because of an error.
func (c *Code) Cold(cur inspector.Cursor) bool { return c.onErrorPath(cur) || c.Once(cur) }

// Once reports whether the code at cur runs only at start-up or in tests. Outside tests, a handler given to a call does
// not; outside init, nor does code in a loop: it may run for as long as the program.
func (c *Code) Once(cur inspector.Cursor) bool {
	later, given := false, false
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.FuncLit:
			parent, _ := at.Parent().Node().(ast.Expr)
			if _, ok := c.IsCall(parent, "sync", "Once.Do", "OnceFunc", "OnceValue", "OnceValues"); ok {
				return true
			}
			call, callee := around(at)
			later, given = later || !callee, given || call != nil && !callee
		case *ast.FuncDecl:
			fn, ok := c.Info.Defs[n.Name].(*types.Func)
			again := given || n.Name.Name != "init" && c.Loop(cur) != nil
			return ok && c.once[fn] && (c.file(n.Pos()).test || !again)
		}
	}
	return !later // later: a package variable holds the function
}

// settle finds the functions that run only at start-up or in tests: init, main, functions in test
// files, and functions that only those call. Exported functions may have callers elsewhere.
func (c *Code) settle() {
	for fn, cur := range c.decls {
		c.once[fn] = c.file(cur.Node().Pos()).test || fn.Signature().Recv() == nil &&
			(fn.Name() == "init" || fn.Name() == "main" && c.Pkg.Name() == "main")
	}
	for changed := true; changed; {
		changed = false
		for fn := range c.decls {
			if !c.once[fn] && !fn.Exported() && c.onlyOnce(fn) {
				c.once[fn], changed = true, true
			}
		}
	}
}

// onlyOnce reports whether fn is used and all of its uses, recursion aside, are cold.
func (c *Code) onlyOnce(fn *types.Func) bool {
	used := false
	for _, use := range c.uses[fn] {
		decl := FuncDecl(use)
		if decl != nil && c.Info.Defs[decl.Name] == fn {
			continue // recursion
		}
		// any code may call a function in a package variable, such as a table
		call, callee := around(use)
		if !c.Cold(use) || !callee && (decl == nil || call != nil && !c.file(use.Node().Pos()).test) {
			return false
		}
		used = true
	}
	return used
}

// CallOf returns the call whose callee the identifier at cur names, or the literal at cur is; nil if
// that is used as a value.
func CallOf(cur inspector.Cursor) *ast.CallExpr {
	if call, callee := around(cur); callee {
		return call
	}
	return nil
}

// around returns the call that takes or calls what the identifier or literal at cur names, and whether it calls it.
func around(cur inspector.Cursor) (call *ast.CallExpr, callee bool) {
	if sel, ok := cur.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel == cur.Node() {
		cur = cur.Parent()
	}
	call, _ = cur.Parent().Node().(*ast.CallExpr)
	return call, call != nil && call.Fun == cur.Node()
}

// Guarded reports whether the code at cur runs only if a condition that holds accepts
// is true: it lies in the body of such an if in the same function.
func Guarded(cur inspector.Cursor, holds func(cond ast.Expr) bool) bool {
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch parent := at.Parent().Node().(type) {
		case *ast.IfStmt:
			if at.Node() == parent.Body && holds(parent.Cond) {
				return true
			}
		case *ast.FuncDecl, *ast.FuncLit, nil:
			return false
		}
	}
	return false
}

// onErrorPath reports whether the code at cur runs only to make or handle an error: in
// the body of "if err != nil", in a branch that ends in a failure, in a returned error,
// or in an argument of a call that reports a failure or ends the program.
func (c *Code) onErrorPath(cur inspector.Cursor) bool {
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch parent := at.Parent().Node().(type) {
		case *ast.IfStmt:
			if at.Node() == parent.Body && c.errorCond(parent.Cond) {
				return true
			}
		case *ast.ReturnStmt:
			if e, ok := at.Node().(ast.Expr); ok && IsError(c.TypeOf(e)) && !passesOn(e) {
				return true
			}
		case *ast.CallExpr:
			if at.Node() == parent.Fun {
				continue
			}
			if _, makes := c.IsCall(parent, "errors", "New"); makes || c.Stops(parent) ||
				failure.MatchString(named(parent.Fun)) {
				return true
			}
		case *ast.BlockStmt:
			if _, branch := at.Parent().Parent().Node().(*ast.IfStmt); branch && c.fails(parent.List) {
				return true
			}
		case *ast.CaseClause:
			if stmt, ok := at.Node().(ast.Stmt); ok && slices.Contains(parent.Body, stmt) && c.fails(parent.Body) {
				return true
			}
		case *ast.FuncDecl, *ast.FuncLit, nil:
			return false
		}
	}
	return false
}

// passesOn reports whether e is a call that may succeed and whose error is passed on:
// the callee is not named like a function that makes errors.
func passesOn(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || maker.MatchString(named(call.Fun)) {
		return false
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return true
	}
	from, ok := sel.X.(*ast.Ident)
	return !ok || !maker.MatchString(from.Name)
}

// maker matches the names of functions that make errors, and of their packages or receivers.
var maker = regexp.MustCompile(`(?i)err|fail|fatal|status|invalid|illegal|unsupported|unexpected|` +
	`unknown|mismatch|missing|bad|wrong|notfound|abort|deny|denied|reject`)

// failure matches the names of functions that format errors or report failures.
var failure = regexp.MustCompile(`(?i)(error|err|fatal|panic|warn|warning)(f|w|ln)?$`)

// fails reports whether a list of statements ends in a failure: a panic, the end of the
// program, the return of a new error or an HTTP error response.
func (c *Code) fails(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if ret, ok := last.(*ast.ReturnStmt); ok {
		if n := len(ret.Results); n > 0 {
			return c.newError(ret.Results[n-1])
		}
		if len(list) == 1 {
			return false
		}
		last = list[len(list)-2]
	}
	stmt, ok := last.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := stmt.X.(*ast.CallExpr)
	return ok && (c.Stops(call) || c.refuses(call))
}

// newError reports whether e makes an error or names a package variable with one.
func (c *Code) newError(e ast.Expr) bool {
	e = ast.Unparen(e)
	if !IsError(c.TypeOf(e)) {
		return false
	}
	var id *ast.Ident
	switch e := e.(type) {
	case *ast.CallExpr:
		return !passesOn(e)
	case *ast.UnaryExpr, *ast.CompositeLit:
		return true
	case *ast.SelectorExpr:
		id = e.Sel
	case *ast.Ident:
		id = e
	}
	v, ok := c.Info.Uses[id].(*types.Var)
	return ok && !v.IsField() && v.Parent() == v.Pkg().Scope()
}

// refuses reports whether a call answers a request with a status of 400 or more.
func (c *Code) refuses(call *ast.CallExpr) bool {
	if _, ok := c.IsCall(call, "net/http", "NotFound"); ok {
		return true
	}
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		code, ok := c.constInt(arg)
		return ok && code >= 400 && code < 600 &&
			(named(call.Fun) == "WriteHeader" || strings.HasPrefix(named(arg), "Status"))
	})
}

// named returns the last name of e, or "" if e is not a name.
func named(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// errorCond reports whether cond is true only if there is an error.
func (c *Code) errorCond(cond ast.Expr) bool {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	switch b.Op {
	case token.LAND:
		return c.errorCond(b.X) || c.errorCond(b.Y)
	case token.NEQ:
		return IsError(c.TypeOf(b.X)) && c.Info.Types[b.Y].IsNil()
	}
	return false
}
