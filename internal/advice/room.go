package advice

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/life"
	"github.com/isobar-go/isobar/internal/show/text"
)

// What a capacity is chosen by.
const (
	worthObject = 64   // bytes that one object less is worth
	mostRoom    = 4096 // bytes: a list of few elements takes all of them
)

// room proposes a capacity for a slice to begin with, so that it grows less often: the sizes that it has after all
// appends of its function tell which. smaller proposes a second one, where the best takes too many bytes.
func (m *mender) room(smaller bool) {
	if m.growth.Sized || m.p.Sizes == nil || !m.fills() {
		return
	}
	t, list := m.s.Value.Type(), m.text(m.s.Node.(*ast.CallExpr).Args[0])
	of := t.Underlying().(*types.Slice).Elem()
	if life.Parametrized(of) || m.p.Sizes.Sizeof(of) == 0 {
		return
	}
	first, sizes := m.first()
	few, each := m.moved(), m.p.Sizes.Sizeof(of)
	n := bestRoom(sizes, few, each, mostRoom)
	if smaller {
		n = bestRoom(sizes, few, each, n*each-1)
	}
	if n > 1 {
		m.s = first
		m.propose(func(m *mender) bool { return m.begin(n) }, "prealloc", "begin %s with room for %d, just before its first "+
			"element is appended: make(%s, 0, %d)", list, n, named(m.p.Pkg, t), n)
	}
}

// spacious proposes a capacity for a map, wherever the package makes it without one. The sizes it grows to tell how
// much. A program cannot see the capacity of a map.
func (m *mender) spacious() {
	at, _ := m.s.Node.(*ast.IndexExpr)
	group := m.group()
	if at == nil || group == 0 {
		return
	}
	const full, most = 7, 4 * mostRoom // entries of a group's eight before the map grows; bytes
	v, n := m.variable(at.X), full*bestRoom(m.t.sizes, Totals{}, group, most)
	if v != nil && n > full {
		m.propose(func(m *mender) bool { return m.makeRoom(v, n) }, "prealloc", "make %s with room for %d: make(%s, %d), "+
			"if most get so many: each then has %s from the beginning", m.text(at.X), n, named(m.p.Pkg, m.s.Type), n,
			text.Bytes(float64(group*(n+full-1)/full)))
	}
}

// makeRoom adds a capacity wherever the package makes an empty map for a variable or field, and reports whether it did.
func (m *mender) makeRoom(v *types.Var, n int64) (done bool) {
	room := func(to, e ast.Expr) {
		if field, ok := ast.Unparen(to).(*ast.SelectorExpr); ok {
			to = field.Sel
		}
		id, _ := ast.Unparen(to).(*ast.Ident)
		if of, ok := m.p.Info.ObjectOf(id).(*types.Var); !ok || of.Origin() != v {
			return
		}
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if ok {
			fun, _ := call.Fun.(*ast.Ident)
			ok = m.p.Info.Uses[fun] != types.Universe.Lookup("make")
		}
		done = !ok && m.sized(ast.Unparen(e), n) || done
	}
	for _, f := range m.p.Files {
		for n := range ast.Preorder(f) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i := range n.Rhs {
					room(n.Lhs[i], n.Rhs[i])
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					room(n.Names[i], n.Values[i])
				}
			case *ast.KeyValueExpr:
				room(n.Key, n.Value)
			}
		}
	}
	return done
}

// bestRoom is for how many elements a slice should have room as it begins, a power of two: of the sizes that it grows
// to, up to a limit, the one that saves most objects and bytes; 0 for none. few are those that do not grow, which get
// the room as well.
func bestRoom(sizes map[int64]*Totals, few Totals, each, limit int64) (best int64) {
	var begun, least int64
	objects, bytes := few.Objects, few.Bytes
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		if size < each { // such as the header of a map
			continue
		}
		n := sizes[size].Objects
		begun, objects, bytes = max(begun, few.Objects+n), objects+n, bytes+n*size
		if cost := begun*size - bytes + worthObject*(begun-objects); cost < least && size <= limit {
			best, least = 1<<(bits.Len64(uint64(size/each))-1), cost
		}
	}
	return best
}

// first is the site that makes the smallest of the lists that the expression appends to, so that they begin there;
// sizes are what the profiles have of all sites of the function that append to them.
func (m *mender) first() (first *life.Site, sizes map[int64]*Totals) {
	var all site
	least := int64(mostRoom)
	for _, s := range m.p.Sites() {
		if s.Kind != life.Append || s.Func != m.s.Func || m.grown(s.Node) != m.grown(m.s.Node) {
			continue
		}
		for _, c := range m.x.causes {
			if c.callee != "" || c.at.line < s.From || s.To < c.at.line || m.x.pkg(frame{place: c.at}) != m.p {
				continue
			}
			for size, t := range c.sizes {
				if made := choose(m.p, c.at, c.leaf, size); len(made) != 1 || made[0] != s {
					continue
				}
				all.ofSize(size, *t)
				if size < least {
					first, least = s, size
				}
			}
		}
	}
	return first, all.sizes
}

// moved are the lists that fit the room which the compiler gives them on the stack: the function moves them to the
// heap, in their size, where they leave it.
func (m *mender) moved() (few Totals) {
	body := m.s.Func.Syntax()
	from, to := m.p.Fset.Position(body.Pos()), m.p.Fset.Position(body.End())
	for _, c := range m.x.causes {
		if c.callee == "" && strings.HasPrefix(c.leaf, movesSlice) && m.x.pkg(frame{place: c.at}) == m.p &&
			filepath.Base(c.at.file) == filepath.Base(from.Filename) && from.Line <= c.at.line && c.at.line <= to.Line {
			few.add(c.Totals)
		}
	}
	return few
}

