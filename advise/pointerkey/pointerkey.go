// Package pointerkey is an allocation check: see Check.
package pointerkey

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/isobar-go/isobar/advise/check"
)

// Check flags long-lived maps whose keys hold pointers that a number could
// stand for.
var Check = check.New(check.Check{
	Name:     "pointerkey",
	Exercise: 13,
	Severity: check.Advice,
	Doc: `a long-lived map whose key is a struct with a pointer to something that has a number

The collector scans every key of the map. With the number in the place of the pointer
the map holds no pointers and is skipped. Hints are keys that are pointers, channels or interfaces themselves; numbers
that are methods, or named like Index or Seq; keys that are the address of a text or a number; structs and arrays
that hold texts, pointers, interfaces or several addresses of netip; pointers in keys where the values hold pointers, too; instances of generic maps, sets and caches;
and texts that are made for the look-up, of numbers, arrays or several parts, or for the map, of bytes. Local maps count where a loop without an end uses them.`,
	When:     "the map has many entries (10^5 and more). Look-ups do not get shorter, but for texts that are made for them.",
	WhenNot:  "other maps in local variables, unless texts are made for them; keys of other modules that have no number; keys that are one text that is there anyway; what stands for something unique, such as an address of netip or a reflect.Type; start-up code and error paths.",
	Measured: "collection with 10^6 keys: 24 ms -> 1.3 ms; look-ups alike (Go 1.26.8)",
	Run:      run,
})

func run(p *check.Pass) {
	texts := renderedKeys(p)
	for cur := range p.Root.Preorder((*ast.MapType)(nil), (*ast.IndexExpr)(nil), (*ast.IndexListExpr)(nil)) {
		key, value := entry(p, cur.Node().(ast.Expr))
		if key == nil || !lives(p, cur) {
			continue
		}
		if _, parameter := types.Unalias(key).(*types.TypeParam); parameter {
			continue
		}
		if check.IsString(key) {
			texts.report(p, cur)
			continue
		}
		scanned := value != nil && check.HasPointers(value)
		switch u := key.Underlying().(type) {
		case *types.Struct:
			composite(p, cur, key, scanned)
		case *types.Pointer:
			direct(p, cur, u, scanned)
		case *types.Chan:
			p.ReportWith(cur.Node(), puts(p, cur), check.Warm, "keys are channels, which the collector follows"+beside(scanned)+"; number who waits, and put the number in their place")
		case *types.Interface:
			if ours(p, key) {
				p.ReportWith(cur.Node(), puts(p, cur), check.Warm, "keys are interfaces: every look-up hashes what they hold by its type, and the collector follows them"+beside(scanned)+"; a number, or a key of one type without pointers, is compared as it is")
			}
		case *types.Array:
			if !bare(u.Elem()) {
				p.ReportWith(cur.Node(), puts(p, cur), check.Warm, "keys hold several texts or pointers, which every look-up hashes and the collector follows"+beside(scanned)+"; number what they name, and put the numbers in their place")
			}
		}
	}
	texts.rest(p)
}

// entry returns the types of keys and values that e is the map type of: a map,
// or an instance of a generic type that is named like one.
func entry(p *check.Pass, e ast.Expr) (key, value types.Type) {
	if m, ok := e.(*ast.MapType); ok {
		return p.TypeOf(m.Key), p.TypeOf(m.Value)
	}
	if !p.Info.Types[e].IsType() {
		return nil, nil
	}
	named, ok := types.Unalias(p.TypeOf(e)).(*types.Named)
	if !ok || named.TypeArgs().Len() == 0 || !container.MatchString(named.Obj().Name()) {
		return nil, nil
	}
	if limit, ok := named.TypeParams().At(0).Constraint().Underlying().(*types.Interface); !ok || !limit.IsComparable() {
		return nil, nil
	}
	if named.TypeArgs().Len() > 1 {
		value = named.TypeArgs().At(1)
	}
	return named.TypeArgs().At(0), value
}

// container is how generic types are named that hold things by key.
var container = regexp.MustCompile(`(?i)map|set|cache|lru|index|table|registry`)

// beside tells that the values are followed as well.
func beside(scanned bool) string {
	if scanned {
		return ", beside the values"
	}
	return ""
}

