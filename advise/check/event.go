package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// An event is what a program of any framework waits for: a request, a message, a
// call of a procedure. What runs for each is known by how it comes to run: a
// function value that another module is given and calls with types of its own, a
// method that another module's interface asks for, the round of a loop without an
// end that waits for a value.

// handlers returns the functions of the package that run once for each event, and
// enters the literals that do.
func (c *Code) handlers() map[*types.Func]bool {
	out := map[*types.Func]bool{}
	for cur := range c.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := c.Callee(call)
		if fn == nil || fn.Pkg() == c.Pkg || !c.abroad(fn) || c.file(call.Pos()).test {
			continue
		}
		for _, arg := range call.Args {
			c.handed(arg, out)
		}
	}
	for fn, cur := range c.decls {
		if !c.file(cur.Node().Pos()).test && fn.Signature().Recv() != nil && fn.Exported() && c.procedure(fn.Signature()) {
			out[fn] = true
		}
	}
	return out
}

// abroad reports whether obj is of another module, or of the library's packages
// about the network.
func (c *Code) abroad(obj types.Object) bool {
	if obj.Pkg() == nil {
		return false
	}
	path := obj.Pkg().Path()
	return path == "net" || strings.HasPrefix(path, "net/") || Elsewhere(obj, c.Pkg)
}

// handed enters what another module is given to call: a function, or the methods of a
// value that it knows as an interface of its own.
func (c *Code) handed(arg ast.Expr, out map[*types.Func]bool) {
	arg = ast.Unparen(arg)
	t := c.TypeOf(arg)
	if sig, ok := t.Underlying().(*types.Signature); ok {
		if !c.request(sig) {
			return
		}
		switch e := arg.(type) {
		case *ast.FuncLit:
			c.literals[e] = true
		case *ast.Ident:
			c.enter(c.Info.Uses[e], out)
		case *ast.SelectorExpr:
			c.enter(c.Info.Uses[e.Sel], out)
		}
		return
	}
	named := NamedOf(t)
	if named == nil || named.Obj().Pkg() != c.Pkg {
		return
	}
	for m := range named.Methods() {
		if m.Exported() && c.request(m.Signature()) {
			c.enter(m, out)
		}
	}
}

func (c *Code) enter(obj types.Object, out map[*types.Func]bool) {
	if fn, ok := obj.(*types.Func); ok && fn.Pkg() == c.Pkg {
		out[fn.Origin()] = true
	}
}

// request reports whether a function takes what another module makes for an event: a
// value of its types, apart from contexts and errors.
func (c *Code) request(sig *types.Signature) bool {
	for p := range sig.Params().Variables() {
		if named := NamedOf(p.Type()); named != nil && c.abroad(named.Obj()) {
			switch named.Underlying().(type) {
			case *types.Struct, *types.Interface:
				return true
			}
		}
	}
	return false
}

// procedure reports whether a method has the shape of a remote procedure: a context
// and a pointer to a message, for a pointer to a message and an error, both of other
// packages.
func (c *Code) procedure(sig *types.Signature) bool {
	message := func(t types.Type) bool {
		_, ptr := t.Underlying().(*types.Pointer)
		named := NamedOf(t)
		return ptr && named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg() != c.Pkg && isStruct(named) &&
			strings.Contains(named.Obj().Pkg().Path(), ".")
	}
	return sig.Params().Len() == 2 && sig.Results().Len() == 2 &&
		IsNamed(sig.Params().At(0).Type(), "context", "Context") &&
		message(sig.Params().At(1).Type()) && message(sig.Results().At(0).Type()) && IsError(sig.Results().At(1).Type())
}

// consumes reports whether each round of a loop without an end waits for a value: one
// of a channel, or what a method of somebody else reads.
func (c *Code) consumes(loop ast.Stmt) bool {
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		ch, ok := c.TypeOf(loop.X).Underlying().(*types.Chan)
		return ok && payload(ch.Elem())
	case *ast.ForStmt:
		if loop.Cond != nil || loop.Post != nil {
			return false
		}
		for _, stmt := range loop.Body.List {
			if c.waits(stmt) {
				return true
			}
		}
	}
	return false
}

