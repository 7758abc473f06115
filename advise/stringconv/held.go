package stringconv

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// ofStrings reports string(b) as the first argument of a function of package
// strings.
func ofStrings(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, name string, c conversion) {
	switch {
	case inBytes[name]:
		p.Report(call, c.heat(p, cur), "string(b) copies for strings."+name+"; bytes."+name+" reads the slice", fix(p, cur, call, c.of)...)
	case name == "NewReader":
		p.Report(call, c.heat(p, cur), "string(b) copies for strings.NewReader; bytes.NewReader reads the slice")
	case cuts[name] && fateOf(p, cur, map[*types.Var]bool{})&^(compares|searches) == 0:
		p.Report(call, c.heat(p, cur), "string(b) copies for strings."+name+", and what is cut from it is only read; package bytes has the same functions")
	case cuts[name] && !keptWhole(p, cur):
		p.Report(call, min(c.heat(p, cur), check.Warm), "string(b) copies all for strings."+name+"; let bytes."+name+" cut the slice, and convert what is kept")
	case copies[name]:
		p.Report(call, min(c.heat(p, cur), check.Warm), "string(b) is copied, and strings."+name+" copies it again; bytes."+name+" reads the slice")
	}
}

// held reports the conversion at cur where it is held in a variable whose text
// is read, whether or not some of it is kept as well.
func held(p *check.Pass, cur inspector.Cursor, c conversion) {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN {
		return
	}
	v := p.Var(assign.Lhs[0])
	if !p.Local(v) {
		return
	}
	heat := c.heat(p, cur)
	warm := min(heat, check.Warm)
	f := fateOf(p, cur, map[*types.Var]bool{})
	switch {
	case f&^(compares|searches) == 0:
		if assign.Tok == token.ASSIGN {
			heat = warm // it holds other texts, too
		}
		if f&searches != 0 {
			p.Report(c.call, heat, "the copy in "+v.Name()+" is only read; package bytes has the same functions for the slice")
		} else if f&compares != 0 {
			p.Report(c.call, warm, "the copy in "+v.Name()+" is only compared; string(b) in the comparison or the switch itself needs none, whatever its length")
		}
	case looksUp(p, v) && len(p.Uses(v)) > 1:
		p.Report(c.call, warm, "the copy in "+v.Name()+" is made for a look-up, too; m[string(b)] needs none, so that only what is not found is copied")
	case f&keeps == 0 && f&hands != 0:
		p.Needs(check.Interface, true).Report(c.call, warm, "the copy in "+v.Name()+" is handed on; where nothing keeps it, hand on the []byte")
	case f&keeps == 0 && f&(searches|reads|converts) != 0:
		p.Report(c.call, warm, "the copy in "+v.Name()+" is only read; keep the []byte, and convert where a string is asked for: what does not escape needs no memory up to 32 bytes")
	case f&keeps == 0 && f&parses != 0:
		p.Report(c.call, warm, "the copy in "+v.Name()+" is only parsed, which from Go 1.18 needs none up to 32 bytes; where they are longer, parse the bytes")
	case f&keeps != 0 && f&(searches|converts) != 0:
		p.Report(c.call, warm, "the copy in "+v.Name()+" is read before it is kept; read the []byte, and convert only what is kept")
	}
}

// keptWhole reports whether the list that the call at cur makes is returned,
// held or sent as it is, so that each of its parts would need a copy.
func keptWhole(p *check.Pass, cur inspector.Cursor) bool {
	if _, list := p.TypeOf(cur.Node().(ast.Expr)).Underlying().(*types.Slice); !list {
		return false
	}
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt, *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return p.Builtin(parent) == "append"
	case *ast.AssignStmt:
		i := slices.Index(parent.Rhs, cur.Node().(ast.Expr))
		if i < 0 || len(parent.Lhs) != len(parent.Rhs) {
			return false
		}
		v := p.Var(parent.Lhs[i])
		if id, ok := parent.Lhs[i].(*ast.Ident); ok && id.Name == "_" {
			return false
		}
		if !p.Local(v) {
			return true
		}
		for _, use := range p.Uses(v) {
			switch n := use.Parent().Node().(type) {
			case *ast.ReturnStmt, *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
				return true
			case *ast.AssignStmt: // of the list, not to it
				if slices.Contains(n.Rhs, use.Node().(ast.Expr)) {
					return true
				}
			}
		}
	}
	return false
}

