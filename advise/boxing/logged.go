package boxing

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// quiet matches the names of what is called for messages that are off in
// production.
var quiet = regexp.MustCompile(`^(Debug|Trace)`)

// tells matches the names of methods that say whether such a message is on.
var tells = regexp.MustCompile(`^((Is)?(Level|Debug|Trace)?Enabled|CanLog|Is(Debug|Trace))$`)

// logged reports a value that is boxed for a message which the logger may not
// want, where something tells that before.
func logged(p *check.Pass, cur inspector.Cursor, fn *types.Func, call *ast.CallExpr) bool {
	if !quiet.MatchString(fn.Name()) || guarded(cur) {
		return false
	}
	ask := asks(p, fn, call)
	arg := boxed(p, fn, call, wide)
	if ask == "" || arg == nil {
		return false
	}
	p.Hint(arg, p.HeatAt(cur), types.ExprString(arg)+" is boxed for "+fn.Name()+" even where nothing is logged; ask "+ask+" before")
	return true
}

// asks returns what tells whether the call of fn, of a logger, will do anything,
// or "".
func asks(p *check.Pass, fn *types.Func, call *ast.CallExpr) (name string) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if fn.Signature().Recv() == nil {
		if fn.Pkg().Path() == "log/slog" {
			return "slog.Default().Enabled"
		}
		return ""
	}
	takes := -1 // one that is given the level says more than one that is not
	methods := types.NewMethodSet(p.TypeOf(sel.X))
	for i := range methods.Len() {
		m := methods.At(i).Obj().(*types.Func)
		results := m.Signature().Results()
		if !tells.MatchString(m.Name()) || results.Len() != 1 || !types.Identical(results.At(0).Type(), types.Typ[types.Bool]) {
			continue
		}
		if n := m.Signature().Params().Len(); n > takes {
			name, takes = m.Name(), n
		}
	}
	return name
}
