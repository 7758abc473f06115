// Package resultslice is an allocation check: see Check.
package resultslice

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags slices that a callee allocates for each round of a loop.
var Check = check.New(check.Check{
	Name:     "resultslice",
	Exercise: 16,
	Severity: check.Advice,
	Doc: `a loop whose callee allocates a slice for each round

The caller is done with the slice when the round ends. A callee that appends to a slice
of the caller, given as dst[:0], uses the same memory again; an iterator needs none. Outside a loop it is a hint: the
slice could come from the caller or a pool; so are the slices that exported functions make for their callers, the copies of its slices that a method returns, and a slice that takes the place of the one before in a field; and the copy of a map for a caller who only reads it. So it is where the library or a function further down allocates (strings.Split
has SplitSeq beside it), and where a string is built to be looked up.`,
	When:     "the loop is hot and the results are read within the round.",
	WhenNot:  "results that are stored, returned or sent; loops of few rounds; callees of other packages, but for those that append to the nil they are given, and for known ones; start-up code and error paths. Results that are handed on are a hint.",
	Measured: "1,330 ns, 4 allocations -> 645 ns, 1 (an iterator 286 ns, 0; Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	said := map[*types.Func]bool{}
	defer func() {
		for cur := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
			given(p, cur, said)
		}
	}()
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := p.Callee(call)
		if fn == nil {
			unknown(p, cur, call)
			continue
		}
		mapCopy(p, cur, fn)
		r, ok := result(p, cur)
		if !ok {
			replaces(p, cur, fn)
		}
		if _, back := cur.Parent().Node().(*ast.ReturnStmt); back && appendsToNil(p, fn, call) && (fn.Pkg() == p.Code.Pkg || !check.Standard(fn)) {
			p.Needs(check.Interface, !p.FreeAround(cur)).Hint(call, p.HeatAt(cur), fn.Name()+" of nil allocates a slice for each caller; one that gives a slice of its own could use it again")
		}
		if !ok {
			continue
		}
		heat, when := p.HeatAt(cur), "at the end of the round"
		if p.Loop(cur) == nil {
			heat, when = min(heat, check.Warm), "soon after"
		}
		warm := min(heat, check.Warm)
		also := allocations(p, fn)
		said[fn] = true
		if r.handed {
			heat, when = warm, "when what it is handed to returns, unless that keeps it"
		}
		switch {
		case appendsToNil(p, fn, call):
			p.Report(call, heat, fn.Name()+" of nil allocates a slice that is done with "+when+"; give it memory that is used again, as b[:0]")
		case r.text:
			if buildsText(p, fn) {
				p.Report(call, warm, fn.Name()+" allocates a string that is done with "+when+"; let it append to a []byte that is used again, which m[string(b)] looks up without a copy")
			}
		case !builds(p, fn):
			if remedy := gives(p, cur, fn); remedy != "" {
				p.Needs(check.Interface, library(fn) == "").Report(call, warm, fn.FullName()+" allocates a slice that is done with "+when+"; "+remedy)
			}
		case r.handed || !grown(p, fn, appended):
			p.ReportWith(call, also, warm, fn.Name()+" allocates a slice that is done with "+when+"; let it append to a slice that is used again")
		case r.copied:
			p.ReportWith(call, also, heat, fn.Name()+" allocates a slice of which only a copy is kept; let it append to a slice that is used again")
		case !r.held:
			p.ReportWith(call, also, warm, fn.Name()+" allocates a slice that is done with "+when+"; let it append to a slice that is used again, or be an iterator")
		default:
			p.ReportWith(call, also, heat, fn.Name()+" allocates a slice that is done with "+when+"; let it append to a slice that is used again")
		}
	}
}

// unknown reports a call of what is not known, as where an import is missing,
// where it is given nil to append to, and its result stays in the function.
func unknown(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 || !p.Info.Types[call.Args[0]].IsNil() {
		return
	}
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return
	}
	if v := p.Var(assign.Lhs[0]); p.Local(v) && p.VarUse(v)&check.Keeps == 0 {
		p.Hint(call, p.HeatAt(cur), sel.Sel.Name+" of nil may allocate a slice that is done with soon after; give it memory that is used again, as b[:0]")
	}
}

