package resultslice

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// depth is how many calls deep builds looks.
const depth = 3

// A level says which values of a variable count as memory of its own.
type level int

const (
	appended level = iota // literals, make, and what is appended to it
	returned              // the results of other functions, too
)

// builds reports whether fn returns, first of all, a slice that it made in a
// local variable, or that a function which it calls made.
func builds(p *check.Pass, fn *types.Func) bool { return grown(p, fn, returned) }

func grown(p *check.Pass, fn *types.Func, l level) bool { return buildsBelow(p, fn, l, depth) }

func buildsBelow(p *check.Pass, fn *types.Func, l level, depth int) bool {
	cur, decl := p.Decl(fn)
	if depth == 0 {
		return false
	}
	if decl == nil {
		return l == returned && implemented(p, fn, depth)
	}
	found := false
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(at); f.Node() != decl {
			continue
		}
		var v *types.Var
		if len(ret.Results) > 0 {
			v = p.Var(ret.Results[0])
			if call, ok := ret.Results[0].(*ast.CallExpr); ok && l == returned && p.Builtin(call) == "append" {
				if v = p.Var(call.Args[0]); p.Local(v) && !parameter(fn, v) && slice(v.Type()) && owned(p, cur, v, depth) {
					found = true
				}
				v = nil
			}
			found = found || l == returned && (makes(p, ret.Results[0], depth-1) || direct(p, ret.Results[0]))
		} else if results := fn.Origin().Signature().Results(); results.Len() > 0 {
			v = results.At(0) // a named one
		}
		found = found || v != nil && slice(v.Type()) && p.Local(v) && !parameter(fn, v) && grows(p, cur, v, l, depth)
	}
	return found
}

// implemented reports whether fn is a method of an interface of which a type
// of this package has one that builds its result.
func implemented(p *check.Pass, fn *types.Func, depth int) bool {
	if fn == nil || fn.Signature().Recv() == nil || !types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	iface, ok := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	scope := p.Code.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(tn.Type()) || !types.Implements(types.NewPointer(tn.Type()), iface) {
			continue
		}
		m, _, _ := types.LookupFieldOrMethod(types.NewPointer(tn.Type()), true, p.Code.Pkg, fn.Name())
		if m, ok := m.(*types.Func); ok && m != fn && buildsBelow(p, m, returned, depth-1) {
			return true
		}
	}
	return false
}

// makes reports whether e is a call that allocates the slice that it returns.
func makes(p *check.Pass, e ast.Expr, depth int) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || p.Builtin(call) != "" {
		return false
	}
	fn := p.Callee(call)
	if fn == nil || !slice(p.TypeOf(call)) {
		return false
	}
	return library(fn) != "" || buildsBelow(p, fn, returned, depth)
}

// direct reports whether e, which is returned, allocates a slice where it
// stands: an append to nothing, a copy of a text, or a literal of values that
// differ from call to call.
func direct(p *check.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		if !slice(p.TypeOf(e)) {
			return false
		}
		for _, elt := range e.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			if !p.IsConst(elt) {
				return true
			}
		}
	case *ast.CallExpr:
		if p.Builtin(e) == "append" {
			return empty(p, e.Args[0])
		}
		b, ok := p.Conversion(e, slice)
		return ok && check.IsString(p.TypeOf(b)) && !p.IsConst(b)
	case *ast.SliceExpr: // of an array of this function
		_, array := p.TypeOf(e.X).Underlying().(*types.Array)
		return array && p.Local(p.Var(e.X))
	}
	return false
}

func parameter(fn *types.Func, v *types.Var) bool {
	for param := range fn.Origin().Signature().Params().Variables() {
		if param == v {
			return true
		}
	}
	return false
}

// grows reports whether all that v is ever set to is memory of its own, and
// that it holds something in the end: it is appended to, or made and filled.
func grows(p *check.Pass, decl inspector.Cursor, v *types.Var, l level, depth int) bool {
	own, filled := memory(p, decl, v, l, depth)
	return own && filled
}

// owned is grows for what is appended to when it is returned.
func owned(p *check.Pass, decl inspector.Cursor, v *types.Var, depth int) bool {
	own, _ := memory(p, decl, v, returned, depth)
	return own
}

