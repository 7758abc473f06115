package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// A scratch is a variable whose memory nobody has when its block ends, so that one instance can serve all rounds of
// a loop, or all calls in turn: a pool gives each call that runs at a time its own, also one within another.
type scratch struct {
	*mender
	v     *types.Var
	stmt  ast.Stmt // of a list; declares v alone
	value ast.Expr // what v begins with; nil for its zero value
	loop  ast.Stmt // the innermost around the statement; nil for none
	thing string   // what v has, and
	reset string   // how it is used again

	// What is kept: its type, an expression that makes one, how v begins with the one that is named %s, and what
	// has to be done before it is put into a pool.
	held, fresh, begin, give string
	imports                  string // of the library, that the type is named by; "" for what the file has
	pointer                  bool   // v is a pointer to it from now on
}

// scratch finds the variable that has the memory, and how it could be kept; nil where it cannot.
func (m *mender) scratch() *scratch {
	s := &scratch{mender: m, v: m.holder()}
	if s.v == nil || !s.declared() {
		return nil
	}
	var ok bool
	switch t := s.v.Type().Underlying().(type) {
	case *types.Slice:
		ok = s.list(t)
	case *types.Map:
		ok = s.table(t)
	default:
		if obj, _, _ := types.LookupFieldOrMethod(s.v.Type(), true, m.p.Pkg, "Reset"); obj != nil {
			ok = s.resets()
		} else {
			ok = s.object()
		}
	}
	if !ok {
		return nil
	}
	return s
}

// keep writes the fix of a scratch, if there is one.
func (m *mender) keep() bool {
	s := m.scratch()
	return s != nil && s.write()
}

// keeps proposes to keep the memory for the next round or call, where nobody was seen to have it longer.
func (k *subject) keeps() bool {
	if !k.x.try || k.e.Measured > 0 && (k.life.kind != died || k.life.mixed) {
		return false
	}
	m := k.mender()
	if m == nil {
		return false
	}
	const pool = "take %s from a sync.Pool, and %s; right as long as nothing keeps it, and idle instances may stay for " +
		"two collections"
	if s := m.scratch(); s != nil {
		k.at = s.stmt
		write := func(m *mender) bool { s.mender = m; return s.write() }
		if s.loop != nil {
			k.propose(write, "bufferpercall", "make %s once, before the loop, and %s in each round", s.thing, s.reset)
		} else {
			k.propose(write, "bufferpercall", pool, s.thing, s.reset+", and put it back as the call returns")
		}
		return true
	}
	h := m.handed()
	if h == nil {
		return false
	}
	k.at = h.stmt
	k.propose(func(m *mender) bool { h.mender = m; return h.write() }, "bufferpercall", pool, "one "+h.of,
		"put it back where a caller drops it ("+k.x.position(k.p, h.drops[0].stmt.Pos())+")")
	return true
}

// holder is the local variable that has the memory which the expression makes, or that grows it.
func (m *mender) holder() *types.Var {
	e := m.grower()
	if e == nil {
		return m.defined()
	}
	if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = u.X
	}
	id, _ := ast.Unparen(e).(*ast.Ident)
	v, _ := m.p.Info.Uses[id].(*types.Var)
	if v == nil || v.IsField() || v.Parent() == m.p.Pkg.Scope() {
		return nil
	}
	return v
}

// grower is what grows in the expression: a list, a map or a buffer; nil for none.
func (m *mender) grower() ast.Expr {
	n := m.s.Node
	switch stmt := n.(type) {
	case *ast.AssignStmt:
		n = stmt.Lhs[0]
	case *ast.IncDecStmt:
		n = stmt.X
	case *ast.CallExpr:
		if m.s.Kind == life.Append {
			return stmt.Args[0]
		}
		of := stmt.Args
		if sel, ok := stmt.Fun.(*ast.SelectorExpr); ok {
			of = append([]ast.Expr{sel.X}, of...)
		}
		for _, arg := range of {
			if m.outside() && growing(m.p.Info.TypeOf(arg)) {
				return arg
			}
		}
	}
	if index, ok := n.(*ast.IndexExpr); ok && m.s.Kind == life.MapGrow {
		return index.X
	}
	return nil
}

