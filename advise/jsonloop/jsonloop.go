// Package jsonloop is an allocation check: see Check.
package jsonloop

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags json.Marshal of messages that are written or handed on.
var Check = check.New(check.Check{
	Name:     "jsonloop",
	Exercise: 11,
	Severity: check.Hint,
	Doc: `json.Marshal in a loop whose results are written to one place

Each call allocates its result. A json.Encoder made before the loop writes from a buffer
that it keeps; it ends each value with a newline. Single messages that are only written, and
bodies that are read whole to be decoded, are flagged as well, and so are encoders and decoders made for one message,
messages that are marshalled to be handed on or added to, or returned to callers of the package that only read them, what
hot code decodes or decodes into untyped maps, and MarshalJSON methods that call Marshal, for the whole or for parts.`,
	When:     "messages are large or many. The gain is small since Go keeps encoder states in a pool; generated code gains more.",
	WhenNot:  "results that are kept, or returned to other callers that are not hot; start-up code and error paths.",
	Measured: "1.07 to 1.2 times the time, one allocation a message (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	marshals := func(cur inspector.Cursor, call *ast.CallExpr, name string) {
		assign, ok := cur.Parent().Node().(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 2 {
			if decl := check.FuncDecl(cur); p.HeatAt(cur) == check.Hot && (decl == nil || decl.Name.Name != "MarshalJSON") {
				p.Needs(check.Interface, !p.FreeAround(cur)).Hint(call, p.HeatAt(cur), walks(name))
			}
			return
		}
		loop := p.Loop(cur)
		v := p.Var(assign.Lhs[0])
		switch {
		case !p.Local(v):
		case grows(p, v):
			p.Hint(call, p.HeatAt(cur), "the result of json."+name+" is copied to be added to; a json.Encoder ends each value with a newline, and writes to a buffer that can be used again")
		case !written(p, v, loop):
			if p.VarUse(v)&check.Keeps == 0 && (loop == nil || !written(p, v, nil)) || returned(p, v) && (p.HeatAt(cur) == check.Hot || passing(p, cur)) || nested(p, cur, call) {
				p.Hint(call, p.HeatAt(cur), walks(name))
			}
		case loop != nil:
			p.Report(call, p.HeatAt(cur), "json."+name+" allocates a result for each message; a json.Encoder made before the loop writes to the same place from one buffer")
		default:
			p.Report(call, p.HeatAt(cur), "json."+name+" allocates a result that is only written; a json.Encoder writes it from a buffer that package json keeps")
		}
	}
	for _, path := range packages {
		p.Calls(path, []string{"Marshal", "MarshalIndent"}, marshals)
	}
	p.Calls("encoding/json", []string{"Unmarshal"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		if whole(p, call.Args[0]) {
			p.Report(call, min(p.HeatAt(cur), check.Warm), "all is read before it is decoded; a json.Decoder decodes from the reader, with a buffer of the size of one value")
		} else if untyped(p.TypeOf(call.Args[1])) {
			p.Needs(check.Interface, handedOn(p, call.Args[1])).Hint(call, p.HeatAt(cur), "json.Unmarshal allocates each key and value of an untyped target, and boxes the values; a struct of what is wanted, or a parser that gives the parts, needs less")
		} else if p.HeatAt(cur) == check.Hot {
			p.Needs(check.Interface, true).Hint(call, p.HeatAt(cur), "json.Unmarshal goes over each message twice, the second time by reflection; generated code, or a type of its own in the place of a map, needs less")
		}
	})
	p.Calls("encoding/json", []string{"NewEncoder", "NewDecoder"}, func(cur inspector.Cursor, call *ast.CallExpr, name string) {
		_, bytes := p.IsCall(call.Args[0], "bytes", "NewReader", "NewBuffer", "NewBufferString")
		_, text := p.IsCall(call.Args[0], "strings", "NewReader")
		if (bytes || text) && name == "NewDecoder" {
			if !onlyDecodes(p, cur) {
				return
			}
			p.Hint(call, p.HeatAt(cur), "a json.Decoder copies the bytes into a buffer of its own; json.Unmarshal reads them where they are")
		} else if name == "NewEncoder" && fresh(p, call.Args[0]) {
			p.Hint(call, p.HeatAt(cur), "the encoder and its buffer are allocated for each message; keep both together in a sync.Pool")
		} else if sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr); ok && used(cur) && p.Info.Selections[sel] != nil && p.Var(sel.X) != nil {
			p.Hint(call, p.HeatAt(cur), "json."+name+" allocates for each message; make it once, and keep it beside "+types.ExprString(sel))
		} else if loop := p.Loop(cur); loop != nil {
			if v := p.Var(call.Args[0]); v != nil && v.Pos() < loop.Pos() {
				p.Hint(call, p.HeatAt(cur), "json."+name+" allocates for each message; make it once, before the loop")
			}
		}
	})
	direct(p)
}

