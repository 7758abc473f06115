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
slice could come from the caller or a pool; so are the slices that exported functions make for callers of other packages. So it is where the library or a function further down allocates (strings.Split
has SplitSeq beside it), and where a string is built to be looked up.`,
	When:     "the loop is hot and the results are read within the round.",
	WhenNot:  "results that are stored, returned or sent; loops of few rounds; callees of other packages, but for those that append to the nil they are given, and for known ones; start-up code and error paths. Results that are handed on are a hint.",
	Measured: "1,330 ns, 4 allocations -> 645 ns, 1 (an iterator 286 ns, 0; Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.FuncDecl)(nil)) {
		given(p, cur)
	}
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := p.Callee(call)
		if fn == nil {
			unknown(p, cur, call)
			continue
		}
		r, ok := result(p, cur)
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

// allocations returns the statements that make or fill the slices that fn
// returns.
func allocations(p *check.Pass, fn *types.Func) (nodes []ast.Node) {
	cur, decl := p.Decl(fn)
	if decl == nil {
		return nil
	}
	returned := map[*types.Var]bool{}
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		if ret := at.Node().(*ast.ReturnStmt); len(ret.Results) > 0 && p.Var(ret.Results[0]) != nil {
			returned[p.Var(ret.Results[0])] = true
		}
	}
	for at := range cur.Preorder((*ast.AssignStmt)(nil)) {
		assign := at.Node().(*ast.AssignStmt)
		call, ok := assign.Rhs[0].(*ast.CallExpr)
		if v := p.Var(assign.Lhs[0]); !ok || v == nil || !returned[v] || !slice(v.Type()) {
			continue
		}
		if b := p.Builtin(call); b == "make" || b == "append" {
			nodes = append(nodes, assign)
		}
	}
	return nodes
}

// given reports, as a hint, the slice that an exported function makes for each
// of its callers, who are not known.
func given(p *check.Pass, cur inspector.Cursor) {
	decl := cur.Node().(*ast.FuncDecl)
	fn, ok := p.Info.Defs[decl.Name].(*types.Func)
	if !ok || !fn.Exported() || len(p.Uses(fn)) > 0 || strings.HasPrefix(fn.Name(), "New") || fn.Signature().Results().Len() == 0 || !slice(fn.Signature().Results().At(0).Type()) || !grown(p, fn, appended) {
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