// defined is the variable that is declared with the expression.
func (m *mender) defined() *types.Var {
	for _, n := range m.path {
		switch n := n.(type) {
		case *ast.AssignStmt:
			id, ok := n.Lhs[0].(*ast.Ident)
			if v, _ := m.p.Info.Defs[id].(*types.Var); ok && len(n.Rhs) == 1 && m.whole(n.Rhs[0]) {
				return v
			}
			return nil
		case *ast.ValueSpec:
			v, _ := m.p.Info.Defs[n.Names[0]].(*types.Var)
			return v
		case ast.Stmt:
			return nil
		}
	}
	return nil
}

// growing reports whether t is a buffer whose memory can be used again.
func growing(t types.Type) bool { return t != nil && check.IsNamed(t, "bytes", "Buffer") }

// whole reports whether e is the expression that allocates, or its address.
func (m *mender) whole(e ast.Expr) bool {
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = ast.Unparen(u.X)
	}
	return e == m.s.Node
}

// declared finds the statement that declares the variable, and the loop around it.
func (s *scratch) declared() bool {
	path, _ := astutil.PathEnclosingInterval(s.file, s.v.Pos(), s.v.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok })
	if i < 0 {
		return false
	}
	var id *ast.Ident
	switch n := path[i].(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE && len(n.Lhs) == 1 {
			id, _ = n.Lhs[0].(*ast.Ident)
			s.stmt, s.value = n, n.Rhs[0]
		}
	case *ast.DeclStmt:
		decl := n.Decl.(*ast.GenDecl)
		spec, ok := decl.Specs[0].(*ast.ValueSpec)
		if ok && len(decl.Specs) == 1 && len(spec.Names) == 1 {
			id, s.stmt = spec.Names[0], n
			if len(spec.Values) == 1 {
				s.value = spec.Values[0]
			}
		}
	}
	if id == nil || s.p.Info.Defs[id] != s.v {
		return false // a parameter of a literal, or the variable of a statement
	}
	for _, n := range path[i+1:] {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			s.loop = n.(ast.Stmt)
			return s.listed(s.stmt) && s.listed(s.loop)
		case *ast.FuncLit, *ast.FuncDecl:
			return n == s.s.Func.Syntax() && s.listed(s.stmt)
		}
	}
	return false
}

