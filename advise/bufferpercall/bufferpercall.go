// Package bufferpercall is an allocation check: see Check.
package bufferpercall

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags a bytes.Buffer made for each call.
var Check = check.New(check.Check{
	Name:     "bufferpercall",
	Exercise: 6,
	Severity: check.Advice,
	Doc: `a bytes.Buffer made, filled and thrown away in each call

Its memory is allocated and grown again each time. A function that appends to a slice of its caller
allocates nothing; a sync.Pool of buffers costs one copy of the result.`,
	When: "the function is hot and the buffers are of similar size. Where the contents are not returned, or the " +
		"buffer itself is, a profile must say so.",
	WhenNot:  "buffers of less than 64 bytes; buffers that are stored or handed to others; start-up code and error paths.",
	Measured: "691 ns, 4 allocations -> 47 ns, 0 (append to the caller's slice, Go 1.26.8)",
	Run:      run,
})

// small is the size in bytes below which a pool costs more than the allocation.
const small = 64

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		v, ok := p.Info.Defs[id].(*types.Var)
		if !ok || !p.Local(v) || !check.IsNamed(v.Type(), "bytes", "Buffer") || !fresh(p, cur, v) || p.Cold(cur) {
			continue
		}
		local, handedOut := ends(p, v)
		if handedOut {
			if local {
				p.Needs(check.Interface, !p.FreeAround(cur)).Report(id,
					"a bytes.Buffer for each call is allocated and grown for the caller; let the caller give one")
			}
			continue
		}
		if local && size(p, v) >= small {
			remedy := "append to a slice of the caller, or take the buffer from a pool"
			if slices.ContainsFunc(p.Uses(v), lends) {
				remedy += " and copy its Bytes where they outlive the call"
			}
			p.Report(id, "a bytes.Buffer for each call allocates and grows again; "+remedy)
		}
	}
}

// lends reports whether use calls the method Bytes, whose result is the buffer's own memory.
func lends(use inspector.Cursor) bool {
	sel, ok := use.Parent().Node().(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Bytes"
}

// fresh reports whether v is declared as an empty buffer that nobody else has.
func fresh(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	switch decl := cur.Parent().Node().(type) {
	case *ast.ValueSpec:
		_, pointer := v.Type().(*types.Pointer)
		return len(decl.Values) == 0 && !pointer
	case *ast.AssignStmt:
		i := slices.Index(decl.Lhs, cur.Node().(ast.Expr))
		return decl.Tok == token.DEFINE && len(decl.Lhs) == len(decl.Rhs) && empty(p, decl.Rhs[i])
	}
	return false
}

func empty(p *check.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.UnaryExpr:
		return e.Op == token.AND && empty(p, e.X)
	case *ast.CallExpr:
		if p.Builtin(e) == "new" {
			return true
		}
		if _, ok := p.IsCall(e, "bytes", "NewBufferString"); ok {
			return types.ExprString(e.Args[0]) == `""`
		}
		if _, ok := p.IsCall(e, "bytes", "NewBuffer"); !ok {
			return false
		}
		made, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr)
		sized := ok && p.Builtin(made) == "make" && len(made.Args) == 3
		return sized || p.Info.Types[e.Args[0]].IsNil() || empty(p, e.Args[0])
	}
	return false
}

// ends reports whether v is filled and only passed to calls, and whether v itself is returned.
func ends(p *check.Pass, v *types.Var) (local, handedOut bool) {
	for _, use := range p.Uses(v) {
		at := use
		if u, ok := at.Parent().Node().(*ast.UnaryExpr); ok && u.Op == token.AND {
			at = at.Parent()
		}
		_, returned := at.Parent().Node().(*ast.ReturnStmt)
		method, _ := at.Parent().Node().(*ast.SelectorExpr)
		switch {
		case returned:
			handedOut = true
		case method != nil && slices.Contains([]string{"Bytes", "String", "Reset"}, method.Sel.Name):
		case p.ExprUse(at)&check.Keeps != 0 && !stays(p, at):
			return false, false
		default:
			local = true
		}
	}
	return local, handedOut
}

// stays reports whether the value at cur is stored in a field of a local variable that
// is used only to select fields and methods.
func stays(p *check.Pass, cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok {
		return false
	}
	field, ok := assign.Lhs[0].(*ast.SelectorExpr)
	if !ok || len(assign.Lhs) != 1 || !p.Local(p.Var(field.X)) {
		return false
	}
	return !slices.ContainsFunc(p.Uses(p.Var(field.X)), func(use inspector.Cursor) bool {
		_, selects := use.Parent().Node().(*ast.SelectorExpr)
		return !selects
	})
}

// fixed maps methods of a buffer to the number of bytes that they write at most.
var fixed = map[string]int64{"WriteByte": 1, "WriteRune": 4, "Bytes": 0, "String": 0, "Len": 0}

// size returns how many bytes are written to v, or a large number if a write is of
// unknown size or in a loop.
func size(p *check.Pass, v *types.Var) (sum int64) {
	const large = 1 << 30
	for _, use := range p.Uses(v) {
		sel, ok := use.Parent().Node().(*ast.SelectorExpr)
		call, called := use.Parent().Parent().Node().(*ast.CallExpr)
		if !ok || !called || p.Loop(use) != nil {
			return large
		}
		if n, ok := fixed[sel.Sel.Name]; ok {
			sum += n
			continue
		}
		var value constant.Value
		if len(call.Args) == 1 {
			value = p.Info.Types[call.Args[0]].Value
		}
		switch {
		case value == nil:
			return large
		case value.Kind() == constant.String:
			sum += int64(len(constant.StringVal(value)))
		default: // Grow
			n, _ := constant.Int64Val(value)
			sum += n
		}
	}
	return sum
}