// replaces reports, as a hint, a slice that takes the place of the one that the
// call before gave, in a field of what the method at cur is one of.
func replaces(p *check.Pass, cur inspector.Cursor, fn *types.Func) {
	call := cur.Node().(*ast.CallExpr)
	decl := check.FuncDecl(cur)
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || decl == nil || decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 || len(assign.Rhs) != 1 || cur.Parent().Node() == decl {
		return
	}
	recv, _ := p.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	if recv == nil || fn.Signature().Results().Len() == 0 || !slice(fn.Signature().Results().At(0).Type()) || once(decl.Name.Name) {
		return
	}
	field := func(e ast.Expr) *ast.SelectorExpr {
		sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if ok && p.Info.Selections[sel] != nil && p.Var(sel.X) == recv {
			return sel
		}
		return nil
	}
	to := field(assign.Lhs[0])
	if v := p.Var(assign.Lhs[0]); to == nil && p.Local(v) {
		kept := 0
		for _, use := range p.Uses(v) {
			if call, ok := use.Parent().Node().(*ast.CallExpr); ok && p.Builtin(call) == "" || p.ExprUse(use)&check.Keeps == 0 {
				continue
			}
			kept++
			if next, ok := use.Parent().Node().(*ast.AssignStmt); ok && len(next.Lhs) == 1 {
				to = field(next.Lhs[0])
			}
		}
		if kept > 1 {
			return
		}
	}
	if to == nil || !builds(p, fn) {
		return
	}
	p.ReportWith(call, allocations(p, fn), min(p.HeatAt(cur), check.Warm), fn.Name()+" allocates a slice that takes the place of that before in "+to.Sel.Name+"; where nothing else holds that, let it append to "+to.Sel.Name+"[:0]")
}

// once reports whether a method is, by its name, called but once for each
// value.
func once(name string) bool {
	for _, prefix := range []string{"Init", "init", "Start", "start", "Open", "open", "Unmarshal", "Decode", "From", "Set", "set", "Load", "load"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// allocations returns the statements that make or fill the slices that fn
// returns.
func allocations(p *check.Pass, fn *types.Func) (nodes []ast.Node) {
	cur, decl := p.Decl(fn)
	if decl == nil {
		return nil
	}
	returned := map[*types.Var]bool{}
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(at); f.Node() != decl || len(ret.Results) == 0 {
			continue
		}
		e := ret.Results[0]
		if call, ok := e.(*ast.CallExpr); ok && p.Builtin(call) == "append" && p.Var(call.Args[0]) != nil {
			e = call.Args[0]
		}
		if v := p.Var(e); v != nil {
			returned[v] = true
		} else if direct(p, ret.Results[0]) {
			nodes = append(nodes, ret.Results[0])
		}
	}
	if results := fn.Origin().Signature().Results(); results.Len() > 0 && results.At(0).Name() != "" {
		returned[results.At(0)] = true
	}
	for at := range cur.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil)) {
		var lhs, rhs ast.Expr
		switch n := at.Node().(type) {
		case *ast.AssignStmt:
			lhs, rhs = n.Lhs[0], n.Rhs[0]
		case *ast.ValueSpec:
			if len(n.Values) == 0 {
				continue
			}
			lhs, rhs = n.Names[0], n.Values[0]
		}
		call, ok := rhs.(*ast.CallExpr)
		if v := p.Var(lhs); !ok || v == nil || !returned[v] || !slice(v.Type()) {
			continue
		}
		if b := p.Builtin(call); b == "make" || b == "append" {
			nodes = append(nodes, at.Node())
		}
	}
	return nodes
}