// builtin is the name of the builtin function that e calls, or "".
func (m *mender) builtin(e ast.Expr) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	id, _ := ast.Unparen(call.Fun).(*ast.Ident)
	if b, ok := m.p.Info.Uses[id].(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// list keeps the memory of a slice.
func (s *scratch) list(t *types.Slice) bool {
	name, of := s.v.Name(), s.named(t.Elem())
	clear := s.cleared(name, t)
	if _, named := types.Unalias(s.v.Type()).(*types.Named); named || !s.packaged(t.Elem()) || clear == "" {
		return false
	}
	s.thing, s.reset, s.held, s.fresh = "the slice", "cut it to [:0]", "*[]"+of, "new([]"+of+")"
	lit, empty := s.value.(*ast.CompositeLit)
	call, _ := s.value.(*ast.CallExpr)
	made, again := s.builtin(s.value) == "make", s.assigned(s.v)
	switch {
	case made:
		if slices.ContainsFunc(call.Args[1:], func(n ast.Expr) bool { return !s.plainInt(n) }) ||
			len(call.Args) == 3 && s.extends() {
			return false
		}
		length, size := s.text(call.Args[1]), s.text(call.Args[len(call.Args)-1])
		s.begin = fmt.Sprintf("if cap(*%%[1]s) < %s {\n*%%[1]s = make([]%s, %s)\n}\n%s := (*%%[1]s)[:%s]", size, of, size,
			name, length)
		if length != "0" {
			s.begin += "\n" + clear
		}
	case s.value == nil || empty && len(lit.Elts) == 0:
		again = true
		s.begin = name + " := (*%[1]s)[:0]"
	case call != nil && s.p.Info.Types[call.Fun].IsType() && check.IsString(s.p.Info.TypeOf(call.Args[0])):
		text := s.text(call.Args[0])
		s.begin = "*%[1]s = append((*%[1]s)[:0], " + text + "...)\n" + name + " := *%[1]s"
		if !check.IsBytes(t) {
			r := s.free("r")
			s.begin = fmt.Sprintf("*%%[1]s = (*%%[1]s)[:0]\nfor _, %s := range %s {\n*%%[1]s = append(*%%[1]s, %s)\n}\n"+
				"%s := *%%[1]s", r, text, r, name)
		}
	default:
		return false
	}
	if again { // it grows: no other variable may have its memory
		s.give = "*%s = " + name
	}
	if check.HasPointers(t.Elem()) { // which a pool would keep alive
		s.give = strings.TrimPrefix(s.give+"\n"+clear, "\n")
	}
	return s.confined(!again) && (!again || s.plain())
}

// extends reports whether the slice is cut by an end, which may lie behind its length: there a new one is empty.
func (s *scratch) extends() (found bool) {
	ast.Inspect(s.s.Func.Syntax(), func(n ast.Node) bool {
		cut, ok := n.(*ast.SliceExpr)
		found = found || ok && cut.High != nil && s.self(ast.Unparen(cut.X))
		return !found
	})
	return found
}

// cleared is a statement that sets the elements of a list to zero, or empties a map; "" where none can be written.
func (s *scratch) cleared(name string, t types.Type) string {
	if s.has(modern) {
		return "clear(" + name + ")"
	}
	list, ok := t.Underlying().(*types.Slice)
	if !ok {
		key := s.free("key")
		return fmt.Sprintf("for %s := range %s {\ndelete(%s, %s)\n}", key, name, name, key)
	}
	zero := zeroOf(list.Elem())
	if zero == "" {
		return ""
	}
	if zero == "{}" {
		zero = s.named(list.Elem()) + zero
	}
	i := s.free("i")
	return fmt.Sprintf("for %s := range %s {\n%s[%s] = %s\n}", i, name, name, i, zero)
}

// table keeps the memory of a map.
func (s *scratch) table(t *types.Map) bool {
	lit, empty := s.value.(*ast.CompositeLit)
	made, of := s.builtin(s.value) == "make", s.v.Type()
	if !made && (!empty || len(lit.Elts) > 0) || s.assigned(s.v) || !s.packaged(of) || !s.confined(true) {
		return false
	}
	s.thing, s.reset, s.held, s.fresh = "the map", "clear it", s.named(of), "make("+s.named(of)+")"
	s.give = s.cleared(s.v.Name(), t)
	if s.begin = s.v.Name() + " := %s"; s.loop != nil {
		s.begin += "\n" + s.give
	}
	return true
}

// resets keeps what has a method Reset, of the library: a buffer, or what a constructor makes that takes the
// arguments of Reset first, and otherwise constants.
func (s *scratch) resets() bool {
	t := s.v.Type()
	_, pointer := t.Underlying().(*types.Pointer)
	_, dynamic := t.Underlying().(*types.Interface)
	if s.pointer = !pointer && !dynamic; s.pointer {
		t = types.NewPointer(t)
	}
	obj, _, _ := types.LookupFieldOrMethod(t, true, s.p.Pkg, "Reset")
	fn, ok := obj.(*types.Func)
	if !ok || !life.Standard(fn) || fn.Signature().Results().Len() > 0 || s.assigned(s.v) || !s.nameable(t) {
		return false
	}
	var set, zero []string
	if call, ok := s.value.(*ast.CallExpr); ok && s.builtin(call) == "" {
		if set, zero, ok = s.arguments(call, fn.Signature().Params()); !ok {
			return false
		}
		s.fresh = s.text(call.Fun) + "(" + strings.Join(zero, ", ") + ")"
	} else if growing(t) && s.bare() {
		s.fresh = "new(" + s.named(t.(*types.Pointer).Elem()) + ")"
	} else {
		return false
	}
	s.thing, s.reset, s.held = "one "+strings.TrimPrefix(s.named(t), "*"), "reset it", s.named(t)
	s.begin = s.v.Name() + " := %s\n" + s.v.Name() + ".Reset(" + strings.Join(set, ", ") + ")"
	if len(set) > 0 {
		s.give = s.v.Name() + ".Reset(" + strings.Join(zero[:len(set)], ", ") + ")"
	}
	return s.confined(false)
}

// nameable reports whether a package variable can be of a type, perhaps with another import of the library.
func (s *scratch) nameable(t types.Type) bool {
	if s.packaged(t) {
		return true
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.TypeArgs() != nil || !named.Obj().Exported() || named.Obj().Pkg() == s.p.Pkg {
		return false
	}
	s.imports = named.Obj().Pkg().Path()
	return std(s.imports)
}

// arguments are those of a constructor of the library that Reset takes, too, and all of them with zero values for
// these; ok is false where the others are no constants.
func (s *scratch) arguments(call *ast.CallExpr, reset *types.Tuple) (set, zero []string, ok bool) {
	callee, ok := s.p.Info.Uses[lastIdent(call.Fun)].(*types.Func)
	if !ok || !life.Standard(callee) || len(call.Args) < reset.Len() || call.Ellipsis.IsValid() {
		return nil, nil, false
	}
	for i, arg := range call.Args {
		if i >= reset.Len() {
			empty := s.p.Info.Types[arg].IsNil() // what else it begins with, a Reset without arguments does not know
			zero, ok = append(zero, s.text(arg)), ok && (empty || reset.Len() > 0 && constantOf(s.p.Info, arg))
			continue
		}
		of := reset.At(i).Type()
		set, zero = append(set, s.text(arg)), append(zero, zeroOf(of))
		ok = ok && types.Identical(callee.Signature().Params().At(i).Type(), of)
	}
	return set, zero, ok && !slices.Contains(zero, "") && !slices.Contains(zero, "{}")
}

// bare reports whether the variable begins with an object without contents.
func (s *scratch) bare() bool {
	value := s.value
	if u, ok := value.(*ast.UnaryExpr); ok {
		value = u.X
	}
	lit, ok := value.(*ast.CompositeLit)
	return value == nil || ok && len(lit.Elts) == 0 || s.builtin(value) == "new"
}

// lastIdent is the name of a function, or nil.
func lastIdent(fun ast.Expr) *ast.Ident {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	}
	return nil
}

// constantOf reports whether e means the same wherever it stands: a constant, or nil.
func constantOf(info *types.Info, e ast.Expr) bool {
	ok := info.Types[e].Value != nil || info.Types[e].IsNil()
	ast.Inspect(e, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		if c, named := info.Uses[id].(*types.Const); is && named && c.Pkg() != nil {
			ok = ok && c.Parent() == c.Pkg().Scope()
		}
		return true
	})
	return ok
}

