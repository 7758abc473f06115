package stringconv

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// A fate is what becomes of a text and of all that is cut from it: a set.
type fate int

const (
	compares fate = 1 << iota // compared, measured, gone over
	searches                  // by a function that package bytes has, too
	converts                  // looked up or joined, which needs no copy where string(b) stands in the place
	reads                     // formatted, written, or given to a function that only reads it
	parses                    // by strconv and the like, of which bytes have none
	hands                     // given to code that may keep it
	keeps                     // stored, returned or sent
)

// cuts are the functions of package strings whose results are parts of their
// first argument, and that package bytes has with the same meaning.
var cuts = map[string]bool{
	"Cut": true, "CutPrefix": true, "CutSuffix": true, "Fields": true, "Split": true, "SplitAfter": true, "SplitN": true,
	"FieldsSeq": true, "Lines": true, "SplitSeq": true,
	"Trim": true, "TrimLeft": true, "TrimPrefix": true, "TrimRight": true, "TrimSpace": true, "TrimSuffix": true,
}

// positions are those that tell where something is.
var positions = map[string]bool{
	"ContainsAny": true, "ContainsRune": true, "IndexAny": true, "IndexByte": true, "IndexFunc": true, "IndexRune": true,
	"LastIndexAny": true, "LastIndexByte": true,
}

// copies are those that make a text of their own.
var copies = map[string]bool{
	"Map": true, "Repeat": true, "Replace": true, "ReplaceAll": true, "Title": true, "ToLower": true, "ToUpper": true,
	"ToValidUTF8": true,
}

// fateOf returns what becomes of the text at cur.
func fateOf(p *check.Pass, cur inspector.Cursor, seen map[*types.Var]bool) fate {
	e := cur.Node()
	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return fateOf(p, cur.Parent(), seen)
	case *ast.SliceExpr:
		if parent.X != e {
			return compares
		}
		return fateOf(p, cur.Parent(), seen)
	case *ast.IndexExpr:
		switch {
		case parent.X != e && written(cur.Parent()):
			return keeps // as a key
		case parent.X != e:
			return converts
		case check.IsString(p.TypeOf(parent)):
			return fateOf(p, cur.Parent(), seen)
		}
		return compares
	case *ast.BinaryExpr:
		if parent.Op == token.ADD {
			return converts
		}
		return compares
	case *ast.SwitchStmt, *ast.CaseClause, *ast.ExprStmt:
		return compares
	case *ast.RangeStmt:
		if _, seq := p.TypeOf(parent.X).Underlying().(*types.Signature); seq && parent.X == e && parent.Key != nil {
			return fateOfVar(p, parent.Key, seen)
		}
		if parent.X != e || check.IsString(p.TypeOf(parent.X)) || parent.Value == nil {
			return compares
		}
		return fateOfVar(p, parent.Value, seen)
	case *ast.AssignStmt:
		return assigned(p, parent, e, seen)
	case *ast.CallExpr:
		return argumentFate(p, cur, parent, seen)
	}
	return keeps
}

// written reports whether something is stored in the expression at cur.
func written(cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok {
		_, counts := cur.Parent().Node().(*ast.IncDecStmt)
		return counts
	}
	for _, lhs := range assign.Lhs {
		if lhs == cur.Node() {
			return true
		}
	}
	return false
}

// fateOfVar is fateOf for all uses of the variable that e names.
func fateOfVar(p *check.Pass, e ast.Expr, seen map[*types.Var]bool) fate {
	if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
		return 0
	}
	v := p.Var(e)
	if !p.Local(v) {
		return keeps
	}
	if !check.IsString(v.Type()) && !types.Identical(v.Type().Underlying(), types.NewSlice(types.Typ[types.String])) {
		return 0 // the second result of Cut
	}
	if seen[v] {
		return 0
	}
	seen[v] = true
	var f fate
	for _, use := range p.Uses(v) {
		f |= fateOf(p, use, seen)
	}
	return f
}

func assigned(p *check.Pass, assign *ast.AssignStmt, e ast.Node, seen map[*types.Var]bool) fate {
	for _, lhs := range assign.Lhs {
		if lhs == e {
			return 0 // another value takes its place
		}
	}
	if assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN {
		return converts // +=
	}
	var f fate
	for i, lhs := range assign.Lhs {
		if len(assign.Rhs) == 1 || assign.Rhs[i] == e {
			f |= fateOfVar(p, lhs, seen)
		}
	}
	return f
}

func argumentFate(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, seen map[*types.Var]bool) fate {
	if tv := p.Info.Types[call.Fun]; tv.IsType() {
		if check.IsString(tv.Type) {
			return fateOf(p, cur.Parent(), seen)
		}
		return hands
	}
	switch p.Builtin(call) {
	case "len":
		return compares
	case "delete":
		return converts
	case "":
	default:
		return keeps
	}
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return hands
	}
	if fn.Pkg().Path() == "strings" && fn.Signature().Recv() == nil {
		return stringsFate(p, cur, call, fn.Name(), seen)
	}
	for i, arg := range call.Args {
		if arg == cur.Node() {
			return calleeFate(p, call, fn, i)
		}
	}
	return keeps
}

func stringsFate(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, name string, seen map[*types.Var]bool) fate {
	first := call.Args[0] == cur.Node()
	switch {
	case first && cuts[name]:
		return searches | fateOf(p, cur.Parent(), seen)
	case inBytes[name] || cuts[name] || positions[name]: // or what is searched for
		return searches
	case copies[name]:
		return reads
	}
	return hands
}

// calleeFate is what fn does with its argument number i.
func calleeFate(p *check.Pass, call *ast.CallExpr, fn *types.Func, i int) fate {
	if check.Verb(p.Code, call, i) != 0 || fn.Name() == "WriteString" || fn.Pkg().Path() == "strings" {
		return reads
	}
	use, ok := p.ParamUse(fn, i)
	switch {
	case fn.Pkg().Path() == "strconv" || !ok && check.Standard(fn) && fn.Signature().Recv() == nil:
		return parses
	case !ok:
		return hands
	case use&check.Keeps != 0:
		return keeps
	case use&check.Hands != 0:
		return hands
	}
	return reads
}
