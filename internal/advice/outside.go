package advice

import (
	"cmp"
	_ "embed" // the table
	"go/ast"
	"go/version"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
)

// An alternative is what to give a function of the library, or to use in its
// place, so that it need not allocate.
type alternative struct {
	callee string // how its short name begins
	check  string
	since  string // the Go version that has what to use; "" for any
	needs  string // what has to be so, one of the keys of needs
	text   string
}

// needs check what an alternative rests on. What rests on nothing that the code shows is named
// as a place to look at.
var needs = map[string]func(*subject, ssa.CallInstruction) bool{
	"look":     func(*subject, ssa.CallInstruction) bool { return false },
	"-":        func(*subject, ssa.CallInstruction) bool { return true },
	"constant": func(_ *subject, c ssa.CallInstruction) bool { return constants(c) },
	"once":     (*subject).once,
	"read":     func(_ *subject, c ssa.CallInstruction) bool { return onlyIndexed(c) },
	"appended": func(_ *subject, c ssa.CallInstruction) bool { return onlyAppended(c) },
}

//go:embed assets/alternatives.txt
var alternativesTable string

// alternatives are of the standard library, the longer names first.
var alternatives = sync.OnceValue(func() (all []alternative) {
	for line := range strings.Lines(alternativesTable) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[0] != "#" {
			all = append(all, alternative{fields[0], strings.TrimPrefix(fields[1], "-"), strings.TrimPrefix(fields[2], "-"),
				fields[3], strings.Join(fields[4:], " ")})
		}
	}
	return all
})

// call judges memory that a callee outside of the packages makes: what to do about it is said
// where the code here allows that.
func (k *subject) call() {
	if k.s == nil {
		return
	}
	c, called := k.s.Instr.(ssa.CallInstruction)
	if !called || k.buffered(c) {
		return
	}
	for _, a := range alternatives() {
		if !strings.HasPrefix(k.callee(), a.callee) || !k.has(a.since) {
			continue
		}
		k.e.Check = a.check
		if needs[a.needs](k, c) {
			text := a.text
			if a.needs == "appended" {
				text = strings.ReplaceAll(text, "BUFFER", k.addedTo(c))
			}
			k.change(a.check, "%s: %s", k.callee(), text)
		} else if a.needs == "look" {
			k.hint = a.text
		}
		return
	}
}

// has reports whether the code may use what came with a Go version.
func (k *subject) has(since string) bool {
	for _, f := range k.p.Files {
		if f.FileStart <= k.s.Pos() && k.s.Pos() < f.FileEnd {
			v := k.p.Info.FileVersions[f]
			return since == "" || v == "" || version.Compare(v, since) >= 0
		}
	}
	return since == ""
}

// callee is what the line calls, where that makes the memory.
func (k *subject) callee() string { return cmp.Or(k.e.Callee, k.e.What) }

// once reports whether one of what a call returns is enough: nobody keeps it, and no two
// live at a time.
func (k *subject) once(c ssa.CallInstruction) bool {
	lasts := k.life.kind == kept || k.life.kind == escaped || k.life.mixed || k.life.many
	if lasts || k.s.Func.Parent() != nil || recursive(k.p, k.s.Func) {
		return false
	}
	fate := k.p.FateOfResult(c, 0, false)
	return fate.Dies() && !(fate.Beyond && k.p.Loop(c.Block()) != nil)
}

// buffered takes care of a buffer that a call writes to and that grows, and reports whether it
// is one: what the function makes and nobody keeps can be used again.
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
		k.e.Check = "bufferpercall"
		k.hint = "the buffer that it writes to: what is known of its final size, and who could keep it"
		own, made := v.(*ssa.Alloc)
		if made && buffer && k.life.kind <= unproved && !k.life.mixed && k.life.up == 0 && k.s.Func.Parent() == nil &&
			k.p.Fate(own).Dies() && bytesDie(k.p, own) && !recursive(k.p, k.s.Func) {
			k.change("bufferpercall", "%s makes it as the buffer grows: take that from a sync.Pool, and Reset it in each call",
				k.callee())
		}
		return true
	}
	return false
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

// onlyIndexed reports whether the list that a call returns is only read element by element.
func onlyIndexed(c ssa.CallInstruction) bool {
	v := c.Value()
	return v != nil && v.Referrers() != nil && !slices.ContainsFunc(*v.Referrers(), func(use ssa.Instruction) bool {
		switch i := use.(type) {
		case *ssa.IndexAddr:
			return slices.ContainsFunc(*i.Referrers(), func(of ssa.Instruction) bool { _, load := of.(*ssa.UnOp); return !load })
		case *ssa.Range, *ssa.DebugRef:
			return false
		case *ssa.Call:
			b, ok := i.Call.Value.(*ssa.Builtin)
			return !ok || b.Name() != "len"
		}
		return true
	})
}

// addedTo names what append adds the text to that a call returns, as onlyAppended has found.
func (k *subject) addedTo(c ssa.CallInstruction) string {
	for _, use := range *c.Value().Referrers() {
		for _, f := range k.p.Files {
			if use.Pos() < f.FileStart || use.Pos() >= f.FileEnd {
				continue
			}
			path, _ := astutil.PathEnclosingInterval(f, use.Pos(), use.Pos())
			if call, ok := path[0].(*ast.CallExpr); ok {
				return spelled(k.p, call.Args[0])
			}
		}
	}
	return "the buffer"
}

// onlyAppended reports whether the text that a call returns only goes to the end of bytes, by
// append.
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
		b, builtin := i.Call.Value.(*ssa.Builtin)
		return !builtin || b.Name() != "append"
	})
}
