package advice

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// leads say, by the kind of what allocates, which change would make the memory needless, with the one condition that it
// has. Nothing is said of a change that also depends on code elsewhere: whether a struct is copied or a key of maps,
// whether its methods run side by side, who still reads what a field had before.
var leads = map[life.Kind]func(*subject) string{
	life.Literal: (*subject).leadObject, life.New: (*subject).leadObject, life.Variable: (*subject).leadVariable,
	life.Make: (*subject).leadMake, life.Append: (*subject).leadAppend, life.Map: (*subject).leadMap,
	life.MapGrow: func(k *subject) string {
		if made, ok := k.growth.Begin.(*ssa.MakeMap); ok && !life.Roomy(made) && !k.firstGroup() {
			return "made with its size (" + k.x.position(k.p, made.Pos()) + "), where that can be told, it does not grow"
		}
		return ""
	},
	life.Concat: (*subject).leadConcat, life.Convert: (*subject).leadConvert, life.Box: (*subject).leadBox,
	life.MethodValue: func(*subject) string {
		return "a method expression, as (*T).m, needs none, if whoever calls it has the receiver"
	},
	life.Variadic: (*subject).leadVariadic,
	life.Go: func(*subject) string {
		return "goroutines that take work from a channel serve all calls, without a start for each, if none waits for another"
	},
	life.Defer: func(*subject) string {
		return "called where the round ends, on every way out of it, it does not wait for the function's end"
	},
}

// lead says what would make the memory needless; "" where nothing is known.
func (k *subject) lead() string {
	if runsOnce(k.s.Func) {
		return onlyOnce
	}
	by := *k
	seen := k.life.kind == kept && k.life.holder.Kind != life.Global // benchmarks keep in globals what others do not
	if code := k.x.lifetime(k.p, k.s, k.c); !k.sure() && code.kind > died && (code.kind == kept || !seen) {
		by.life = code
	}
	if of := leads[k.s.Kind]; of != nil {
		return of(&by)
	}
	return ""
}

// sure reports whether all of the memory dies with the call of the function that makes it.
func (k *subject) sure() bool {
	return k.dies() && len(k.life.rest) == 0 && k.life.in == shortName(k.c.function)
}

// ofCaller is what could become of a slice that callers get.
const ofCaller = "appended to a slice that the caller gives, it needs memory once, for callers that do not keep it"

// handed reports whether callers get the value itself, and not something that has it.
func (k *subject) handed() bool {
	is := k.s.Value.Type()
	if e, ok := k.s.Node.(ast.Expr); ok && k.list() { // a constant length makes an array
		is = k.p.Info.TypeOf(e)
	}
	return k.life.kind == escaped && !k.within() && slices.ContainsFunc(
		slices.Collect(outermost(k.s.Func).Signature.Results().Variables()), func(r *types.Var) bool {
			return types.IsInterface(r.Type()) && !check.IsError(r.Type()) || types.Identical(r.Type(), is)
		})
}

// again says who could keep memory of which each call needs only the use.
func (k *subject) again(what string) string {
	if k.life.round && k.sure() {
		return strings.TrimSuffix(what, ",") + ", made before the loop, could serve all its rounds"
	}
	text := "a sync.Pool, or whoever makes the calls one after the other, could keep " + what + " for all of them"
	if !k.sure() {
		text = "if nobody keeps it, " + text
	}
	return text
}

// enclosing returns the outermost loop around the expression within its function, or nil.
func (k *subject) enclosing() (outer ast.Stmt) {
	for _, n := range slices.Backward(k.path()) {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			outer = nil
		case *ast.ForStmt:
			if outer == nil {
				outer = n
			}
		case *ast.RangeStmt:
			if outer == nil && n.Body.Pos() < k.s.Node.Pos() {
				outer = n
			}
		}
	}
	return outer
}

