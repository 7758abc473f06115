package advice

import (
	_ "embed" // the table
	"go/types"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// An alternative is what to give a function of the library, or to use in its
// place, so that it need not allocate.
type alternative struct {
	callee string // how its short name begins
	check  string
	needs  string // what has to be so, one of the keys of needs
	text   string
}

// needs check what an alternative rests on.
var needs = map[string]func(*subject, ssa.CallInstruction) bool{
	"-":        func(*subject, ssa.CallInstruction) bool { return true },
	"constant": func(_ *subject, c ssa.CallInstruction) bool { return constants(c) },
	"basic":    func(_ *subject, c ssa.CallInstruction) bool { return basics(c) },
	"once":     (*subject).once,
	"read":     func(_ *subject, c ssa.CallInstruction) bool { return onlyIndexed(c) },
	"appended": func(_ *subject, c ssa.CallInstruction) bool { return onlyAppended(c) },
}

//go:embed assets/alternatives.txt
var alternativesTable string

// alternatives are of the standard library, the longer names first.
var alternatives = sync.OnceValue(func() (all []alternative) {
	for line := range strings.Lines(alternativesTable) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] != "#" {
			all = append(all, alternative{fields[0], strings.TrimPrefix(fields[1], "-"), fields[2],
				strings.Join(fields[3:], " ")})
		}
	}
	return all
})

// call judges memory that a callee outside of the packages makes. What to do about it is
// said where its code here allows that.
func (k *subject) call() {
	callee := k.e.Callee
	if callee == "" {
		callee = k.e.What
	}
	k.e.Verdict, k.e.Decides, k.idle = Outside, k.life.where, true
	k.e.Remedy = callee + " makes it"
	switch k.life.kind {
	case escaped:
		k.e.Remedy += "; " + k.life.result()
	case kept:
		k.e.Remedy += "; " + k.life.held()
	}
	if k.s == nil {
		return
	}
	c, called := k.s.Instr.(ssa.CallInstruction)
	if !called || k.buffered(c) {
		return
	}
	for _, a := range alternatives() {
		if strings.HasPrefix(callee, a.callee) {
			if needs[a.needs](k, c) {
				k.e.Check, k.e.Remedy, k.idle = a.check, callee+": "+a.text, false
			}
			return
		}
	}
}

// once reports whether one of what a call returns is enough: nobody keeps it, and no two
// live at a time.
func (k *subject) once(c ssa.CallInstruction) bool {
	if k.life.kind == kept || k.life.kind == escaped || k.life.mixed || k.life.many || recursive(k.p, k.s.Func) {
		return false
	}
	fate := k.p.FateOfResult(c, 0, false)
	return fate.Dies() && !(fate.Beyond && k.p.Loop(c.Block()) != nil)
}

// buffered says what to do about a buffer that a call writes to and that grows: one that
// the function makes is kept where it dies with it, and grown once where it is written to
// several times.
func (k *subject) buffered(c ssa.CallInstruction) bool {
	if !growsBuffer(k.c.leaf) && !growsBuffer(k.c.callee) {
		return false
	}
	for _, v := range c.Common().Args {
		if box, ok := v.(*ssa.MakeInterface); ok {
			v = box.X
		}
		buffer := check.IsNamed(v.Type(), "bytes", "Buffer")
		if !buffer && !check.IsNamed(v.Type(), "strings", "Builder") {
			continue
		}
		own, made := v.(*ssa.Alloc)
		switch {
		case !made || k.life.mixed:
			k.e.Remedy += ", as the buffer grows that it is given"
		case buffer && k.life.kind != kept && k.life.up == 0 && k.p.Fate(own).Dies() && bytesDie(k.p, own) &&
			!recursive(k.p, k.s.Func):
			k.e.Check, k.idle = "bufferpercall", false
			k.e.Remedy += ", as the buffer grows: take that from a sync.Pool, and Reset it in each call"
		case k.written(own):
			k.e.Check, k.idle, k.grows = "bufferpercall", false, true
			k.e.Remedy += ", as the buffer grows with each of several writes: call Grow with the size first"
		default:
			k.e.Remedy += ", as the buffer gets what is written"
		}
		return true
	}
	return false
}

// written reports whether several writes make a buffer grow: calls that are given it, or one
// in a loop.
func (k *subject) written(buffer *ssa.Alloc) bool {
	writes := 0
	var visit func(v ssa.Value)
	visit = func(v ssa.Value) {
		for _, use := range *v.Referrers() {
			switch i := use.(type) {
			case *ssa.MakeInterface:
				visit(i)
			case *ssa.Call:
				fn := i.Call.StaticCallee()
				if fn != nil && fn.Signature.Recv() != nil && !strings.HasPrefix(fn.Name(), "Write") {
					continue
				}
				if writes++; k.p.Loop(i.Block()) != k.p.Loop(buffer.Block()) {
					writes++
				}
			}
		}
	}
	visit(buffer)
	return writes > 1
}

// bytesDie reports whether nobody keeps the bytes that methods of a buffer lend.
func bytesDie(p *life.Package, buffer ssa.Value) bool {
	return !slices.ContainsFunc(*buffer.Referrers(), func(use ssa.Instruction) bool {
		c, ok := use.(*ssa.Call)
		return ok && c.Referrers() != nil && check.IsBytes(c.Type()) && !p.Fate(c).Dies()
	})
}

// constants reports whether a call has constants alone for arguments.
func constants(c ssa.CallInstruction) bool {
	return !slices.ContainsFunc(c.Common().Args, func(v ssa.Value) bool { _, ok := v.(*ssa.Const); return !ok })
}

// basics reports whether the values of a list of last arguments are numbers and texts.
func basics(c ssa.CallInstruction) bool {
	args := c.Common().Args
	if len(args) == 0 {
		return false
	}
	list, ok := args[len(args)-1].(*ssa.Slice)
	if !ok {
		return false
	}
	for _, use := range *list.X.Referrers() {
		at, element := use.(*ssa.IndexAddr)
		if !element {
			continue
		}
		for _, store := range *at.Referrers() {
			box, boxes := store.(*ssa.Store)
			if !boxes {
				return false
			}
			if v, of := box.Val.(*ssa.MakeInterface); !of || !isBasic(v.X.Type()) {
				return false
			}
		}
	}
	return true
}

// isBasic reports whether t is a number or a text without methods.
func isBasic(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Basic)
	return ok
}

// onlyIndexed reports whether the list that a call returns is only read element by element.
func onlyIndexed(c ssa.CallInstruction) bool {
	v := c.Value()
	return v != nil && v.Referrers() != nil && !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.IndexAddr, *ssa.Range, *ssa.DebugRef:
			return false
		case *ssa.Call:
			b, ok := i.Call.Value.(*ssa.Builtin)
			return !ok || b.Name() != "len"
		}
		return true
	})
}

// onlyAppended reports whether the text that a call returns only goes to the end of
// something: by append, or by a method WriteString.
func onlyAppended(c ssa.CallInstruction) bool {
	v := c.Value()
	return v != nil && v.Referrers() != nil && !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		if _, debug := use.(*ssa.DebugRef); debug {
			return false
		}
		i, ok := use.(*ssa.Call)
		if !ok {
			return true
		}
		if b, builtin := i.Call.Value.(*ssa.Builtin); builtin {
			return b.Name() != "append"
		}
		fn := i.Call.StaticCallee()
		return fn == nil || fn.Name() != "WriteString"
	})
}