// composite reports the map at cur, whose key is a struct.
func composite(p *check.Pass, cur inspector.Cursor, named types.Type, scanned bool) {
	key, m := named.Underlying().(*types.Struct), cur.Node()
	if check.IsNamed(named, "time", "Time") {
		p.ReportWith(m, puts(p, cur), check.Warm, "keys hold the address of a time zone, which the collector follows, and differ where only that differs; UnixNano is a number")
		return
	}
	if field, id := pointer(key); field != nil && !scanned {
		severity := check.Hint
		if plain.MatchString(id) && check.NamedOf(named) != nil {
			severity = check.Advice
		}
		p.ReportAsWith(m, declared(p, []*types.Var{field}), severity, "the collector scans every key, for its "+field.Name()+"; put "+id+" in its place")
		return
	}
	if fields := addresses(key); len(fields) > 1 {
		p.ReportWith(m, append(puts(p, cur), declared(p, fields)...), check.Warm, "keys hold several addresses of netip, each with a pointer for its zone that the collector follows; As16 and the port hold none")
		return
	}
	if fields := held(key); len(fields) > 0 {
		p.ReportWith(m, append(puts(p, cur), declared(p, fields)...), check.Warm, "keys hold "+fields[len(fields)-1].Name()+", which every look-up hashes and the collector scans"+beside(scanned)+"; number what they name, and put the number in its place")
	}
}

// addresses returns the fields of a key that are addresses of netip, where it
// holds no other pointers.
func addresses(key *types.Struct) (fields []*types.Var) {
	for f := range key.Fields() {
		if check.IsNamed(f.Type(), "net/netip", "Addr") || check.IsNamed(f.Type(), "net/netip", "AddrPort") {
			fields = append(fields, f)
		} else if check.HasPointers(f.Type()) {
			return nil
		}
	}
	return fields
}

// declared returns the declarations of fields in this package.
func declared(p *check.Pass, fields []*types.Var) (nodes []ast.Node) {
	for cur := range p.Root.Preorder((*ast.StructType)(nil)) {
		for _, f := range cur.Node().(*ast.StructType).Fields.List {
			for _, name := range f.Names {
				if v, ok := p.Info.Defs[name].(*types.Var); ok && slices.Contains(fields, v) {
					nodes = append(nodes, name)
				}
			}
		}
	}
	return nodes
}

// held returns the fields of a key of several that numbers could stand for:
// texts, pointers and interfaces, of parts as well.
func held(key *types.Struct) (fields []*types.Var) {
	if key.NumFields() < 2 {
		return nil
	}
	for f := range key.Fields() {
		if !bare(f.Type()) {
			fields = append(fields, f)
		}
	}
	return fields
}

// bare reports whether keys of type t are compared as they are: they hold no
// pointers, or those of the library that stand for something unique.
func bare(t types.Type) bool {
	if _, parameter := types.Unalias(t).(*types.TypeParam); parameter {
		return true
	}
	if named := check.NamedOf(t); named != nil && named.Obj().Pkg() != nil {
		switch named.Obj().Pkg().Path() {
		case "net/netip", "unique", "weak", "reflect":
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Chan, *types.Interface:
		return false
	case *types.Basic:
		return !check.IsString(u)
	case *types.Array:
		return bare(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !bare(f.Type()) {
				return false
			}
		}
	}
	return true
}

// ours reports whether an interface is the empty one, of the library or of this
// module, whose values could have numbers.
func ours(p *check.Pass, t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		iface, ok := t.Underlying().(*types.Interface)
		return ok && iface.Empty()
	}
	switch path := named.Obj().Pkg().Path(); path {
	case "reflect", "go/types", "go/ast", "context":
		return false // each stands for one thing
	default:
		first, _, _ := strings.Cut(path, "/")
		return !strings.Contains(first, ".") || p.SameModule(named.Obj())
	}
}

// typed returns the names of the fields, the variables or the type that the type at
// cur is given to.
func typed(cur inspector.Cursor) []*ast.Ident {
	for at := cur.Parent(); at.Node() != nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.Field:
			return n.Names
		case *ast.ValueSpec:
			return n.Names
		case *ast.TypeSpec:
			return []*ast.Ident{n.Name}
		case *ast.FuncDecl:
			return nil
		}
	}
	return nil
}

// puts returns the statements that put something into the variable or field
// that the map type at cur is the type of, or that make it: there it allocates.
func puts(p *check.Pass, cur inspector.Cursor) (nodes []ast.Node) {
	for _, name := range typed(cur) {
		for _, use := range p.Uses(p.Info.Defs[name]) {
			at := use
			if _, ok := at.Parent().Node().(*ast.SelectorExpr); ok {
				at = at.Parent()
			}
			switch parent := at.Parent().Node().(type) {
			case *ast.IndexExpr:
				if assign, ok := at.Parent().Parent().Node().(*ast.AssignStmt); ok && parent.X == at.Node() && assign.Lhs[0] == parent {
					nodes = append(nodes, assign)
				}
			case *ast.AssignStmt:
				if parent.Lhs[0] == at.Node() {
					nodes = append(nodes, parent)
				}
			case *ast.KeyValueExpr:
				if parent.Key == use.Node() {
					nodes = append(nodes, parent)
				}
			}
		}
	}
	return nodes
}