// zeroOf is the zero value of a type, "{}" behind its name, or "".
func zeroOf(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Interface, *types.Pointer, *types.Slice, *types.Map:
		return "nil"
	case *types.Struct, *types.Array:
		return "{}"
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	}
	return ""
}

// object keeps a struct, an array or a number.
func (s *scratch) object() bool {
	of := s.s.Type
	if s.outside() || s.assigned(s.v) && s.s.Kind != life.Variable || !s.packaged(of) || !s.confined(true) {
		return false
	}
	zero := zeroOf(of)
	if zero == "{}" {
		zero = s.named(of) + zero
	} else if zero != "0" {
		return false
	}
	value := zero
	if lit, ok := s.s.Node.(*ast.CompositeLit); ok {
		value = s.text(lit)
	} else if s.s.Kind == life.Literal {
		return false
	}
	s.pointer = s.s.Kind == life.Variable
	s.thing, s.reset = "one "+s.named(of), "set it to its zero value"
	s.held, s.fresh = "*"+s.named(of), "new("+s.named(of)+")"
	s.begin = s.v.Name() + " := %s\n*" + s.v.Name() + " = " + value
	if check.HasPointers(of) {
		s.give = "*" + s.v.Name() + " = " + zero
	}
	return true
}

// resultsOf are the types of what a call gives, but for errors and texts.
func resultsOf(t types.Type) (all []types.Type) {
	tuple, ok := t.(*types.Tuple)
	if !ok {
		tuple = types.NewTuple(types.NewVar(token.NoPos, nil, "", t))
	}
	for v := range tuple.Variables() {
		if v.Type() != nil && !check.IsString(v.Type()) && v.Type().String() != "error" {
			all = append(all, v.Type())
		}
	}
	return all
}

