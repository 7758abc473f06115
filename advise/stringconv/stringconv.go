// Package stringconv is an allocation check: see Check.
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

// Check flags string(b) for code that only reads the bytes.
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
		c, ok := converted(p, cur.Node().(ast.Expr))
		if !ok || p.Cold(cur.Parent()) {
			continue
		}
		switch parent := cur.Parent().Node().(type) {
		case *ast.CallExpr:
			argument(p, cur, parent, c)
		case *ast.AssignStmt:
			held(p, cur, parent, c)
		}
	}
}

// A conversion is a string made by copying bytes.
type conversion struct {
	call *ast.CallExpr
	of   ast.Expr // the slice; the call itself for methods that convert
}

// converted returns e as a conversion: string(b), or a call of bufio.Scanner.Text or
// bytes.Buffer.String.
func converted(p *check.Pass, e ast.Expr) (conversion, bool) {
	call, ok := p.IsCall(e, "bufio", "Scanner.Text")
	if !ok {
		call, ok = p.IsCall(e, "bytes", "Buffer.String")
	}
	if ok {
		return conversion{call: call, of: call}, true
	}
	b, ok := p.Conversion(e, check.IsString)
	if !ok || !check.IsBytes(p.TypeOf(b)) {
		return conversion{}, false
	}
	return conversion{call: ast.Unparen(e).(*ast.CallExpr), of: b}, true
}

// bytes returns the source text of the converted slice, or "" if there is no slice.
func (c conversion) bytes(p *check.Pass) string {
	if c.of == c.call {
		return ""
	}
	return p.Source(c.of)
}

// argument reports the conversion at cur, an argument of call.
func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, c conversion) {
	i, fn := slices.Index(call.Args, ast.Expr(c.call)), p.Callee(call)
	switch builtin := p.Builtin(call); {
	case i < 0: // a method of the string is called
	case builtin == "delete":
		p.Report(c.call, "string(b) is copied to be deleted where it is longer than 32 bytes; look it up by m[string(b)] "+
			"first")
	case builtin != "" || p.Info.Types[call.Fun].IsType() || fn != nil && fn.Pkg() == nil:
	case fn == nil:
		p.Needs(check.Interface, true).Report(c.call,
			"string(b) copies the bytes for a function value; where none of its functions keeps them, let it take a []byte")
	case fn.Pkg().Path() == "strings" && fn.Signature().Recv() == nil:
		ofStrings(p, cur, call, i, c)
	case fn.Pkg().Path() == "fmt":
		formatted(p, call, i, c)
	default:
		called(p, cur, i, fn, c)
	}
}

// ofStrings reports the conversion as argument i of a function of package strings.
func ofStrings(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, c conversion) {
	name := p.Callee(call).Name()
	_, both := converted(p, call.Args[0])
	switch kind := check.TextFuncs[name]; {
	case i > 0 && both && kind == check.Finds: // one finding is enough
	case i > 0:
		p.Report(c.call, "string(b) copies for strings."+name+" where it is longer than 32 bytes; package bytes has the "+
			"same function")
	case kind == check.Finds:
		p.Report(call, "string(b) copies for strings."+name+"; bytes."+name+" reads the slice", fix(p, cur, call, c)...)
	case name == "NewReader":
		p.Report(call, "string(b) copies for strings.NewReader; bytes.NewReader reads the slice")
	case kind == check.Copies:
		p.Report(call, "string(b) is copied, and strings."+name+" copies it again; bytes."+name+" reads the slice")
	case kind != check.Cuts:
	case p.TextUse(cur)&^(check.Compares|check.Searches) == 0:
		p.Report(call, "string(b) copies for strings."+name+
			", and what is cut from it is only read; package bytes has the same functions")
	case !keptWhole(p, cur.Parent()):
		p.Report(call, "string(b) copies all for strings."+name+"; let bytes."+name+
			" cut the slice, and convert what is kept")
	}
}

// keptWhole reports whether the list that the call at cur makes is returned, stored or
// sent as it is, so that each of its parts would need a copy.
func keptWhole(p *check.Pass, cur inspector.Cursor) bool {
	if !check.Is[*types.Slice](p.TypeOf(cur.Node().(ast.Expr))) {
		return false
	}
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt, *ast.SendStmt, *ast.KeyValueExpr, *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return p.Builtin(parent) == "append"
	case *ast.AssignStmt:
		if p.Writes(cur) {
			return false
		}
		v := p.Var(parent.Lhs[0])
		return !p.Local(v) || slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool { return keptWhole(p, use) })
	}
	return false
}

// formatted reports the conversion as argument i of a function of package fmt.
func formatted(p *check.Pass, call *ast.CallExpr, i int, c conversion) {
	_, prints := p.IsCall(call, "fmt", "Fprint")
	switch verb := check.Verb(p.Code, call, i); {
	case prints:
		p.Report(c.call, "the text is copied and boxed for fmt.Fprint; Write takes the bytes")
	case verb == 'v':
		p.Report(c.call, "string(b) is copied and boxed to be formatted; %s takes the slice")
	case verb == 's' || verb == 'q':
		var edits []analysis.TextEdit
		if types.Identical(types.Unalias(p.TypeOf(c.of)), types.NewSlice(types.Typ[types.Byte])) {
			edits = append(edits, check.Replace(c.call, p.Source(c.of)))
		}
		p.Report(c.call, "string(b) is copied and boxed to be formatted; %"+string(verb)+" takes the slice", edits...)
	}
}