// snapshot reports, as hints, copies of slices of the receiver that a method
// returns within a struct: one that is given such a struct could fill it.
func snapshot(p *check.Pass, cur inspector.Cursor, decl *ast.FuncDecl) {
	if decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 || decl.Type.Results == nil {
		return
	}
	recv, _ := p.Info.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	for _, field := range decl.Type.Params.List {
		if ptr, ok := p.TypeOf(field.Type).Underlying().(*types.Pointer); ok && types.Identical(ptr.Elem(), p.TypeOf(decl.Type.Results.List[0].Type)) {
			return // what the caller gives
		}
	}
	for at := range cur.Preorder((*ast.CallExpr)(nil)) {
		call := at.Node().(*ast.CallExpr)
		if p.Builtin(call) != "copy" {
			continue
		}
		v := p.Var(call.Args[0])
		sel, ok := ast.Unparen(call.Args[1]).(*ast.SelectorExpr)
		if !ok || p.Var(sel.X) != recv || recv == nil || !p.Local(v) {
			continue
		}
		made := allocation(p, cur, v)
		if made == nil || !within(p, v, decl) {
			continue
		}
		p.Needs(check.Interface, !p.FreeAround(at)).ReportWith(made, nil, min(p.HeatAt(at), check.Warm), decl.Name.Name+" copies "+sel.Sel.Name+" for each caller; one that fills what the caller gives lets those who call again and again use the same memory")
	}
}

// allocation returns the statement that makes what v holds.
func allocation(p *check.Pass, cur inspector.Cursor, v *types.Var) ast.Node {
	for at := range cur.Preorder((*ast.AssignStmt)(nil)) {
		assign := at.Node().(*ast.AssignStmt)
		if call, ok := assign.Rhs[0].(*ast.CallExpr); ok && p.Var(assign.Lhs[0]) == v && p.Builtin(call) == "make" {
			return assign
		}
	}
	return nil
}

// within reports whether v is returned by decl as a field of a struct.
func within(p *check.Pass, v *types.Var, decl *ast.FuncDecl) bool {
	for _, use := range p.Uses(v) {
		at, inLiteral := use.Parent(), false
		for ; at.Node() != nil && check.Within(at.Node(), decl); at = at.Parent() {
			switch at.Node().(type) {
			case *ast.CompositeLit:
				inLiteral = true
				continue
			case *ast.KeyValueExpr, *ast.UnaryExpr:
				continue
			case *ast.ReturnStmt:
				return inLiteral
			}
			break
		}
	}
	return false
}

// given reports, as a hint, the slice that an exported function makes for each
// of its callers, who are not all known, where none of them is in said.
func given(p *check.Pass, cur inspector.Cursor, said map[*types.Func]bool) {
	decl := cur.Node().(*ast.FuncDecl)
	fn, ok := p.Info.Defs[decl.Name].(*types.Func)
	if !ok || decl.Body == nil {
		return
	}
	snapshot(p, cur, decl)
	if !fn.Exported() || said[fn] || appends(fn) || fn.Name() == "String" || strings.HasPrefix(fn.Name(), "New") || fn.Signature().Results().Len() == 0 || !slice(fn.Signature().Results().At(0).Type()) || !builds(p, fn) {
		return
	}
	if nodes := allocations(p, fn); len(nodes) > 0 {
		p.Needs(check.Interface, true).ReportWith(nodes[0], nodes[1:], min(p.HeatAt(cur), check.Warm), fn.Name()+" allocates a slice for each caller; one that appends to a slice of the caller lets those who call again and again use the same memory")
	}
}

// An ending is what becomes of a slice that nothing keeps.
type ending struct {
	held   bool // in a variable
	handed bool // to functions that may yet keep it
	copied bool // a copy takes its place
	text   bool // it is a string
}

