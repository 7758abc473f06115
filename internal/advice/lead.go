package advice

import (
	"cmp"
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

// leads say, by the kind of what allocates, which change would make the memory needless, and what has to hold for it.
// Nothing proves that it does.
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
	life.Closure:     (*subject).leadClosure,
	life.MethodValue: func(*subject) string { return "made once for each receiver, and kept, it serves all its calls" },
	life.Channel: func(k *subject) string {
		if k.p.Closes(elementOf(k.s.Value)) {
			return ""
		}
		return "a sync.Pool could keep channels for other calls, if they are never closed, and nobody receives or sends " +
			"once one is put back"
	},
	life.Variadic: func(*subject) string { return "a function that takes one after the other needs no list" },
	life.Go: func(*subject) string {
		return "goroutines that take work from a channel serve all calls, without a start for each"
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

// result says what could become of a slice that the function returns.
func (k *subject) result() string {
	all := []string{"appended to a slice that the caller gives, it needs memory once, for callers that do not keep it"}
	if e, ok := k.s.Node.(ast.Expr); ok && !check.IsBytes(k.p.Info.TypeOf(e)) && !methods(k.p.Info.TypeOf(e)) {
		all = append(all, "an iterator (Go 1.23) needs none for callers that only range over it")
	}
	if recv := k.receiver(); recv != "" && k.p.Loop(k.s.Instr.Block()) == nil { // one at a time
		all = append(all, recv+" could lend one that it keeps, until the next call, where its calls never run side by side")
	}
	return either(all...)
}

// methods reports whether a type has methods, which callers may need.
func methods(t types.Type) bool {
	of, ok := types.Unalias(t).(*types.Named)
	return ok && of.NumMethods() > 0
}

// again says who could keep memory of which each call needs only the use.
func (k *subject) again(what string) string {
	text := "a sync.Pool, or the caller, could keep " + what + " for all calls"
	if k.life.round && k.sure() {
		return strings.TrimSuffix(what, ",") + ", made before the loop, could serve all its rounds"
	}
	if recv := k.receiver(); recv != "" {
		text = recv + " could keep " + what + " for all its calls, where it has many, a sync.Pool for calls that run side " +
			"by side"
	}
	if !k.sure() {
		text = "if nobody keeps it, " + text
	}
	return text
}

// receiver is the struct that has the function as a method with a pointer receiver, and outlives its calls; or "".
func (k *subject) receiver() string {
	if recv := outermost(k.s.Func).Signature.Recv(); recv != nil {
		if of, ok := types.Unalias(recv.Type()).(*types.Pointer); ok {
			if _, fields := of.Elem().Underlying().(*types.Struct); fields && !k.brief(of.Elem()) {
				return named(k.p.Pkg, of.Elem())
			}
		}
	}
	return ""
}

// brief reports whether all that the package makes of a type dies in the functions that make it.
func (k *subject) brief(t types.Type) bool {
	made := 0
	for _, s := range k.p.Objects(t) {
		if types.Identical(s.Type, t) {
			if made++; !k.p.Fate(s.Value).Dies() {
				return false
			}
		}
	}
	return made > 0
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

func (k *subject) leadMap() string {
	var reuse string
	if k.life.kind <= unproved {
		reuse = k.again("one map, emptied by clear,")
	}
	made, ok := k.s.Instr.(*ssa.MakeMap)
	if _, literal := k.s.Node.(*ast.CompositeLit); !ok || literal || life.Roomy(made) {
		return reuse
	}
	room := "where the number of its entries can be told, make takes it"
	if at := k.filled(); at != nil {
		room = "made with its size, it does not grow in " + k.loop(at)
	}
	return either(room, cmp.Or(reuse, k.givenBack()))
}

// assigned is what an assignment gives the value to, and the function around it; nil for none.
func (k *subject) assigned() (to ast.Expr, in ast.Node) {
	for _, n := range k.path() {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if i := slices.IndexFunc(n.Rhs, func(e ast.Expr) bool {
				return e.Pos() <= k.s.Node.Pos() && k.s.Node.End() <= e.End()
			}); i >= 0 && len(n.Lhs) == len(n.Rhs) && to == nil {
				to = n.Lhs[i]
			}
		case *ast.FuncLit, *ast.FuncDecl:
			return to, n
		}
	}
	return nil, nil
}

// filled returns the first loop after the expression that uses what is assigned to, or nil.
func (k *subject) filled() (loop ast.Stmt) {
	to, fn := k.assigned()
	if to == nil {
		return nil
	}
	name := spelled(k.p, to)
	ast.Inspect(fn, func(in ast.Node) bool {
		at, ok := in.(ast.Stmt)
		var body *ast.BlockStmt
		switch in := in.(type) {
		case *ast.RangeStmt:
			body = in.Body
		case *ast.ForStmt:
			body = in.Body
		}
		if loop == nil && ok && body != nil && at.Pos() > k.s.Node.End() && k.uses(body, name) {
			loop = at
		}
		return loop == nil
	})
	return loop
}

// uses reports whether code assigns to an element of what an expression names, or gives it to a call.
func (k *subject) uses(body *ast.BlockStmt, name string) (found bool) {
	is := func(e ast.Expr) bool { return e != nil && spelled(k.p, e) == name }
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool {
				at, ok := ast.Unparen(e).(*ast.IndexExpr)
				return ok && is(at.X)
			})
		case *ast.CallExpr:
			of, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			found = found || ok && is(of.X) || slices.ContainsFunc(n.Args, is) && !k.p.Info.Types[n.Fun].IsBuiltin()
		}
		return !found
	})
	return found
}

