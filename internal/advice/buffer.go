package advice

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// buffer judges what a bytes.Buffer or strings.Builder of the function makes.
func (k *subject) buffer() {
	var call *ssa.Call
	if k.s != nil {
		call, _ = k.s.Instr.(*ssa.Call)
	}
	if call == nil || call.Call.IsInvoke() || len(call.Call.Args) == 0 {
		return
	}
	lib, name, _ := strings.Cut(k.e.Callee, ".")
	if lib != "strings" && lib != "bytes" {
		return
	}
	switch m := k.mender(); {
	case m == nil:
	case k.e.Callee == "bytes.Buffer.String":
		used := life.UsedAs(call.Call.Args[0])
		if !slices.ContainsFunc(used, func(name string) bool { return !slices.Contains(buffered, name) }) {
			k.propose((*mender).built, "bufferpercall", "let the buffer be a strings.Builder: its String copies nothing")
		}
	case k.e.Callee == "strings.SplitN" && m.has("go1.18") && life.OnlyRead(call, true) && halves(call.Call.Args):
		k.change("resultslice", "its parts are only read by number: strings.Cut gives them without a list")
	case name == "Split" && m.has("go1.24") && life.OnlyRead(call, false):
		k.change("resultslice", "its parts are only read in turn: %s.SplitSeq gives them without a list", lib)
	case strings.HasPrefix(name, "Builder.Write"), strings.HasPrefix(name, "Buffer.Write"):
		if room := m.room(); room != "" {
			grown := func(m *mender) bool { m.put(m.loop().Pos(), m.loop().Pos(), room+"\n"); return true }
			k.propose(grown, "bufferpercall", "grow it once, before the loop: %s", room)
		}
	}
}

// halves reports whether SplitN cuts once, at what is there.
func halves(args []ssa.Value) bool {
	sep, fixed := args[1].(*ssa.Const)
	n, number := args[2].(*ssa.Const)
	return fixed && number && constant.StringVal(sep.Value) != "" && n.Int64() == 2
}

// buffered are methods that a strings.Builder has as a bytes.Buffer has them.
var buffered = []string{"Write", "WriteString", "WriteByte", "WriteRune", "Len", "Grow", "String"}

// built lets the buffer of a text be a strings.Builder.
func (m *mender) built() bool {
	buf := m.s.Instr.(*ssa.Call).Call.Args[0]
	path, _ := astutil.PathEnclosingInterval(m.file, buf.Pos(), buf.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok })
	name, edits, ok := check.Import(m.p.Pkg, m.file, m.s.Pos(), "strings")
	if i < 0 || !ok {
		return false
	}
	for _, e := range edits {
		m.put(e.Pos, e.End, string(e.NewText))
	}
	found := 0
	for n := range ast.Preorder(path[i]) {
		sel, ok := n.(*ast.SelectorExpr)
		if ok && m.p.Info.Types[sel].IsType() && check.IsNamed(m.p.Info.TypeOf(sel), "bytes", "Buffer") {
			m.put(n.Pos(), n.End(), name+".Builder")
			found++
		}
	}
	return found == 1
}

// room is the call that grows a buffer which the rounds of a loop write to, before the loop; "" where their number is
// not known, or nothing grew.
func (m *mender) room() string {
	call, ok := m.s.Node.(*ast.CallExpr)
	stmt := m.loop()
	if !ok || stmt == nil || 10*m.t.regrown().Objects < m.t.Objects {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	grown := func(use ssa.Instruction) bool {
		c, ok := use.(*ssa.Call)
		return ok && c.Call.StaticCallee() != nil && c.Call.StaticCallee().Name() == "Grow"
	}
	buf, local := m.s.Instr.(*ssa.Call).Call.Args[0].(*ssa.Alloc)
	v, _ := m.p.Info.Uses[id].(*types.Var)
	if !ok || !local || v == nil || check.DeclaredIn(v, stmt) || slices.ContainsFunc(*buf.Referrers(), grown) {
		return ""
	}
	n := m.rounds(stmt)
	if !strings.HasPrefix(n, "len(") || strings.ContainsAny(n, "-/%") {
		return ""
	}
	return id.Name + ".Grow(" + n + ")"
}