// grown is the variable or field that a call has first; nil for none.
func (m *mender) grown(n ast.Node) *types.Var {
	if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
		return m.variable(call.Args[0])
	}
	return nil
}

// pointed is p of *p, and any other expression itself.
func pointed(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if star, ok := e.(*ast.StarExpr); ok {
		return ast.Unparen(star.X)
	}
	return e
}

// variable is the variable or field that an expression names or dereferences; nil for none.
func (m *mender) variable(e ast.Expr) *types.Var {
	e = pointed(e)
	if field, ok := e.(*ast.SelectorExpr); ok {
		e = field.Sel
	}
	id, _ := e.(*ast.Ident)
	if v, ok := m.p.Info.Uses[id].(*types.Var); ok {
		return v.Origin()
	}
	return nil
}

// fills reports whether the expression appends to what begins empty in the function, or to a field of what the
// function has a pointer to, and nobody sees what capacity that has.
func (m *mender) fills() bool {
	v := m.grown(m.s.Node)
	if v == nil {
		return false
	}
	path, _ := astutil.PathEnclosingInterval(m.file, v.Pos(), v.Pos())
	seen, given := m.uses(v)
	spec, empty := path[min(1, len(path)-1)].(*ast.ValueSpec)
	empty = empty && len(spec.Values) == 0 && v.Parent() != m.p.Pkg.Scope() && !given
	return !seen && (empty || m.local() || ofPointer(m.s.Instr.(*ssa.Call).Call.Args[0]))
}

// uses reports whether the package sees the capacity of a list, as it asks for it or appends to it and has both, and
// whether the list gets another value than itself with more behind it.
func (m *mender) uses(v *types.Var) (seen, given bool) {
	pointer, behind := v.Type().Underlying().(*types.Pointer) // to any list of its type
	calls := func(call *ast.CallExpr, name string) bool {
		fun, _ := call.Fun.(*ast.Ident)
		return m.p.Info.Uses[fun] == types.Universe.Lookup(name) &&
			(m.grown(call) == v || behind && types.Identical(origin(m.p.Info.TypeOf(call.Args[0])), origin(pointer.Elem())))
	}
	for _, f := range m.p.Files {
		var back ast.Node
		for n := range ast.Preorder(f) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				call, ok := n.Rhs[0].(*ast.CallExpr)
				if ok && len(n.Lhs) == 1 && calls(call, "append") && m.text(n.Lhs[0]) == m.text(call.Args[0]) {
					back = call
					continue
				}
				given = given || slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return m.variable(e) == v })
			case *ast.RangeStmt:
				given = given || m.variable(n.Value) == v
			case *ast.UnaryExpr:
				given = given || n.Op == token.AND && m.variable(n.X) == v
			case *ast.CallExpr:
				seen = seen || calls(n, "cap") || n != back && calls(n, "append")
			}
		}
	}
	return seen, given
}

// origin is a generic type without its type arguments.
func origin(t types.Type) types.Type {
	if of, ok := types.Unalias(t).(*types.Named); ok {
		return of.Origin()
	}
	return t
}

// ofPointer reports whether a value is what a parameter points to, or a field of it.
func ofPointer(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	at := load.X
	if field, ok := at.(*ssa.FieldAddr); ok {
		at = field.X
	}
	_, ok = at.(*ssa.Parameter)
	return ok
}

// begin gives a slice its capacity just before the first element is appended to it: where none is, it takes no memory,
// and one that is nil stays so.
func (m *mender) begin(n int64) bool {
	return m.fill(fmt.Sprintf("make(%s, 0, %d)", named(m.p.Pkg, m.s.Value.Type()), n))
}

// fill gives a slice of no capacity an empty one just before the first element is appended to it.
func (m *mender) fill(empty string) bool {
	call, assign, list := m.s.Node.(*ast.CallExpr), m.assigns(), m.s.Value.Type()
	if assign == nil || len(call.Args) < 2 || !plain(m.p.Info, pointed(assign.Lhs[0])) ||
		!nameable(m.p.Source, list, assign.Pos()) {
		return false
	}
	_, memory := m.s.Instr.(*ssa.Call).Call.Args[0].(*ssa.UnOp) // that other code may look at
	if memory && slices.ContainsFunc(call.Args[1:], m.leaves) {
		return false
	}
	when := ""
	if call.Ellipsis.IsValid() {
		text := m.p.Info.Types[call.Args[1]].Value
		if !plain(m.p.Info, call.Args[1]) {
			return false
		}
		if text == nil || constant.StringVal(text) == "" {
			when = " && len(" + m.text(call.Args[1]) + ") > 0"
		}
	}
	m.put(assign.Pos(), assign.Pos(), fmt.Sprintf("if cap(%[1]s) == 0%[2]s {\n%[1]s = %[3]s\n}\n",
		m.text(call.Args[0]), when, empty))
	return true
}

// leaves reports whether other code runs while an expression is evaluated.
func (m *mender) leaves(e ast.Expr) bool {
	for n := range ast.Preorder(e) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun := m.p.Info.Types[n.Fun]; !fun.IsType() && !fun.IsBuiltin() {
				return true
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				return true
			}
		}
	}
	return false
}
