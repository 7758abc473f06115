package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
)

// A handed is a struct that a function makes and returns, and that callers in the package drop: these give it to the
// pool that the function takes it from. Callers that keep it, or that are not seen, leave it to the collector.
type handed struct {
	*mender
	of      string // its type
	value   string
	stmt    ast.Stmt // that makes it,
	name    string   // of its variable; "" where the statement returns it
	drops   []drop
	follows map[*ssa.Function]int // functions that return it, new each time, and as which result
}

// A drop is where a caller gets what it drops.
type drop struct {
	*mender
	stmt ast.Stmt
	v    *types.Var
}

// handed finds the callers that drop what is made; nil where none does.
func (m *mender) handed() *handed {
	fn := m.s.Func
	named, ok := types.Unalias(m.s.Type).(*types.Named)
	if !ok || m.outside() || m.s.Kind != life.Literal && m.s.Kind != life.New || !m.packaged(named) ||
		fn.Object() == nil || fn.Object().Exported() || zeroOf(named) != "{}" {
		return nil
	}
	h := &handed{mender: m, of: m.named(named), value: m.named(named) + "{}", follows: map[*ssa.Function]int{}}
	if lit, ok := m.s.Node.(*ast.CompositeLit); ok {
		h.value = m.text(lit)
	}
	i := slices.IndexFunc(m.path, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok })
	if i < 0 {
		return nil
	}
	switch n := m.path[i].(type) {
	case *ast.AssignStmt:
		id, ok := n.Lhs[0].(*ast.Ident)
		if v, _ := m.p.Info.Defs[id].(*types.Var); ok && len(n.Lhs) == 1 && m.whole(n.Rhs[0]) && v != nil && !m.assigned(v) {
			h.stmt, h.name = n, id.Name
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && m.whole(n.Results[0]) {
			h.stmt = n
		}
	}
	if h.stmt == nil || !m.listed(h.stmt) || !h.follow(fn, m.s.Value) || len(h.drops) == 0 {
		return nil
	}
	return h
}

// follow follows a value that a function returns, and nobody else has, to the callers in the package.
func (h *handed) follow(fn *ssa.Function, v ssa.Value) bool {
	fate := h.p.Fate(v)
	if fate.Started || len(fate.Holders) != 1 || fate.Holders[0].Kind != life.Result || fate.Holders[0].Outer != "" ||
		fate.Holders[0].Inside {
		return false
	}
	n := fate.Holders[0].Index
	if _, again := h.follows[fn]; again || n < 0 {
		return false
	}
	for _, b := range fn.Blocks {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && !h.fresh(ret.Results[n], v) {
			return false
		}
	}
	h.follows[fn] = n
	for _, caller := range h.p.Funcs {
		for _, b := range caller.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && call.Call.StaticCallee() == fn {
					h.called(call, n)
				}
			}
		}
	}
	return true
}

// fresh reports whether a result is nil or the value, and nothing that was there before.
func (h *handed) fresh(result, v ssa.Value) bool {
	if c, ok := result.(*ssa.Const); ok {
		return c.IsNil()
	}
	return result == v
}

// called takes up a call whose result nobody has when its function returns, or follows it further up.
func (h *handed) called(call *ssa.Call, n int) {
	var v ssa.Value = call
	if _, tuple := call.Type().(*types.Tuple); tuple {
		v = nil
		for _, use := range *call.Referrers() {
			if e, ok := use.(*ssa.Extract); ok && e.Index == n {
				v = e
			}
		}
	}
	if v == nil {
		return
	}
	if fate := h.p.Fate(v); !fate.Dies() || fate.Started {
		h.follow(call.Parent(), v)
		return
	}
	for _, f := range h.p.Files {
		if f.FileStart > call.Pos() || call.Pos() >= f.FileEnd || ast.IsGenerated(f) {
			continue
		}
		m := &mender{subject: h.subject, file: f}
		path, _ := astutil.PathEnclosingInterval(f, call.Pos(), call.Pos())
		i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok })
		if i < 0 {
			return
		}
		assign, ok := path[i].(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE || len(assign.Rhs) != 1 || n >= len(assign.Lhs) || !m.listed(assign) ||
			h.p.Loop(call.Block()) != nil {
			return
		}
		made, ok := ast.Unparen(assign.Rhs[0]).(*ast.CallExpr)
		id, named := assign.Lhs[n].(*ast.Ident)
		if local, _ := h.p.Info.Defs[id].(*types.Var); named && ok && made.Lparen == call.Pos() && local != nil &&
			!m.assigned(local) {
			h.drops = append(h.drops, drop{m, assign, local})
		}
	}
}

// write takes the struct from a pool, and gives it back where it is dropped.
func (h *handed) write() bool {
	pool, unnamed := h.free(h.poolName(h.name)), h.name == ""
	name := h.name
	if unnamed {
		name = h.free("made")
	}
	if !h.declarePool(pool, "new("+h.of+")") {
		return false
	}
	text := fmt.Sprintf("%s := %s.Get().(*%s)\n*%s = %s", name, pool, h.of, name, h.value)
	if unnamed {
		text += "\nreturn " + name
	}
	h.put(h.stmt.Pos(), h.stmt.End(), text)
	for _, d := range h.drops {
		h.put(d.stmt.End(), d.stmt.End(), fmt.Sprintf("\ndefer func() {\nif %s != nil {\n*%s = %s{}\n%s.Put(%s)\n}\n}()",
			d.v.Name(), d.v.Name(), h.of, pool, d.v.Name()))
	}
	return true
}