// onlyDecodes reports whether nothing is done with the decoder that is made at cur but to
// decode once: json.Unmarshal has no options, and takes one value.
func onlyDecodes(p *check.Pass, cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || !p.Local(p.Var(assign.Lhs[0])) {
		return true
	}
	decodes := 0
	for _, use := range p.Uses(p.Var(assign.Lhs[0])) {
		if sel, ok := use.Parent().Node().(*ast.SelectorExpr); ok {
			if sel.Sel.Name != "Decode" {
				return false
			}
			decodes++
		}
	}
	return decodes <= 1
}

// packages are those whose Marshal is as that of encoding/json.
var packages = []string{"encoding/json", "encoding/json/v2", "github.com/go-json-experiment/json", "github.com/goccy/go-json", "github.com/json-iterator/go", "github.com/segmentio/encoding/json", "github.com/bytedance/sonic"}

func walks(name string) string {
	return "json." + name + " allocates a result for each message, and walks the value by reflection; a json.Encoder to a buffer that is used again, or generated code, needs less"
}

// returned reports whether v is among what a return gives back.
func returned(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		if _, ok := use.Parent().Node().(*ast.ReturnStmt); ok {
			return true
		}
	}
	return false
}

// passing reports whether all calls of the function around cur, which the
// package may change, only read what it returns.
func passing(p *check.Pass, cur inspector.Cursor) bool {
	decl := check.FuncDecl(cur)
	if decl == nil || !p.FreeAround(cur) {
		return false
	}
	calls := 0
	for _, use := range p.Uses(p.Info.Defs[decl.Name]) {
		called := use.Parent()
		if _, ok := called.Node().(*ast.SelectorExpr); ok {
			called = called.Parent()
		}
		if _, ok := called.Node().(*ast.CallExpr); !ok {
			return false
		}
		keeps := p.ExprUse(called)
		if assign, ok := called.Parent().Node().(*ast.AssignStmt); ok {
			v := p.Var(assign.Lhs[0])
			if !p.Local(v) {
				return false
			}
			keeps = p.VarUse(v)
		}
		if keeps&check.Keeps != 0 {
			return false
		}
		calls++
	}
	return calls > 0
}

// nested reports whether call marshals a part of what its function, a MarshalJSON
// method, marshals once more as a whole.
func nested(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) bool {
	f, _ := check.Func(cur)
	decl, ok := f.Node().(*ast.FuncDecl)
	if !ok || decl.Recv == nil || decl.Name.Name != "MarshalJSON" {
		return false
	}
	for at := range f.Preorder((*ast.ReturnStmt)(nil)) {
		if ret := at.Node().(*ast.ReturnStmt); len(ret.Results) == 1 && !check.Within(call, ret) {
			for _, path := range packages {
				if _, ok := p.IsCall(ret.Results[0], path, "Marshal"); ok {
					return true
				}
			}
		}
	}
	return false
}

// fresh reports whether e is a buffer of this function alone.
func fresh(p *check.Pass, e ast.Expr) bool {
	if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok {
		e = u.X
	}
	v := p.Var(e)
	if !p.Local(v) || !check.IsNamed(v.Type(), "bytes", "Buffer") && !check.IsNamed(v.Type(), "strings", "Builder") {
		return false
	}
	for _, use := range p.Uses(v) { // one that a pool or a caller gave is there already
		if sel, ok := use.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel.Name == "Reset" {
			return false
		}
	}
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.ValueSpec:
			if p.Info.Defs[n.Names[0]] == v {
				return true
			}
		case *ast.AssignStmt:
			if p.Var(n.Lhs[0]) != v {
				continue
			}
			switch rhs := n.Rhs[0].(type) {
			case *ast.UnaryExpr, *ast.CompositeLit:
				return true
			case *ast.CallExpr:
				_, made := p.IsCall(rhs, "bytes", "NewBuffer", "NewBufferString")
				return made || p.Builtin(rhs) == "new"
			}
		}
	}
	return false
}

