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
	switch kind := check.TextFuncs[name]; {
	case kind == check.Finds:
		p.Report(call, "string(b) copies for strings."+name+"; bytes."+name+" reads the slice", fix(p, cur, call, c)...)
	case name == "NewReader":
		p.Report(call, "string(b) copies for strings.NewReader; bytes.NewReader reads the slice")
	case kind == check.Cuts && p.TextUse(cur)&^(check.Compares|check.Searches) == 0:
		p.Report(call, "string(b) copies for strings."+name+
			", and what is cut from it is only read; package bytes has the same functions")
	case kind == check.Cuts && !keptWhole(p, cur):
		p.Report(call, "string(b) copies all for strings."+name+"; let bytes."+name+
			" cut the slice, and convert what is kept")
	case kind == check.Copies:
		p.Report(call, "string(b) is copied, and strings."+name+" copies it again; bytes."+
			name+" reads the slice")
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
	f := p.TextUse(cur)
	switch {
	case f&^(check.Compares|check.Searches) == 0:
		if f&check.Searches != 0 {
			p.Report(c.call, "the copy in "+v.Name()+" is only read; package bytes has the same functions for the slice")
		} else if f&check.Compares != 0 {
			p.Report(c.call, "the copy in "+v.Name()+" is only compared; string(b) in the comparison or the switch "+
				"itself needs none, whatever its length")
		}
	case looksUp(p, v) && len(p.Uses(v)) > 1:
		p.Report(c.call, "the copy in "+v.Name()+" is made for a look-up, too; m[string(b)] needs none, so that only "+
			"what is not found is copied")
	case f&check.Keeps == 0 && f&check.Hands != 0:
		p.Needs(check.Interface, true).Report(c.call, "the copy in "+v.Name()+
			" is handed on; where nothing keeps it, hand on the []byte")
	case f&check.Keeps == 0 && f&(check.Searches|check.Formats|check.Converts) != 0:
		p.Report(c.call, "the copy in "+v.Name()+" is only read; keep the []byte, and convert where a string is "+
			"asked for: what does not escape needs no memory up to 32 bytes")
	case f&check.Keeps == 0 && f&check.Parses != 0:
		p.Report(c.call, "the copy in "+v.Name()+" is only parsed, which from Go 1.18 needs none up to 32 bytes; "+
			"where they are longer, parse the bytes")
	case f&check.Keeps != 0 && f&(check.Searches|check.Converts) != 0:
		p.Report(c.call, "the copy in "+v.Name()+" is read before it is kept; read the []byte, and convert only what "+
			"is kept")
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
		return !p.Local(v) && types.ExprString(parent.Lhs[i]) != "_" || v != nil &&
			slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
				if assign, ok := use.Parent().Node().(*ast.AssignStmt); ok { // of the list, not to it
					return slices.Contains(assign.Rhs, use.Node().(ast.Expr))
				}
				return keptWhole(p, use)
			})
	}
	return false
}

// looksUp reports whether a map is read with v as the key.
func looksUp(p *check.Pass, v *types.Var) bool {
	return slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
		index, ok := use.Parent().Node().(*ast.IndexExpr)
		return ok && index.Index == use.Node() && !p.Writes(use.Parent())
	})
}

// formatted is the edit that formats b itself.
func formatted(p *check.Pass, arg ast.Expr, c conversion) []analysis.TextEdit {
	if c.of == c.call || !types.Identical(types.Unalias(p.TypeOf(c.of)), types.NewSlice(types.Typ[types.Byte])) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(arg, p.Source(c.of))}
}
