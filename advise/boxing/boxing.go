// Package boxing is an allocation check: see Check.
package boxing

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags numbers that become interface values.
var Check = check.New(check.Check{
	Name:     "boxing",
	Exercise: 8,
	Severity: check.Advice,
	Doc: `numbers passed as any

An interface holds a pointer: a number above 255 is allocated to be pointed to. A type
parameter in the place of any keeps the value as it is. Putting a slice into a sync.Pool boxes its header
likewise, where a pointer to it costs nothing; so do sort.Sort and sort.Slice of a slice, which slices.SortFunc replaces.
Texts, slices and structs that are boxed are hints, and so is what is assigned, returned, sent, listed or appended as any, passed
as an interface with methods, or given to binary.Write.`,
	When:     "the call is hot and the callee is yours to change.",
	WhenNot:  "functions of other modules are a hint; calls into fmt, log and log/slog, whose output costs more, and what only a debug mode calls, while what logs at a level that is off, and could be asked before, is a hint; what hands its arguments on to them is a hint; constants; bytes and booleans; functions that keep values of several types; what is held as any by functions that return values of several types, or ask for the type of one; start-up code and error paths.",
	Measured: "type parameters: 2 allocations -> 0; slog with int pairs still boxes, 2 -> 2 (Go 1.26.8)",
	Own:      true,
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.ValueSpec)(nil)) {
		declared(p, cur)
	}
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil), (*ast.ReturnStmt)(nil), (*ast.SendStmt)(nil), (*ast.CompositeLit)(nil)) {
		held(p, cur)
	}
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if p.Info.Types[call.Fun].IsType() {
			converted(p, cur, call)
			continue
		}
		if p.Builtin(call) == "append" {
			appended(p, cur, call)
			continue
		}
		fn := p.Callee(call)
		if fn == nil || fn.Pkg() == nil {
			continue
		}
		methods(p, cur, fn, call)
		if check.FuncName(fn) == "Pool.Put" && fn.Pkg().Path() == "sync" {
			pool(p, cur, call)
			continue
		}
		if name := check.FuncName(fn); fn.Pkg().Path() == "sort" && (name == "Sort" || name == "Stable") {
			header(p, cur, call.Args[0])
			continue
		}
		if name := fn.Name(); fn.Pkg().Path() == "sort" && (name == "Slice" || name == "SliceStable") {
			p.Report(call.Args[0], min(p.HeatAt(cur), check.Warm), "sort."+name+" boxes the slice and swaps by reflection; slices.SortFunc, from Go 1.21, takes the slice itself")
			continue
		}
		if _, decl := p.Decl(fn); decl == nil && logged(p, cur, fn, call) {
			continue
		}
		if _, decl := p.Decl(fn); decl == nil && !container(fn) {
			if guarded(cur) {
				continue
			}
			if name := fn.FullName(); name == "encoding/binary.Write" || name == "encoding/binary.Read" {
				p.Hint(call, p.HeatAt(cur), name+" boxes what it is given, and asks for its type; the methods of binary.ByteOrder, and AppendUint64 and the like, take numbers as they are")
			} else if name == "reflect.DeepEqual" || name == "reflect.ValueOf" || !check.Standard(fn) || fn.Pkg().Path() == "context" || fn.Pkg().Path() == "sync/atomic" {
				if arg := boxed(p, fn, call, wide); arg != nil {
					p.Needs(check.Interface, true).Report(arg, min(p.HeatAt(cur), check.Warm), types.ExprString(arg)+" is boxed to be passed as any to "+fn.FullName()+"; look for a variant with type parameters")
				}
			}
			continue
		}
		if mixed(p, fn) {
			continue
		}
		if guarded(cur) {
			continue
		}
		if arg := boxed(p, fn, call, number); arg != nil && !prints(p, fn, 3) {
			p.Needs(check.Interface, fixed(p, fn)).Report(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed to be passed as any to "+fn.Name()+"; a type parameter keeps it as it is")
		} else if arg := boxed(p, fn, call, wide); arg != nil {
			p.Needs(check.Interface, fixed(p, fn)).Hint(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed to be passed as any to "+fn.Name()+"; a type parameter keeps it as it is")
		}
	}
}

