package life

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Origin follows a value back to where its memory was made. The bits of Params are
// parameters of the function around v.
func (p *Package) Origin(v ssa.Value) Origin { return p.origin(v, false, map[source]bool{}) }

// A source is a value to follow back or, if deep is set, what it refers to.
type source struct {
	v    ssa.Value
	deep bool
}

// results adds the origins of what a function returns to s, and reports whether any was new.
func (p *Package) results(fn *ssa.Function, s *Summary) (changed bool) {
	for _, b := range fn.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, r := range ret.Results {
			was, reached := s.Results[i], s.Reached[i]
			s.Results[i].merge(p.Origin(r))
			s.Reached[i].merge(p.origin(r, true, map[source]bool{}))
			changed = changed || s.Results[i] != was || s.Reached[i] != reached
		}
	}
	return changed
}

func (p *Package) origin(v ssa.Value, deep bool, seen map[source]bool) (o Origin) {
	if seen[source{v, deep}] || !refers(v.Type(), 0) {
		return o
	}
	seen[source{v, deep}] = true
	switch x := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
	case *ssa.Parameter:
		if i := slices.Index(x.Parent().Params, x); i >= 0 && i < 32 {
			o.Params = 1 << i
		}
	case *ssa.FreeVar, *ssa.Global:
		o.Shared = true
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap:
		if deep {
			p.stored(v, &o, seen)
		}
		o.Fresh = o.Fresh || o == Origin{}
	case *ssa.MakeClosure:
		o.Fresh = true
		for _, b := range x.Bindings {
			if deep {
				o.merge(p.origin(b, true, seen))
			}
		}
	case *ssa.MakeChan:
		o.Fresh, o.Shared = true, deep
	case *ssa.BinOp:
		o.Fresh = true
	case *ssa.Convert:
		if copies(x) {
			return Origin{Fresh: true}
		}
		return p.origin(x.X, deep, seen)
	case *ssa.MakeInterface:
		o = p.origin(x.X, deep, seen)
		o.Fresh = o.Fresh || boxes(x.X.Type())
	case *ssa.Phi:
		for _, e := range x.Edges {
			o.merge(p.origin(e, deep, seen))
		}
	case *ssa.UnOp:
		return p.loaded(x, deep, seen)
	case *ssa.Extract:
		if call, ok := x.Tuple.(*ssa.Call); ok {
			return p.called(call, x.Index, deep, seen)
		}
		return p.origin(x.Tuple, deep, seen)
	case *ssa.Call:
		return p.called(x, 0, deep, seen)
	default:
		if from := operand(v); from != nil {
			switch v.(type) {
			case *ssa.Lookup, *ssa.Next:
				deep = true
			}
			return p.origin(from, deep, seen)
		}
		o.Unknown = true
	}
	return o
}

// operand returns the value that v is a part or another form of, or nil.
func operand(v ssa.Value) ssa.Value {
	switch v.(type) {
	case *ssa.FieldAddr, *ssa.Field, *ssa.IndexAddr, *ssa.Index, *ssa.Lookup, *ssa.Slice, *ssa.Next, *ssa.Range,
		*ssa.Extract, *ssa.Convert, *ssa.MakeInterface, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.TypeAssert,
		*ssa.SliceToArrayPointer, *ssa.MultiConvert:
		return *v.(ssa.Instruction).Operands(nil)[0]
	}
	return nil
}

// loaded returns the origin of what x reads from an address or a channel.
func (p *Package) loaded(x *ssa.UnOp, deep bool, seen map[source]bool) (o Origin) {
	if x.Op == token.ARROW {
		return Origin{Shared: true}
	}
	if stored := storedTo(x.X, "", false); stored != nil {
		for _, val := range stored {
			o.merge(p.origin(val, deep, seen))
		}
		return o
	}
	return p.origin(x.X, true, seen)
}

// stored adds the origins of what is stored in v, which this function made.
func (p *Package) stored(v ssa.Value, o *Origin, seen map[source]bool) {
	for _, val := range storedTo(v, "", false) {
		o.merge(p.origin(val, false, seen))
		o.merge(p.origin(val, true, seen))
	}
}

// called returns the origin of result n of a call.
func (p *Package) called(call *ssa.Call, n int, deep bool, seen map[source]bool) (o Origin) {
	c := call.Common()
	if b, ok := c.Value.(*ssa.Builtin); ok {
		for i, arg := range c.Args {
			if b.Name() != "append" || i == 0 || deep {
				o.merge(p.origin(arg, deep, seen))
			}
		}
		o.Fresh = o.Fresh || b.Name() == "append"
		return o
	}
	sum := p.callee(c)
	if sum == nil || n >= len(sum.Results) {
		r := c.Signature().Results() // nobody can write to a string
		return Origin{Unknown: n >= r.Len() || !IsString(r.At(n).Type()), Fresh: true}
	}
	r := sum.origin(n, deep)
	o.Fresh, o.Shared, o.Unknown = r.Fresh, r.Shared, r.Unknown
	for i, arg := range c.Args {
		if i < 32 && r.Params&(1<<i) != 0 {
			o.merge(p.origin(arg, deep, seen))
		}
	}
	return o
}
