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

// small is the size up to which a pool costs more than the allocation.
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
			p.Report(id, "a bytes.Buffer for each call allocates and grows again; append to a slice of the caller, or "+
				"take the buffer from a pool")
		}
	}
}

// fresh reports whether v is declared as an empty buffer of its own.
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

// ends reports whether v is filled and goes nowhere but into calls, and whether
// it is returned itself.
func ends(p *check.Pass, v *types.Var) (local, handedOut bool) {
	for _, use := range p.Uses(v) {
		at := use
		if u, ok := at.Parent().Node().(*ast.UnaryExpr); ok && u.Op == token.AND {
			at = at.Parent()
		}
		switch parent := at.Parent().Node().(type) {
		case *ast.SelectorExpr:
			if !slices.Contains([]string{"Bytes", "String", "Reset"}, parent.Sel.Name) {
				local = true
			}
		case *ast.CallExpr:
			local = true
		case *ast.ReturnStmt:
			handedOut = true
		case *ast.AssignStmt:
			if sel, ok := parent.Lhs[0].(*ast.SelectorExpr); !ok || len(parent.Lhs) != 1 || !stays(p, p.Var(sel.X)) {
				return false, false
			}
			local = true // in something that stays here, too
		case *ast.KeyValueExpr:
			if parent.Value != at.Node() || !heldHere(p, at.Parent().Parent()) {
				return false, false
			}
			local = true
		case *ast.CompositeLit:
			if !heldHere(p, at.Parent()) {
				return false, false
			}
			local = true
		default:
			return false, false
		}
	}
	return local, handedOut
}

// heldHere reports whether the literal at cur, or its address, is what a local
// variable of which only fields and methods are asked for begins with.
func heldHere(p *check.Pass, cur inspector.Cursor) bool {
	lit, ok := cur.Node().(*ast.CompositeLit)
	if !ok {
		return false
	}
	if _, isStruct := p.TypeOf(lit).Underlying().(*types.Struct); !isStruct {
		return false
	}
	e := cur.Node().(ast.Expr)
	if u, ok := cur.Parent().Node().(*ast.UnaryExpr); ok && u.Op == token.AND {
		cur, e = cur.Parent(), u
	}
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	return ok && assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && assign.Rhs[0] == e && stays(p, p.Var(assign.Lhs[0]))
}

// stays reports whether v is a local variable of which only fields and methods
// are asked for.
func stays(p *check.Pass, v *types.Var) bool {
	return p.Local(v) && !slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
		_, selects := use.Parent().Node().(*ast.SelectorExpr)
		return !selects
	})
}

// size is how much is written to v where all writes are of known size, at most
// once each; otherwise a large number.
func size(p *check.Pass, v *types.Var) int64 {
	const large = 1 << 30
	sum := int64(0)
	for _, use := range p.Uses(v) {
		if p.Loop(use) != nil {
			return large
		}
		sel, ok := use.Parent().Node().(*ast.SelectorExpr)
		if !ok {
			return large
		}
		call, ok := use.Parent().Parent().Node().(*ast.CallExpr)
		if !ok {
			return large
		}
		switch sel.Sel.Name {
		case "WriteByte":
			sum++
		case "WriteRune":
			sum += 4
		case "WriteString":
			value := p.Info.Types[call.Args[0]].Value
			if value == nil || value.Kind() != constant.String {
				return large
			}
			sum += int64(len(constant.StringVal(value)))
		case "Bytes", "String", "Len":
		case "Grow":
			n, ok := constant.Int64Val(constant.ToInt(p.Info.Types[call.Args[0]].Value))
			if !ok {
				return large
			}
			return n
		default:
			return large
		}
	}
	return sum
}