// prints reports whether fn hands its variadic arguments on to fmt, log or
// log/slog, itself or through so many functions of this package.
func prints(p *check.Pass, fn *types.Func, through int) bool {
	cur, decl := p.Decl(fn)
	sig := fn.Signature()
	if through == 0 || decl == nil || !sig.Variadic() {
		return false
	}
	rest := sig.Params().At(sig.Params().Len() - 1)
	for at := range cur.Preorder((*ast.CallExpr)(nil)) {
		call := at.Node().(*ast.CallExpr)
		if !call.Ellipsis.IsValid() {
			continue
		}
		if id, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.Ident); !ok || p.Info.Uses[id] != rest {
			continue
		}
		callee := p.Callee(call)
		if callee == nil || callee.Pkg() == nil {
			continue
		}
		switch callee.Pkg().Path() {
		case "fmt", "log", "log/slog":
			return true
		}
		if prints(p, callee, through-1) {
			return true
		}
	}
	return false
}

// guarded reports whether the code at cur runs only where something asks for
// more to be said or checked, such as a level of logging.
func guarded(cur inspector.Cursor) bool {
	for at := cur; at.Node() != nil; at = at.Parent() {
		switch parent := at.Parent().Node().(type) {
		case *ast.IfStmt:
			if at.Node() == parent.Body && mode.MatchString(types.ExprString(parent.Cond)) {
				return true
			}
		case *ast.FuncDecl, *ast.FuncLit, nil:
			return false
		}
	}
	return false
}

// mode matches conditions on what is on for debugging only.
var mode = regexp.MustCompile(`(?i)debug|trace|verbose|leakdetect|enabled?\(|canlog|\.v\(\d`)

// fixed reports whether fn cannot do without any: its signature is not free, or
// it hands on what it is given as such.
func fixed(p *check.Pass, fn *types.Func) bool {
	if !p.Free(fn) || fn.Signature().Variadic() {
		return true
	}
	params := fn.Signature().Params()
	for i := range params.Len() {
		iface, ok := params.At(i).Type().Underlying().(*types.Interface)
		if use, known := p.ParamUse(fn, i); ok && iface.Empty() && (!known || use&(check.Keeps|check.Hands) != 0) {
			return true
		}
	}
	return false
}

// converted reports T(x) where T is an interface and x is allocated for it,
// unless the type is asked for at once.
func converted(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	if _, asks := cur.Parent().Node().(*ast.TypeAssertExpr); asks || len(call.Args) != 1 {
		return
	}
	if to := p.TypeOf(call.Fun); boxes(p, to, call.Args[0]) || narrows(p, to, call.Args[0]) {
		p.Needs(check.Interface, true).Hint(call, p.HeatAt(cur), types.ExprString(call.Args[0])+" is boxed to become an interface; a type parameter, or a pointer that is there already, keeps it as it is")
	}
}

// methods reports the first argument that is allocated to become an interface
// with methods.
func methods(p *check.Pass, cur inspector.Cursor, fn *types.Func, call *ast.CallExpr) {
	if fn.Pkg().Path() == "sort" {
		return
	}
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		last := fn.Signature().Variadic() && i >= params.Len()-1
		if !last && i >= params.Len() || last && call.Ellipsis.IsValid() {
			return
		}
		var to types.Type
		if last {
			to = params.At(params.Len() - 1).Type().(*types.Slice).Elem()
		} else {
			to = params.At(i).Type()
		}
		if narrows(p, to, arg) {
			p.Needs(check.Interface, !p.Free(fn)).Hint(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed to be passed as an interface to "+fn.Name()+"; a pointer that is there already, or a type parameter, needs no copy")
			return
		}
	}
}

// narrows reports whether e is allocated to be held as the interface to, which
// has methods and is no error.
func narrows(p *check.Pass, to types.Type, e ast.Expr) bool {
	if _, isParam := types.Unalias(to).(*types.TypeParam); isParam {
		return false
	}
	iface, ok := to.Underlying().(*types.Interface)
	return ok && !iface.Empty() && !check.IsError(to) && !p.IsConst(e) && wide(p.TypeOf(e))
}