// waits reports whether a statement of a round receives or reads a value.
func (c *Code) waits(stmt ast.Stmt) bool {
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		for _, clause := range s.Body.List {
			if comm := clause.(*ast.CommClause).Comm; comm != nil && c.waits(comm) {
				return true
			}
		}
	case *ast.AssignStmt:
		if len(s.Rhs) != 1 {
			return false
		}
		switch e := ast.Unparen(s.Rhs[0]).(type) {
		case *ast.UnaryExpr:
			return e.Op == token.ARROW && payload(c.elem(e.X))
		case *ast.CallExpr:
			return c.reads(e)
		}
	}
	return false
}

func (c *Code) elem(e ast.Expr) types.Type {
	if ch, ok := c.TypeOf(e).Underlying().(*types.Chan); ok {
		return ch.Elem()
	}
	return types.Typ[types.Invalid]
}

// reads reports whether a call is of another package's method that returns a value
// that needs no Close, or fills a buffer, and an error.
func (c *Code) reads(call *ast.CallExpr) bool {
	fn := c.Callee(call)
	if fn == nil || fn.Signature().Recv() == nil || fn.Pkg() == c.Pkg && !types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	res := fn.Signature().Results()
	if res.Len() < 2 || !IsError(res.At(res.Len()-1).Type()) {
		return false
	}
	for _, arg := range call.Args {
		if IsBytes(c.TypeOf(arg)) {
			return true
		}
	}
	closer, _, _ := types.LookupFieldOrMethod(res.At(0).Type(), true, c.Pkg, "Close")
	_, basic := res.At(0).Type().Underlying().(*types.Basic)
	return closer == nil && (!basic || IsString(res.At(0).Type()))
}

// payload reports whether a value of type t says more than that something happened.
func payload(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return u.NumFields() > 0 && !IsNamed(t, "time", "Time")
	case *types.Basic:
		return IsString(t)
	case *types.Interface:
		return !IsError(t) && !IsNamed(t, "os", "Signal")
	}
	return true
}

// dwarfed reports whether the code at cur runs beside work that costs far more: in the
// same round of a loop, or in the same function, something waits for a disk, for another
// program or for a context.
func (c *Code) dwarfed(cur inspector.Cursor) (found bool) {
	var around ast.Node
	if loop := c.Loop(cur); loop != nil {
		around = loop
	} else if _, body := Func(cur); body != nil {
		around = body
	} else {
		return false
	}
	ast.Inspect(around, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		fn := c.Callee(call)
		if fn == nil || fn.Pkg() == nil {
			return true
		}
		switch fn.Pkg().Path() {
		case "os", "os/exec", "database/sql", "io/ioutil", "image/jpeg", "image/png", "encoding/xml", "crypto/rsa",
			"crypto/ecdsa", "crypto/x509", "net/http":
			found = fn.Signature().Results().Len() > 1
		}
		if len(call.Args) > 0 && IsNamed(c.TypeOf(call.Args[0]), "context", "Context") && fn.Pkg().Path() != "context" &&
			fn.Signature().Results().Len() > 0 && IsError(last(fn.Signature().Results())) {
			found = true
		}
		return !found
	})
	return found
}

func last(vars *types.Tuple) types.Type { return vars.At(vars.Len() - 1).Type() }

// configured reports whether a loop ranges over what the program was set up with: a
// package variable, or a field of the receiver.
func (c *Code) configured(cur inspector.Cursor, loop ast.Stmt) bool {
	s, ok := loop.(*ast.RangeStmt)
	if !ok {
		return false
	}
	decl := enclosingDecl(cur)
	e := ast.Unparen(s.X)
	field := false
	for {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			break
		}
		e, field = ast.Unparen(sel.X), true
	}
	v := c.Var(e)
	if v == nil {
		return false
	}
	if !c.Local(v) {
		return true
	}
	return field && decl != nil && decl.Recv != nil && decl.Recv.Pos() <= v.Pos() && v.Pos() < decl.Recv.End()
}
