package life

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A HolderKind is what keeps memory beyond the function that made it.
type HolderKind int

const (
	Result    HolderKind = iota // the caller: it is returned
	Field                       // a field or element of what the function did not make
	MapEntry                    // a map of the same kind
	Global                      // a package variable
	Chan                        // the receiver of a channel
	Goroutine                   // another goroutine
	Callee                      // what is called, whose code is not known
)

// A Holder is one that keeps memory.
type Holder struct {
	Kind  HolderKind
	Name  string    // Type.field, the variable or the callee
	Index int       // of the result; of the parameter whose memory has the field, or -1
	Pos   token.Pos // where it gets hold of it

	Outer  string // the function whose result it is, if that is not the one that was followed, but around it
	Inside bool   // of a result: what it refers to refers to the memory
	AsText bool   // a string holds it: nothing else than a text

	Perhaps bool // it may hold the memory, or not: code that is not known decides, or a branch

	deep bool // it was put into what that refers to
}

// String says who holds, in words that follow "kept by".
func (h Holder) String() string {
	switch h.Kind {
	case Result:
		if h.Outer != "" {
			return "what " + h.Outer + " returns"
		}
		return "the caller, as a result"
	case Field, MapEntry:
		if strings.HasPrefix(h.Name, "what ") || strings.HasPrefix(h.Name, "variable ") {
			return h.Name
		}
		return map[HolderKind]string{Field: "field ", MapEntry: "map "}[h.Kind] + h.Name
	case Global:
		return "package variable " + h.Name
	case Chan:
		return "the receiver of a channel, " + h.Name
	case Goroutine:
		return "goroutine " + h.Name
	}
	return h.Name
}

// fieldName is Type.field of a field of t, or of what t points to.
func fieldName(t types.Type, field int) string {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st := structOf(t)
	if st == nil || field >= st.NumFields() {
		return typeName(t)
	}
	name, _, _ := strings.Cut(typeName(t), "[")
	return strings.TrimPrefix(name+"."+st.Field(field).Name(), ".")
}

// fieldNames are the names of all fields of t, or of what t points to: walks ask for them again and again.
func (p *Package) fieldNames(t types.Type) []string {
	names, known := p.fields[t]
	if st := structOf(t); !known && st != nil {
		for i := range st.NumFields() {
			names = append(names, fieldName(t, i))
		}
		p.fields[t] = names
	}
	return names
}

// structOf is the struct that t is or points to, or nil.
func structOf(t types.Type) *types.Struct {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st, _ := t.Underlying().(*types.Struct)
	return st
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// typeName is the name of t or of what it refers to, without packages.
func typeName(t types.Type) string {
	name := types.TypeString(t, func(*types.Package) string { return "" })
	if strings.Contains(name, "struct{") {
		return ""
	}
	return strings.TrimPrefix(name, "*")
}

// calleeName names what is called, as the code has it.
func calleeName(c *ssa.CallCommon) string {
	if c.IsInvoke() {
		if named, ok := types.Unalias(c.Value.Type()).(*types.Named); ok {
			return named.Obj().Name() + "." + c.Method.Name()
		}
		return c.Method.Name()
	}
	if fn := static(c); fn != nil {
		return funcName(fn)
	}
	return valueName(c.Value)
}

// valueName names a function value: the variable or field that has it, or its type.
func valueName(v ssa.Value) string {
	if load, ok := v.(*ssa.UnOp); ok {
		if f, ok := load.X.(*ssa.FieldAddr); ok {
			return fieldName(f.X.Type(), f.Field)
		}
		v = load.X
	}
	switch v.(type) {
	case *ssa.Parameter, *ssa.FreeVar, *ssa.Global:
		return v.Name()
	}
	if named, ok := types.Unalias(v.Type()).(*types.Named); ok {
		return "a " + named.Obj().Name()
	}
	return "a function value"
}

// ofRange reports whether fn is the body of a loop over an iterator.
func ofRange(fn *ssa.Function) bool { return strings.HasPrefix(fn.Synthetic, "range-over-func") }

// funcName is pkg.F or pkg.Type.M; of a function literal, what stack traces have.
func funcName(fn *ssa.Function) string {
	obj, ok := fn.Object().(*types.Func)
	switch {
	case !ok && ofRange(fn):
		return "the loop body in " + funcName(fn.Parent())
	case !ok:
		name, literal, is := strings.Cut(fn.Name(), "$")
		if is {
			name += ".func" + strings.ReplaceAll(literal, "$", ".")
		}
		return name
	}
	name := obj.Name()
	if recv := obj.Signature().Recv(); recv != nil {
		of, _, _ := strings.Cut(typeName(recv.Type()), "[")
		name = of + "." + name
	}
	if obj.Pkg() == nil {
		return name
	}
	return obj.Pkg().Name() + "." + name
}