// mixed reports whether fn keeps what it is given as any, and is given values of
// several types in this package: they have no other type in common.
func mixed(p *check.Pass, fn *types.Func) bool {
	params := fn.Signature().Params()
	for i := range params.Len() {
		iface, ok := params.At(i).Type().Underlying().(*types.Interface)
		if use, known := p.ParamUse(fn, i); !ok || !iface.Empty() || !known || use&(check.Keeps|check.Hands) == 0 {
			continue
		}
		var one types.Type
		for _, use := range p.Uses(fn) {
			at := use.Parent()
			if _, ok := at.Node().(*ast.SelectorExpr); ok {
				at = at.Parent()
			}
			call, ok := at.Node().(*ast.CallExpr)
			if !ok || i >= len(call.Args) {
				continue
			}
			t := types.Default(p.TypeOf(call.Args[i]))
			if one != nil && !types.Identical(one, t) {
				return true
			}
			one = t
		}
	}
	return false
}

// declared reports var x any = n, where n is allocated to be pointed to.
func declared(p *check.Pass, cur inspector.Cursor) {
	spec := cur.Node().(*ast.ValueSpec)
	if spec.Type == nil || len(spec.Values) != 1 {
		return
	}
	if boxes(p, p.TypeOf(spec.Type), spec.Values[0]) {
		p.Report(spec, min(p.HeatAt(cur), check.Warm), types.ExprString(spec.Values[0])+" is boxed to be held as any; a type parameter keeps it as it is")
	}
}

// boxes reports whether e is allocated to be held as the type to.
func boxes(p *check.Pass, to types.Type, e ast.Expr) bool {
	if _, isParam := types.Unalias(to).(*types.TypeParam); isParam {
		return false
	}
	iface, ok := to.Underlying().(*types.Interface)
	return ok && iface.Empty() && !p.IsConst(e) && wide(p.TypeOf(e))
}

// held reports, at cur, values that are assigned, returned, sent or listed as
// any.
func held(p *check.Pass, cur inspector.Cursor) {
	_, returned := cur.Node().(*ast.ReturnStmt)
	say := func(e ast.Expr) {
		p.Needs(check.Interface, !returned || !p.FreeAround(cur)).Hint(e, p.HeatAt(cur), types.ExprString(e)+" is boxed to be held as any; a type parameter, or a field for each type, keeps it as it is")
	}
	switch n := cur.Node().(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) && n.Tok.String() == "=" && boxes(p, p.TypeOf(lhs), n.Rhs[i]) && !asked(p, cur) {
				say(n.Rhs[i])
			}
		}
	case *ast.SendStmt:
		if ch, ok := p.TypeOf(n.Chan).Underlying().(*types.Chan); ok && boxes(p, ch.Elem(), n.Value) {
			say(n.Value)
		}
	case *ast.ReturnStmt:
		results := returns(p, cur)
		for i, e := range n.Results {
			if results.Len() == len(n.Results) && boxes(p, results.At(i).Type(), e) && !dynamic(p, cur, i) {
				say(e)
			}
		}
	case *ast.CompositeLit:
		listed(p, n, say)
	}
}

// appended reports the first value that is boxed to be appended to a slice of
// any. Where the slice goes further, what takes it asks for any.
func appended(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	slice, ok := p.TypeOf(call.Args[0]).Underlying().(*types.Slice)
	if !ok || call.Ellipsis.IsValid() {
		return
	}
	for _, arg := range call.Args[1:] {
		if boxes(p, slice.Elem(), arg) {
			v := p.Var(call.Args[0])
			further := !p.Local(v) || p.VarUse(v)&(check.Keeps|check.Hands) != 0
			p.Needs(check.Interface, further).Hint(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed to be listed as any; a slice of its type, or a buffer that it is written to, keeps it as it is")
			return
		}
	}
}

// returns is what the function around cur returns, a declaration or a literal.
func returns(p *check.Pass, cur inspector.Cursor) *types.Tuple {
	f, _ := check.Func(cur)
	switch n := f.Node().(type) {
	case *ast.FuncDecl:
		if fn, ok := p.Info.Defs[n.Name].(*types.Func); ok {
			return fn.Signature().Results()
		}
	case *ast.FuncLit:
		if sig, ok := p.TypeOf(n).(*types.Signature); ok {
			return sig.Results()
		}
	}
	return nil
}

// dynamic reports whether the function around the return at cur gives values of
// several types as its result number i, which nothing but an interface can be.
func dynamic(p *check.Pass, cur inspector.Cursor, i int) bool {
	var one types.Type
	f, _ := check.Func(cur)
	for at := range f.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if g, _ := check.Func(at); g.Node() != f.Node() || i >= len(ret.Results) || p.Info.Types[ret.Results[i]].IsNil() {
			continue
		}
		t := types.Default(p.TypeOf(ret.Results[i]))
		if one != nil && !types.Identical(one, t) {
			return true
		}
		one = t
	}
	return false
}

