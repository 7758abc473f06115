package life

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Origin follows a value back to where its memory was made. Its bits of Params
// are of the function around it.
func (p *Package) Origin(v ssa.Value) Origin { return p.origin(v, map[ssa.Value]bool{}) }

// results adds the origins of what a function returns, and reports whether any
// was new.
func (p *Package) results(fn *ssa.Function, out []Origin) (changed bool) {
	for _, b := range fn.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, r := range ret.Results {
			was := out[i]
			out[i].merge(p.Origin(r))
			changed = changed || out[i] != was
		}
	}
	return changed
}

func (p *Package) origin(v ssa.Value, seen map[ssa.Value]bool) (o Origin) {
	if seen[v] || !refers(v.Type(), 0) {
		return o
	}
	seen[v] = true
	switch x := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
	case *ssa.Parameter:
		if i := slices.Index(x.Parent().Params, x); i >= 0 && i < 32 {
			o.Params = 1 << i
		}
	case *ssa.FreeVar, *ssa.Global:
		o.Shared = true
	case *ssa.Alloc:
		o.Fresh = true
		for _, val := range storedTo(x, nil) {
			o.merge(p.origin(val, seen))
		}
	case *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeClosure:
		o.Fresh = true
	case *ssa.BinOp:
		o.Fresh = true
	case *ssa.Convert:
		if copies(x) {
			return Origin{Fresh: true}
		}
		return p.origin(x.X, seen)
	case *ssa.MakeInterface:
		o = p.origin(x.X, seen)
		o.Fresh = o.Fresh || boxes(x.X.Type())
	case *ssa.Phi:
		for _, e := range x.Edges {
			o.merge(p.origin(e, seen))
		}
	case *ssa.UnOp:
		return p.loaded(x, seen)
	case *ssa.Extract:
		if call, ok := x.Tuple.(*ssa.Call); ok {
			return p.called(call, x.Index, seen)
		}
		return p.origin(x.Tuple, seen)
	case *ssa.Call:
		return p.called(x, 0, seen)
	default:
		if from := operand(v); from != nil {
			return p.origin(from, seen)
		}
		o.Unknown = true
	}
	return o
}

// operand is the value that v is a part or another form of.
func operand(v ssa.Value) ssa.Value {
	switch x := v.(type) {
	case *ssa.FieldAddr:
		return x.X
	case *ssa.Field:
		return x.X
	case *ssa.IndexAddr:
		return x.X
	case *ssa.Index:
		return x.X
	case *ssa.Lookup:
		return x.X
	case *ssa.Slice:
		return x.X
	case *ssa.Next:
		return x.Iter
	case *ssa.Range:
		return x.X
	case *ssa.ChangeType:
		return x.X
	case *ssa.ChangeInterface:
		return x.X
	case *ssa.TypeAssert:
		return x.X
	case *ssa.SliceToArrayPointer:
		return x.X
	case *ssa.MultiConvert:
		return x.X
	}
	return nil
}

// loaded is the origin of what is read from an address or a channel.
func (p *Package) loaded(x *ssa.UnOp, seen map[ssa.Value]bool) Origin {
	if x.Op == token.ARROW {
		return Origin{Shared: true}
	}
	if stored := storedTo(x.X, nil); stored != nil {
		var o Origin
		for _, val := range stored {
			o.merge(p.origin(val, seen))
		}
		return o
	}
	return p.origin(x.X, seen)
}

// called is the origin of result n of a call.
func (p *Package) called(call *ssa.Call, n int, seen map[ssa.Value]bool) (o Origin) {
	c := call.Common()
	if b, ok := c.Value.(*ssa.Builtin); ok {
		if b.Name() == "append" {
			o = p.origin(c.Args[0], seen)
			o.Fresh = true
			return o
		}
		for _, arg := range c.Args {
			o.merge(p.origin(arg, seen))
		}
		return o
	}
	sum := p.callee(c)
	if sum == nil || n >= len(sum.Results) {
		return Origin{Unknown: !textResult(c.Signature(), n), Fresh: true}
	}
	r := sum.Results[n]
	o.Fresh, o.Shared, o.Unknown = r.Fresh, r.Shared, r.Unknown
	for i, arg := range c.Args {
		if i < 32 && r.Params&(1<<i) != 0 {
			o.merge(p.origin(arg, seen))
		}
	}
	return o
}

// textResult reports whether result n is a string, which nobody can write to.
func textResult(sig *types.Signature, n int) bool {
	return n < sig.Results().Len() && isString(sig.Results().At(n).Type())
}