func (k *subject) leadVariable() string {
	for _, use := range *k.s.Value.Referrers() {
		made, ok := use.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		if made.Fn.(*ssa.Function).Synthetic != "" { // the body of a loop over an iterator
			return ""
		}
		text := "the function literal at " + k.x.position(k.p, made.Fn.Pos())
		if !life.Only(made.Fn.(*ssa.Function).FreeVars[slices.Index(made.Bindings, k.s.Value)], loads) {
			if of, _, ok := strings.Cut(k.life.holder.Name, "."); ok && k.life.kind == kept && k.life.holder.Kind == life.Field {
				return text + " shares it: beside the function, as a field of " + of + ", it lies in that"
			}
			return text + " shares it: a struct made for the call, which has it and all else that the function captures " +
				"as fields, and the function as a method, is one object"
		}
		text += " reads it: a copy of what that needs, in a variable that is set once, leaves it on the stack"
		if alloc, ok := k.s.Value.(*ssa.Alloc); ok && slices.ContainsFunc(k.s.Func.Params, func(p *ssa.Parameter) bool {
			return p.Name() == alloc.Comment
		}) {
			text += "; or take " + alloc.Comment + " by pointer"
		}
		return text
	}
	return k.leadObject()
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

func (k *subject) leadObject() string {
	t := named(k.p.Pkg, k.s.Type)
	switch field, in := k.put(); {
	case field != "":
		of, _, _ := strings.Cut(field, ".")
		return field + " could hold the " + t + " itself, if nearly all have one, nobody else has the pointer, and no " + of +
			" is copied"
	case in != "" && locks(k.s.Type):
		return ""
	case in != "":
		return "a " + in + " of values has them in its own memory, if nobody keeps their addresses"
	case k.life.kind <= unproved:
		return k.again("one "+t) + "; set all of it each time"
	case k.life.kind == escaped && k.list():
		return k.result()
	case k.life.kind == escaped && (locks(k.s.Type) || k.boxed()):
		return "callers could give the one to fill"
	case k.life.kind == escaped:
		return "as a value it needs no memory, if callers do not keep its address; or they give the one to fill"
	case k.life.holder.Kind == life.Field && !k.life.holder.Perhaps && k.pointsTo(k.life.holder.Name):
		return "field " + k.life.holder.Name +
			" could hold it as a value, if nearly all have one and nobody keeps its address"
	}
	return k.givenBack()
}

// boxed reports whether a pointer to the value is put into an interface, for which a value needs memory as well.
func (k *subject) boxed() bool {
	return slices.ContainsFunc(*k.s.Value.Referrers(), func(use ssa.Instruction) bool {
		_, ok := use.(*ssa.MakeInterface)
		return ok
	})
}

// list reports whether a literal is that of a slice.
func (k *subject) list() bool {
	lit, ok := k.s.Node.(*ast.CompositeLit)
	if !ok {
		return false
	}
	_, ok = k.p.Info.TypeOf(lit).Underlying().(*types.Slice)
	return ok
}

// put says where the value is put, if that is one place: in a field of a type, or in a slice, map or channel.
func (k *subject) put() (field, in string) {
	v, places := k.s.Value, 0
	for _, use := range *v.Referrers() {
		switch i := use.(type) {
		case *ssa.Store:
			if i.Val != v {
				continue
			}
			switch at := i.Addr.(type) {
			case *ssa.FieldAddr:
				if field = k.fieldName(at); !k.pointsTo(field) && k.s.Kind != life.Closure {
					field = ""
				}
			case *ssa.IndexAddr:
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
		return "", ""
	}
	return field, in
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

func (k *subject) leadBox() string {
	t := named(k.p.Pkg, k.s.Type)
	var callee, place, pointer string
	calls := takers(k.s.Value)
	for _, c := range calls {
		if fn := called(c); fn != nil && fn.Pkg() != nil && callee == "" {
			callee = k.unboxed(fn, t)
		}
	}
	switch {
	case len(calls) > 0:
	case k.life.kind == escaped:
		place = k.returnedBox(t)
	case k.life.kind == kept && k.life.holder.Kind != life.Global && k.life.holder.Kind <= life.Chan:
		if place = k.boxPlace(); place != "" {
			place += " could have the type " + t + ", if it holds nothing else"
		}
	}
	if of, ok := k.s.Value.Type().Underlying().(*types.Interface); ok && of.NumMethods() > 0 {
		pointer = "a pointer to a " + t + ", where there is one anyway and nobody asks for the type, " +
			"has the same methods and needs no box"
	}
	return either(callee, place, pointer)
}

// boxPlace says what a box is put into, or returns "".
func (k *subject) boxPlace() string {
	for _, use := range *k.s.Value.Referrers() {
		switch i := use.(type) {
		case *ssa.Store:
			switch at := i.Addr.(type) {
			case *ssa.FieldAddr:
				return "field " + k.fieldName(at)
			case *ssa.IndexAddr:
				return "elements of " + k.life.holder.String()
			}
		case *ssa.MapUpdate:
			if i.Value == k.s.Value {
				return "values of " + k.life.holder.String()
			}
			return "keys of " + k.life.holder.String()
		case *ssa.Send:
			return k.life.holder.String()
		}
	}
	return ""
}

// returnedBox says which results need no box.
func (k *subject) returnedBox(t string) string {
	all := []string{t}
	for _, b := range k.s.Func.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for _, r := range ret.Results {
			box, ok := r.(*ssa.MakeInterface)
			if !ok || !types.Identical(box.Type(), k.s.Value.Type()) {
				continue
			}
			if other := named(k.p.Pkg, box.X.Type()); !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
	}
	switch n := len(all); {
	case n > 4:
		return "callers that need a " + t + " could have it from a function that returns no other type"
	case n > 1:
		return "results of the types " + strings.Join(all, ", ") + ", and one that says which it is, need no box"
	}
	text := "a result of type " + t + " needs no box, if nothing else is returned as it"
	if k.s.Func.Signature.Recv() != nil {
		text += ", and no interface asks for this method"
	}
	return text
}

// unboxed says how a function could be given a value of type t without a box, or returns "".
func (k *subject) unboxed(fn *types.Func, t string) string {
	for _, o := range instead[plainName(fn.FullName())] {
		if o.when == "" || o.when == "boxed" {
			return o.text
		}
	}
	sig := fn.Signature()
	quiet := sig.Variadic() && sig.Results().Len() == 0
	if quiet {
		list, ok := sig.Params().At(sig.Params().Len() - 1).Type().(*types.Slice)
		quiet = ok && types.IsInterface(list.Elem())
	}
	switch {
	case quiet:
		return "if " + nameOf(fn) + " often does nothing with it, as a logger below its level, ask that before the call"
	case k.own(fn) && sig.Recv() != nil:
		return nameOf(fn) + " could take " + t + " itself, if all callers give that"
	case k.own(fn):
		return nameOf(fn) + " could take " + t + " itself, or have a type parameter"
	case fn.Pkg().Path() == "fmt":
		return "append, strconv.Append… and WriteString write text and numbers without boxes"
	}
	return ""
}

func (k *subject) leadClosure() string {
	if _, body := k.s.Node.(*ast.RangeStmt); body { // of a loop over an iterator
		return ""
	}
	var names []string
	made, reads := k.s.Value.(*ssa.MakeClosure), true
	for n, v := range made.Bindings {
		reads = reads && life.Only(made.Fn.(*ssa.Function).FreeVars[n], loads)
		name := v.Name()
		if of, ok := v.(*ssa.Alloc); ok {
			name = of.Comment
		}
		if token.IsIdentifier(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	captures := strings.Join(names[:min(4, len(names))], ", ")
	switch field, _ := k.put(); {
	case captures == "":
		return ""
	case field != "":
		return "field " + field + " could hold what the function captures (" + captures +
			") in place of it, if it holds no other functions, and whoever calls it call a method of that"
	case k.life.kind == escaped && !reads: // callers need the variables themselves
		return ""
	case k.life.kind == escaped:
		return "in place of a function, callers could get what it needs as values (" + captures + ") and do the rest"
	case k.life.kind <= unproved:
		return "made once, as a method value that a struct keeps, it serves all calls: what it captures (" + captures +
			") goes through that struct, if one call ends before the next begins"
	}
	return ""
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

// renewed says how one object that the callee makes could serve again, or returns "".
func (k *subject) renewed() string {
	call, ok := k.s.Instr.(*ssa.Call)
	if !ok {
		return ""
	}
	takes := func(sig *types.Signature) bool { // what the object holds on to
		return slices.ContainsFunc(slices.Collect(sig.Params().Variables()), func(v *types.Var) bool {
			return types.IsInterface(v.Type()) || check.HasPointers(v.Type()) && !check.IsString(v.Type())
		})
	}
	for _, v := range life.Results(call) {
		of, _, _ := types.LookupFieldOrMethod(v.Type(), true, nil, "Reset")
		if reset, ok := of.(*types.Func); ok && (!takes(call.Call.Signature()) || takes(reset.Signature())) {
			return nameOf(reset) + " lets one that you keep, or have from a sync.Pool, serve again, once nobody uses it"
		}
	}
	return ""
}
