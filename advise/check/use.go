package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// A Use is a set of what is done with a value that refers to memory, or with a string
// and all strings cut from it.
type Use int

const (
	Writes   Use = 1 << iota // changes the memory
	MayWrite                 // appends to it, or passes it to code that may change it
	Keeps                    // keeps a reference to it
	Returns                  // returns it; always set with Keeps
	Hands                    // passes it to code that may keep it
	Compares                 // compares, measures or ranges over it
	Searches                 // searches it by a function that both packages bytes and strings have
	Converts                 // looks it up, joins or copies it: string(b) would do in place of a string
	Formats                  // formats or writes it, or passes it to a function that only reads it
	Parses                   // parses it with strconv or the like, which take no []byte
)

// Reads reports whether the memory is neither changed nor kept.
func (u Use) Reads() bool { return u&(Writes|MayWrite|Keeps|Hands) == 0 }

// ParamUse returns what fn does with its parameter number i, not counting the receiver;
// ok is false if the body is not in this package.
func (c *Code) ParamUse(fn *types.Func, i int) (use Use, ok bool) { return c.user(false).param(fn, i) }

// ExprUse returns what is done with the value of the expression at cur.
func (c *Code) ExprUse(cur inspector.Cursor) Use { return c.user(false).expr(cur) }

// TextUse returns what is done with the string at cur and all strings cut from it.
func (c *Code) TextUse(cur inspector.Cursor) Use { return c.user(true).expr(cur) }

func (c *Code) user(text bool) *user { return &user{c, text, map[*types.Var]bool{}} }

// A user follows a value through the variables of a function.
type user struct {
	*Code
	text bool // a string, not memory
	seen map[*types.Var]bool
}

func (u *user) param(fn *types.Func, i int) (Use, bool) {
	_, decl := u.Decl(fn)
	if decl == nil || i >= fn.Signature().Params().Len() {
		return Keeps, false
	}
	if fn.Signature().Variadic() && i == fn.Signature().Params().Len()-1 {
		return Hands, true
	}
	return u.variable(fn.Origin().Signature().Params().At(i)), true
}

// variable returns the union of all uses of v.
func (u *user) variable(v *types.Var) (use Use) {
	if u.seen[v] {
		return 0
	}
	u.seen[v] = true
	for _, cur := range u.Uses(v) {
		use |= u.expr(cur)
	}
	return use
}

func (u *user) expr(cur inspector.Cursor) Use {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return u.expr(cur.Parent())
	case *ast.SliceExpr:
		if parent.X == e {
			return u.expr(cur.Parent())
		}
		return Compares
	case *ast.StarExpr:
		if u.assigned(cur.Parent()) {
			return Writes
		}
		return Compares
	case *ast.SelectorExpr:
		if !u.text {
			return u.field(cur.Parent(), parent)
		}
	case *ast.IndexExpr:
		return u.index(cur, parent)
	case *ast.RangeStmt:
		return u.ranged(parent, e)
	case *ast.BinaryExpr:
		if parent.Op == token.ADD {
			return Converts
		}
		return Compares
	case *ast.IncDecStmt, *ast.ExprStmt, *ast.SwitchStmt, *ast.CaseClause:
		return Compares
	case *ast.AssignStmt:
		return u.assign(cur, parent)
	case *ast.KeyValueExpr:
		if lit, ok := cur.Parent().Parent().Node().(*ast.CompositeLit); ok && !u.text && parent.Value == e &&
			Is[*types.Struct](u.TypeOf(lit)) {
			return u.expr(cur.Parent().Parent())
		}
	case *ast.CompositeLit:
		if !u.text && !Is[*types.Map](u.TypeOf(parent)) {
			return u.expr(cur.Parent()) // used as the literal is
		}
	case *ast.UnaryExpr:
		if _, literal := e.(*ast.CompositeLit); literal && !u.text {
			return u.expr(cur.Parent())
		}
	case *ast.ReturnStmt:
		return Keeps | Returns
	case *ast.CallExpr:
		return u.arg(cur, parent)
	}
	return Keeps
}

