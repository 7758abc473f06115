package life

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// A Kind says how a site allocates.
type Kind int

const (
	Literal     Kind = iota // a composite literal
	New                     // new
	Variable                // a local variable whose address is taken or that a closure shares
	Make                    // make of a slice
	Append                  // append beyond the capacity
	Map                     // make or a literal of a map
	MapGrow                 // an assignment to a map
	Concat                  // strings joined by +
	Convert                 // a copy of a string as bytes or runes, or back; or a rune made a string
	Box                     // a value put into an interface
	Closure                 // a function literal that captures variables
	MethodValue             // x.Method without a call
	Variadic                // the slice of a call's variadic arguments
	Channel                 // make of a channel
	Go                      // a goroutine
	Defer                   // a deferred call in a loop
	Call                    // a call: its callee allocates
)

var kindNames = [...]string{"composite literal", "new", "variable on the heap", "make", "append", "map made",
	"map grown", "concatenation", "conversion", "boxing", "closure", "method value", "variadic list", "channel",
	"goroutine", "defer record", "call"}

func (k Kind) String() string {
	if 0 <= k && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// A Site is an instruction that allocates, unless the compiler proves that it need not.
type Site struct {
	Kind     Kind
	Func     *ssa.Function
	Instr    ssa.Instruction
	Value    ssa.Value  // refers to the memory; nil for MapGrow, Go and Defer
	Type     types.Type // of the object; for a slice, of its elements
	Size     int64      // bytes of a Type; 0 if that depends on a type parameter
	Node     ast.Node   // the expression or statement; nil if SSA keeps no position
	From, To int        // lines of Node
}

type line struct {
	file string
	line int
}

// Sites returns what the package allocates, calls included, in source order.
func (p *Package) Sites() []*Site {
	p.listed.Do(func() {
		p.nodes, p.taken = nodesOf(p.Files)
		for _, fn := range p.Funcs {
			for _, b := range fn.Blocks {
				p.blockSites(b)
			}
		}
		slices.SortStableFunc(p.sites, func(a, b *Site) int { return cmp.Compare(a.Pos(), b.Pos()) })
	})
	return p.sites
}

// Pos returns where the expression begins.
func (s *Site) Pos() token.Pos {
	if s.Node != nil {
		return s.Node.Pos()
	}
	return s.Instr.Pos()
}

// At returns the sites whose expressions cover a line of a file, those that begin there first. The lines of a function
// literal's body are not those of the expression that it is in.
func (p *Package) At(file string, at int) []*Site {
	p.placed.Do(func() {
		p.lines = map[line][]*Site{}
		for _, s := range p.Sites() {
			if s.Node == nil {
				continue
			}
			name, inner := p.Fset.Position(s.Pos()).Filename, p.bodies(s)
			for l := s.From; l <= s.To; l++ {
				if !inner[l] {
					p.lines[line{name, l}] = append(p.lines[line{name, l}], s)
				}
			}
		}
		for at, list := range p.lines {
			slices.SortStableFunc(list, func(a, b *Site) int {
				return cmp.Compare(max(a.From-at.line, at.line-a.From), max(b.From-at.line, at.line-b.From))
			})
		}
	})
	return p.lines[line{file, at}]
}

// nodesOf returns expressions and statements by the position that SSA gives them, and
// the position of the & before each literal whose address is taken.
func nodesOf(files []*ast.File) (nodes map[token.Pos]ast.Node, taken map[*ast.CompositeLit]token.Pos) {
	nodes, taken = map[token.Pos]ast.Node{}, map[*ast.CompositeLit]token.Pos{}
	for _, f := range files {
		for n := range ast.Preorder(f) {
			switch n := n.(type) {
			case *ast.CallExpr, *ast.CompositeLit, *ast.BinaryExpr, *ast.IndexExpr:
				nodes[spot(n)] = n
			case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt:
				nodes[n.Pos()] = n
			case *ast.UnaryExpr:
				if lit, ok := ast.Unparen(n.X).(*ast.CompositeLit); ok {
					taken[lit] = n.OpPos
				}
			case *ast.AssignStmt:
				nodes[n.TokPos] = n
			case *ast.RangeStmt: // the body of a loop over an iterator is a closure
				nodes[n.Range] = n
			case *ast.SelectorExpr:
				nodes[n.Sel.Pos()] = n
			case *ast.Ident:
				if nodes[n.Pos()] == nil {
					nodes[n.Pos()] = n
				}
			}
		}
	}
	return nodes, taken
}

// blockSites adds the sites of a block.
func (p *Package) blockSites(b *ssa.BasicBlock) {
	written := map[ssa.Value]ast.Expr{} // the expression that last named a value
	for _, instr := range b.Instrs {
		if ref, ok := instr.(*ssa.DebugRef); ok {
			written[ref.X] = ref.Expr
			continue
		}
		s := p.siteOf(instr)
		if s == nil {
			continue
		}
		s.Func, s.Instr = b.Parent(), instr
		s.Node = p.nodes[cmp.Or(loopOf(instr), instr.Pos())]
		if box, ok := instr.(*ssa.MakeInterface); ok && written[box.X] != nil {
			s.Node = written[box.X]
		}
		if s.Node == nil {
			s.Node = p.consumer(s.Value)
		}
		if s.Kind == Variadic && p.ofAppend(s.Node) || s.Kind == Make && appended(s.Value) {
			continue // the compiler makes no such slice
		}
		if s.Value != nil && s.Type == nil {
			s.Type = object(s.Value.Type())
		}
		if s.Type != nil && p.Sizes != nil && !Parametrized(s.Type) {
			s.Size = p.Sizes.Sizeof(s.Type)
			if s.Size == 0 && (s.Kind == Literal || s.Kind == New || s.Kind == Variable) {
				continue // objects of no bytes share one address
			}
		}
		if s.Node != nil {
			s.From, s.To = p.span(s.Node)
		}
		p.sites = append(p.sites, s)
	}
}

// copied reports whether closures have a copy of a variable, which is small and set at most once.
func (p *Package) copied(variable *ssa.Alloc) bool {
	const most = 128
	t := object(variable.Type())
	return p.Sizes != nil && !Parametrized(t) && p.Sizes.Sizeof(t) <= most &&
		setOnce(variable, variable.Comment, variable.Pos())
}

// setOnce reports whether a variable is set at most once, where it is declared, and otherwise only read.
func setOnce(variable ssa.Value, name string, declared token.Pos) bool {
	sets := 0
	for _, instr := range *variable.Referrers() {
		switch i := instr.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
		case *ssa.Store:
			param, given := i.Val.(*ssa.Parameter)
			if sets++; i.Addr != variable || sets > 1 || !(given && param.Name() == name) && i.Pos() != declared {
				return false
			}
		case *ssa.MakeClosure:
			for n, bound := range i.Bindings {
				if bound == variable && !setOnce(i.Fn.(*ssa.Function).FreeVars[n], "", token.NoPos) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// loopOf returns the position of the loop over an iterator whose body closure or exit
// variable instr makes.
func loopOf(instr ssa.Instruction) token.Pos {
	switch i := instr.(type) {
	case *ssa.MakeClosure:
		if fn := i.Fn.(*ssa.Function); ofRange(fn) {
			return fn.Pos()
		}
	case *ssa.Alloc:
		for _, use := range *i.Referrers() {
			if made, ok := use.(*ssa.MakeClosure); ok && strings.HasPrefix(i.Comment, "jump$") {
				return loopOf(made)
			}
		}
	}
	return token.NoPos
}

// span returns the lines of an expression; for a function literal or a loop, those before its body.
func (p *Package) span(n ast.Node) (from, to int) {
	end := n.End()
	switch n := n.(type) {
	case *ast.FuncLit:
		end = n.Body.Lbrace
	case *ast.RangeStmt:
		end = n.Body.Lbrace
	}
	return p.Fset.Position(n.Pos()).Line, p.Fset.Position(end).Line
}

// bodies returns the lines in the bodies of a site's function literals, without those of the braces.
func (p *Package) bodies(s *Site) map[int]bool {
	lines := map[int]bool{}
	if s.To-s.From < 2 {
		return lines
	}
	for n := range ast.Preorder(s.Node) {
		if lit, ok := n.(*ast.FuncLit); ok {
			for l := p.Fset.Position(lit.Body.Lbrace).Line + 1; l < p.Fset.Position(lit.Body.Rbrace).Line; l++ {
				lines[l] = true
			}
		}
	}
	return lines
}

// ofAppend reports whether n is a call of append.
func (p *Package) ofAppend(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && typeutil.Callee(p.Info, call) == types.Universe.Lookup("append")
}

// appended reports whether a slice is made only to be appended: append grows by its
// length and the compiler makes no slice.
func appended(v ssa.Value) bool {
	if m, ok := v.(*ssa.MakeSlice); ok && m.Cap != m.Len {
		return false
	}
	for _, instr := range *v.Referrers() {
		switch i := instr.(type) {
		case *ssa.DebugRef:
		case *ssa.Slice: // make with a constant length slices an array
			if !appended(i) {
				return false
			}
		case *ssa.Call:
			if b, ok := i.Call.Value.(*ssa.Builtin); !ok || b.Name() != "append" || i.Call.Args[0] == v {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// siteOf returns the site of an instruction, or nil if it does not allocate.
func (p *Package) siteOf(instr ssa.Instruction) *Site {
	switch i := instr.(type) {
	case *ssa.Alloc:
		return p.allocSite(i)
	case *ssa.MakeSlice:
		return &Site{Kind: Make, Value: i}
	case *ssa.MakeMap:
		return &Site{Kind: Map, Value: i, Type: i.Type()}
	case *ssa.MapUpdate:
		return &Site{Kind: MapGrow, Type: i.Map.Type()}
	case *ssa.MakeChan:
		return &Site{Kind: Channel, Value: i, Type: i.Type()}
	case *ssa.MakeClosure:
		if strings.HasSuffix(i.Fn.Name(), "$bound") {
			return &Site{Kind: MethodValue, Value: i, Type: i.Type()}
		}
		return &Site{Kind: Closure, Value: i, Type: i.Type()}
	case *ssa.MakeInterface:
		if _, isConst := i.X.(*ssa.Const); !isConst && boxes(i.X.Type()) {
			return &Site{Kind: Box, Value: i, Type: i.X.Type()}
		}
	case *ssa.BinOp:
		if i.Op == token.ADD && IsString(i.Type()) && !p.joined(i) {
			return &Site{Kind: Concat, Value: i, Type: types.Typ[types.Byte]}
		}
	case *ssa.Convert:
		if copies(i) {
			return &Site{Kind: Convert, Value: i, Type: types.Typ[types.Byte]}
		}
	case *ssa.Go:
		return &Site{Kind: Go}
	case *ssa.Defer:
		if p.Loop(i.Block()) == nil && !ofRange(i.Parent()) {
			return &Site{Kind: Call} // its record lies on the stack
		}
		return &Site{Kind: Defer}
	case *ssa.Call:
		if b, ok := i.Call.Value.(*ssa.Builtin); ok {
			if b.Name() == "append" {
				return &Site{Kind: Append, Value: i}
			}
			return nil
		}
		return &Site{Kind: Call, Value: i, Type: i.Type()}
	}
	return nil
}

func (p *Package) allocSite(i *ssa.Alloc) *Site {
	if !i.Heap {
		return nil
	}
	s := &Site{Kind: Variable, Value: i}
	switch i.Comment {
	case "new":
		s.Kind = New
	case "complit", "slicelit":
		s.Kind = Literal
	case "makeslice":
		s.Kind = Make
	case "varargs":
		s.Kind = Variadic
	}
	if s.Kind == Variable && p.copied(i) {
		return nil
	}
	return s
}

// consumer returns the expression that first uses a value that the compiler made up,
// such as the slice of a variadic call.
func (p *Package) consumer(v ssa.Value) ast.Node {
	for depth := 0; v != nil && depth < 4; depth++ {
		refs := v.Referrers()
		v = nil
		if refs == nil {
			return nil
		}
		for _, instr := range *refs {
			if n := p.nodes[instr.Pos()]; n != nil {
				return n
			}
			switch i := instr.(type) {
			case *ssa.Slice:
				v = i
			case *ssa.MakeInterface:
				v = i
			case *ssa.Store:
				if at, ok := i.Addr.(*ssa.IndexAddr); ok && v == nil {
					v = at.X
				}
			}
		}
	}
	return nil
}

// object returns the type of what a value refers to; for a slice, of its elements.
func object(t types.Type) types.Type {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return u.Elem()
	case *types.Slice:
		return u.Elem()
	}
	return t
}

// boxes reports whether converting a value of type t to an interface copies it to the heap.
func boxes(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature: // one word; an interface, as a field, has two
		return false
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Kind() != types.UntypedNil && u.Kind() != types.Bool &&
			u.Kind() != types.Uint8 && u.Kind() != types.Int8
	case *types.Struct:
		return u.NumFields() > 1 || u.NumFields() == 1 && boxes(u.Field(0).Type())
	case *types.Array:
		return u.Len() > 1 || u.Len() == 1 && boxes(u.Elem())
	}
	return true
}

// copies reports whether a conversion makes or copies text.
func copies(c *ssa.Convert) bool {
	_, from := c.X.Type().Underlying().(*types.Slice)
	_, to := c.Type().Underlying().(*types.Slice)
	rune, char := c.X.Type().Underlying().(*types.Basic)
	char = char && rune.Info()&types.IsInteger != 0
	return (from || char) && IsString(c.Type()) || to && IsString(c.X.Type())
}

// joined reports whether a concatenation is an operand of another one in the same expression, with which the
// compiler merges it.
func (p *Package) joined(b *ssa.BinOp) bool {
	return slices.ContainsFunc(*b.Referrers(), func(instr ssa.Instruction) bool {
		outer, ok := instr.(*ssa.BinOp)
		if !ok || outer.Op != token.ADD || outer.Block() != b.Block() {
			return false
		}
		if whole, ok := p.nodes[outer.Pos()].(*ast.BinaryExpr); ok {
			return whole.Pos() <= b.Pos() && b.Pos() < whole.End()
		}
		return outer.Pos() < b.Pos() // of +=, which has the position of its statement
	})
}

// IsString reports whether the underlying type of t is a string.
func IsString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// Parametrized reports whether the size of t depends on a type parameter.
func Parametrized(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return Parametrized(u.Elem())
	case *types.Struct:
		return anyType(u.Fields(), Parametrized)
	}
	return false
}

// anyType reports whether is holds for the type of one of vars.
func anyType(vars iter.Seq[*types.Var], is func(types.Type) bool) bool {
	for v := range vars {
		if is(v.Type()) {
			return true
		}
	}
	return false
}

// refers reports whether a value of type t can refer to memory.
func refers(t types.Type, depth int) bool {
	if describes(t) {
		return false
	}
	inner := func(t types.Type) bool { return depth > 8 || refers(t, depth+1) }
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return !describes(u.Elem())
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer || u.Kind() == types.Invalid
	case *types.Array:
		return refers(u.Elem(), depth+1)
	case *types.Struct:
		return anyType(u.Fields(), inner)
	case *types.Tuple:
		return anyType(u.Variables(), inner)
	}
	return true
}

// describes reports whether t is a type descriptor: no allocated value lies there.
func describes(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	switch name := named.Obj().Name(); named.Obj().Pkg().Path() {
	case "internal/abi":
		return strings.HasSuffix(name, "Type")
	case "reflect", "internal/reflectlite":
		return name == "rtype" || name == "Type"
	}
	return false
}

// Callee returns the name of the function or method that a Call, Go or Defer site
// calls, without package and type; "" for a function value.
func (s *Site) Callee() string {
	call, ok := s.Instr.(ssa.CallInstruction)
	if !ok {
		return ""
	}
	c := call.Common()
	if c.IsInvoke() {
		return c.Method.Name()
	}
	if fn := static(c); fn != nil {
		return fn.Name()
	}
	return ""
}

// Captures returns the number of variables that a closure captures.
func (s *Site) Captures() int {
	if c, ok := s.Instr.(*ssa.MakeClosure); ok {
		return len(c.Bindings)
	}
	return 0
}