// direct reports the map at cur, whose key is itself a pointer, to what has a
// number or could be given one.
func direct(p *check.Pass, cur inspector.Cursor, ptr *types.Pointer, scanned bool) {
	m := cur.Node()
	if b, ok := ptr.Elem().Underlying().(*types.Basic); ok {
		if b.Kind() != types.Invalid {
			p.ReportWith(m, puts(p, cur), check.Warm, "keys are addresses of single values, which tell things apart only as long as these stay where they are; the number of the thing holds no pointer")
		}
		return
	}
	key := types.NewStruct([]*types.Var{types.NewField(m.Pos(), p.Code.Pkg, "key", ptr, false)}, nil)
	if _, id := pointer(key); id != "" {
		p.ReportWith(m, puts(p, cur), check.Warm, "the collector scans every key"+beside(scanned)+"; put its number in its place, as in "+id)
		return
	}
	if named := check.NamedOf(ptr); named != nil && p.SameModule(named.Obj()) {
		p.ReportWith(m, puts(p, cur), check.Warm, "keys are pointers, which the collector follows"+beside(scanned)+"; number each "+named.Obj().Name()+" when it is made, and put the number in its place, or what the map holds in a field of its own")
	}
}

// plain matches those numbers whose name says that they stand for the whole.
var plain = regexp.MustCompile(`(\.(?i:id|key)|ID)$`)

// number matches the names of fields and methods that tell things apart.
var number = regexp.MustCompile(`(?i)^(id|key|index|idx|seq|num|number|handle)$|ID$|Id$`)

// lives reports whether the map type at cur is that of a package variable, of a
// field, or has a name of its own.
func lives(p *check.Pass, cur inspector.Cursor) bool {
	for at := cur.Parent(); at.Node() != nil; at = at.Parent() {
		switch n := at.Node().(type) {
		case *ast.Field:
			_, ok := at.Parent().Parent().Node().(*ast.StructType)
			return ok
		case *ast.ValueSpec:
			return len(n.Names) > 0 && !p.Local(p.Var(n.Names[0]))
		case *ast.AssignStmt:
			if v := p.Var(n.Lhs[0]); len(n.Lhs) == 1 && p.Local(v) && outlives(p, at, v) {
				return true
			}
		case *ast.FuncDecl:
			return false
		case *ast.TypeSpec:
			return true
		}
	}
	return false
}

// outlives reports whether a local variable, which the statement at cur sets, is
// used in a loop without an end that begins later: it lives as long as that runs.
func outlives(p *check.Pass, cur inspector.Cursor, v *types.Var) bool {
	for _, use := range p.Uses(v) {
		for at := range use.Enclosing((*ast.ForStmt)(nil)) {
			if loop := at.Node().(*ast.ForStmt); loop.Cond == nil && loop.Init == nil && !check.Within(cur.Node(), loop) {
				return true
			}
		}
		for at := range use.Enclosing((*ast.RangeStmt)(nil)) {
			loop := at.Node().(*ast.RangeStmt)
			if _, ok := p.TypeOf(loop.X).Underlying().(*types.Chan); ok && !check.Within(cur.Node(), loop) {
				return true
			}
		}
	}
	return false
}

// pointer returns the one pointer field of key and the number that could stand
// for it; nothing where key holds other pointers as well.
func pointer(key *types.Struct) (field *types.Var, id string) {
	for f := range key.Fields() {
		if !check.HasPointers(f.Type()) {
			continue
		}
		ptr, ok := f.Type().Underlying().(*types.Pointer)
		if !ok || field != nil {
			return nil, ""
		}
		st, ok := ptr.Elem().Underlying().(*types.Struct)
		if !ok {
			return nil, ""
		}
		for sub := range st.Fields() {
			if check.IsInteger(sub.Type()) && number.MatchString(sub.Name()) {
				field, id = f, f.Name()+"."+sub.Name()
			}
		}
		methods := types.NewMethodSet(ptr)
		for i := range methods.Len() {
			fn := methods.At(i).Obj().(*types.Func)
			if sig := fn.Signature(); field == nil && number.MatchString(fn.Name()) && sig.Params().Len() == 0 && sig.Results().Len() == 1 && check.IsInteger(sig.Results().At(0).Type()) {
				field, id = f, f.Name()+"."+fn.Name()+"()"
			}
		}
		if field == nil {
			return nil, ""
		}
	}
	return field, id
}
