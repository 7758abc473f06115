// Package byteconv is an allocation check: see Check.
package byteconv

import (
	"go/ast"
	"go/types"
	"go/version"
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

The conversion copies the string to the heap. Since Go 1.22 the compiler leaves the copy out where it
sees that the callee neither writes to the slice nor keeps it, so only the other
calls are flagged there: those through an interface, of functions that pass the slice on, and, as a hint,
of functions of other packages and of bytes.Index, Contains, Count and Compare, which end in assembly. Copies that
are returned, or held and handed on, are hints, too, and so are constants that are returned or handed on, bytes of a text that is made for them alone, bytes that grow at once, what is
given to hashes, which end in assembly as well, and []rune(s) that is only read.`,
	When:     "the line is hot, and the callee can take a string (io.WriteString does).",
	WhenNot:  "constants for what only reads or writes to them; callees that only read (from Go 1.22) or that write to the slice; copies that are stored; start-up code and error paths.",
	Measured: "read only: 0 allocations -> 0; kept or behind an interface: 1 -> 0 (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	for cur := range p.Root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		for i, arg := range call.Args {
			if s, ok := converted(p, arg); ok {
				argument(p, cur, call, i, s)
			}
		}
		if s, ok := converted(p, call); ok && !p.IsConst(s) {
			elsewhere(p, cur, call)
		} else if ok && (listed(cur) || returned(p, cur)) {
			p.Hint(call, p.HeatAt(cur), "the constant is copied each time; hold the bytes in a package variable where nothing writes to them")
		}
		runes(p, cur, call)
		if _, ok := p.IsCall(call, "bytes", "NewBufferString"); ok && onlyRead(p, cur) {
			p.Report(call, min(p.HeatAt(cur), check.Warm), "bytes.NewBufferString copies the string to read from it; strings.NewReader reads the string itself")
		}
	}
}

// converted returns the string that arg converts to bytes.
func converted(p *check.Pass, arg ast.Expr) (ast.Expr, bool) {
	s, ok := p.Conversion(arg, check.IsBytes)
	if !ok || !check.IsString(p.TypeOf(s)) {
		return nil, false
	}
	return s, true
}

func argument(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr, i int, s ast.Expr) {
	if b := p.Builtin(call); (b == "append" && call.Ellipsis.IsValid() || b == "copy") && i == 1 && !p.IsConst(s) && !elided(p, call) {
		p.Hint(call.Args[i], p.HeatAt(cur), "[]byte(s) is copied for "+b+", before Go 1.22; "+b+" takes the string")
	}
	if p.Builtin(call) == "append" && i == 0 && len(call.Args) > 1 && !p.IsConst(s) {
		p.Hint(call.Args[0], p.HeatAt(cur), "[]byte(s) is copied, and copied again where it grows; append to a slice with room for both")
	}
	if p.Info.Types[call.Fun].IsType() || p.Builtin(call) != "" {
		return
	}
	fn, constant := p.Callee(call), p.IsConst(s)
	heat := p.HeatAt(cur)
	warm := min(heat, check.Warm)
	if fn == nil {
		if !constant {
			p.Needs(check.Interface, true).Report(call.Args[i], warm, "[]byte(s) copies the string for a function value; where none of its functions writes to it, let it take a string")
		}
		return
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && i == 0 && fn.Name() == "Write" && types.IsInterface(p.TypeOf(sel.X)) && writes(fn) {
		if constant {
			heat = warm
		}
		p.Report(call.Args[0], heat, "[]byte(s) is copied for Write; io.WriteString writes the string itself where the writer can", fix(p, cur, call, sel, s)...)
		return
	}
	if constant {
		if use, known := p.ParamUse(fn, i); known && use&check.Writes == 0 && use != 0 {
			p.Report(call.Args[i], warm, "the constant is copied for each call of "+fn.Name()+", which hands it on; hold the bytes in a package variable")
		} else if !known && !check.Standard(fn) {
			p.Report(call.Args[i], warm, "the constant is copied for each call of "+fn.FullName()+", unless it only reads it; hold the bytes in a package variable")
		}
		return
	}
	if _, ok := p.IsCall(call, "bytes", "NewReader", "NewBuffer"); ok {
		p.Report(call.Args[i], warm, "[]byte(s) copies the string for "+fn.FullName()+"; where it is only read from, strings.NewReader reads the string itself")
		return
	}
	called(p, call, i, fn, heat)
}

// called reports argument i of call by what fn does with it.
func called(p *check.Pass, call *ast.CallExpr, i int, fn *types.Func, heat check.Heat) {
	warm := min(heat, check.Warm)
	p = p.Needs(check.Interface, !p.Free(fn))
	use, ok := p.ParamUse(fn, i)
	if !ok && check.Reads(fn, i) {
		use, ok = 0, true
	}
	switch {
	case ok:
	case check.External(fn, p.Code.Pkg), !check.Standard(fn):
		p.Report(call.Args[i], warm, "[]byte(s) copies the string for "+fn.FullName()+", unless it only reads it; look for a variant that takes a string")
	case strings.HasPrefix(fn.Name(), "Unmarshal"):
		p.Report(call.Args[i], warm, "[]byte(s) copies the string for "+fn.FullName()+"; hold the bytes that it came from, or decode from a strings.Reader")
	case !(elided(p, call) && readsOnly(fn)):
		p.Report(call.Args[i], warm, "[]byte(s) copies the string for "+fn.FullName()+"; look for a variant that takes a string, such as WriteString")
	}
	if !ok || use&check.Writes != 0 {
		return
	}
	if use == 0 && elided(p, call) {
		if assembly[fn.Pkg().Path()] || fn.Pkg().Path() == "bytes" && inAssembly[fn.Name()] {
			p.Report(call.Args[i], warm, "[]byte(s) is copied where it is longer than 32 bytes: "+fn.FullName()+" ends in assembly, which the compiler does not look into")
		}
		return
	}
	p.Report(call.Args[i], heat, "[]byte(s) copies the string for "+fn.Name()+", which does not write to it; let it take a string")
}

// listed reports whether the value at cur is part of a composite literal.
func listed(cur inspector.Cursor) bool {
	switch cur.Parent().Node().(type) {
	case *ast.CompositeLit, *ast.KeyValueExpr:
		return true
	}
	return false
}

// returned reports whether the value at cur is returned, or the only one of a
// local variable that nothing writes to and that is handed on.
func returned(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.AssignStmt:
		if v := p.Var(parent.Lhs[0]); len(parent.Lhs) == 1 && p.Local(v) {
			use := p.VarUse(v)
			return use&check.Writes == 0 && use&check.Hands != 0
		}
	}
	return false
}

// runes reports []rune(s) that is held and only read.
func runes(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	s, ok := p.Conversion(call, func(t types.Type) bool {
		slice, ok := t.Underlying().(*types.Slice)
		return ok && types.Identical(slice.Elem().Underlying(), types.Typ[types.Rune])
	})
	if !ok || !check.IsString(p.TypeOf(s)) || p.IsConst(s) {
		return
	}
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if v := p.Var(parent.Lhs[0]); len(parent.Lhs) != 1 || !p.Local(v) || p.VarUse(v)&(check.Writes|check.Keeps) != 0 {
			return
		}
	case *ast.IndexExpr, *ast.SliceExpr:
	default:
		return
	}
	p.Hint(call, p.HeatAt(cur), "[]rune(s) takes four bytes for each character; a range loop and package utf8 read the string itself")
}

// onlyRead reports whether the buffer of the call at cur goes straight to what
// takes an io.Reader.
func onlyRead(p *check.Pass, cur inspector.Cursor) bool {
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && p.Local(p.Var(assign.Lhs[0])) {
		uses := p.Uses(p.Var(assign.Lhs[0]))
		for _, use := range uses {
			if !onlyRead(p, use) {
				return false
			}
		}
		return len(uses) > 0
	}
	outer, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok || p.Callee(outer) == nil {
		return false
	}
	sig := p.Callee(outer).Signature()
	for i, arg := range outer.Args {
		if arg != cur.Node() {
			continue
		}
		last := sig.Params().Len() - 1
		t := sig.Params().At(min(i, last)).Type()
		if s, ok := t.(*types.Slice); ok && sig.Variadic() && i >= last {
			t = s.Elem()
		}
		return check.IsNamed(t, "io", "Reader")
	}
	return false
}

// elided reports whether the compiler leaves out copies that are only read.
func elided(p *check.Pass, call *ast.CallExpr) bool {
	return version.Compare(p.GoVersion(call.Pos()), "go1.22") >= 0
}

// elsewhere reports the conversion at cur where it is returned, or held in a
// variable that nothing writes to and nothing keeps. It is a hint: a caller may
// want bytes to write to.
func elsewhere(p *check.Pass, cur inspector.Cursor, call *ast.CallExpr) {
	warm := min(p.HeatAt(cur), check.Warm)
	switch parent := cur.Parent().Node().(type) {
	case *ast.ReturnStmt:
		p.Needs(check.Interface, !p.FreeAround(cur)).Report(call, warm, "[]byte(s) is copied for each caller; append to a slice of the caller, or return the string to those who only read it")
	case *ast.AssignStmt:
		if len(parent.Lhs) != 1 || !p.Local(p.Var(parent.Lhs[0])) {
			break
		}
		v := p.Var(parent.Lhs[0])
		use := p.VarUse(v)
		if use&(check.Writes|check.Keeps) != 0 {
			break
		}
		if use == 0 && elided(p, call) {
			return
		}
		p.Needs(check.Interface, use&check.Hands != 0).Report(call, warm, "the copy in "+v.Name()+" is not written to; where nothing that gets it keeps it, hand on the string")
		return
	}
	if with := fresh(p, call.Args[0]); with != "" && stored(p, cur) {
		p.Report(call, warm, "the text is made, and then copied; "+with+" makes the bytes themselves")
	}
}

// stored reports whether the value at cur is put into something that holds it.
func stored(p *check.Pass, cur inspector.Cursor) bool {
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt, *ast.KeyValueExpr, *ast.CompositeLit, *ast.SendStmt:
		return true
	case *ast.CallExpr:
		return p.Builtin(parent) == "append" && !parent.Ellipsis.IsValid()
	}
	return false
}

// fresh returns what makes the bytes of a text that e makes, or "".
func fresh(p *check.Pass, e ast.Expr) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn := p.Callee(call)
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	switch name := check.FuncName(fn); fn.Pkg().Path() + "." + name {
	case "fmt.Sprintf", "fmt.Sprint", "fmt.Sprintln":
		return "fmt." + strings.Replace(name, "Sprint", "Append", 1)
	case "strconv.Itoa", "strconv.FormatInt", "strconv.FormatUint", "strconv.FormatFloat", "strconv.FormatBool", "strconv.Quote":
		return "strconv.Append" + strings.TrimPrefix(strings.Replace(name, "Itoa", "Int", 1), "Format")
	case "bytes.Buffer.String":
		return "Bytes"
	case "encoding/hex.EncodeToString":
		return "hex.AppendEncode"
	case "time.Time.Format":
		return "AppendFormat"
	}
	return ""
}

// inAssembly are functions of package bytes whose argument is still copied, by
// measurement with Go 1.26.8.
var inAssembly = map[string]bool{"Compare": true, "Contains": true, "Count": true, "Index": true}

// assembly are the packages whose functions end there.
var assembly = map[string]bool{"crypto/hmac": true, "crypto/md5": true, "crypto/sha1": true, "crypto/sha256": true, "crypto/sha512": true, "hash/crc32": true}

// readsOnly reports whether fn is a method of the library that the compiler
// sees to read its argument: Buffer and Builder, and encodings.
func readsOnly(fn *types.Func) bool {
	switch name := check.FuncName(fn); name {
	case "Buffer.Write", "Builder.Write", "Encoding.EncodeToString", "Encoding.AppendEncode", "Encoding.Encode":
		return true
	}
	return false
}

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