// index returns the use of a value that is indexed, or that is the index.
func (u *user) index(cur inspector.Cursor, index *ast.IndexExpr) Use {
	assigned, t := u.assigned(cur.Parent()), u.TypeOf(index)
	switch {
	case index.X != cur.Node() && assigned:
		return Keeps // as the key of a map
	case index.X != cur.Node():
		return Converts
	case u.text && IsString(t):
		return u.expr(cur.Parent())
	case assigned:
		return Writes
	case HasPointers(t) && !IsString(t):
		return Keeps
	case addressed(cur.Parent()):
		return Keeps | MayWrite
	}
	return Compares
}

// field returns the use of a value by selecting one of its fields or methods.
func (u *user) field(cur inspector.Cursor, sel *ast.SelectorExpr) Use {
	s := u.Info.Selections[sel]
	if s != nil && s.Kind() == types.MethodVal {
		return Hands
	}
	if s == nil || s.Kind() != types.FieldVal || addressed(cur) || HasPointers(s.Type()) && !IsString(s.Type()) {
		return Keeps
	}
	if u.assigned(cur) {
		return Writes
	}
	return Compares
}

// ranged returns the use of a value in the head of a range loop, which assigns the
// elements of a list of strings to a variable.
func (u *user) ranged(loop *ast.RangeStmt, e ast.Node) Use {
	element := loop.Value
	if Is[*types.Signature](u.TypeOf(loop.X)) {
		element = loop.Key
	}
	switch {
	case loop.X != e && !u.text:
		return Keeps
	case loop.X != e || !u.text || element == nil || IsString(u.TypeOf(loop.X)):
		return Compares
	}
	return u.into(element)
}

// assign follows a value into the variables of an assignment.
func (u *user) assign(cur inspector.Cursor, assign *ast.AssignStmt) (use Use) {
	switch {
	case u.assigned(cur):
		return 0 // overwritten
	case assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN:
		return Converts // +=
	}
	for i, lhs := range assign.Lhs {
		if len(assign.Rhs) == 1 || i < len(assign.Rhs) && assign.Rhs[i] == cur.Node() {
			use |= u.into(lhs)
		}
	}
	return use
}

func (u *user) into(e ast.Expr) Use {
	if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
		return 0
	}
	v := u.Var(e)
	if !u.Local(v) {
		return Keeps
	}
	if u.text && !IsString(v.Type()) && !types.Identical(v.Type().Underlying(), types.NewSlice(types.Typ[types.String])) {
		return 0 // the second result of Cut
	}
	return u.variable(v)
}

// arg returns the use of a value as an argument of a call.
func (u *user) arg(cur inspector.Cursor, call *ast.CallExpr) Use {
	arg := slices.Index(call.Args, cur.Node().(ast.Expr))
	if arg < 0 {
		return Keeps
	}
	if tv := u.Info.Types[call.Fun]; tv.IsType() {
		if IsBytes(u.TypeOf(call.Args[0])) != IsBytes(tv.Type) && !types.IsInterface(tv.Type) {
			return Converts // between string and []byte: a copy
		}
		return u.expr(cur.Parent())
	}
	if u.alias(call) {
		if arg > 0 {
			return 0
		}
		return u.expr(cur.Parent())
	}
	switch builtin := u.Builtin(call); {
	case builtin == "":
	case builtin == "append" && arg == 0:
		return MayWrite | u.expr(cur.Parent())
	case builtin == "copy" && arg == 0 || builtin == "clear":
		return Writes
	case builtin == "append" && call.Ellipsis.IsValid(), builtin == "copy", builtin == "delete":
		return Converts
	case slices.Contains([]string{"len", "cap", "print", "println", "min", "max", "panic"}, builtin):
		return Compares
	default:
		return Keeps
	}
	fn := u.Callee(call)
	if fn == nil {
		return Hands | MayWrite
	}
	if u.text {
		return u.textArg(cur, call, fn, arg)
	}
	if use, ok := known(fn, arg); ok {
		return use
	}
	use, ok := u.param(fn, arg)
	switch {
	case ok && call.Ellipsis.IsValid() && fn.Signature().Variadic(): // passes the slice itself
		return u.variable(fn.Origin().Signature().Params().At(fn.Signature().Params().Len() - 1))
	case ok:
		return use
	case call.Ellipsis.IsValid() && refers(fn.Signature(), false):
		return Keeps // the result may refer to the slice
	}
	return Hands | MayWrite
}