// write lets the memory be made before the loop, or taken from a pool.
func (s *scratch) write() bool {
	name := s.v.Name()
	if s.loop != nil && s.give != "" && strings.HasPrefix(s.give, "*%s = ") {
		return s.hoist()
	}
	if s.imports != "" {
		if _, ok := s.imported(s.imports); !ok {
			return false
		}
	}
	unique := s.ordinal(s.v)
	kept, take := s.free(name+unique+"Kept"), ""
	if s.loop != nil {
		s.put(s.loop.Pos(), s.loop.Pos(), kept+" := "+s.fresh+"\n")
	} else {
		pool := s.free(s.poolName(name + unique))
		if !s.declarePool(pool, s.fresh) {
			return false
		}
		if short := name + " := %s"; strings.HasPrefix(s.begin, short) {
			kept, s.begin = name, strings.TrimPrefix(strings.TrimPrefix(s.begin, short), "\n")
		}
		take = fmt.Sprintf("%s := %s.Get().(%s)\n", kept, pool, s.held)
		if put := pool + ".Put(" + kept + ")"; s.give == "" {
			take += "defer " + put + "\n"
		} else {
			take += s.begins(kept)
			s.begin = "defer func() {\n" + strings.ReplaceAll(s.give, "%s", kept) + "\n" + put + "\n}()"
		}
	}
	s.put(s.stmt.Pos(), s.stmt.End(), strings.TrimSuffix(take+s.begins(kept), "\n"))
	for id, obj := range s.p.Info.Uses {
		if s.pointer && obj == s.v && !s.pointed(id) {
			return false
		}
	}
	return true
}

// declarePool declares a pool before the function around the expression.
func (m *mender) declarePool(name, fresh string) bool {
	pkg, ok := m.imported("sync")
	decl, top := m.path[len(m.path)-2], "any"
	if !m.has("go1.18") {
		top = "interface{}"
	}
	at, doc := decl.Pos(), (*ast.CommentGroup)(nil)
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		doc = decl.Doc
	case *ast.GenDecl:
		doc = decl.Doc
	}
	if doc != nil {
		at = doc.Pos()
	}
	m.put(at, at, fmt.Sprintf("var %s = %s.Pool{New: func() %s { return %s }}\n\n", name, pkg, top, fresh))
	return ok
}

// begins is how the variable begins with what is named.
func (s *scratch) begins(kept string) string {
	if !strings.Contains(s.begin, "%") {
		if s.begin != "" && !strings.HasSuffix(s.begin, "\n") {
			return s.begin + "\n"
		}
		return s.begin
	}
	return strings.NewReplacer("%[1]s", kept, "%s", kept).Replace(s.begin) + "\n"
}

// hoist declares a slice that grows before the loop.
func (s *scratch) hoist() bool {
	decl := s.s.Func.Syntax()
	for _, ids := range []map[*ast.Ident]types.Object{s.p.Info.Uses, s.p.Info.Defs} {
		for id, obj := range ids {
			if id.Name == s.v.Name() && obj != s.v && decl.Pos() <= id.Pos() && id.Pos() < decl.End() {
				return false // it means something else there
			}
		}
	}
	name := s.v.Name()
	if s.builtin(s.value) == "make" && s.text(s.value.(*ast.CallExpr).Args[1]) != "0" {
		return false
	}
	s.put(s.loop.Pos(), s.loop.Pos(), "var "+name+" "+strings.TrimPrefix(s.held, "*")+"\n")
	s.put(s.stmt.Pos(), s.stmt.End(), name+" = "+name+"[:0]")
	return true
}