// memory reports whether all that v is ever set to is memory of its own, and
// whether something is put there.
func memory(p *check.Pass, decl inspector.Cursor, v *types.Var, l level, depth int) (own, filled bool) {
	filled = l == returned && handedOut(p, decl, v)
	for cur := range decl.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil)) {
		var lhs, rhs []ast.Expr
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			lhs, rhs = n.Lhs, n.Rhs
		case *ast.ValueSpec:
			for _, name := range n.Names {
				lhs = append(lhs, name)
			}
			rhs = n.Values
		}
		for i, e := range lhs {
			if index, ok := e.(*ast.IndexExpr); ok && p.Var(index.X) == v {
				filled = true
			}
			if p.Var(e) != v || len(rhs) == 0 {
				continue
			}
			if len(lhs) != len(rhs) {
				if l != returned || i > 0 || len(rhs) != 1 {
					return false, false
				}
			}
			fits, more := fresh(p, rhs[min(i, len(rhs)-1)], v, l, depth)
			if !fits {
				return false, false
			}
			filled = filled || more
		}
	}
	return true, filled
}

// handedOut reports whether v, or a part of it, is an argument of a call that
// may fill it, as copy and io.ReadFull do.
func handedOut(p *check.Pass, decl inspector.Cursor, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		at := use
		if _, ok := at.Parent().Node().(*ast.SliceExpr); ok {
			at = at.Parent()
		}
		call, ok := at.Parent().Node().(*ast.CallExpr)
		if !ok || call.Fun == at.Node() || !check.Within(use.Node(), decl.Node()) {
			continue
		}
		if b := p.Builtin(call); b == "copy" && call.Args[0] == at.Node() || b == "" && !p.Info.Types[call.Fun].IsType() {
			return true
		}
	}
	return false
}

// fresh reports whether the value e for v is memory of its own, and whether
// something is in it that was not there before.
func fresh(p *check.Pass, e ast.Expr, v *types.Var, l level, depth int) (own, filled bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true, false
	case *ast.SliceExpr:
		return p.Var(e.X) == v, false
	case *ast.Ident:
		return p.Info.Types[e].IsNil(), false
	case *ast.CallExpr:
		switch p.Builtin(e) {
		case "make":
			return true, false
		case "append":
			return p.Var(e.Args[0]) == v || empty(p, e.Args[0]), true
		case "":
		default:
			return false, false
		}
		if l != returned {
			return false, false
		}
		if fn := p.Callee(e); fn != nil && len(e.Args) > 0 && (p.Var(e.Args[0]) == v || p.Info.Types[e.Args[0]].IsNil()) && appends(fn) {
			return true, true
		}
		if b, ok := p.Conversion(e, slice); ok {
			return check.IsString(p.TypeOf(b)), true
		}
		call := tupleFirst(p, e)
		return call != nil && (library(call) != "" || buildsBelow(p, call, l, depth-1)), true
	}
	return false, false
}

// tupleFirst returns the callee of call where its first result is a slice.
func tupleFirst(p *check.Pass, call *ast.CallExpr) *types.Func {
	fn := p.Callee(call)
	if fn == nil || fn.Signature().Results().Len() == 0 || !slice(fn.Signature().Results().At(0).Type()) {
		return nil
	}
	return fn
}

// appends reports whether fn returns a slice of the type of its first
// argument, as functions do that append to it.
func appends(fn *types.Func) bool {
	sig := fn.Signature()
	return sig.Params().Len() > 0 && sig.Results().Len() > 0 && slice(sig.Results().At(0).Type()) &&
		types.Identical(sig.Params().At(0).Type(), sig.Results().At(0).Type())
}

// buildsText reports whether fn returns, first of all, a string that it builds.
func buildsText(p *check.Pass, fn *types.Func) bool {
	cur, decl := p.Decl(fn)
	if decl == nil || fn.Name() == "String" {
		return false
	}
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(at); f.Node() != decl || len(ret.Results) == 0 || p.IsConst(ret.Results[0]) {
			continue
		}
		switch e := ast.Unparen(ret.Results[0]).(type) {
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				return true
			}
		case *ast.CallExpr:
			if b, ok := p.Conversion(e, check.IsString); ok && slice(p.TypeOf(b)) {
				return true
			}
			for path, names := range texts {
				if _, ok := p.IsCall(e, path, names...); ok {
					return true
				}
			}
		}
	}
	return false
}

