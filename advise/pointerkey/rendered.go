package pointerkey

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// A look is where something is looked up by a text that is made for that.
type look struct {
	made inspector.Cursor // what makes the text
	at   ast.Node         // the look-up
	of   []types.Object   // the fields, package variables or types of the map; none for others
}

// A rendering is all of them in a package.
type rendering struct {
	looks []look
	done  map[types.Object]bool
}

const parts = "keys are texts that are made for each look-up, or of bytes where they are stored; a struct or an array of what they are made of, or a hash, is compared without, and holds no pointer where these are numbers"

// renderedKeys finds the look-ups of a package by texts that are made for them.
func renderedKeys(p *check.Pass) *rendering {
	r := &rendering{done: map[types.Object]bool{}}
	for cur := range p.Root.Preorder((*ast.IndexExpr)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.IndexExpr:
			if isTextMap(p.TypeOf(n.X)) {
				r.add(p, cur, n.X, n.Index)
			}
		case *ast.CallExpr:
			if p.Builtin(n) == "delete" && len(n.Args) == 2 && isTextMap(p.TypeOf(n.Args[0])) {
				r.add(p, cur, n.Args[0], n.Args[1])
			}
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) == 0 || !lookUp.MatchString(sel.Sel.Name) {
				continue
			}
			if fn := p.Callee(n); fn == nil || fn.Signature().Recv() == nil || fn.Signature().Params().Len() == 0 || !anyKey(fn.Origin().Signature().Params().At(0).Type()) {
				continue
			}
			if named := check.NamedOf(p.TypeOf(sel.X)); named != nil && keeper.MatchString(named.Obj().Name()) {
				r.add(p, cur, sel.X, n.Args[0])
			}
		}
	}
	return r
}

// lookUp is how methods are named that look something up, and keeper how the
// types are whose methods these are. Their keys have to be of any type.
var (
	lookUp = regexp.MustCompile(`^(Load|Store|Get|Set|Add|Put|Delete|Remove|Has|Contains|Exists|LoadOrStore|LoadAndDelete|Swap|Peek|Insert|Do)$`)
	keeper = regexp.MustCompile(`(?i)map|set|cache|lru`)
)

// anyKey reports whether a parameter takes keys of more types than texts.
func anyKey(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	iface, ok := t.Underlying().(*types.Interface)
	return ok && iface.Empty()
}

func isTextMap(t types.Type) bool {
	m, ok := t.Underlying().(*types.Map)
	return ok && check.IsString(m.Key())
}

func (r *rendering) add(p *check.Pass, cur inspector.Cursor, of, key ast.Expr) {
	at, ok := cur.FindNode(key)
	if !ok {
		return
	}
	made, ok := madeAt(p, at, p.Writes(cur))
	if !ok || p.HeatAt(cur) == check.Cold || p.HeatAt(made) == check.Cold {
		return
	}
	r.looks = append(r.looks, look{made, cur.Node(), homes(p, of, 2)})
}

// homes returns the fields, package variables or types that the map e is of. Local
// variables and functions that return one are followed to the given depth.
func homes(p *check.Pass, e ast.Expr, depth int) []types.Object {
	if named := check.NamedOf(p.TypeOf(e)); named != nil {
		if named.Obj().Pkg() == p.Code.Pkg {
			return []types.Object{named.Obj()}
		}
		return nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[e]; s != nil && s.Kind() == types.FieldVal {
			return []types.Object{s.Obj()}
		}
	case *ast.Ident:
		v := p.Var(e)
		if v == nil || !p.Local(v) {
			return object(v)
		}
		if depth > 0 {
			return given(p, v, depth-1)
		}
	case *ast.IndexExpr:
		return homes(p, e.X, depth)
	case *ast.CallExpr:
		if cur, decl := p.Decl(p.Callee(e)); decl != nil && depth > 0 {
			for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
				if ret := at.Node().(*ast.ReturnStmt); len(ret.Results) == 1 {
					return homes(p, ret.Results[0], depth-1)
				}
			}
		}
	}
	return nil
}

func object(v *types.Var) []types.Object {
	if v == nil {
		return nil
	}
	return []types.Object{v}
}

// given returns the homes of all that a local variable is given.
func given(p *check.Pass, v *types.Var, depth int) (objs []types.Object) {
	uses := p.Uses(v)
	if len(uses) == 0 {
		return nil
	}
	for decl := range uses[0].Enclosing((*ast.FuncDecl)(nil)) {
		for at := range decl.Preorder((*ast.AssignStmt)(nil)) {
			assign := at.Node().(*ast.AssignStmt)
			for i, lhs := range assign.Lhs {
				if len(assign.Lhs) == len(assign.Rhs) && p.Var(lhs) == v {
					objs = append(objs, homes(p, assign.Rhs[i], depth)...)
				}
			}
		}
	}
	return objs
}

