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

// Sibling returns the name of the function or method beside fn that takes a []byte
// where fn takes a string as argument i, or "". It goes by names: Match for
// MatchString, RuneCount for RuneCountInString, LoadBytes for Load.
func Sibling(fn *types.Func, i int) string {
	sig := fn.Signature()
	if i >= sig.Params().Len() || !IsString(sig.Params().At(i).Type()) {
		return ""
	}
	for _, name := range []string{fn.Name() + "Bytes", strings.TrimSuffix(fn.Name(), "InString"),
		strings.Replace(fn.Name(), "String", "", 1)} {
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
			other.Signature().Results().Len() == sig.Results().Len() &&
			IsBytes(other.Signature().Params().At(i).Type()) {
			return name
		}
	}
	return ""
}

// Size returns the size in bytes of a value of type t, or math.MaxInt64 if it depends
// on a type parameter.
func (p *Pass) Size(t types.Type) int64 {
	if life.Parametrized(t) {
		return math.MaxInt64
	}
	return p.TypesSizes.Sizeof(t)
}