// looksUp reports whether a map is read with v as the key.
func looksUp(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		index, ok := use.Parent().Node().(*ast.IndexExpr)
		if ok && index.Index == use.Node() && !written(use.Parent()) {
			return true
		}
	}
	return false
}

// elsewhere reports the conversion at cur where it is neither an argument nor
// held: as the key of an entry that changes, or as the result of a function
// whose caller may have asked for the bytes.
func elsewhere(p *check.Pass, cur inspector.Cursor, c conversion) {
	switch parent := cur.Parent().Node().(type) {
	case *ast.IndexExpr:
		assign, plain := cur.Parent().Parent().Node().(*ast.AssignStmt)
		if parent.X == cur.Node() || !written(cur.Parent()) || plain && assign.Tok == token.ASSIGN {
			return
		}
		p.Report(c.call, min(c.heat(p, cur), check.Warm), "string(b) is copied although the entry may be there; look it up by m[string(b)], and hold what changes behind a pointer")
	case *ast.ReturnStmt:
		if decl := check.FuncDecl(cur); decl != nil && outside(p, decl, c.of) && !boxed(p, cur) {
			known := false
			if f, ok := callersFate(p, decl); ok && p.FreeAround(cur) {
				if f == keeps {
					return
				}
				known = f&(keeps|hands) == 0
			}
			p.Needs(check.Interface, !known).Report(c.call, min(c.heat(p, cur), check.Warm), "string(b) is copied for each caller; one that only reads it could have the []byte")
		} else if decl != nil && !c.buffer && onHeap(p, c.of) {
			p.Needs(check.Interface, given(p, c.of)).Least().ReportWith(c.call, memoryOf(p, c.of), min(c.heat(p, cur), check.Warm), types.ExprString(c.of)+" lies on the heap, and is copied to be returned; what a strings.Builder collects is the string")
		}
	}
}

// callersFate returns what becomes of the text that decl returns, and whether that is
// known: decl is called, and only called, and its callers do not return the text.
func callersFate(p *check.Pass, decl *ast.FuncDecl) (f fate, ok bool) {
	for _, use := range p.Uses(p.Info.Defs[decl.Name]) {
		at := use
		if sel, ok := at.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel == at.Node() {
			at = at.Parent()
		}
		call, ok := at.Parent().Node().(*ast.CallExpr)
		if !ok || call.Fun != at.Node() {
			return 0, false
		}
		if _, further := at.Parent().Parent().Node().(*ast.ReturnStmt); further {
			return 0, false
		}
		f |= fateOf(p, at.Parent(), map[*types.Var]bool{})
	}
	return f, f != 0
}

// boxed reports whether the result at cur is given back as an interface, whose
// holders would see another type.
func boxed(p *check.Pass, cur inspector.Cursor) bool {
	sig, ok := p.TypeOf(check.FuncDecl(cur).Name).(*types.Signature)
	results := cur.Parent().Node().(*ast.ReturnStmt).Results
	if f, _ := check.Func(cur); !ok || f.Node() != check.FuncDecl(cur) || sig.Results().Len() != len(results) {
		return false
	}
	for i, e := range results {
		if e == cur.Node() {
			return types.IsInterface(sig.Results().At(i).Type())
		}
	}
	return false
}

// onHeap reports whether b is made by a call, or grows from nothing on the stack.
func onHeap(p *check.Pass, b ast.Expr) bool {
	switch e := ast.Unparen(b).(type) {
	case *ast.SliceExpr:
		return onHeap(p, e.X)
	case *ast.CallExpr:
		return p.Builtin(e) == "" && !p.Info.Types[e.Fun].IsType() && !lends(p, e)
	case *ast.Ident:
		v := p.Var(e)
		return p.Local(v) && grown(p, v)
	}
	return false
}

// lends reports whether call is of a function of this package that gives a part of what
// a field has: it builds nothing.
func lends(p *check.Pass, call *ast.CallExpr) bool {
	cur, decl := p.Decl(p.Callee(call))
	if decl == nil {
		return false
	}
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if f, _ := check.Func(at); f.Node() != decl || len(ret.Results) == 0 {
			continue
		}
		e := ret.Results[0]
		if v := p.Var(e); p.Local(v) {
			for set := range cur.Preorder((*ast.AssignStmt)(nil)) {
				if n := set.Node().(*ast.AssignStmt); n.Tok == token.DEFINE && len(n.Rhs) == 1 && p.Var(n.Lhs[0]) == v {
					e = n.Rhs[0]
				}
			}
		}
		if s, ok := ast.Unparen(e).(*ast.SliceExpr); ok {
			e = s.X
		}
		if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && p.Info.Selections[sel] != nil {
			return true
		}
	}
	return false
}

