package life

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A HolderKind says what keeps memory beyond the function that made it.
type HolderKind int

const (
	Result    HolderKind = iota // the caller: it is returned
	Field                       // a field or element of an object that the function did not make
	MapEntry                    // a map that the function did not make
	Global                      // a package variable
	Chan                        // the receiver of a channel
	Goroutine                   // another goroutine
	Callee                      // a callee with unknown code
)

// A Holder is something that keeps memory.
type Holder struct {
	Kind  HolderKind
	Name  string    // Type.field, the variable or the callee
	Index int       // of the result, or of the parameter whose memory has the field; otherwise -1
	Pos   token.Pos // where it gets the memory

	Outer  string // the outer function whose result it is; "" for the function that was followed
	Inside bool   // for a result: the memory lies behind it, not in it
	AsText bool   // it is held as a string, so only text can be

	Perhaps bool // not certain: unknown code or a branch decides

	deep bool // stored in what the holder's memory refers to
}

// String names the holder, in words that follow "kept by".
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

// fieldName returns Type.field for a field of t, or of what t points to.
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

// fieldNames returns the names of all fields of t, or of what t points to, from a cache.
func (p *Package) fieldNames(t types.Type) []string {
	return p.fields.get(t, func() (names []string) {
		if st := structOf(t); st != nil {
			for i := range st.NumFields() {
				names = append(names, fieldName(t, i))
			}
		}
		return names
	})
}

// structOf returns the struct that t is or points to, or nil.
func structOf(t types.Type) *types.Struct {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	st, _ := t.Underlying().(*types.Struct)
	return st
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// typeName returns the name of t, or of what t points to, without packages; "" for an unnamed struct.
func typeName(t types.Type) string {
	name := types.TypeString(t, func(*types.Package) string { return "" })
	if strings.Contains(name, "struct{") {
		return ""
	}
	return strings.TrimPrefix(name, "*")
}

// calleeName returns the name of the callee as the code has it.
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

// valueName returns a name for a function value: its variable or field, or its type.
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

// funcName returns pkg.F or pkg.Type.M; for a function literal, its name in stack traces.
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