// result reports whether the first result of the call at cur is a slice or a
// string that the function around it does not keep, and what becomes of it.
func result(p *check.Pass, cur inspector.Cursor) (r ending, ok bool) {
	assign, assigned := cur.Parent().Node().(*ast.AssignStmt)
	if !assigned {
		t := p.TypeOf(cur.Node().(ast.Expr))
		if _, dropped := cur.Parent().Node().(*ast.ExprStmt); dropped || !slice(t) && !check.IsString(t) {
			return r, false
		}
		use := p.ExprUse(cur)
		return ending{handed: use&check.Hands != 0, text: !slice(t)}, use&check.Keeps == 0
	}
	if assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN || len(assign.Rhs) != 1 {
		return r, false
	}
	v := p.Var(assign.Lhs[0])
	if !p.Local(v) || !slice(v.Type()) && !check.IsString(v.Type()) {
		return r, false
	}
	r.held, r.text = true, !slice(v.Type())
	if assign.Tok == token.ASSIGN { // it holds other slices, too
		use := p.VarUse(v)
		r.handed = true
		return r, use&check.Keeps == 0
	}
	if use := p.VarUse(v); use&check.Keeps == 0 {
		r.handed = use&check.Hands != 0
		return r, true
	}
	until := copied(p, cur.Parent(), v)
	if !until.IsValid() {
		return r, false
	}
	for _, use := range p.Uses(v) {
		if use.Node().Pos() < until && !passedThrough(p, use, v) && p.ExprUse(use)&(check.Keeps|check.Hands) != 0 {
			return r, false
		}
	}
	r.copied = true
	return r, true
}

// copied returns the end of the statement after that at cur, in the same
// block, that puts a copy of v in its place: v = slices.Clone(v), or
// v = append([]T{}, v...).
func copied(p *check.Pass, cur inspector.Cursor, v *types.Var) token.Pos {
	for at, ok := cur.NextSibling(); ok; at, ok = at.NextSibling() {
		assign, ok := at.Node().(*ast.AssignStmt)
		if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || p.Var(assign.Lhs[0]) != v {
			continue
		}
		call, ok := assign.Rhs[0].(*ast.CallExpr)
		if !ok {
			continue
		}
		if _, ok := p.IsCall(call, "slices", "Clone"); ok && p.Var(call.Args[0]) == v {
			return assign.End()
		}
		if p.Builtin(call) == "append" && call.Ellipsis.IsValid() && p.Var(call.Args[1]) == v && empty(p, call.Args[0]) {
			return assign.End()
		}
	}
	return token.NoPos
}

// empty reports whether e is a slice without elements of its own.
func empty(p *check.Pass, e ast.Expr) bool {
	if lit, ok := e.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	nothing, ok := p.Conversion(e, slice)
	return ok && p.Info.Types[nothing].IsNil()
}

// passedThrough reports whether use is an argument of a call whose result
// takes the place of v, or one of a copy.
func passedThrough(p *check.Pass, use inspector.Cursor, v *types.Var) bool {
	at := use
	if _, ok := at.Parent().Node().(*ast.SliceExpr); ok {
		at = at.Parent()
	}
	call, ok := at.Parent().Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	if p.Builtin(call) == "append" && call.Ellipsis.IsValid() && call.Args[1] == use.Node() {
		return true
	}
	assign, ok := at.Parent().Parent().Node().(*ast.AssignStmt)
	return ok && len(assign.Lhs) == 1 && p.Var(assign.Lhs[0]) == v
}

// appendsToNil reports whether call gives nil to a function that appends to
// its first argument: one that returns a slice of the same type, and is not of
// another kind by what its body shows.
func appendsToNil(p *check.Pass, fn *types.Func, call *ast.CallExpr) bool {
	sig := fn.Signature()
	if len(call.Args) == 0 || !p.Info.Types[call.Args[0]].IsNil() || sig.Params().Len() == 0 || sig.Results().Len() == 0 {
		return false
	}
	to, from := sig.Params().At(0).Type(), sig.Results().At(0).Type()
	if !slice(to) || !types.Identical(to, from) || sig.Variadic() && sig.Params().Len() == 1 {
		return false
	}
	if len(call.Args) == 1 {
		return fn.Name() == "Sum" || strings.Contains(fn.Name(), "Append") || strings.Contains(fn.Name(), "Marshal")
	}
	return true
}

func slice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}
