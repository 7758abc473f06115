package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// Use is what a function does with a value that refers to memory: a set.
type Use int

const (
	Writes Use = 1 << iota // changes the memory
	Keeps                  // holds on to it
	Hands                  // hands it to code that may do so
)

// ParamUse returns what fn does with its parameter number i, counted as
// arguments are; ok is false where the body is not in this package.
func (c *Code) ParamUse(fn *types.Func, i int) (use Use, ok bool) {
	return c.paramUse(fn, i, map[*types.Var]bool{})
}

func (c *Code) paramUse(fn *types.Func, i int, seen map[*types.Var]bool) (Use, bool) {
	_, decl := c.Decl(fn)
	if decl == nil || i >= fn.Signature().Params().Len() {
		return Keeps, false
	}
	if fn.Signature().Variadic() && i == fn.Signature().Params().Len()-1 {
		return Hands, true
	}
	return c.varUse(fn.Origin().Signature().Params().At(i), seen), true
}

// VarUse returns the union of what is done with v wherever it is named.
func (c *Code) VarUse(v *types.Var) Use { return c.varUse(v, map[*types.Var]bool{}) }

func (c *Code) varUse(v *types.Var, seen map[*types.Var]bool) Use {
	if seen[v] {
		return 0
	}
	seen[v] = true
	var use Use
	for _, cur := range c.Uses(v) {
		use |= c.exprUse(cur, seen)
	}
	return use
}

// ExprUse returns what is done with the value of the expression at cur.
func (c *Code) ExprUse(cur inspector.Cursor) Use { return c.exprUse(cur, map[*types.Var]bool{}) }

func (c *Code) exprUse(cur inspector.Cursor, seen map[*types.Var]bool) Use {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr, *ast.SliceExpr:
		if s, ok := parent.(*ast.SliceExpr); ok && s.X != e {
			return 0
		}
		return c.exprUse(cur.Parent(), seen)
	case *ast.StarExpr:
		if c.assigned(cur.Parent()) {
			return Writes
		}
		return 0
	case *ast.SelectorExpr:
		return c.fieldUse(cur.Parent(), parent)
	case *ast.IndexExpr:
		return c.indexUse(cur, parent)
	case *ast.RangeStmt:
		if parent.X == e {
			return 0
		}
		return Keeps
	case *ast.BinaryExpr, *ast.IncDecStmt, *ast.ExprStmt, *ast.SwitchStmt, *ast.CaseClause:
		return 0
	case *ast.AssignStmt:
		for _, lhs := range parent.Lhs {
			if lhs == e {
				return 0 // another value takes its place
			}
		}
		return c.assignUse(parent, e, seen)
	case *ast.KeyValueExpr:
		if lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit); ok && parent.Value == e && isStruct(c.TypeOf(lit)) {
			return c.exprUse(cur.Parent().Parent(), seen)
		}
	case *ast.CompositeLit:
		if _, isMap := c.TypeOf(parent).Underlying().(*types.Map); !isMap {
			return c.exprUse(cur.Parent(), seen) // as far as that goes
		}
	case *ast.CallExpr:
		return c.argUse(cur, parent, seen)
	}
	return Keeps
}

