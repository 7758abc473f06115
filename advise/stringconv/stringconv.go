// Package stringconv is an allocation check: see Check.
package stringconv

import (
	"go/ast"
	"go/types"
	"go/version"
	"regexp"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags string(b) for what only reads it.
var Check = check.New(check.Check{
	Name:     "stringconv",
	Exercise: 3,
	Severity: check.Advice,
	Doc: `string(b) for code that only reads the bytes

The conversion copies. A callee that reads and does not keep its argument can take the []byte itself;
package bytes has the functions of package strings, bytes.NewReader reads them, %s prints them, and others
have variants (Regexp.Match for MatchString). The same holds where the string, or what is cut from it, is
held in a variable that is only searched, compared and measured. The
compiler leaves the copy out by itself in comparisons, map look-ups, concatenations and range loops.`,
	When: "the line is hot and the bytes are longer than 32: up to there the copy stays on the stack.",
	WhenNot: "texts that are stored whole; conversions that stand in the call of strconv (from Go 1.18), in a map " +
		"look-up or a comparison; start-up code and error paths.",
	Measured: "1.6 to 2 times the time for 200 bytes, 1 allocation -> 0; nothing up to 32 bytes (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if p.Cold(cur) {
			continue
		}
		for i, arg := range call.Args {
			if c, ok := converted(p, arg); ok {
				argument(p, cur, call, i, c)
			}
		}
		if c, ok := converted(p, call); ok {
			held(p, cur, c)
		}
	}
}

// A conversion is a string that is a copy of bytes.
type conversion struct {
	call *ast.CallExpr
	of   ast.Expr // the slice, or the call where that converts
}

// converters are methods that convert, by package.
var converters = map[string]string{"bufio": "Scanner.Text", "bytes": "Buffer.String"}

// converted returns arg as a conversion: string(b), or a call of
// bufio.Scanner.Text or bytes.Buffer.String, which convert.
func converted(p *check.Pass, arg ast.Expr) (conversion, bool) {
	for pkg, name := range converters {
		if call, ok := p.IsCall(arg, pkg, name); ok {
			return conversion{call: call, of: call}, true
		}
	}
	b, ok := p.Conversion(arg, check.IsString)
	if !ok || !check.IsBytes(p.TypeOf(b)) {
		return conversion{}, false
	}
	return conversion{call: ast.Unparen(arg).(*ast.CallExpr), of: b}, true
}

// bytes is the source of the slice that is converted; "" where there is none.
func (c conversion) bytes(p *check.Pass) string {
	if c.of == c.call {
		return ""
	}
	return p.Source(c.of)
}

// argument reports the conversion as argument i of a call.
func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, c conversion) {
	arg, fn := call.Args[i], p.Callee(call)
	verb := check.Verb(p.Code, call, i)
	_, writes := p.IsCall(call, "io", "WriteString")
	_, prints := p.IsCall(call, "fmt", "Fprint")
	switch builtin := p.Builtin(call); {
	case builtin == "delete":
		p.Report(arg, "string(b) is copied to be deleted where it is longer than 32 bytes; look it up by m[string(b)] first")
	case builtin != "" || p.Info.Types[call.Fun].IsType() || fn != nil && fn.Pkg() == nil:
	case fn == nil:
		p.Needs(check.Interface, true).Report(arg,
			"string(b) copies the bytes for a function value; where none of its functions keeps them, let it take a []byte")
	case fn.Pkg().Path() == "strings" && fn.Signature().Recv() == nil && i == 0:
		ofStrings(p, cur, call, fn.Name(), c)
	case fn.Pkg().Path() == "strings" && fn.Signature().Recv() == nil:
		// else one finding is enough
		if _, both := converted(p, call.Args[0]); !both || check.TextFuncs[fn.Name()] != check.Finds {
			p.Report(arg, "string(b) copies for strings."+fn.Name()+" where it is longer than 32 bytes; package bytes has "+
				"the same function")
		}
	case writes && i == 1:
		p.Report(arg, "string(b) is copied for io.WriteString; Write takes the slice")
	case prints && i > 0:
		p.Report(arg, "the text is copied and boxed for fmt.Fprint; Write takes the bytes")
	case verb == 'v':
		p.Report(arg, "string(b) is copied and boxed to be formatted; %s takes the slice")
	case verb == 's' || verb == 'q':
		p.Report(arg, "string(b) is copied and boxed to be formatted; %"+string(verb)+" takes the slice",
			formatted(p, arg, c)...)
	case verb != 0:
	default:
		called(p, call, i, fn, c)
	}
}

