// Package byteconv is an allocation check: see Check.
package byteconv

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

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

The conversion copies the string to the heap. Since Go 1.22 the compiler leaves the copy out where it sees
that the callee neither writes to the slice nor keeps it, so only the other calls are flagged there: those
through an interface, of functions that pass the slice on, of functions of other packages and
of bytes.Index, Contains, Count and Compare, which end in assembly.`,
	When: "the line is hot, and the callee can take a string (io.WriteString does).",
	WhenNot: "constants for what only reads or writes to them; callees that only read (from Go 1.22) or that write to " +
		"or return the slice; copies that are stored; hashes; start-up code and error paths.",
	Measured: "read only: 0 allocations -> 0; kept or behind an interface: 1 -> 0 (Go 1.26.8)",
	Run:      run,
})

// alters are the uses for which a callee needs its own bytes; for one that returns them, they have to be bytes.
const alters = check.Writes | check.MayWrite

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		for i, arg := range call.Args {
			if s, ok := p.Conversion(arg, check.IsBytes); ok && check.IsString(p.TypeOf(s)) {
				argument(p, cur, call, i, s)
			}
		}
	}
}

func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, s ast.Expr) {
	if p.Info.Types[call.Fun].IsType() || p.Builtin(call) != "" || p.Cold(cur) {
		return
	}
	fn, constant := p.Callee(call), p.IsConst(s)
	if fn == nil {
		if !constant {
			p.Needs(check.Interface, true).Report(call.Args[i],
				"[]byte(s) copies the string for a function value; where none of its functions writes to it, let it take a string")
		}
		return
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && i == 0 && fn.Name() == "Write" &&
		types.IsInterface(p.TypeOf(sel.X)) && writes(fn) {
		if n := check.NamedOf(p.TypeOf(sel.X)); n == nil || n.Obj().Pkg().Path() != "hash" { // hashes take no strings
			if _, joined := ast.Unparen(s).(*ast.BinaryExpr); joined && !constant {
				p.Report(call.Args[0], "the parts are joined for Write; where the writer can, io.WriteString writes each")
				return
			}
			p.Report(call.Args[0], "[]byte(s) is copied for Write; io.WriteString writes the string itself where the "+
				"writer can", fix(p, cur, call, sel, s)...)
		}
		return
	}
	if constant {
		if use, known := p.ParamUse(fn, i); known && use&alters == 0 && !use.Reads() {
			p.Report(call.Args[i], "the constant is copied for each call of "+fn.Name()+
				", which hands it on; hold the bytes in a package variable")
		} else if !known && !check.Standard(fn) {
			p.Report(call.Args[i], "the constant is copied for each call of "+fn.FullName()+
				", unless it only reads it; hold the bytes in a package variable")
		}
		return
	}
	if _, ok := p.IsCall(call, "bytes", "NewReader", "NewBuffer"); ok {
		p.Report(call.Args[i], "[]byte(s) copies the string for "+fn.FullName()+
			"; where it is only read from, strings.NewReader reads the string itself")
		return
	}
	called(p, call, i, fn)
}

// called reports argument i of call, depending on what fn does with it.
func called(p *check.Pass, call *ast.CallExpr, i int, fn *types.Func) {
	other := check.Sibling(fn, i)
	p = p.Needs(check.Interface, other == nil && !p.Free(fn))
	use, ok := p.ParamUse(fn, i)
	if !ok && check.Reads(fn, i) {
		use, ok = 0, true
	}
	const copies = "[]byte(s) copies the string for "
	switch full := fn.FullName(); {
	case !ok && other != nil && !(elided(p, call) && readsOnly(fn)):
		p.Report(call.Args[i], copies+full+"; "+other.Name()+" takes the string itself")
	case !ok && !check.Standard(fn):
		p.Report(call.Args[i], copies+full+", unless it only reads it; look for a variant that takes a string")
	case !ok && strings.HasPrefix(fn.Name(), "Unmarshal"):
		p.Report(call.Args[i], copies+full+"; hold the bytes that it came from, or decode from a strings.Reader")
	case !ok && elided(p, call) && readsOnly(fn):
	case !ok:
		p.Report(call.Args[i], copies+full+"; look for a variant that takes a string, such as WriteString")
	case use&(alters|check.Returns) != 0:
	case !use.Reads() || !elided(p, call):
		p.Report(call.Args[i], copies+fn.Name()+", which does not write to it; let it take a string")
	case assembly[fn.Pkg().Path()] || fn.Pkg().Path() == "bytes" && inAssembly[fn.Name()]:
		p.Report(call.Args[i], "[]byte(s) is copied where it is longer than 32 bytes: "+full+
			" ends in assembly, which the compiler does not look into")
	}
}

// elided reports whether the compiler elides copies that are only read.
func elided(p *check.Pass, call *ast.CallExpr) bool {
	return p.AtLeast(call.Pos(), "go1.22")
}

// inAssembly are functions of package bytes whose argument is still copied, measured with Go 1.26.8.
var inAssembly = map[string]bool{"Compare": true, "Contains": true, "Count": true, "Index": true}

// assembly are packages whose functions end in assembly.
var assembly = map[string]bool{"crypto/hmac": true, "crypto/md5": true, "crypto/sha1": true, "crypto/sha256": true,
	"crypto/sha512": true, "hash/crc32": true}

// readsOnly reports whether fn is a method of the library that the compiler knows only
// to read its argument.
func readsOnly(fn *types.Func) bool {
	return slices.Contains([]string{"Buffer.Write", "Builder.Write", "Encoding.EncodeToString", "Encoding.AppendEncode",
		"Encoding.Encode"}, check.FuncName(fn))
}

// writes reports whether fn has the signature of io.Writer.Write.
func writes(fn *types.Func) bool {
	sig := fn.Signature()
	return sig.Params().Len() == 1 && check.IsBytes(sig.Params().At(0).Type()) && sig.Results().Len() == 2
}

func fix(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, sel *ast.SelectorExpr,
	s ast.Expr) []analysis.TextEdit {
	if !types.Identical(types.Unalias(p.TypeOf(s)), types.Typ[types.String]) {
		return nil
	}
	name, edits, ok := p.Import(cur, "io")
	if !ok {
		return nil
	}
	return append(edits, check.Replace(call, name+".WriteString("+p.Source(sel.X)+", "+p.Source(s)+")"))
}
