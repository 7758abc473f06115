package check

import (
	"go/types"
	"math"
	"strings"

	"github.com/isobar-go/isobar/advise/life"
)

// Reads reports whether fn, a function of the standard library, only reads its argument number arg.
func Reads(fn *types.Func, arg int) bool {
	use, ok := known(fn, arg)
	return ok && use == 0
}

// Standard reports whether fn belongs to the standard library.
func Standard(fn *types.Func) bool { return life.Standard(fn) }

// Sibling returns the function or method beside fn that takes a []byte where fn takes a string as argument i, or a
// string where fn takes a []byte, or nil. It goes by names: Match for MatchString, RuneCount for RuneCountInString,
// LoadBytes for Load.
func Sibling(fn *types.Func, i int) *types.Func {
	sig := fn.Signature()
	if i < 0 || i >= sig.Params().Len() || fn.Pkg() == nil {
		return nil
	}
	without := func(part string) string { return strings.Replace(fn.Name(), part, "", 1) }
	names, takes := []string{fn.Name() + "String", fn.Name() + "InString", without("Bytes")}, IsString
	switch t := sig.Params().At(i).Type(); {
	case IsString(t):
		names, takes = []string{fn.Name() + "Bytes", without("InString"), without("String")}, IsBytes
	case !IsBytes(t):
		return nil
	}
	for _, name := range names {
		if name == fn.Name() {
			continue
		}
		var obj types.Object
		if sig.Recv() != nil {
			obj, _, _ = types.LookupFieldOrMethod(sig.Recv().Type(), true, fn.Pkg(), name)
		} else {
			obj = fn.Pkg().Scope().Lookup(name)
		}
		other, ok := obj.(*types.Func)
		if ok && other.Exported() && other.Signature().Params().Len() == sig.Params().Len() &&
			other.Signature().Results().Len() == sig.Results().Len() && takes(other.Signature().Params().At(i).Type()) {
			return other
		}
	}
	return nil
}

// Size returns the size in bytes of a value of type t, or math.MaxInt64 if it depends
// on a type parameter.
func (p *Pass) Size(t types.Type) int64 {
	if life.Parametrized(t) {
		return math.MaxInt64
	}
	return p.TypesSizes.Sizeof(t)
}