// memoryOf returns what gives the variable b its memory, where all of that is
// in this function: from Go 1.25 few bytes of a length that is not known lie on the
// stack, so that only a profile tells whether they are on the heap.
func memoryOf(p *check.Pass, b ast.Expr) (at []ast.Node) {
	v := p.Var(b)
	if s, ok := ast.Unparen(b).(*ast.SliceExpr); ok {
		v = p.Var(s.X)
	}
	if v == nil {
		return nil
	}
	for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
		n := cur.Node().(*ast.AssignStmt)
		if len(n.Rhs) != 1 || p.Var(n.Lhs[0]) != v {
			continue
		}
		call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
		if !ok || p.Info.Types[call.Fun].IsType() {
			continue
		}
		if b := p.Builtin(call); b != "make" && b != "append" {
			return nil // what it gives may come from further down
		}
		at = append(at, call)
	}
	return at
}

// given reports whether b is the result of a function that gives bytes for
// others as well: of one that packages outside see, an interface or another
// module, but not the library, which knows other ways.
func given(p *check.Pass, b ast.Expr) bool {
	b = ast.Unparen(b)
	if s, ok := b.(*ast.SliceExpr); ok {
		b = ast.Unparen(s.X)
	}
	if v := p.Var(b); v != nil {
		for cur := range p.Root.Preorder((*ast.AssignStmt)(nil)) {
			if n := cur.Node().(*ast.AssignStmt); n.Tok == token.DEFINE && len(n.Rhs) == 1 && p.Var(n.Lhs[0]) == v {
				b = ast.Unparen(n.Rhs[0])
			}
		}
	}
	call, ok := b.(*ast.CallExpr)
	if !ok || p.Builtin(call) != "" {
		return false
	}
	fn := p.Callee(call)
	if fn == nil {
		return true
	}
	recv := fn.Signature().Recv()
	if check.Standard(fn) && (recv == nil || !types.IsInterface(recv.Type())) {
		return false
	}
	return !p.Free(fn)
}

// grown reports whether v begins as an empty slice without memory on the stack,
// or as the result of a function.
func grown(p *check.Pass, v *types.Var) bool {
	for cur := range p.Root.Preorder((*ast.ValueSpec)(nil), (*ast.AssignStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.ValueSpec:
			if len(n.Names) == 1 && p.Info.Defs[n.Names[0]] == v {
				return len(n.Values) == 0
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE || len(n.Rhs) != 1 || p.Var(n.Lhs[0]) != v {
				continue
			}
			switch e := n.Rhs[0].(type) {
			case *ast.CompositeLit:
				return len(e.Elts) == 0
			case *ast.CallExpr:
				if p.Builtin(e) == "make" {
					return !p.IsConst(e.Args[len(e.Args)-1]) || len(e.Args) == 3 && appendedTo(p, v)
				}
				return p.Builtin(e) == "" && !p.Info.Types[e.Fun].IsType() && !lends(p, e)
			}
			return false
		}
	}
	return false
}

// appendedTo reports whether anything is appended to v.
func appendedTo(p *check.Pass, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if ok && p.Builtin(call) == "append" && call.Args[0] == use.Node() {
			return true
		}
	}
	return false
}

// outside reports whether b is there before the call of decl: a parameter, or
// a field of something. Methods that are asked for a string have no choice.
func outside(p *check.Pass, decl *ast.FuncDecl, b ast.Expr) bool {
	switch decl.Name.Name {
	case "String", "GoString", "Error":
		return false
	}
	for {
		switch e := ast.Unparen(b).(type) {
		case *ast.SliceExpr:
			b = e.X
		case *ast.IndexExpr:
			b = e.X
		case *ast.SelectorExpr:
			return p.Info.Selections[e] != nil
		case *ast.Ident:
			v := p.Var(e)
			return v != nil && v.Pos() >= decl.Type.Pos() && v.Pos() < decl.Type.End()
		default:
			return false
		}
	}
}

// formatted is the edit that formats b itself.
func formatted(p *check.Pass, arg, b ast.Expr) []analysis.TextEdit {
	if _, text := b.(*ast.CallExpr); text || !types.Identical(types.Unalias(p.TypeOf(b)), types.NewSlice(types.Typ[types.Byte])) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(arg, p.Source(b))}
}
