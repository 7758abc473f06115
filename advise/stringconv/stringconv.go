// Package stringconv is an allocation check: see Check.
package stringconv

import (
	"go/ast"
	"go/types"

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

The conversion copies. A callee that reads and does not keep its argument can take the
[]byte itself; package bytes has the functions of package strings, bytes.NewReader reads them, %s prints
them, and others have variants (Regexp.Match for MatchString). The same holds where the string, or what is cut from it,
is held in a variable that is only searched, compared and measured. Functions of other modules are a hint. The compiler
leaves the copy out by itself in comparisons, map look-ups, concatenations and range loops.`,
	When:     "the line is hot and the bytes are longer than 32: up to there the copy stays on the stack.",
	WhenNot:  "results that are stored, returned or parsed; map look-ups and comparisons; start-up code and error paths.",
	Measured: "1.6 to 2 times the time for 200 bytes, 1 allocation -> 0; nothing up to 32 bytes (Go 1.26.8)",
	Run:      run,
})

// inBytes are the functions of package strings that package bytes has with the
// same meaning, all of whose arguments are text.
var inBytes = map[string]bool{
	"Contains": true, "Count": true, "EqualFold": true, "HasPrefix": true, "HasSuffix": true, "Index": true, "LastIndex": true,
}

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		for i, arg := range call.Args {
			if b, ok := converted(p, arg); ok {
				argument(p, cur, call, i, b)
			}
		}
		if _, ok := converted(p, call); ok {
			held(p, cur, call)
		}
	}
}

// converted returns what arg is a string of: the slice of a conversion, or the
// call of bufio.Scanner.Text, which converts.
func converted(p *check.Pass, arg ast.Expr) (ast.Expr, bool) {
	if call, ok := p.IsCall(arg, "bufio", "Scanner.Text"); ok {
		return call, true
	}
	b, ok := p.Conversion(arg, check.IsString)
	if !ok || !check.IsBytes(p.TypeOf(b)) {
		return nil, false
	}
	return b, true
}

func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, b ast.Expr) {
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	if fn.Pkg().Path() == "strings" && fn.Signature().Recv() == nil {
		if i == 0 {
			ofStrings(p, cur, call, fn.Name(), b)
		}
		return
	}
	if verb := check.Verb(p.Code, call, i); verb != 0 {
		if verb == 's' || verb == 'q' {
			p.Report(call.Args[i], p.HeatAt(cur), "string(b) is copied and boxed to be formatted; %"+string(verb)+" takes the slice", formatted(p, call.Args[i], b)...)
		}
		return
	}
	if edits := writer(p, call, fn, b); edits != nil {
		p.Report(call.Args[i], p.HeatAt(cur), "string(b) is copied for WriteString; Write takes the slice", edits...)
		return
	}
	if name := check.Sibling(fn, i); name != "" {
		p.Report(call.Args[i], p.HeatAt(cur), "string(b) copies for "+fn.Name()+"; "+name+" reads the slice")
		return
	}
	if check.External(fn, p.Code.Pkg) {
		p.Report(call.Args[i], min(p.HeatAt(cur), check.Warm), "string(b) copies the bytes for "+fn.FullName()+"; look for a variant that takes a []byte or an io.Reader")
		return
	}
	use, ok := p.ParamUse(fn, i)
	warm := min(p.HeatAt(cur), check.Warm)
	switch {
	case ok && use == 0 && !inlined(p, fn):
		p.Report(call.Args[i], p.HeatAt(cur), "string(b) copies the bytes for "+fn.Name()+", which only reads them; let it take a []byte")
	case ok && use&check.Hands != 0 && use&check.Keeps == 0:
		p.Report(call.Args[i], warm, "string(b) copies the bytes for "+fn.Name()+", which hands them on; where nothing keeps them, let it take a []byte")
	case !ok && (fn.Pkg() == p.Code.Pkg || !check.Standard(fn)):
		p.Report(call.Args[i], warm, "string(b) copies the bytes for "+fn.FullName()+"; where that does not keep them, a variant could take a []byte")
	}
}

// inlined reports whether the body of fn is one return: likely inlined, and
// the copy with it.
func inlined(p *check.Pass, fn *types.Func) bool {
	_, decl := p.Decl(fn)
	if decl == nil || len(decl.Body.List) != 1 {
		return false
	}
	ret, ok := decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	_, compares := ret.Results[0].(*ast.BinaryExpr)
	return compares
}

func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, b ast.Expr) []analysis.TextEdit {
	if _, text := b.(*ast.CallExpr); text {
		return nil
	}
	name, edits, ok := p.Import(cur, "bytes")
	if !ok {
		return nil
	}
	other, known := converted(p, call.Args[1])
	second := "[]byte(" + p.Source(call.Args[1]) + ")"
	if known {
		if _, text := other.(*ast.CallExpr); text {
			return nil
		}
		second = p.Source(other)
	}
	fun := name + "." + call.Fun.(*ast.SelectorExpr).Sel.Name
	return append(edits, check.Replace(call, fun+"("+p.Source(b)+", "+second+")"))
}

// writer returns the edit from x.WriteString(string(b)) to x.Write(b), where x
// has both.
func writer(p *check.Pass, call *ast.CallExpr, fn *types.Func, b ast.Expr) []analysis.TextEdit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fn.Name() != "WriteString" || fn.Signature().Recv() == nil || len(call.Args) != 1 {
		return nil
	}
	if _, text := b.(*ast.CallExpr); text {
		return nil
	}
	recv := p.TypeOf(sel.X)
	obj, _, _ := types.LookupFieldOrMethod(recv, true, p.Code.Pkg, "Write")
	write, ok := obj.(*types.Func)
	if !ok || write.Signature().Params().Len() != 1 || !check.IsBytes(write.Signature().Params().At(0).Type()) || !types.Identical(write.Signature().Results(), fn.Signature().Results()) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(sel.Sel, "Write"), check.Replace(call.Args[0], p.Source(b))}
}
