package pointerkey

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// A look is where something is looked up by a text that is made for that.
type look struct {
	made inspector.Cursor // what makes the text
	at   ast.Node         // the look-up
	home types.Object     // the field, package variable or type of the map; nil for others
}

// A rendering is all of them in a package.
type rendering struct {
	looks []look
	done  map[types.Object]bool
}

const parts = "keys are texts that are made for each look-up; a struct or an array of what they are made of is compared without, and holds no pointer where these are numbers"

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
	made, ok := madeAt(p, at)
	if !ok || p.HeatAt(cur) == check.Cold || p.HeatAt(made) == check.Cold {
		return
	}
	r.looks = append(r.looks, look{made, cur.Node(), home(p, of)})
}

// home returns the field, the package variable or the type that e is of.
func home(p *check.Pass, e ast.Expr) types.Object {
	if named := check.NamedOf(p.TypeOf(e)); named != nil {
		if named.Obj().Pkg() == p.Code.Pkg {
			return named.Obj()
		}
		return nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if s := p.Info.Selections[e]; s != nil && s.Kind() == types.FieldVal {
			return s.Obj()
		}
	case *ast.Ident:
		if v := p.Var(e); v != nil && !p.Local(v) {
			return v
		}
	case *ast.IndexExpr:
		return home(p, e.X)
	}
	return nil
}

// report reports the map type at cur where it is that of a home whose look-ups
// are by texts that are made for them.
func (r *rendering) report(p *check.Pass, cur inspector.Cursor) {
	var names []*ast.Ident
	for at := cur.Parent(); at.Node() != nil && names == nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.Field:
			names = n.Names
		case *ast.ValueSpec:
			names = n.Names
		case *ast.TypeSpec:
			names = []*ast.Ident{n.Name}
		case *ast.FuncDecl:
			return
		}
	}
	for _, name := range names {
		obj := p.Info.Defs[name]
		if obj == nil || r.done[obj] {
			continue
		}
		var also []ast.Node
		for _, l := range r.looks {
			if l.home == obj {
				also = append(also, l.made.Node())
				if p.Fset.Position(l.at.Pos()).Line != p.Fset.Position(l.made.Node().Pos()).Line {
					also = append(also, l.at)
				}
			}
		}
		if also != nil {
			r.done[obj] = true
			p.Needs(check.Interface, p.Seen(obj)).ReportWith(cur.Node(), also, check.Warm, parts)
		}
	}
}

// rest reports the look-ups in what has no home in this package.
func (r *rendering) rest(p *check.Pass) {
	seen := map[ast.Node]bool{}
	for _, l := range r.looks {
		if made := l.made.Node(); !r.done[l.home] && !seen[made] {
			seen[made] = true
			var also []ast.Node
			if p.Fset.Position(l.at.Pos()).Line != p.Fset.Position(made.Pos()).Line {
				also = []ast.Node{l.at}
			}
			p.ReportWith(made, also, check.Warm, parts)
		}
	}
}

// madeAt returns where the text at cur is made of other things: there, or where
// the variable that it names gets its only value.
func madeAt(p *check.Pass, cur inspector.Cursor) (inspector.Cursor, bool) {
	e := cur.Node().(ast.Expr)
	if made(p, e, 2) {
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
				if len(assign.Lhs) == len(assign.Rhs) && p.Var(lhs) == v && made(p, assign.Rhs[i], 2) {
					return at.FindNode(assign.Rhs[i])
				}
			}
		}
	}
	return cur, false
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
			if s, ok := ast.Unparen(of).(*ast.SliceExpr); ok {
				t := p.TypeOf(s.X).Underlying()
				if ptr, ok := t.(*types.Pointer); ok {
					t = ptr.Elem().Underlying()
				}
				_, array := t.(*types.Array)
				return array
			}
			return check.IsNamed(p.TypeOf(of), "net", "IP") || made(p, of, depth)
		}
		return called(p, e, depth)
	}
	return false
}

func called(p *check.Pass, call *ast.CallExpr, depth int) bool {
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if cur, decl := p.Decl(fn); decl != nil {
		if depth == 0 {
			return false
		}
		for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
			for _, result := range at.Node().(*ast.ReturnStmt).Results {
				if at, ok := at.FindNode(result); ok && made(p, result, depth-1) || ok && p.Local(p.Var(result)) && returned(p, at, depth-1) {
					return true
				}
			}
		}
		return false
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
	return fn.Signature().Recv() != nil && len(call.Args) == 0 && renders.MatchString(fn.Name()) && !check.IsString(fn.Signature().Recv().Type())
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
var renders = regexp.MustCompile(`^(String|Hex|Text|Key|KeyString|ToString|MapKey|HexString|Base58|Encode)$`)

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