// alias reports whether the result of call shares the memory of its first argument: call names
// a function of package unsafe, or a function of this package that only wraps one.
func (c *Code) alias(call *ast.CallExpr) bool {
	switch c.Builtin(call) {
	case "String", "StringData", "Slice", "SliceData":
		return true
	}
	fn := c.Callee(call)
	if fn == nil || len(call.Args) != 1 {
		return false
	}
	_, decl := c.Decl(fn)
	made := OnlyReturns(decl)
	return made != nil && decl.Recv == nil && c.unsafely(made)
}

// unsafely reports whether e uses package unsafe.
func (c *Code) unsafely(e ast.Expr) (found bool) {
	for n := range ast.Preorder(e) {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			obj := c.Info.Uses[sel.Sel]
			found = found || obj != nil && obj.Pkg() == types.Unsafe
		}
	}
	return found
}

// refers reports whether a result other than an error can refer to the memory of an
// argument. Strings count only if texts is set.
func refers(sig *types.Signature, texts bool) bool {
	for r := range sig.Results().Variables() {
		if t := r.Type(); HasPointers(t) && (texts || !IsString(t)) && !IsError(t) {
			return true
		}
	}
	return false
}

// known returns what a standard library function does with an argument; ok is false
// unless it is known to read the argument without keeping it, or to write it.
func known(fn *types.Func, arg int) (Use, bool) {
	if fn.Pkg() == nil {
		return 0, false
	}
	switch fn.Pkg().Path() {
	case "bytes", "strings", "unicode/utf8", "strconv", "crypto/subtle", "crypto/hmac", "hash/crc32", "hash/maphash",
		"crypto/sha256", "crypto/sha512", "crypto/sha1", "crypto/md5", "encoding/hex":
		if fn.Signature().Recv() == nil && !refers(fn.Signature(), true) {
			return 0, true
		}
	case "slices", "sort":
		switch fn.Name() {
		case "Sort", "SortFunc", "SortStableFunc", "Reverse", "Slice", "SliceStable":
			return Writes, true
		case "Contains", "Index", "IndexFunc", "BinarySearch", "Equal", "IsSorted":
			return 0, true
		}
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

// assigned reports whether the expression at cur is written to.
func (c *Code) assigned(cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		return slices.Contains(parent.Lhs, cur.Node().(ast.Expr))
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

// Assigned reports whether v is written to, or its address taken, anywhere in within.
func (c *Code) Assigned(v *types.Var, within ast.Node) bool {
	return slices.ContainsFunc(c.Uses(v), func(cur inspector.Cursor) bool {
		return Within(cur.Node(), within) && c.Writes(cur)
	})
}

func addressed(cur inspector.Cursor) bool {
	u, ok := cur.Parent().Node().(*ast.UnaryExpr)
	return ok && u.Op == token.AND
}

// Declared returns the statement that declares v, among those before cur in the same
// list, and the initial value; nil for none.
func (c *Code) Declared(cur inspector.Cursor, v *types.Var) (ast.Stmt, ast.Expr) {
	for at, ok := cur.PrevSibling(); ok; at, ok = at.PrevSibling() {
		switch stmt := at.Node().(type) {
		case *ast.DeclStmt:
			gen := stmt.Decl.(*ast.GenDecl)
			if gen.Tok != token.VAR || len(gen.Specs) != 1 {
				continue
			}
			spec := gen.Specs[0].(*ast.ValueSpec)
			if len(spec.Names) != 1 || c.Info.Defs[spec.Names[0]] != v {
				continue
			}
			if len(spec.Values) == 0 {
				return stmt, nil
			}
			return stmt, spec.Values[0]
		case *ast.AssignStmt:
			if stmt.Tok == token.DEFINE && len(stmt.Lhs) == 1 && c.Var(stmt.Lhs[0]) == v {
				return stmt, stmt.Rhs[0]
			}
		}
	}
	return nil, nil
}

// DeclaredIn reports whether v is declared inside n.
func DeclaredIn(v types.Object, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

// Within reports whether n lies inside outer.
func Within(n, outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }
