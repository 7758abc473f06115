package life

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// starts names the goroutine that a call starts: by go, or by the method Go of a group.
func starts(call ssa.CallInstruction) string {
	c := call.Common()
	if _, ok := call.(*ssa.Go); ok || ofGroup(c, "Go") {
		return calleeName(c)
	}
	return ""
}

// ofGroup reports whether a call is of a method of a group of goroutines: of
// sync.WaitGroup, errgroup.Group and their like.
func ofGroup(c *ssa.CallCommon, method string) bool {
	fn := static(c)
	return fn != nil && fn.Name() == method && fn.Signature.Recv() != nil &&
		strings.HasSuffix(typeName(fn.Signature.Recv().Type()), "Group")
}

// waits reports whether the function that starts a goroutine returns only once that has
// ended: each way from there leads by the Wait of a group, or by a receive from a channel.
// It is sure where the goroutine is seen to call the group's Done, or to send to the
// channel or close it.
func (p *Package) waits(start ssa.CallInstruction, sure bool) bool {
	fn, c := start.Parent(), start.Common()
	signals := map[ssa.Value]bool{}
	if ofGroup(c, "Go") {
		signals[p.root(c.Args[0], nil)] = true
	} else if body := static(c); body != nil {
		p.signals(body, c, signals)
	}
	wait := func(c *ssa.CallCommon) bool {
		return ofGroup(c, "Wait") && (!sure || signals[p.root(c.Args[0], nil)])
	}
	ends := map[*ssa.BasicBlock]bool{}
	for _, b := range fn.Blocks {
		after, waits := b != start.Block(), false
		for _, instr := range b.Instrs {
			after = after || instr == ssa.Instruction(start)
			switch i := instr.(type) {
			case *ssa.Defer:
				if wait(i.Common()) {
					return true
				}
			case *ssa.Call:
				waits = waits || after && wait(i.Common())
			case *ssa.UnOp:
				waits = waits || after && i.Op == token.ARROW && (!sure || signals[p.root(i.X, nil)])
			}
		}
		if waits {
			ends[b] = true
			p.eachRound(b, start.Block(), ends)
		}
	}
	return len(ends) > 0 && !returns(start.Block(), ends)
}

// eachRound enters the heads of the loops around a block that waits, apart from those
// around the start: their rounds are as many as the goroutines.
func (p *Package) eachRound(b, start *ssa.BasicBlock, ends map[*ssa.BasicBlock]bool) {
	for _, l := range p.loopsOf(b.Parent()) {
		if !l.Has(b) || l.Has(start) {
			continue
		}
		ends[l.Head] = true
		for _, before := range l.Head.Preds { // which may skip a loop over a number
			ends[before] = ends[before] || before != start && !l.Has(before) && len(before.Succs) == 2
		}
	}
}

// returns reports whether a way leads from a block to a return around the ends.
func returns(from *ssa.BasicBlock, ends map[*ssa.BasicBlock]bool) bool {
	for b := range reached(ends, from) {
		if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			return true
		}
	}
	return false
}

// reached returns the blocks to which ways lead from some, themselves included, without
// the ends and what is behind them.
func reached(ends map[*ssa.BasicBlock]bool, from ...*ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	seen := map[*ssa.BasicBlock]bool{}
	for pending := slices.Clone(from); len(pending) > 0; {
		b := pending[len(pending)-1]
		if pending = pending[:len(pending)-1]; !seen[b] && !ends[b] {
			seen[b] = true
			pending = append(pending, b.Succs...)
		}
	}
	return seen
}

// signals enters the channels that a goroutine sends to or closes, and the groups that it
// leaves, as the function that starts it sees them.
func (p *Package) signals(fn *ssa.Function, start *ssa.CallCommon, to map[ssa.Value]bool) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch i := instr.(type) {
			case *ssa.Send:
				to[p.root(i.Chan, start)] = true
			case ssa.CallInstruction:
				c := i.Common()
				if b, ok := c.Value.(*ssa.Builtin); ok && b.Name() == "close" || ofGroup(c, "Done") {
					to[p.root(c.Args[0], start)] = true
				}
			}
		}
	}
	for _, anon := range fn.AnonFuncs {
		p.signals(anon, start, to)
	}
}

// root is the variable that holds a channel or group, of the function that starts a
// goroutine where the goroutine has it from there.
func (p *Package) root(v ssa.Value, start *ssa.CallCommon) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.UnOp:
			v = x.X
		case *ssa.FieldAddr:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		case *ssa.FreeVar:
			made := p.closures[x.Parent()]
			n := slices.Index(x.Parent().FreeVars, x)
			if made == nil || n < 0 || n >= len(made.Bindings) {
				return v
			}
			v = made.Bindings[n]
		case *ssa.Parameter:
			n := slices.Index(x.Parent().Params, x)
			if start == nil || static(start) != x.Parent() || n >= len(start.Args) {
				return v
			}
			v, start = start.Args[n], nil
		default:
			return v
		}
	}
}