// called reports the conversion as an argument of fn by what fn does with it.
func called(p *check.Pass, call *ast.CallExpr, i int, fn *types.Func, c conversion) {
	arg, full, sibling, edits := call.Args[i], fn.FullName(), check.Sibling(fn, i), writer(p, call, fn, c)
	use, ok := p.ParamUse(fn, i)
	free := p.Needs(check.Interface, !p.Free(fn))
	switch {
	case edits != nil:
		p.Report(arg, "string(b) is copied for WriteString; Write takes the slice", edits...)
	case sibling != "":
		p.Report(arg, "string(b) copies for "+fn.Name()+"; "+sibling+" reads the slice")
	case fn.Name() == "DecodeString" && check.Standard(fn):
		p.Report(arg, "string(b) copies for "+full+"; Decode and AppendDecode read the slice")
	case ok && use.Reads() && !inlined(p, fn):
		free.Report(arg, "string(b) copies the bytes for "+fn.Name()+", which only reads them; let it take a []byte")
	case ok && use&check.Hands != 0 && use&check.Keeps == 0:
		free.Report(arg, "string(b) copies the bytes for "+fn.Name()+
			", which hands them on; where nothing keeps them, let it take a []byte")
	case ok && use&check.Keeps != 0 && sometimes(p, fn, i, 3) && !handsBack(p, fn, i):
		free.Report(arg, "string(b) copies the bytes for "+fn.Name()+
			", which reads them and keeps some; let it take a []byte, and copy what is kept")
	case ok || keeper.MatchString(fn.Name()):
	case fn.Pkg() == p.Code.Pkg || !check.Standard(fn):
		free.Report(arg, "string(b) copies the bytes for "+full+
			"; where that does not keep them, a variant could take a []byte, or an io.Reader")
	case fn.Pkg().Path() != "strconv" || version.Compare(p.GoVersion(call.Pos()), "go1.18") < 0:
		free.Report(arg, "string(b) copies the bytes for "+full+", unless they are few and it does not keep them; "+
			"look for a variant that takes a []byte, or read them as they are")
	}
}

// keeper matches the names of functions that hold on to what they are given.
var keeper = regexp.MustCompile(`^(Set|Store|Add|Push)([A-Z]|$)`)

// handsBack reports whether all that fn ever returns is its parameter number i,
// or a part of it, so that the copy is made all the same.
func handsBack(p *check.Pass, fn *types.Func, i int) bool {
	cur, decl := p.Decl(fn)
	if decl == nil || i >= fn.Signature().Params().Len() {
		return false
	}
	param, found := fn.Origin().Signature().Params().At(i), false
	for at := range cur.Preorder((*ast.ReturnStmt)(nil)) {
		ret := at.Node().(*ast.ReturnStmt)
		if len(ret.Results) == 0 {
			return false
		}
		e := ast.Unparen(ret.Results[0])
		if part, ok := e.(*ast.SliceExpr); ok {
			e = part.X
		}
		if p.Var(e) != param {
			return false
		}
		found = true
	}
	return found
}

// sometimes reports whether fn does more with its parameter number i than to
// keep it: itself, or the function that it hands it to, so many calls deep.
func sometimes(p *check.Pass, fn *types.Func, i, depth int) bool {
	if _, decl := p.Decl(fn); decl == nil || depth == 0 || i >= fn.Signature().Params().Len() {
		return false
	}
	for _, use := range p.Uses(fn.Origin().Signature().Params().At(i)) {
		if p.TextUse(use)&(check.Compares|check.Searches|check.Converts|check.Parses) != 0 {
			return true
		}
		if call, ok := use.Parent().Node().(*ast.CallExpr); ok && p.Callee(call) != nil {
			if j := slices.Index(call.Args, use.Node().(ast.Expr)); j >= 0 && sometimes(p, p.Callee(call), j, depth-1) {
				return true
			}
		}
	}
	return false
}

// inlined reports whether the body of fn is one return: likely inlined, and
// the copy with it.
func inlined(p *check.Pass, fn *types.Func) bool {
	_, decl := p.Decl(fn)
	_, compares := check.OnlyReturns(decl).(*ast.BinaryExpr)
	return compares
}

func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, c conversion) []analysis.TextEdit {
	name, edits, ok := p.Import(cur, "bytes")
	first, second := c.bytes(p), "[]byte("+p.Source(call.Args[1])+")"
	if other, both := converted(p, call.Args[1]); both {
		second = other.bytes(p)
	}
	if !ok || first == "" || second == "" {
		return nil
	}
	fun := name + "." + call.Fun.(*ast.SelectorExpr).Sel.Name
	return append(edits, check.Replace(call, fun+"("+first+", "+second+")"))
}

// writer returns the edit from x.WriteString(string(b)) to x.Write(b), where x
// has both.
func writer(p *check.Pass, call *ast.CallExpr, fn *types.Func, c conversion) []analysis.TextEdit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fn.Name() != "WriteString" || fn.Signature().Recv() == nil || len(call.Args) != 1 || c.of == c.call {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(p.TypeOf(sel.X), true, p.Code.Pkg, "Write")
	write, ok := obj.(*types.Func)
	if !ok || write.Signature().Params().Len() != 1 || !check.IsBytes(write.Signature().Params().At(0).Type()) ||
		!types.Identical(write.Signature().Results(), fn.Signature().Results()) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(sel.Sel, "Write"), check.Replace(call.Args[0], p.Source(c.of))}
}
