// Package boxing is an allocation check: see Check.
package boxing

import (
	"go/ast"
	"go/types"

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
likewise, where a pointer to it costs nothing; so do sort.Sort and sort.Slice of a slice, which slices.SortFunc replaces.`,
	When:     "the call is hot and the callee is yours to change.",
	WhenNot:  "functions of other modules are a hint; calls into fmt, log and log/slog, whose output costs more; constants; bytes and booleans; start-up code and error paths.",
	Measured: "type parameters: 2 allocations -> 0; slog with int pairs still boxes, 2 -> 2 (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.ValueSpec)(nil)) {
		declared(p, cur)
	}
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := p.Callee(call)
		if fn == nil || fn.Pkg() == nil {
			continue
		}
		if check.FuncName(fn) == "Pool.Put" && fn.Pkg().Path() == "sync" {
			pool(p, cur, call)
			continue
		}
		if name := check.FuncName(fn); fn.Pkg().Path() == "sort" && (name == "Sort" || name == "Stable") {
			header(p, cur, call.Args[0])
			continue
		}
		if name := fn.Name(); fn.Pkg().Path() == "sort" && (name == "Slice" || name == "SliceStable") {
			p.Report(call.Args[0], min(p.HeatAt(cur), check.Warm), "sort."+name+" boxes the slice and swaps by reflection; slices.SortFunc takes the slice itself")
			continue
		}
		if _, decl := p.Decl(fn); decl == nil && !container(fn) {
			if check.External(fn, p.Code.Pkg) && !fn.Signature().Variadic() {
				if arg := boxed(p, fn, call, wide); arg != nil {
					p.Report(arg, min(p.HeatAt(cur), check.Warm), types.ExprString(arg)+" is boxed to be passed as any to "+fn.FullName()+"; look for a variant with type parameters")
				}
			}
			continue
		}
		if arg := boxed(p, fn, call, number); arg != nil {
			p.Report(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed to be passed as any to "+fn.Name()+"; a type parameter keeps it as it is")
		}
	}
}

// declared reports var x any = n, where n is allocated to be pointed to.
func declared(p *check.Pass, cur inspector.Cursor) {
	spec := cur.Node().(*ast.ValueSpec)
	if spec.Type == nil || len(spec.Values) != 1 {
		return
	}
	iface, ok := p.TypeOf(spec.Type).Underlying().(*types.Interface)
	if ok && iface.Empty() && !p.IsConst(spec.Values[0]) && wide(p.TypeOf(spec.Values[0])) {
		p.Report(spec, min(p.HeatAt(cur), check.Warm), types.ExprString(spec.Values[0])+" is boxed to be held as any; a type parameter keeps it as it is")
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
		p.Report(arg, min(p.HeatAt(cur), check.Warm), "sorting through an interface allocates the slice's header; slices.SortFunc takes the slice itself")
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

// wide reports whether t is a number of more than one byte, an array or a
// struct.
func wide(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return u.Len() > 0
	case *types.Struct:
		return u.NumFields() > 0
	}
	return number(t)
}

// number reports whether t is a number of more than one byte.
func number(t types.Type) bool {
	if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Int8 && b.Kind() != types.Uint8
}