// called reports the conversion as argument i of fn, depending on what fn does with it.
func called(p *check.Pass, cur inspector.Cursor, i int, fn *types.Func, c conversion) {
	call := cur.Parent().Node().(*ast.CallExpr)
	const copies = "string(b) copies the bytes for "
	full, sibling, edits := fn.FullName(), check.Sibling(fn, i), writer(p, call, fn, c)
	_, decl := p.Decl(fn)
	_, inlined := check.OnlyReturns(decl).(*ast.BinaryExpr) // inlining removes the copy too
	use, ok := p.TextUse(cur), decl != nil
	const reads = check.Compares | check.Searches | check.Converts | check.Parses
	free := p.Needs(check.Interface, !p.Free(fn))
	switch {
	case edits != nil || full == "io.WriteString":
		p.Report(c.call, "string(b) is copied for "+full+"; Write takes the slice", edits...)
	case sibling != nil:
		p.Report(c.call, "string(b) copies for "+fn.Name()+"; "+sibling.Name()+" reads the slice")
	case fn.Name() == "DecodeString" && check.Standard(fn):
		p.Report(c.call, "string(b) copies for "+full+"; Decode and AppendDecode read the slice")
	case inlined || use&check.Returns != 0 || !ok && fn.Signature().Results().Len() == 0: // kept whole, or inlined
	case use&check.Keeps != 0 && use&reads != 0:
		free.Report(c.call, copies+fn.Name()+", which reads them and keeps some; let it take a []byte, and copy what is kept")
	case use&check.Keeps != 0:
	case ok && use.Reads():
		free.Report(c.call, copies+fn.Name()+", which only reads them; let it take a []byte")
	case ok:
		free.Report(c.call, copies+fn.Name()+", which hands them on; where nothing keeps them, let it take a []byte")
	case fn.Pkg() == p.Code.Pkg || !check.Standard(fn):
		free.Report(c.call, copies+full+"; where that does not keep them, a variant could take a []byte, or an io.Reader")
	case fn.Pkg().Path() != "strconv" || !p.AtLeast(call.Pos(), "go1.18"):
		free.Report(c.call, copies+full+", unless they are few and it does not keep them; look for a variant that takes a "+
			"[]byte, or read them as they are")
	}
}

// held reports the conversion at cur if it is stored in a variable whose text is read,
// whether or not some of it is also kept.
func held(p *check.Pass, cur inspector.Cursor, assign *ast.AssignStmt, c conversion) {
	v := p.Var(assign.Lhs[0])
	if len(assign.Lhs) != 1 || assign.Tok != token.DEFINE && assign.Tok != token.ASSIGN || !p.Local(v) {
		return
	}
	looksUp := slices.ContainsFunc(p.Uses(v), func(use inspector.Cursor) bool {
		index, ok := use.Parent().Node().(*ast.IndexExpr)
		return ok && index.Index == use.Node() && !p.Writes(use.Parent())
	})
	text, f := "", p.TextUse(cur)
	switch reads := f &^ (check.Keeps | check.Hands); {
	case f == check.Compares:
		text = "is only compared; string(b) in the comparison or the switch itself needs none, whatever its length"
	case f&^(check.Compares|check.Searches) == 0 && f != 0:
		text = "is only read; package bytes has the same functions for the slice"
	case looksUp && len(p.Uses(v)) > 1:
		text = "is made for a look-up, too; m[string(b)] needs none, so that only what is not found is copied"
	case f&check.Keeps != 0 && reads&(check.Searches|check.Converts) != 0:
		text = "is read before it is kept; read the []byte, and convert only what is kept"
	case f&check.Keeps != 0:
	case f&check.Hands != 0:
		p, text = p.Needs(check.Interface, true), "is handed on; where nothing keeps it, hand on the []byte"
	case reads&(check.Searches|check.Formats|check.Converts) != 0:
		text = "is only read; keep the []byte, and convert where a string is asked for: what does not escape needs no " +
			"memory up to 32 bytes"
	case reads&check.Parses != 0:
		text = "is only parsed, which from Go 1.18 needs none up to 32 bytes; where they are longer, parse the bytes"
	}
	if text != "" {
		p.Report(c.call, "the copy in "+v.Name()+" "+text)
	}
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

// writer returns the edit from x.WriteString(string(b)) to x.Write(b), if both methods
// of x are in the standard library: those of others may differ.
func writer(p *check.Pass, call *ast.CallExpr, fn *types.Func, c conversion) []analysis.TextEdit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fn.Name() != "WriteString" || !check.Standard(fn) || fn.Signature().Recv() == nil || len(call.Args) != 1 ||
		c.of == c.call {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(p.TypeOf(sel.X), true, p.Code.Pkg, "Write")
	write, ok := obj.(*types.Func)
	if !ok || !check.Standard(write) || write.Signature().Params().Len() != 1 ||
		!check.IsBytes(write.Signature().Params().At(0).Type()) ||
		!types.Identical(write.Signature().Results(), fn.Signature().Results()) {
		return nil
	}
	return []analysis.TextEdit{check.Replace(sel.Sel, "Write"), check.Replace(call.Args[0], p.Source(c.of))}
}
