package advice

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/advise/check"
)

// A signature is what a frame of a profile says of the line that called it.
type signature struct {
	frame    string // how the name of the function begins
	exercise int    // 0 where none of the eighteen is about it
	cause    string
}

// signatures are the frames that tell a pattern by themselves: those that the
// document lists, and the functions of the standard library that the exercises
// call. CPU profiles have the frames of the runtime, allocation profiles leave
// them out.
var signatures = []signature{
	{"fmt.Sprint", 1, "formats into a new string"},
	{"runtime.stringtoslicebyte", 2, "copies a string to bytes"},
	{"runtime.slicebytetostring", 3, "copies bytes to a string"},
	{"runtime.concatstring", 4, "joins strings into a new one"},
	{"runtime.growslice", 5, "append outgrows the capacity"},
	{"bytes.(*Buffer).", 6, "a bytes.Buffer grows"},
	{"runtime.newproc", 7, "starts a goroutine with its closure"},
	{"runtime.convT", 8, "boxes a value to pass it as an interface"},
	{"time.NewTimer", 10, "makes a timer"},
	{"time.After", 10, "makes a timer"},
	{"encoding/json.Marshal", 11, "encodes into a new slice"},
	{"regexp.", 12, "compiles a pattern"},
	{"runtime.makemap", 0, "makes a map in each call"},
	{"runtime.deferproc", 14, "a deferred call takes a record on the heap"},
	{"errors.New", 15, "makes an error"},
	{"runtime.SetFinalizer", 17, "sets a finalizer"},
	{"runtime.addfinalizer", 17, "sets a finalizer"},
}

// recognize returns the signature of a function, or nil.
func recognize(function string) *signature {
	for i := range signatures {
		if s := &signatures[i]; strings.HasPrefix(function, s.frame) &&
			(s.frame != "regexp." || strings.Contains(strings.ToLower(function), "compile")) {
			return s
		}
	}
	return nil
}

// vote is what the samples of a line say of it: for each signature, how much
// was charged through its frame.
type vote map[*signature]int64

func (v vote) most() *signature {
	var best *signature
	for i := range signatures {
		if s := &signatures[i]; v[s] > 0 && (best == nil || v[s] > v[best]) {
			best = s
		}
	}
	return best
}

// sources finds the syntax of a line. It parses the package of a file when it
// is asked for.
type sources struct {
	units   map[string]*unit // by the absolute name of a file
	session *session
	read    map[string]*source
}

type source struct {
	pkg  *packages.Package
	file *ast.File
}

func newSources(units []*unit) *sources {
	s := &sources{map[string]*unit{}, newSession(), map[string]*source{}}
	for _, u := range units {
		for _, f := range u.Files {
			s.units[f.Name] = u
		}
	}
	return s
}

// of returns the source of a file, or nil.
func (s *sources) of(name string) *source {
	u := s.units[name]
	if u != nil && s.read[name] == nil {
		p, _ := s.session.check(u.Package) // it compiled before
		for _, f := range p.Syntax {
			s.read[p.Fset.File(f.FileStart).Name()] = &source{p, f}
		}
	}
	return s.read[name]
}

// explain returns the exercise that applies to a line, and what allocates
// there: by its syntax where that is plain, and otherwise by the frames.
func (s *sources) explain(at place, v vote) (exercise int, cause string) {
	var written *signature
	if src := s.of(at.file); src != nil {
		written = src.line(at.line)
	}
	frame := v.most()
	switch {
	case frame == nil && written == nil:
		return 0, ""
	case frame == nil, written != nil && written.exercise == 1: // its boxing and growing are part of it
		return written.exercise, written.cause
	}
	return frame.exercise, frame.cause
}

// line returns what the line allocates by itself, as far as its syntax shows:
// the construct that begins there, the outermost first.
func (s *source) line(line int) (found *signature) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil || found != nil {
			return false
		}
		from, to := s.pkg.Fset.Position(n.Pos()).Line, s.pkg.Fset.Position(n.End()).Line
		if from > line || to < line {
			return false
		}
		if from == line {
			found = s.allocates(n)
		}
		return found == nil
	})
	return found
}

func (s *source) allocates(n ast.Node) *signature {
	switch n := n.(type) {
	case *ast.GoStmt:
		if _, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
			return recognize("runtime.newproc")
		}
	case *ast.DeferStmt:
		return recognize("runtime.deferproc")
	case *ast.AssignStmt:
		if n.Tok == token.ADD_ASSIGN && s.text(n.Lhs[0]) {
			return recognize("runtime.concatstring")
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD && s.text(n) && s.pkg.TypesInfo.Types[n].Value == nil {
			return recognize("runtime.concatstring")
		}
	case *ast.UnaryExpr:
		if lit, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND {
			return s.composite(lit)
		}
	case *ast.CallExpr:
		return s.call(n)
	}
	return nil
}

func (s *source) text(e ast.Expr) bool {
	t := s.pkg.TypesInfo.TypeOf(e)
	return t != nil && check.IsString(t)
}

var (
	apart   = signature{"", 9, "a struct and a part of it are allocated apart"}
	wrapped = signature{"", 18, "allocates a struct around one value"}
)

func (s *source) composite(lit *ast.CompositeLit) *signature {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			return &apart
		}
	}
	return wrapper(s.pkg.TypesInfo.TypeOf(lit))
}

// wrapper returns the signature of a pointer to a struct of one primitive.
func wrapper(t types.Type) *signature {
	if t == nil {
		return nil
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || st.NumFields() != 1 {
		return nil
	}
	if _, ok := st.Field(0).Type().Underlying().(*types.Basic); !ok {
		return nil
	}
	return &wrapped
}

func (s *source) call(call *ast.CallExpr) *signature {
	info := s.pkg.TypesInfo
	if tv := info.Types[call.Fun]; tv.IsType() && len(call.Args) == 1 {
		from := info.TypeOf(call.Args[0])
		switch {
		case from == nil:
		case check.IsBytes(tv.Type) && check.IsString(from):
			return recognize("runtime.stringtoslicebyte")
		case check.IsString(tv.Type) && check.IsBytes(from):
			return recognize("runtime.slicebytetostring")
		}
		return nil
	}
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		switch obj := info.Uses[fun].(type) {
		case *types.Builtin:
			if obj.Name() == "append" {
				return recognize("runtime.growslice")
			}
			if _, ok := info.TypeOf(call).Underlying().(*types.Map); ok && obj.Name() == "make" {
				return recognize("runtime.makemap")
			}
		case *types.Func:
			if ptr, ok := info.TypeOf(call).(*types.Pointer); ok {
				return wrapper(ptr.Elem())
			}
			return s.boxes(call, obj)
		}
	case *ast.SelectorExpr:
		if fn, ok := info.Uses[fun.Sel].(*types.Func); ok {
			if s := recognize(fn.FullName()); s != nil {
				return s
			}
			return s.boxes(call, fn)
		}
	}
	return nil
}

// boxes returns the signature of a number among the arguments that becomes an
// interface.
func (s *source) boxes(call *ast.CallExpr, fn *types.Func) *signature {
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		last := min(i, params.Len()-1)
		if last < 0 {
			break
		}
		t := params.At(last).Type()
		if fn.Signature().Variadic() && last == params.Len()-1 && !call.Ellipsis.IsValid() {
			t = t.(*types.Slice).Elem()
		}
		tv := s.pkg.TypesInfo.Types[arg]
		if types.IsInterface(t) && tv.Value == nil && tv.Type != nil && check.IsInteger(tv.Type) {
			return recognize("runtime.convT")
		}
	}
	return nil
}
