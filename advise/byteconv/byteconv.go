// Package byteconv is an allocation check: see Check.
package byteconv

import (
	"go/ast"
	"go/types"
	"go/version"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags []byte(s) as an argument.
var Check = check.New(check.Check{
	Name:     "byteconv",
	Exercise: 2,
	Severity: check.Advice,
	Doc: `[]byte(s) for a function that could take a string

The conversion copies the string to the heap. Since Go 1.22 the compiler leaves the copy out where it
sees that the callee neither writes to the slice nor keeps it, so only the other
calls are flagged there: those through an interface, of functions that pass the slice on, and, as a hint,
of functions of other modules and of bytes.Index, Contains, Count and Compare, which end in assembly.`,
	When:     "the line is hot, and the callee can take a string (io.WriteString does).",
	WhenNot:  "constants; callees that only read (from Go 1.22) or that write to the slice; start-up code and error paths.",
	Measured: "read only: 0 allocations -> 0; kept or behind an interface: 1 -> 0 (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		for i, arg := range call.Args {
			s, ok := p.Conversion(arg, check.IsBytes)
			if !ok || !check.IsString(p.TypeOf(s)) || p.IsConst(s) {
				continue
			}
			argument(p, cur, call, i, s)
		}
	}
}

func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, s ast.Expr) {
	fn := p.Callee(call)
	if fn == nil || p.Info.Types[call.Fun].IsType() {
		return
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && i == 0 && fn.Name() == "Write" && types.IsInterface(p.TypeOf(sel.X)) && writes(fn) {
		p.Report(call.Args[0], p.HeatAt(cur), "[]byte(s) is copied for Write; io.WriteString writes the string itself where the writer can", fix(p, cur, call, sel, s)...)
		return
	}
	use, ok := p.ParamUse(fn, i)
	if !ok && check.Reads(fn, i) {
		use, ok = 0, true
	}
	if !ok && check.External(fn, p.Code.Pkg) {
		p.Report(call.Args[i], min(p.HeatAt(cur), check.Warm), "[]byte(s) copies the string for "+fn.FullName()+", unless it only reads it; look for a variant that takes a string")
	}
	if !ok || use&check.Writes != 0 {
		return
	}
	if use == 0 && version.Compare(p.GoVersion(call.Pos()), "go1.22") >= 0 {
		if fn.Pkg().Path() == "bytes" && inAssembly[fn.Name()] {
			p.Report(call.Args[i], min(p.HeatAt(cur), check.Warm), "[]byte(s) is copied where it is longer than 32 bytes: "+fn.FullName()+" ends in assembly, which the compiler does not look into")
		}
		return
	}
	p.Report(call.Args[i], p.HeatAt(cur), "[]byte(s) copies the string for "+fn.Name()+", which does not write to it; let it take a string")
}

// inAssembly are functions of package bytes whose argument is still copied, by
// measurement with Go 1.26.8.
var inAssembly = map[string]bool{"Compare": true, "Contains": true, "Count": true, "Index": true}

// writes reports whether fn has the signature of io.Writer.Write.
func writes(fn *types.Func) bool {
	sig := fn.Signature()
	return sig.Params().Len() == 1 && check.IsBytes(sig.Params().At(0).Type()) && sig.Results().Len() == 2
}

func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, sel *ast.SelectorExpr, s ast.Expr) []analysis.TextEdit {
	if !types.Identical(types.Unalias(p.TypeOf(s)), types.Typ[types.String]) {
		return nil
	}
	name, edits, ok := p.Import(cur, "io")
	if !ok {
		return nil
	}
	return append(edits, check.Replace(call, name+".WriteString("+p.Source(sel.X)+", "+p.Source(s)+")"))
}
