package life

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Use is what a function does with the memory of a parameter.
type Use struct {
	Returns uint32 // bit i: result i may refer to it
	Within  uint32 // bit i: memory behind result i may refer to it
	Into    uint32 // bit i: the memory of parameter i, a receiver being 0, may refer to it afterwards
	Deep    uint32 // bits of Into: it is put into what the parameter's memory refers to
	Perhaps Ways   // the bits that are not certain
	Name    string // for Into: the field that gets it; "" for several
	Keeps   []Keep // other holders
}

// Ways are bits of a [Use].
type Ways struct{ Returns, Within, Into uint32 }

// into returns the holder that argument j becomes.
func (u *Use) into(j int, pos token.Pos) Holder {
	return Holder{Kind: Field, Name: u.Name, Index: -1, Pos: pos, deep: u.Deep&(1<<j) != 0}
}

// lets reports whether the memory gets no new holder.
func (u *Use) lets() bool { return u.Returns|u.Within|u.Into == 0 && len(u.Keeps) == 0 }

// A Keep is a holder as other packages see it.
type Keep struct {
	Kind    HolderKind
	Name    string
	AsText  bool // as a string: holds text only
	Perhaps bool // not certain
}

// A Param is the use of a parameter: of what it refers to itself, and of all that can
// be reached from there.
type Param struct{ Self, Inside Use }

// A Summary is what callers need to know about a function.
type Summary struct {
	Params  []Param // the receiver first
	Results []Origin
	Reached []Origin // of what the results refer to
}

// origin returns the origin of result i or, if deep is set, of what it refers to.
func (s *Summary) origin(i int, deep bool) Origin {
	if deep && i < len(s.Reached) {
		return s.Reached[i]
	}
	return s.Results[i]
}

// An Origin says where a value comes from. Several may be set.
type Origin struct {
	Fresh   bool   // made by the function, or by what it calls, for the caller
	Params  uint32 // bit i: it refers to memory of parameter i
	Shared  bool   // taken from a package variable, a channel or the like
	Unknown bool   // from an unknown callee
}

func (o *Origin) merge(p Origin) {
	o.Fresh, o.Params = o.Fresh || p.Fresh, o.Params|p.Params
	o.Shared, o.Unknown = o.Shared || p.Shared, o.Unknown || p.Unknown
}

// OnlyFresh reports whether certainly nobody else holds the value.
func (o Origin) OnlyFresh() bool { return o == Origin{Fresh: true} }

// Facts are the summaries of a package's functions by [types.Func.FullName].
type Facts struct{ Funcs map[string]*Summary }

// AFact marks Facts as a fact of go/analysis.
func (*Facts) AFact() {}

func (f *Facts) String() string { return fmt.Sprintf("%d functions", len(f.Funcs)) }

// An entry is a function of Facts as GobEncode writes it.
type entry struct {
	Name    string
	Summary *Summary
}

// GobEncode writes the functions in sorted order: equal facts encode to equal bytes.
func (f *Facts) GobEncode() ([]byte, error) {
	var all []entry
	for _, name := range slices.Sorted(maps.Keys(f.Funcs)) {
		all = append(all, entry{name, f.Funcs[name]})
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(all)
	return b.Bytes(), err
}

// GobDecode reads what GobEncode wrote.
func (f *Facts) GobDecode(data []byte) error {
	var all []entry
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&all); err != nil {
		return err
	}
	f.Funcs = map[string]*Summary{}
	for _, e := range all {
		f.Funcs[e.Name] = e.Summary
	}
	return nil
}

func init() { gob.Register(&Facts{}) }

// Facts returns the summaries of the functions that other packages can call.
func (p *Package) Facts() *Facts {
	out := &Facts{map[string]*Summary{}}
	for fn, s := range p.summaries {
		if obj, ok := fn.Object().(*types.Func); ok && obj.Exported() && s != nil {
			out.Funcs[obj.FullName()] = s
		}
	}
	return out
}

// Summary returns the summary of a function of this package or another, or nil if it is unknown.
func (p *Package) Summary(fn *ssa.Function) *Summary {
	if fn.Origin() != nil {
		fn = fn.Origin()
	}
	if s, ok := p.summaries[fn]; ok {
		return s
	}
	return p.imports.get(fn, func() *Summary { return p.imported(fn) })
}