// report reports the map type at cur where it is that of a home whose look-ups
// are by texts that are made for them.
func (r *rendering) report(p *check.Pass, cur inspector.Cursor) {
	for _, name := range typed(cur) {
		obj := p.Info.Defs[name]
		if obj == nil || r.done[obj] {
			continue
		}
		var also []ast.Node
		parted := false // a key is of parts that are known, and not bytes of any length
		for _, l := range r.looks {
			if slices.Contains(l.of, obj) {
				parted = parted || !ofBytes(p, l.made.Node().(ast.Expr))
				also = append(also, l.made.Node())
				if p.Fset.Position(l.at.Pos()).Line != p.Fset.Position(l.made.Node().Pos()).Line {
					also = append(also, l.at)
				}
			}
		}
		if also != nil {
			r.done[obj] = true
			p.Needs(check.Interface, !parted || p.Seen(obj)).ReportWith(cur.Node(), also, check.Warm, parts)
		}
	}
}

// rest reports the look-ups in what has no home in this package.
func (r *rendering) rest(p *check.Pass) {
	seen := map[ast.Node]bool{}
	for _, l := range r.looks {
		reported := slices.ContainsFunc(l.of, func(obj types.Object) bool { return r.done[obj] })
		if made := l.made.Node(); !reported && !seen[made] && !ofBytes(p, made.(ast.Expr)) {
			seen[made] = true
			var also []ast.Node
			if p.Fset.Position(l.at.Pos()).Line != p.Fset.Position(made.Pos()).Line {
				also = []ast.Node{l.at}
			}
			p.ReportWith(made, also, check.Warm, parts)
		}
	}
}

// madeAt returns where the text at cur is made of other things: there, where the
// variable that it names gets a value, or where a caller makes it. Bytes that
// become a text count only where it is stored: a look-up by them copies nothing.
func madeAt(p *check.Pass, cur inspector.Cursor, stored bool) (inspector.Cursor, bool) {
	if at, ok := madeHere(p, cur, stored); ok {
		return at, true
	}
	if v := p.Var(cur.Node().(ast.Expr)); p.Local(v) {
		for decl := range cur.Enclosing((*ast.FuncDecl)(nil)) {
			return byCaller(p, decl.Node().(*ast.FuncDecl), v)
		}
	}
	return cur, false
}

// madeHere is madeAt within the function around cur.
func madeHere(p *check.Pass, cur inspector.Cursor, stored bool) (inspector.Cursor, bool) {
	e := cur.Node().(ast.Expr)
	if made(p, e, 2) || stored && ofBytes(p, e) {
		return cur, true
	}
	v := p.Var(e)
	if !p.Local(v) {
		return cur, false
	}
	for decl := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		for at := range decl.Preorder((*ast.AssignStmt)(nil)) {
			assign := at.Node().(*ast.AssignStmt)
			for i, lhs := range assign.Lhs {
				if len(assign.Lhs) == len(assign.Rhs) && p.Var(lhs) == v && (made(p, assign.Rhs[i], 2) || stored && ofBytes(p, assign.Rhs[i])) {
					return at.FindNode(assign.Rhs[i])
				}
			}
		}
	}
	return cur, false
}

// byCaller returns where a caller in this package makes the text that is the
// parameter v of decl.
func byCaller(p *check.Pass, decl *ast.FuncDecl, v *types.Var) (inspector.Cursor, bool) {
	fn, ok := p.Info.Defs[decl.Name].(*types.Func)
	if !ok {
		return inspector.Cursor{}, false
	}
	for i := range fn.Signature().Params().Len() {
		if fn.Signature().Params().At(i) != v {
			continue
		}
		for _, use := range p.Uses(fn) {
			at := use.Parent()
			if _, ok := at.Node().(*ast.SelectorExpr); ok {
				at = at.Parent()
			}
			call, ok := at.Node().(*ast.CallExpr)
			if !ok || p.Callee(call) != fn || i >= len(call.Args) {
				continue
			}
			if arg, ok := at.FindNode(call.Args[i]); ok {
				if at, ok := madeHere(p, arg, false); ok {
					return at, true
				}
			}
		}
	}
	return inspector.Cursor{}, false
}

// ofBytes reports whether e makes a text of bytes.
func ofBytes(p *check.Pass, e ast.Expr) bool {
	of, ok := p.Conversion(e, check.IsString)
	return ok && check.IsBytes(p.TypeOf(of)) && !p.IsConst(e)
}