// path are the nodes around the expression, innermost first, up to the file; nil if it is not known.
func (k *subject) path() []ast.Node {
	if k.s == nil || k.s.Node == nil {
		return nil
	}
	for _, f := range k.p.Files {
		if f.FileStart <= k.s.Node.Pos() && k.s.Node.Pos() < f.FileEnd {
			path, _ := astutil.PathEnclosingInterval(f, k.s.Node.Pos(), k.s.Node.End())
			return path
		}
	}
	return nil
}

// loop names a loop.
func (k *subject) loop(at ast.Stmt) string {
	line := k.x.position(k.p, at.Pos())
	if over, ok := at.(*ast.RangeStmt); ok {
		return fmt.Sprintf("the loop over %s (%s)", spelled(k.p, over.X), line)
	}
	return fmt.Sprintf("the loop at %s", line)
}

// loads reports whether an instruction reads a variable, or a part of it.
func loads(use ssa.Instruction) bool {
	switch use.(type) {
	case *ssa.UnOp:
		return true
	case *ssa.FieldAddr, *ssa.IndexAddr:
		return life.Only(use.(ssa.Value), loads)
	}
	return false
}

// list reports whether the expression is a slice.
func (k *subject) list() bool {
	e, ok := k.s.Node.(ast.Expr)
	if !ok {
		return false
	}
	_, ok = k.p.Info.TypeOf(e).Underlying().(*types.Slice)
	return ok
}

// fieldName is a field with the type that has it, or "".
func (k *subject) fieldName(at *ssa.FieldAddr) string {
	if of, ok := at.X.Type().Underlying().(*types.Pointer); ok {
		if st, ok := of.Elem().Underlying().(*types.Struct); ok {
			t, _, _ := strings.Cut(named(k.p.Pkg, of.Elem()), "[")
			return t + "." + st.Field(at.Field).Name()
		}
	}
	return ""
}

// sibling returns what has another name beside a function, or beside a method of the same type, or nil.
func (k *subject) sibling(fn *types.Func, name string) *types.Func {
	if fn.Pkg() == nil || !token.IsExported(name) && fn.Pkg() != k.p.Pkg {
		return nil
	}
	if recv := fn.Signature().Recv(); recv != nil {
		of, _, _ := types.LookupFieldOrMethod(recv.Type(), true, fn.Pkg(), name)
		method, _ := of.(*types.Func)
		return method
	}
	of, _ := fn.Pkg().Scope().Lookup(name).(*types.Func)
	return of
}

// own reports whether a function is one of the packages, or of the same module.
func (k *subject) own(fn *types.Func) bool {
	if k.x.units[k.p.Fset.Position(fn.Pos()).Filename] != nil {
		return true
	}
	u := k.x.units[k.p.Fset.Position(k.s.Instr.Pos()).Filename]
	return u != nil && u.Module != nil && fn.Pkg() != nil && strings.HasPrefix(fn.Pkg().Path()+"/", u.Module.Path+"/")
}

// unboxed says how a function could be given a value of type t without a box, or returns "".
func (k *subject) unboxed(fn *types.Func, t string) string {
	for _, o := range instead[plainName(fn.FullName())] {
		if o.when == "" || o.when == "boxed" {
			return o.text
		}
	}
	switch {
	case logs(fn):
		return askFirst(fn)
	case k.own(fn):
		return nameOf(fn) + " could take " + t + " itself, if all callers give that, and it keeps no box"
	case fn.Pkg().Path() == "fmt":
		return "append, strconv.Append… and WriteString write text and numbers without boxes"
	}
	return ""
}

// logs reports whether a function takes a list of values of any type, and returns nothing.
func logs(fn *types.Func) bool {
	sig := fn.Signature()
	if !sig.Variadic() || sig.Results().Len() > 0 {
		return false
	}
	list, ok := sig.Params().At(sig.Params().Len() - 1).Type().(*types.Slice)
	return ok && types.IsInterface(list.Elem())
}

// askFirst is what may spare what a logger is given.
func askFirst(fn *types.Func) string {
	return "if " + nameOf(fn) + " often does nothing with it, as a logger below its level, ask that before the call"
}

