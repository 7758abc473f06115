package check

import (
	"go/ast"
	"go/token"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"
)

// onErrorPath reports whether the code at cur runs only to make or to handle
// an error: in the body of "if err != nil" or of an if that ends by returning a
// new error, in an error that is returned, in what reports a failure or ends the
// program.
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
			if c.Stops(parent) || c.makesError(parent) || reports(parent) {
				return true
			}
		case *ast.BlockStmt:
			if _, branch := at.Parent().Parent().Node().(*ast.IfStmt); branch && c.fails(parent) {
				return true
			}
		case *ast.FuncDecl, *ast.FuncLit, nil:
			return false
		}
	}
	return false
}

// passesOn reports whether e is a call that may well succeed, whose error is
// handed on: of a function that is not named like a maker of errors.
func passesOn(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return !maker.MatchString(fun.Name)
	case *ast.SelectorExpr:
		from, _ := fun.X.(*ast.Ident)
		return !maker.MatchString(fun.Sel.Name) && (from == nil || !maker.MatchString(from.Name))
	}
	return true
}

// maker is how functions are named that make errors, or the packages they are of.
var maker = regexp.MustCompile(`(?i)err|fail|fatal|status|invalid|illegal|unsupported|unexpected|unknown|mismatch|missing|bad|wrong|notfound|abort|deny|denied|reject`)

// makesError reports whether call makes an error of a text.
func (c *Code) makesError(call *ast.CallExpr) bool {
	if _, ok := c.IsCall(call, "fmt", "Errorf"); ok {
		return true
	}
	_, ok := c.IsCall(call, "errors", "New")
	return ok
}

// failure is how functions are named to which errors and failures are reported.
var failure = regexp.MustCompile(`(?i)(error|err|fatal|panic|warn|warning)(f|w|ln)?$`)

// reports reports whether call calls something named like Errorf, Panic or Warn.
func reports(call *ast.CallExpr) bool {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return failure.MatchString(fun.Name)
	case *ast.SelectorExpr:
		return failure.MatchString(fun.Sel.Name)
	}
	return false
}

// fails reports whether a block ends by returning an error that it makes.
func (c *Code) fails(block *ast.BlockStmt) bool {
	ret, ok := block.List[len(block.List)-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	call, ok := ast.Unparen(ret.Results[len(ret.Results)-1]).(*ast.CallExpr)
	return ok && c.makesError(call)
}

// errorCond reports whether cond holds only where there is an error.
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