var texts = map[string][]string{
	"fmt": {"Sprint", "Sprintf", "Sprintln"}, "strings": {"Builder.String", "Join", "Repeat"}, "bytes": {"Buffer.String"},
	"encoding/hex": {"EncodeToString"}, "encoding/base64": {"Encoding.EncodeToString"},
}

// library returns what to use in the place of a function of the standard
// library that allocates the slice that it returns; "" for others.
func library(fn *types.Func) string {
	if fn.Pkg() == nil {
		return ""
	}
	return remedies[fn.Pkg().Path()+"."+check.FuncName(fn)]
}

var remedies = func() map[string]string {
	m := map[string]string{}
	for remedy, names := range map[string]string{
		"SplitSeq and FieldsSeq, from Go 1.24, or Cut and IndexByte need none":                       "strings.Split strings.SplitN strings.SplitAfter strings.Fields strings.FieldsFunc bytes.Split bytes.SplitN bytes.Fields bytes.FieldsFunc",
		"append to a slice that is used again":                                                       "bytes.Join bytes.Repeat bytes.ReplaceAll bytes.ToLower bytes.ToUpper bytes.Clone slices.Clone slices.Concat",
		"FindIndex and its like say where the match is, without copies":                              "regexp.Regexp.FindStringSubmatch regexp.Regexp.FindSubmatch regexp.Regexp.FindAllString regexp.Regexp.FindAllStringSubmatch regexp.Regexp.FindAll regexp.Regexp.FindAllSubmatch",
		"AppendDecode appends to a slice that is used again":                                         "encoding/hex.DecodeString encoding/base64.Encoding.DecodeString",
		"AppendTo or AppendText appends to a slice that is used again":                               "net/netip.Addr.MarshalText net/netip.AddrPort.MarshalText net/netip.Prefix.MarshalText time.Time.MarshalText",
		"read into a buffer that is used again, or decode as it comes":                               "io.ReadAll io/ioutil.ReadAll",
		"range over the sequence itself, or append to a slice that is used again (slices.AppendSeq)": "slices.Collect slices.Sorted slices.SortedFunc",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = remedy
		}
	}
	return m
}()

// made is how functions are named that allocate what they return.
var made = []string{"All", "Clone", "Collect", "Compress", "Copy", "Decode", "Decompress", "Encode", "Fields", "Filter", "Format", "Lines", "List", "Map", "Marshal", "Parse", "Read", "Serialize", "Split", "To"}

// lists is how the names of functions end that list what they hold.
var lists = []string{"Keys", "Values", "Entries", "Elements", "Items", "List", "Slice", "Snapshot", "Sorted", "Bytes", "Copy"}

// gives returns what to use in the place of fn where it is not declared in
// this package and, by its name, allocates the slice that it returns. That
// speaks only where it is called again and again.
func gives(p *check.Pass, cur inspector.Cursor, fn *types.Func) string {
	switch cur.Parent().Node().(type) {
	case *ast.RangeStmt, *ast.IndexExpr:
	default:
		if p.Loop(cur) == nil {
			return ""
		}
	}
	if remedy := library(fn); remedy != "" {
		return remedy
	}
	if _, decl := p.Decl(fn); decl != nil || check.Standard(fn) || appends(fn) {
		return ""
	}
	if _, over := cur.Parent().Node().(*ast.RangeStmt); over && check.External(fn, p.Code.Pkg) {
		return "where it does not only hand out what it holds, look for an iterator, or a variant that appends to a slice that is used again"
	}
	for _, name := range lists {
		if strings.HasSuffix(fn.Name(), name) && fn.Signature().Results().Len() > 0 && slice(fn.Signature().Results().At(0).Type()) {
			return "where it does not only hand out what it holds, look for an iterator, or a variant that appends to a slice that is used again"
		}
	}
	for _, name := range made {
		if strings.HasPrefix(fn.Name(), name) {
			return "look for a variant that appends to a slice that is used again"
		}
	}
	return ""
}
