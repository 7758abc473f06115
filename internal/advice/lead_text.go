package advice

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// lookedUp is the place at which a text is the key of a map that is read, if nothing else has it but an entry that is
// not always added after that; or "".
func (k *subject) lookedUp() (at string) {
	var read, added []*ssa.BasicBlock
	only := life.Only(k.s.Value, func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.Lookup:
			at, read = k.x.position(k.p, i.Pos()), append(read, i.Block())
		case *ssa.MapUpdate:
			added = append(added, i.Block())
			return i.Key == k.s.Value && i.Value != k.s.Value
		default:
			return compares(use)
		}
		return true
	})
	if !only || slices.ContainsFunc(added, func(b *ssa.BasicBlock) bool { return slices.Contains(read, b) }) {
		return ""
	}
	return at
}

// looks reports whether an instruction only compares a value, or looks it up in a map.
func looks(use ssa.Instruction) bool {
	_, lookup := use.(*ssa.Lookup)
	return lookup || compares(use)
}

// runeWriter names the method beside the WriteString that a rune's text is given to, or returns "".
func (k *subject) runeWriter() string {
	made, ok := k.s.Value.(*ssa.Convert)
	if !ok || !check.IsInteger(made.X.Type()) {
		return ""
	}
	for _, c := range takers(made) {
		if fn := called(c); fn != nil && fn.Name() == "WriteString" && fn.Signature().Recv() != nil {
			of, _, _ := types.LookupFieldOrMethod(fn.Signature().Recv().Type(), true, fn.Pkg(), "WriteRune")
			if other, ok := of.(*types.Func); ok {
				return nameOf(other)
			}
		}
	}
	return ""
}

// writes reports whether an io.Writer is given a text, as bytes.
func (k *subject) writes() bool {
	writes := func(c *ssa.CallCommon) bool {
		return c.IsInvoke() && c.Method.Name() == "Write" && c.Value.Type().String() == "io.Writer"
	}
	return k.converts(check.IsString, check.IsBytes) && slices.ContainsFunc(takers(k.s.Value), writes)
}

// variant names the function of the standard library that takes a text as it is before its conversion, where no other
// argument would need one instead, and nothing that is returned has the text; or returns "".
func (k *subject) variant() string {
	made, ok := k.s.Value.(*ssa.Convert)
	texts := k.converts(check.IsString, check.IsBytes) || k.converts(check.IsBytes, check.IsString)
	if !ok || !texts || len(*made.Referrers()) == 0 {
		return ""
	}
	for _, c := range takers(made) {
		fn, at := called(c), slices.Index(c.Args, ssa.Value(made))
		if fn == nil || fn.Pkg() == nil || at < 0 || !check.Standard(fn) || keepsText(fn) || mixes(c, made) {
			continue
		}
		other := map[string]string{"strings": "bytes.", "bytes": "strings."}[fn.Pkg().Path()]
		recv := fn.Signature().Recv()
		switch {
		case recv == nil && other != "" && fn.Name() != "Equal" && !strings.HasSuffix(fn.Name(), "Any"):
			return other + fn.Name()
		case recv != nil && !c.IsInvoke():
			at--
		}
		if other := check.Sibling(fn, at); other != nil {
			return nameOf(other)
		}
	}
	return ""
}

// keepsText reports whether a function returns more than numbers, truths and errors.
func keepsText(fn *types.Func) bool {
	return slices.ContainsFunc(slices.Collect(fn.Signature().Results().Variables()), func(r *types.Var) bool {
		_, basic := r.Type().Underlying().(*types.Basic)
		return (!basic || check.IsString(r.Type())) && !check.IsError(r.Type())
	})
}

// mixes reports whether a call has another text that is neither a constant nor converted the same way.
func mixes(c *ssa.CallCommon, made *ssa.Convert) bool {
	return slices.ContainsFunc(c.Args, func(v ssa.Value) bool {
		if !types.Identical(v.Type().Underlying(), made.Type().Underlying()) {
			return false
		}
		switch other := v.(type) {
		case *ssa.Const:
			return false
		case *ssa.Convert:
			return !types.Identical(other.X.Type().Underlying(), made.X.Type().Underlying())
		}
		return true
	})
}