// used reports whether a method of what the call at cur makes is called at once,
// so that nothing keeps it.
func used(cur inspector.Cursor) bool {
	_, ok := cur.Parent().Node().(*ast.SelectorExpr)
	return ok
}

// untyped reports whether t points to an interface without methods, or to a map
// of those.
func untyped(t types.Type) bool {
	ptr, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	elem := ptr.Elem().Underlying()
	if m, ok := elem.(*types.Map); ok {
		elem = m.Elem().Underlying()
	}
	iface, ok := elem.(*types.Interface)
	return ok && iface.Empty()
}

// handedOn reports whether what target points to goes further than this
// function, or was there before, so that others know it as it is.
func handedOn(p *check.Pass, target ast.Expr) bool {
	u, ok := ast.Unparen(target).(*ast.UnaryExpr)
	if !ok {
		return true
	}
	v := p.Var(u.X)
	if !p.Local(v) {
		return true
	}
	for _, use := range p.Uses(v) {
		switch n := use.Parent().Node().(type) {
		case *ast.IndexExpr, *ast.TypeAssertExpr, *ast.BinaryExpr:
		case *ast.RangeStmt:
		case *ast.UnaryExpr:
			if n != u {
				return true
			}
		case *ast.CallExpr:
			if b := p.Builtin(n); b != "len" && b != "delete" {
				return true
			}
		case *ast.AssignStmt:
			if slices.Contains(n.Rhs, use.Node().(ast.Expr)) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// grows reports whether anything is appended to v.
func grows(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if ok && p.Builtin(call) == "append" && call.Args[0] == use.Node() {
			return true
		}
	}
	return false
}

// direct reports json.Marshal in a MarshalJSON method, whose result is copied
// and checked once more by what called it.
func direct(p *check.Pass) {
	p.Calls("encoding/json", []string{"Marshal"}, func(cur inspector.Cursor, call *ast.CallExpr, _ string) {
		decl := check.FuncDecl(cur)
		_, ok := cur.Parent().Node().(*ast.ReturnStmt)
		if assign, held := cur.Parent().Node().(*ast.AssignStmt); held && !ok {
			v := p.Var(assign.Lhs[0])
			ok = v != nil && returned(p, v)
		}
		if ok && decl != nil && decl.Recv != nil && decl.Name.Name == "MarshalJSON" {
			p.Hint(call, p.HeatAt(cur), "the result of json.Marshal in MarshalJSON is checked and copied again; append the text itself, or give the type fields that need no method")
		}
	})
}

// whole reports whether e is a variable that holds what io.ReadAll read, and
// that nothing else asks for.
func whole(p *check.Pass, e ast.Expr) bool {
	v := p.Var(e)
	if !p.Local(v) {
		return false
	}
	from := false
	for _, use := range p.Uses(v) {
		if _, ok := use.Parent().Node().(*ast.AssignStmt); !ok && use.Node() != ast.Unparen(e) {
			return false
		}
	}
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		assign := cur.Node().(*ast.AssignStmt)
		if len(assign.Rhs) != 1 || p.Var(assign.Lhs[0]) != v {
			continue
		}
		_, now := p.IsCall(assign.Rhs[0], "io", "ReadAll")
		_, once := p.IsCall(assign.Rhs[0], "io/ioutil", "ReadAll")
		from = now || once
	}
	return from
}

// written reports whether v is used for nothing but Write calls of something
// that is there before the loop.
func written(p *check.Pass, v *types.Var, loop ast.Stmt) bool {
	writes := false
	for _, use := range p.Uses(v) {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if !ok {
			if assign, ok := use.Parent().Node().(*ast.AssignStmt); ok && assign.Lhs[0] == use.Node() {
				continue
			}
			return false
		}
		if b := p.Builtin(call); b == "len" {
			continue
		}
		if p.Info.Types[call.Fun].IsType() && loop == nil {
			writes = true // as a string
			continue
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Write" {
			return false
		}
		if w := p.Var(sel.X); w != nil && loop != nil && w.Pos() >= loop.Pos() && w.Pos() < loop.End() {
			return false
		}
		writes = true
	}
	return writes
}
