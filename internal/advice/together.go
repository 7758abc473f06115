package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/life"
)

// together proposes one struct for the variables of a statement list that are objects
// on the heap. The finding is that of the first variable, whichever one k is about.
func (m *mender) together() {
	if stmts, sites := m.alike(); len(sites) > 1 && slices.Contains(sites, m.s) {
		if fields := m.fields(stmts[0].Pos(), sites); fields != nil {
			m.s = sites[0]
			m.propose(func(m *mender) bool { return m.share(stmts, fields) }, "optionalpointer",
				"make them one object: var %s struct{ %s }; whoever keeps one keeps all", m.free("shared"),
				strings.Join(fields, "; "))
		}
	}
}

// alike returns the variables of the list that live as long as this one, and the statements that declare
// them. They are small: one that lives longer than measured keeps little memory of the others.
func (m *mender) alike() (stmts []ast.Stmt, sites []*life.Site) {
	const most = 128 // bytes
	bytes, lives := int64(0), m.lives(m.s)
	around := slices.IndexFunc(m.path, func(n ast.Node) bool { return listOf(n) != nil })
	if around < 0 {
		return nil, nil
	}
	for _, stmt := range listOf(m.path[around]) {
		names, own, size := newNames(stmt), []*life.Site(nil), bytes
		for _, id := range names {
			s, first := m.variableAt(id), len(sites)+len(own) == 0
			if s != nil && s.Size > 0 && lives != "" && m.lives(s) == lives && (first || !wide(s.Type)) {
				own, size = append(own, s), size+s.Size
			}
		}
		if len(own) > 0 && len(own) == len(names) && size <= most {
			stmts, sites, bytes = append(stmts, stmt), append(sites, own...), size
		}
	}
	return stmts, sites
}

// newNames returns the names that a statement declares, if it can become an assignment or be
// removed. A statement with a comment stays, because the comment would lose its variable.
func newNames(stmt ast.Stmt) (names []*ast.Ident) {
	switch stmt := stmt.(type) {
	case *ast.AssignStmt:
		for _, e := range stmt.Lhs {
			if id, ok := e.(*ast.Ident); ok && stmt.Tok == token.DEFINE {
				names = append(names, id)
			}
		}
	case *ast.DeclStmt:
		gen := stmt.Decl.(*ast.GenDecl)
		if gen.Tok == token.VAR && !gen.Lparen.IsValid() && gen.Doc == nil {
			if spec := gen.Specs[0].(*ast.ValueSpec); spec.Values == nil && spec.Comment == nil {
				return spec.Names
			}
		}
	}
	return names
}

// variableAt returns the site of a variable that a name declares, if it may be on the heap; else nil.
func (m *mender) variableAt(id *ast.Ident) *life.Site {
	at := m.p.Fset.Position(id.Pos())
	for _, s := range m.p.At(at.Filename, at.Line) {
		if s.Kind == life.Variable && s.Node == ast.Node(id) {
			return s
		}
	}
	return nil
}

// lives is how long a variable lives: as it was seen, else as the code tells; "" where no profile has it.
func (m *mender) lives(s *life.Site) string {
	var c *cause
	for _, one := range m.x.causes {
		if one.callee == "" && one.at.line == s.From && one.Objects > 0 && (c == nil || one.compare(c) < 0) &&
			slices.Contains(choose(m.p, one.at, one.leaf, 0), s) {
			c = one
		}
	}
	if c == nil {
		return ""
	}
	l, _, ok := m.x.measured.lifetime(c, &c.site)
	if !ok {
		l = m.x.lifetime(m.p, s, c)
	}
	if l.kind == died && !l.mixed {
		l = lifetime{in: l.in, round: l.round}
	}
	return l.String()
}

// wide reports whether a type has 64-bit words that 32-bit machines do not align as
// sync/atomic requires, except at the beginning of an object.
func wide(t types.Type) bool {
	return types.SizesFor("gc", "amd64p32").Alignof(t) > types.SizesFor("gc", "386").Alignof(t)
}

// fields returns the variables as fields of a struct, or nil if a type cannot be named at the place.
func (m *mender) fields(at token.Pos, sites []*life.Site) (fields []string) {
	for _, s := range sites {
		if !nameable(m.p.Source, s.Type, at) {
			return nil
		}
		fields = append(fields, s.Node.(*ast.Ident).Name+" "+named(m.p.Pkg, s.Type))
	}
	return fields
}

// share declares the struct before the first statement, and turns each use into a field, if there are few. It
// refuses a goto, which may run a declaration again, and a finalizer, which needs the beginning of an object.
func (m *mender) share(stmts []ast.Stmt, fields []string) bool {
	name, begin, decl := m.free("shared"), stmts[0].Pos(), m.path[len(m.path)-2]
	m.put(begin, begin, "var "+name+" struct {\n"+strings.Join(fields, "\n")+"\n}\n")
	m.put(decl.Pos(), decl.Pos()+1, m.text(decl)[:1]) // conflicts with every other fix that declares the name
	vars, uses, ok := map[types.Object]bool{}, 0, true
	for _, stmt := range stmts {
		for _, id := range newNames(stmt) {
			vars[m.p.Info.Defs[id]] = true
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeclStmt:
			if slices.Contains(stmts, ast.Stmt(n)) {
				m.put(n.Pos(), n.End()+1, "")
				return false
			}
		case *ast.AssignStmt:
			if slices.Contains(stmts, ast.Stmt(n)) {
				m.put(n.TokPos, n.TokPos+token.Pos(len(":=")), "=")
			}
		case *ast.BranchStmt:
			ok = ok && n.Tok != token.GOTO
		case *ast.Ident:
			ok = ok && n.Name != "SetFinalizer"
			if vars[m.p.Info.ObjectOf(n)] {
				m.put(n.Pos(), n.Pos(), name+".")
				if m.p.Info.Uses[n] != nil {
					uses++
				}
			}
		}
		return true
	})
	return ok && uses < 3*len(vars)
}