// summarize computes the summaries of the package's functions, callees first, until
// nothing changes. A summary begins empty and only grows; a function is computed again
// when one that it may call has grown.
func (p *Package) summarize() {
	const rounds = 6 // cuts longer chains of mutual calls
	pending := map[*ssa.Function]bool{}
	for _, fn := range p.Funcs {
		n := fn.Signature.Results().Len()
		p.summaries[fn] = &Summary{Params: make([]Param, len(fn.Params)), Results: make([]Origin, n),
			Reached: make([]Origin, n)}
		pending[fn] = true
	}
	order := p.calleesFirst()
	for range rounds {
		next := map[*ssa.Function]bool{}
		for _, fn := range order {
			if pending[fn] && p.refine(fn) {
				for _, caller := range p.mayCall(fn) {
					next[caller] = true
				}
			}
		}
		if pending = next; len(pending) == 0 {
			return
		}
	}
}

// refine computes one function again, and reports whether its summary grew.
func (p *Package) refine(fn *ssa.Function) bool {
	s := p.summaries[fn]
	changed := p.results(fn, s)
	for i, param := range fn.Params {
		if refers(param.Type(), 0) {
			changed = s.Params[i].Self.grow(p.fate(param, where{depth: itself}, isText(param.Type())), i) || changed
			changed = s.Params[i].Inside.grow(p.fate(param, where{}, true), i) || changed
		}
	}
	return changed
}

// calleesFirst returns the functions with callees before their callers, except within cycles.
func (p *Package) calleesFirst() (order []*ssa.Function) {
	seen := map[*ssa.Function]bool{}
	var visit func(fn *ssa.Function)
	visit = func(fn *ssa.Function) {
		if seen[fn] || p.summaries[fn] == nil {
			return
		}
		seen[fn] = true
		for _, callee := range p.callees[fn] {
			visit(callee)
		}
		order = append(order, fn)
	}
	for _, fn := range p.Funcs {
		visit(fn)
	}
	return order
}

// mayCall returns the functions whose summaries depend on that of fn: callers, the functions around them,
// because values of literals flow there, and, if fn is a method, all functions with dynamic calls.
func (p *Package) mayCall(fn *ssa.Function) (out []*ssa.Function) {
	for _, call := range p.callers[fn] {
		for caller := call.Parent(); caller != nil; caller = caller.Parent() {
			out = append(out, caller)
		}
	}
	if fn.Signature.Recv() != nil {
		out = append(out, p.dynamic...)
	}
	return out
}

// grow adds the holders of f to u and reports whether that changed u. self is the index of the parameter.
func (u *Use) grow(f *Fate, self int) bool {
	was := *u
	was.Keeps = slices.Clone(u.Keeps)
	for _, h := range f.Holders {
		bit := uint32(1) << max(h.Index, 0)
		switch {
		case h.Index >= 32 || h.Outer != "":
			u.keep(Keep{Field, h.String(), h.AsText, h.Perhaps})
		case h.Kind == Result && h.Inside:
			enter(&u.Within, &u.Perhaps.Within, bit, h.Perhaps)
		case h.Kind == Result:
			enter(&u.Returns, &u.Perhaps.Returns, bit, h.Perhaps)
		case h.Index >= 0 && (h.Kind == Field || h.Kind == MapEntry):
			if h.Index != self {
				if name := h.own(); u.Into == 0 || name == u.Name {
					u.Name = name
				} else {
					u.Name = ""
				}
				enter(&u.Into, &u.Perhaps.Into, bit, h.Perhaps)
				if h.deep {
					u.Deep |= bit
				}
			}
		default:
			u.keep(Keep{h.Kind, h.Name, h.AsText, h.Perhaps})
		}
	}
	return !reflect.DeepEqual(*u, was)
}

// own returns the name of the field that holds, or "" if it is unknown.
func (h Holder) own() string {
	if strings.HasPrefix(h.Name, "what ") || strings.HasPrefix(h.Name, "variable ") {
		return ""
	}
	return h.Name
}

// enter adds a bit, and marks it in perhaps until it is certain.
func enter(all, perhaps *uint32, bit uint32, unsure bool) {
	if !unsure {
		*perhaps &^= bit
	} else if *all&bit == 0 {
		*perhaps |= bit
	}
	*all |= bit
}

// same reports whether k and l are one holder, certain or not.
func (k Keep) same(l Keep) bool { return k.Kind == l.Kind && k.Name == l.Name && k.AsText == l.AsText }

// keep adds a holder. When there are enough, it only replaces texts and holders that are not certain.
func (u *Use) keep(k Keep) {
	const most = 4
	if i := slices.IndexFunc(u.Keeps, k.same); i >= 0 {
		if u.Keeps[i].Perhaps && !k.Perhaps {
			u.Keeps[i] = k
		}
		return
	}
	if len(u.Keeps) < most {
		u.Keeps = append(u.Keeps, k)
		return
	}
	for i, has := range u.Keeps {
		if has.AsText && !k.AsText || has.Perhaps && !k.Perhaps {
			u.Keeps[i] = k
			return
		}
	}
}