// made reports whether e makes a text of something that could be a key itself:
// numbers, arrays, several parts. Functions of this package are followed to the
// given depth.
func made(p *check.Pass, e ast.Expr, depth int) bool {
	e = ast.Unparen(e)
	if p.IsConst(e) || !check.IsString(p.TypeOf(e)) {
		return false
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (operands(p, e) > 1 || made(p, e.X, depth) || made(p, e.Y, depth))
	case *ast.CallExpr:
		if of, ok := p.Conversion(e, check.IsString); ok {
			if s, ok := ast.Unparen(of).(*ast.SliceExpr); ok && isArray(p.TypeOf(s.X)) {
				return true
			}
			return check.IsNamed(p.TypeOf(of), "net", "IP") || made(p, of, depth)
		}
		return called(p, e, depth)
	}
	return false
}

// isArray reports whether t is an array, or points to one.
func isArray(t types.Type) bool {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	_, ok := t.Underlying().(*types.Array)
	return ok
}

func called(p *check.Pass, call *ast.CallExpr, depth int) bool {
	fn := p.Callee(call)
	if v := p.Var(call.Fun); fn == nil && p.Local(v) && depth > 0 {
		return byLiteral(p, v, depth-1)
	}
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if cur, decl := p.Decl(fn); decl != nil {
		return depth > 0 && returns(p, cur, depth-1)
	}
	switch fn.Pkg().Path() {
	case "fmt":
		return fn.Name() == "Sprint" || fn.Name() == "Sprintf" || fn.Name() == "Sprintln"
	case "strconv":
		return fn.Name() == "Itoa" || len(fn.Name()) > 6 && fn.Name()[:6] == "Format"
	case "encoding/hex", "encoding/base64":
		return fn.Name() == "EncodeToString"
	case "strings":
		return fn.Name() == "Join" || fn.Name() == "String"
	}
	recv := fn.Signature().Recv()
	return recv != nil && len(call.Args) == 0 && (renders.MatchString(fn.Name()) && !check.IsString(recv.Type()) || isArray(recv.Type()))
}

// byLiteral reports whether a local variable holds a function literal that makes
// the text that it returns.
func byLiteral(p *check.Pass, v *types.Var, depth int) bool {
	for _, use := range p.Uses(v) {
		for decl := range use.Enclosing((*ast.FuncDecl)(nil)) {
			for at := range decl.Preorder((*ast.AssignStmt)(nil)) {
				assign := at.Node().(*ast.AssignStmt)
				if len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || p.Var(assign.Lhs[0]) != v {
					continue
				}
				if lit, ok := at.FindNode(assign.Rhs[0]); ok {
					if _, ok := lit.Node().(*ast.FuncLit); ok {
						return returns(p, lit, depth)
					}
				}
			}
		}
		break
	}
	return false
}

// returns reports whether the function at cur returns a text that it makes.
func returns(p *check.Pass, cur inspector.Cursor, depth int) bool {
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		for _, result := range at.Node().(*ast.ReturnStmt).Results {
			if made(p, result, depth) {
				return true
			}
			if at, ok := at.FindNode(result); ok && check.IsString(p.TypeOf(result)) && (p.Local(p.Var(result)) && returned(p, at, depth) || joined(p, at)) {
				return true
			}
		}
	}
	return false
}

// joined reports whether the text at cur is made of bytes that the function puts
// together: of a local slice that is appended to.
func joined(p *check.Pass, cur inspector.Cursor) bool {
	call, ok := cur.Node().(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !check.IsBytes(p.TypeOf(call.Args[0])) || !p.Local(p.Var(call.Args[0])) {
		return false
	}
	for _, use := range p.Uses(p.Var(call.Args[0])) {
		if outer, ok := use.Parent().Node().(*ast.CallExpr); ok && p.Builtin(outer) == "append" && outer.Args[0] == use.Node() {
			return true
		}
	}
	return false
}

// returned is made for a variable that is returned.
func returned(p *check.Pass, cur inspector.Cursor, depth int) bool {
	v := p.Var(cur.Node().(ast.Expr))
	for decl := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		for at := range decl.Preorder((*ast.AssignStmt)(nil)) {
			assign := at.Node().(*ast.AssignStmt)
			if len(assign.Lhs) == 1 && len(assign.Rhs) == 1 && p.Var(assign.Lhs[0]) == v && (assign.Tok == token.ADD_ASSIGN || made(p, assign.Rhs[0], depth)) {
				return true
			}
		}
	}
	return false
}

// renders is how methods of other packages are named that make a text.
var renders = regexp.MustCompile(`^(String|Str|Hex|Text|Key|KeyString|ToString|MapKey|HexString|Base58|Encode)$`)

// operands counts what a sum of texts is made of, constants left out.
func operands(p *check.Pass, e ast.Expr) int {
	if p.IsConst(e) {
		return 0
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok {
		return operands(p, b.X) + operands(p, b.Y)
	}
	return 1
}