// leadVariadic says how the function that takes the list could do without it.
func (k *subject) leadVariadic() string {
	for _, c := range takers(k.s.Value) {
		if fn := called(c); fn != nil && logs(fn) {
			return askFirst(fn)
		}
	}
	return "a function that takes one after the other needs no list"
}

// either joins what is known of several ways; parts may be "".
func either(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; or ")
}

// appender names the function beside the callee that writes to memory which it is given, or returns "".
func (k *subject) appender() string {
	call, ok := k.s.Instr.(ssa.CallInstruction)
	if !ok {
		return ""
	}
	fn := called(call.Common())
	if fn == nil || fn.Signature().Results().Len() == 0 {
		return ""
	}
	into := func(other *types.Func) bool {
		for p := range other.Signature().Params().Variables() {
			if check.IsBytes(p.Type()) {
				return other.Signature().Params().Len() > fn.Signature().Params().Len()
			}
		}
		return false
	}
	names := []string{"Append" + fn.Name(), fn.Name() + "Append", fn.Name() + "To", fn.Name() + "Into"}
	switch fn.Name() {
	case "String", "MarshalText":
		names = append(names, "AppendTo", "AppendText")
	case "MarshalBinary":
		names = append(names, "AppendBinary")
	}
	for _, name := range names {
		if other := k.sibling(fn, name); other != nil && other != fn && into(other) {
			return nameOf(other) + " writes to memory that you keep"
		}
	}
	return ""
}

func (k *subject) leadMap() string {
	room := ""
	made, ok := k.s.Instr.(*ssa.MakeMap)
	if _, literal := k.s.Node.(*ast.CompositeLit); ok && !literal && !life.Roomy(made) {
		room = "where the number of its entries can be told, make takes it"
	}
	if k.life.kind <= unproved {
		return either(room, k.again("one map, emptied by clear,"))
	}
	return either(room, k.givenBack())
}

// leadVariable is about what a function literal shares with the function around it.
func (k *subject) leadVariable() string {
	for _, use := range *k.s.Value.Referrers() {
		made, ok := use.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		literal := made.Fn.(*ssa.Function)
		if literal.Synthetic != "" || !life.Only(literal.FreeVars[slices.Index(made.Bindings, k.s.Value)], loads) {
			return "" // the body of a loop over an iterator, or it changes the variable
		}
		return "the function literal at " + k.x.position(k.p, literal.Pos()) +
			" reads it: a copy of what that needs, in a variable that is set once, leaves it on the stack"
	}
	return k.leadObject()
}

func (k *subject) leadObject() string {
	switch in := k.put(); {
	case in != "" && locks(k.s.Type):
		return ""
	case in != "":
		return "a " + in + " of values has them in its own memory, if nobody keeps their addresses"
	case k.life.kind <= unproved:
		return k.again("one "+named(k.p.Pkg, k.s.Type)) + "; set all of it each time"
	case k.handed() && k.list():
		return ofCaller
	case k.handed():
		return "callers that do not keep it could give the one to fill"
	}
	return k.givenBack()
}

// put says in what kind of container a pointer to the value is put, if that is its only place: a slice, map or channel.
func (k *subject) put() (in string) {
	v, places := k.s.Value, 0
	for _, use := range *v.Referrers() {
		switch i := use.(type) {
		case *ssa.Store:
			if i.Val != v {
				continue
			}
			if _, ok := i.Addr.(*ssa.IndexAddr); ok {
				if len(takers(v)) > 0 { // in the list of last arguments
					continue
				}
				in = "slice"
			}
			places++
		case *ssa.MapUpdate:
			if i.Value == v {
				in, places = "map", places+1
			}
		case *ssa.Send:
			if i.X == v {
				in, places = "channel", places+1
			}
		}
	}
	if places > 1 {
		return ""
	}
	return in
}

// leadBox says how the function that takes the value could do without the box.
func (k *subject) leadBox() string {
	for _, c := range takers(k.s.Value) {
		if fn := called(c); fn != nil && fn.Pkg() != nil {
			return k.unboxed(fn, named(k.p.Pkg, k.s.Type))
		}
	}
	return ""
}