// asked reports whether the function around cur asks an interface without
// methods for its type: what it holds may be of any.
func asked(p *check.Pass, cur inspector.Cursor) bool {
	f, _ := check.Func(cur)
	for at := range f.Preorder((*ast.TypeAssertExpr)(nil)) {
		if iface, ok := p.TypeOf(at.Node().(*ast.TypeAssertExpr).X).Underlying().(*types.Interface); ok && iface.Empty() {
			return true
		}
	}
	return false
}

// listed calls say for the first element of a literal of any that is boxed.
func listed(p *check.Pass, lit *ast.CompositeLit, say func(ast.Expr)) {
	for _, elt := range lit.Elts {
		var t types.Type
		kv, keyed := elt.(*ast.KeyValueExpr)
		if keyed {
			elt = kv.Value
		}
		switch u := p.TypeOf(lit).Underlying().(type) {
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Map:
			t = u.Elem()
		case *types.Struct:
			if !keyed {
				return
			}
			t = p.TypeOf(kv.Key)
		default:
			return
		}
		if boxes(p, t, elt) {
			say(elt)
			return
		}
	}
}

func pool(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	t := p.TypeOf(call.Args[0])
	switch t.Underlying().(type) {
	case *types.Slice, *types.Struct, *types.Array:
		heat := p.HeatAt(cur)
		if heat == check.Warm {
			heat = check.Hot // a pool is there because the code is hot
		}
		p.Report(call.Args[0], heat, "putting a value of type "+types.TypeString(t, types.RelativeTo(p.Code.Pkg))+" into a sync.Pool allocates to box it; put a pointer")
	}
}

// header reports a slice that becomes an interface to be sorted.
func header(p *check.Pass, cur inspector.Cursor, arg ast.Expr) {
	if _, ok := p.TypeOf(arg).Underlying().(*types.Slice); ok {
		p.Report(arg, min(p.HeatAt(cur), check.Warm), "sorting through an interface allocates the slice's header; slices.SortFunc, from Go 1.21, takes the slice itself")
	}
}

// container reports whether fn keeps what it is given as any.
func container(fn *types.Func) bool {
	switch fn.Pkg().Path() {
	case "container/heap", "container/list", "container/ring", "sync":
		return true
	}
	return false
}

// boxed returns the first of the arguments that is of the kind and becomes an
// interface without methods.
func boxed(p *check.Pass, fn *types.Func, call *ast.CallExpr, kind func(types.Type) bool) ast.Expr {
	if call.Ellipsis.IsValid() {
		return nil
	}
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		var t types.Type
		switch last := params.Len() - 1; {
		case fn.Signature().Variadic() && i >= last:
			t = params.At(last).Type().(*types.Slice).Elem()
		case i < params.Len():
			t = params.At(i).Type()
		default:
			return nil
		}
		if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
			continue
		}
		iface, ok := t.Underlying().(*types.Interface)
		if ok && iface.Empty() && !p.IsConst(arg) && kind(p.TypeOf(arg)) {
			return arg
		}
	}
	return nil
}

// wide reports whether t is a number of more than one byte, a text, a slice, an
// array or a struct.
func wide(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return true
	case *types.Basic:
		if _, isParam := types.Unalias(t).(*types.TypeParam); !isParam && u.Info()&types.IsString != 0 && u.Info()&types.IsUntyped == 0 {
			return true
		}
	case *types.Array:
		return u.Len() > 1 || u.Len() == 1 && wide(u.Elem())
	case *types.Struct:
		return u.NumFields() > 0 && !pointerShaped(t)
	}
	return number(t)
}

// pointerShaped reports whether a value of type t is one pointer, which an
// interface holds as it is.
func pointerShaped(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Struct:
		return u.NumFields() == 1 && pointerShaped(u.Field(0).Type())
	case *types.Array:
		return u.Len() == 1 && pointerShaped(u.Elem())
	}
	return false
}

// number reports whether t is a number of more than one byte.
func number(t types.Type) bool {
	if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Int8 && b.Kind() != types.Uint8
}