// indexUse is the use of a value as a list or map that is indexed, or as the index.
func (c *Code) indexUse(cur inspector.Cursor, index *ast.IndexExpr) Use {
	switch assigned := c.assigned(cur.Parent()); {
	case index.X != cur.Node() && assigned:
		return Keeps // as the key of a map
	case index.X != cur.Node():
		return 0
	case assigned:
		return Writes
	}
	if t := c.TypeOf(index); HasPointers(t) && !IsString(t) {
		return Keeps
	}
	if u, ok := cur.Parent().Parent().Node().(*ast.UnaryExpr); ok && u.Op == token.AND {
		return Keeps | Writes
	}
	return 0
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// fieldUse is the use of a value by naming one of its fields or methods.
func (c *Code) fieldUse(cur inspector.Cursor, sel *ast.SelectorExpr) Use {
	s := c.Info.Selections[sel]
	if s != nil && s.Kind() == types.MethodVal {
		return Hands
	}
	if s == nil || s.Kind() != types.FieldVal || addressed(cur) || HasPointers(s.Type()) && !IsString(s.Type()) {
		return Keeps
	}
	if c.assigned(cur) {
		return Writes
	}
	return 0
}

// assignUse follows a value into a local variable.
func (c *Code) assignUse(assign *ast.AssignStmt, e ast.Node, seen map[*types.Var]bool) Use {
	for i, rhs := range assign.Rhs {
		if rhs != e || len(assign.Lhs) != len(assign.Rhs) {
			continue
		}
		if id, ok := assign.Lhs[i].(*ast.Ident); ok && id.Name == "_" {
			return 0
		}
		if v := c.Var(assign.Lhs[i]); c.Local(v) {
			return c.varUse(v, seen)
		}
	}
	return Keeps
}

// argUse is the use of a value as an argument of a call.
func (c *Code) argUse(cur inspector.Cursor, call *ast.CallExpr, seen map[*types.Var]bool) Use {
	arg := -1
	for i, a := range call.Args {
		if a == cur.Node() {
			arg = i
		}
	}
	if arg < 0 {
		return Keeps
	}
	if tv := c.Info.Types[call.Fun]; tv.IsType() {
		from, to := c.TypeOf(call.Args[0]), tv.Type
		if IsBytes(from) != IsBytes(to) && !types.IsInterface(to) {
			return 0 // between string and []byte: a copy
		}
		return c.exprUse(cur.Parent(), seen)
	}
	if c.alias(call) {
		if arg > 0 {
			return 0
		}
		return c.exprUse(cur.Parent(), seen)
	}
	switch c.Builtin(call) {
	case "len", "cap", "print", "println", "delete", "min", "max", "panic":
		return 0
	case "copy":
		if arg == 0 {
			return Writes
		}
		return 0
	case "clear":
		return Writes
	case "append":
		if arg == 0 {
			return Writes | c.exprUse(cur.Parent(), seen)
		}
		if call.Ellipsis.IsValid() {
			return 0
		}
		return Keeps
	case "":
	default:
		return Keeps
	}
	fn := c.Callee(call)
	if fn == nil {
		return Hands | Writes
	}
	if use, ok := known(fn, arg); ok {
		return use
	}
	use, ok := c.paramUse(fn, arg, seen)
	switch {
	case ok && call.Ellipsis.IsValid() && fn.Signature().Variadic(): // the slice itself
		return c.varUse(fn.Origin().Signature().Params().At(fn.Signature().Params().Len()-1), seen)
	case ok:
		return use
	case call.Ellipsis.IsValid() && refers(fn.Signature()):
		return Keeps // the result is likely made of the slice itself
	}
	return Hands | Writes
}

// alias reports whether the result of call is the memory of its first argument: a
// function of package unsafe, or one of this package that is no more than a call of one.
func (c *Code) alias(call *ast.CallExpr) bool {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		b, ok := c.Info.Uses[sel.Sel].(*types.Builtin)
		return ok && slices.Contains([]string{"String", "StringData", "Slice", "SliceData"}, b.Name())
	}
	fn := c.Callee(call)
	if fn == nil || len(call.Args) != 1 {
		return false
	}
	_, decl := c.Decl(fn)
	if decl == nil || decl.Recv != nil || len(decl.Body.List) != 1 {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	return ok && len(ret.Results) == 1 && c.unsafely(ret.Results[0])
}

// unsafely reports whether e is made by package unsafe.
func (c *Code) unsafely(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if obj := c.Info.Uses[sel.Sel]; obj != nil && obj.Pkg() == types.Unsafe {
				found = true
			}
		}
		return !found
	})
	return found
}

// refers reports whether a result, other than a text or an error, can refer to
// an argument's memory.
func refers(sig *types.Signature) bool {
	for r := range sig.Results().Variables() {
		if HasPointers(r.Type()) && !IsString(r.Type()) && !IsError(r.Type()) {
			return true
		}
	}
	return false
}

// known knows the functions of the standard library that read an argument
// without keeping it, and some that write it.
func known(fn *types.Func, arg int) (Use, bool) {
	if fn.Pkg() == nil {
		return 0, false
	}
	switch fn.Pkg().Path() {
	case "bytes", "strings", "unicode/utf8", "strconv", "crypto/subtle", "crypto/hmac", "hash/crc32", "hash/maphash",
		"crypto/sha256", "crypto/sha512", "crypto/sha1", "crypto/md5", "encoding/hex":
		if fn.Signature().Recv() == nil && plainResults(fn.Signature()) {
			return 0, true
		}
	case "slices", "sort":
		switch fn.Name() {
		case "Sort", "SortFunc", "SortStableFunc", "Reverse", "Slice", "SliceStable":
			return Writes, true
		case "Contains", "Index", "IndexFunc", "BinarySearch", "Equal", "IsSorted":
			return 0, true
		}
	case "encoding/binary":
		return 0, false
	case "crypto/rand", "io":
		if fn.Name() == "Read" || fn.Name() == "ReadFull" && arg == 1 {
			return Writes, true
		}
	}
	if fn.Name() == "Write" && arg == 0 && fn.Signature().Recv() != nil {
		return Hands, true // io.Writer: must not change the slice
	}
	if fn.Name() == "Read" && arg == 0 && fn.Signature().Recv() != nil {
		return Writes, true
	}
	return 0, false
}

// plainResults reports whether no result can refer to an argument's memory.
func plainResults(sig *types.Signature) bool {
	for r := range sig.Results().Variables() {
		if HasPointers(r.Type()) && !types.Identical(r.Type(), types.Universe.Lookup("error").Type()) {
			return false
		}
	}
	return true
}

// assigned reports whether the expression at cur is written to.
func (c *Code) assigned(cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		for _, lhs := range parent.Lhs {
			if lhs == cur.Node() {
				return true
			}
		}
	case *ast.IncDecStmt:
		return true
	case *ast.RangeStmt:
		return parent.Key == cur.Node() || parent.Value == cur.Node()
	}
	return false
}

// Writes reports whether the expression at cur is written to, or its address
// taken.
func (c *Code) Writes(cur inspector.Cursor) bool { return c.assigned(cur) || addressed(cur) }

// Assigned reports whether v is given another value anywhere in within.
func (c *Code) Assigned(v *types.Var, within ast.Node) bool {
	for _, cur := range c.Uses(v) {
		if Within(cur.Node(), within) && (c.assigned(cur) || addressed(cur)) {
			return true
		}
	}
	return false
}

func addressed(cur inspector.Cursor) bool {
	u, ok := cur.Parent().Node().(*ast.UnaryExpr)
	return ok && u.Op == token.AND
}

// Within reports whether n lies inside outer.
func Within(n, outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }
