package bufferpercall

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// buffered are the functions that allocate something with a buffer of its own,
// and that has a Reset for the next use.
var buffered = map[string][]string{
	"bufio":          {"NewReader", "NewReaderSize", "NewWriter", "NewWriterSize"},
	"compress/gzip":  {"NewReader", "NewWriter", "NewWriterLevel"},
	"compress/flate": {"NewReader", "NewWriter"},
	"compress/zlib":  {"NewReader", "NewWriter", "NewWriterLevel"},
}

// scratch reports slices made in the call that nothing keeps, and readers and
// writers with a buffer that are made for the call. They are hints: how large
// they are, and how often they are made, a profile knows.
func scratch(p *check.Pass, cur inspector.Cursor) {
	call := cur.Node().(*ast.CallExpr)
	heat := min(p.HeatAt(cur), check.Warm)
	if heat == check.Cold {
		return
	}
	for path, names := range buffered {
		if _, ok := p.IsCall(call, path, names...); ok && !kept(p, cur) {
			p.Report(call, heat, p.Callee(call).FullName()+" allocates a buffer in each call, and nothing keeps it; take it from a pool, and Reset it")
			return
		}
	}
	if unknown(p, call) && stays(p, p.Var(holder(cur))) {
		p.Report(call, heat, types.ExprString(call.Fun)+" allocates its tables and buffers in each call, and nothing keeps it; take it from a pool, and Reset it")
		return
	}
	if resets(p, call) && !kept(p, cur) {
		p.Needs(check.Interface, keyed(p, call)).Report(call, heat, p.Callee(call).FullName()+" allocates in each call what has a Reset, and nothing keeps it; take it from a pool, or hold it between the calls")
		return
	}
	if p.Builtin(call) != "make" || !slice(p.TypeOf(call)) {
		return
	}
	v := p.Var(holder(cur))
	outer, argument := cur.Parent().Node().(*ast.CallExpr)
	if v == nil && argument && !empty(p, outer) && bytesOf(p, call) >= small && p.ExprUse(cur)&(check.Keeps|check.Hands) == check.Hands {
		p.Report(call, heat, "a slice is made for each call, and what it is handed to keeps it nowhere, as far as this package shows; take it from a pool, or hold it between the calls")
		return
	}
	if !p.Local(v) {
		return
	}
	use := p.VarUse(v)
	if use&check.Keeps != 0 || use&check.Hands == 0 && constantSize(p, call) && !escapes(p, v) || bytesOf(p, call) < small {
		return
	}
	p.Report(call, heat, v.Name()+" is made anew in each call, and nothing keeps it, as far as this package shows; take it from a pool, or hold it between the calls")
}

// unknown reports whether call makes a compressor of a package of which nothing
// but the path is known.
func unknown(p *check.Pass, call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || p.Callee(call) != nil || !strings.HasPrefix(sel.Sel.Name, "NewReader") && !strings.HasPrefix(sel.Sel.Name, "NewWriter") {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	pkg, ok := p.Info.Uses[id].(*types.PkgName)
	return ok && compressors.MatchString(pkg.Imported().Path())
}

// compressors is how packages are named that compress.
var compressors = regexp.MustCompile(`compress|zstd|gzip|lz4|snappy|brotli|flate`)

// resets reports whether call makes something that has a method Reset or Clear:
// a hash, a compressor, an encoder.
func resets(p *check.Pass, call *ast.CallExpr) bool {
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Results().Len() == 0 || !strings.HasPrefix(fn.Name(), "New") || fn.Pkg().Path() == "time" || fn.Pkg().Path() == "bytes" || fn.Pkg().Path() == "strings" {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(fn.Signature().Results().At(0).Type(), true, p.Code.Pkg, "Reset")
	_, ok := obj.(*types.Func)
	return ok
}

// keyed reports whether call makes a hash of a key that may be another in each call: one
// to be used again would have to be kept by the key.
func keyed(p *check.Pass, call *ast.CallExpr) bool {
	if _, ok := p.IsCall(call, "crypto/hmac", "New"); !ok {
		return false
	}
	v := p.Var(call.Args[1])
	return p.Local(v)
}

// grown reports a slice of bytes that begins as nil in each call, is appended
// to, and is not kept.
func grown(p *check.Pass, cur inspector.Cursor) {
	spec := cur.Node().(*ast.ValueSpec)
	if len(spec.Names) != 1 || len(spec.Values) > 0 {
		return
	}
	v, ok := p.Info.Defs[spec.Names[0]].(*types.Var)
	if !ok || !p.Local(v) || !slice(v.Type()) || !appendedTo(p, v) {
		return
	}
	if use := p.VarUse(v); use&check.Keeps == 0 && (use&check.Hands != 0 || !check.IsBytes(v.Type())) {
		p.Report(spec, min(p.HeatAt(cur), check.Warm), v.Name()+" grows anew in each call, and nothing keeps it, as far as this package shows; take it from a pool, or begin with an array on the stack")
	}
}

// appendedTo reports whether v = append(v, …) or v = f(v, …) is anywhere.
func appendedTo(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		assign, ok := use.Parent().Node().(*ast.AssignStmt)
		if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || assign.Lhs[0] != use.Node() {
			continue
		}
		if call, ok := assign.Rhs[0].(*ast.CallExpr); ok && len(call.Args) > 0 && p.Var(call.Args[0]) == v {
			return true
		}
	}
	return false
}

// holder returns what the call at cur is assigned to, or nil.
func holder(cur inspector.Cursor) ast.Expr {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if len(parent.Rhs) == 1 && parent.Tok == token.DEFINE {
			return parent.Lhs[0]
		}
	case *ast.ValueSpec:
		if len(parent.Values) == 1 {
			return parent.Names[0]
		}
	}
	return &ast.BadExpr{}
}

// kept reports whether the function keeps the value of the call at cur.
func kept(p *check.Pass, cur inspector.Cursor) bool {
	if v := p.Var(holder(cur)); v != nil {
		return !p.Local(v) || p.VarUse(v)&check.Keeps != 0
	}
	return p.ExprUse(cur)&check.Keeps != 0
}

func slice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// escapes reports whether v is an argument of a call that the compiler cannot
// look into, such as Read of an interface.
func escapes(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		at := use
		if _, ok := at.Parent().Node().(*ast.SliceExpr); ok {
			at = at.Parent()
		}
		call, ok := at.Parent().Node().(*ast.CallExpr)
		if !ok || p.Builtin(call) != "" || p.Info.Types[call.Fun].IsType() {
			continue
		}
		fn := p.Callee(call)
		if fn == nil || fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()) {
			return true
		}
	}
	return false
}

// constantSize reports whether the size of the slice that call makes is known,
// so that it is on the stack unless something keeps it.
func constantSize(p *check.Pass, call *ast.CallExpr) bool {
	return p.IsConst(call.Args[len(call.Args)-1])
}

// bytesOf is the size of the slice that call makes, or a large number.
func bytesOf(p *check.Pass, call *ast.CallExpr) int64 {
	const large = 1 << 30
	value := p.Info.Types[call.Args[len(call.Args)-1]].Value
	elem := p.TypeOf(call).Underlying().(*types.Slice).Elem()
	if value == nil || value.Kind() != constant.Int || p.TypesSizes == nil || types.Identical(elem, types.Typ[types.Invalid]) {
		return large
	}
	n, ok := constant.Int64Val(value)
	if !ok {
		return large
	}
	if _, isParam := types.Unalias(elem).(*types.TypeParam); isParam {
		return large
	}
	return n * p.TypesSizes.Sizeof(elem)
}
