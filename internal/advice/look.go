package advice

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/isobar-go/isobar/advise/check"
	"github.com/isobar-go/isobar/advise/life"
	"github.com/isobar-go/isobar/internal/show/text"
)

const unproven = "no remedy is proven"

// look describes an allocation without a proven remedy: how it grows, what it is made for, and what
// would make it needless, where that is known. The text also replaces that of a candidate that saves
// nothing.
func (k *subject) look() {
	if !k.outside() {
		k.e.lead = k.lead()
	}
	said := []string{unproven, k.grown(), k.purpose(), k.reached(), k.e.lead}
	said = slices.DeleteFunc(said, func(part string) bool { return part == "" })
	k.e.instead = strings.Join(said, "; ")
	if k.e.Verdict != "" {
		return
	}
	k.e.settle()
	if k.life.kind == unproved && k.life.where != k.x.spell(k.c.at) {
		k.e.Decides = k.life.where
	}
}

// settle makes a site one without a remedy.
func (e *Explained) settle() {
	e.Verdict, e.Remedy, e.Fix = Look, e.instead, false
	if e.Callee != "" && e.call.line == 0 {
		e.Verdict = Outside
	}
}

// grown says what grows, or returns "".
func (k *subject) grown() string {
	if k.outside() || k.s.Kind != life.Append && k.s.Kind != life.MapGrow && k.growth.Loop == nil {
		return ""
	}
	switch {
	case k.s.Kind == life.MapGrow && k.firstGroup():
		return "it is the memory of the map's first entries"
	case k.s.Kind == life.MapGrow && k.firsts() > 0.5:
		return "most of it is the memory of maps' first entries"
	case k.growth.Field != "":
		return "field " + k.growth.Field + " grows"
	}
	var grows ast.Expr
	switch n := k.s.Node.(type) {
	case *ast.CallExpr:
		grows = n.Args[0]
	case *ast.IndexExpr:
		grows = n.X
	}
	if path := k.path(); len(path) > 1 && k.s.Kind == life.Append {
		to, ok := path[1].(*ast.AssignStmt)
		if ok && len(to.Lhs) == 1 && types.ExprString(to.Lhs[0]) != types.ExprString(grows) {
			return "" // another slice gets what this one has, and more
		}
	}
	id, _ := ast.Unparen(grows).(*ast.Ident)
	v, ok := k.p.Info.Uses[id].(*types.Var)
	switch {
	case !ok:
		return ""
	case v.Kind() == types.ParamVar:
		return "what grows is parameter " + v.Name()
	case v.Kind() == types.LocalVar || v.Kind() == types.ResultVar:
		return "what grows is declared at " + k.x.position(k.p, v.Pos())
	}
	return ""
}

// reached says which room would spare growth that no fix spares, if the sizes tell: where of each of the first sizes
// there are as many, what grows has all of them.
func (k *subject) reached() string {
	const apart, fewest, least, most, unsure = 0.1, 3, 10, 64 << 10, 0.1 // sizes; objects of each; bytes
	each, per := k.grain()
	if each == 0 || len(k.e.fixes) > 0 || k.e.Within > unsure || k.s != nil && k.s.Kind == life.Append && k.capped() {
		return ""
	}
	smaller := func(size int64) bool { return size < each }
	sizes := slices.DeleteFunc(slices.Sorted(maps.Keys(k.t.sizes)), smaller)
	n := 0
	for n < len(sizes) && sizes[n] <= most {
		begun, these := k.t.sizes[sizes[0]].Objects, k.t.sizes[sizes[n]].Objects
		if begun < least || math.Abs(float64(these-begun)) > apart*float64(begun) {
			break
		}
		n++
	}
	if n < fewest {
		return ""
	}
	size := sizes[n-1]
	return fmt.Sprintf("nine of ten seem to grow through %d sizes up to %s: with room for %d from the beginning, each "+
		"takes one object", n, text.Bytes(float64(size)), size/each*per)
}

// grain is the least size that grows, and for how many elements it is; 0 for what does not grow.
func (k *subject) grain() (bytes, elements int64) {
	const full = 7 // of a group's eight, before the map grows
	switch {
	case k.outside():
		if buffer := plainName(k.c.callee); strings.HasPrefix(buffer, "bytes.Buffer.") ||
			strings.HasPrefix(buffer, "strings.Builder.") {
			return 1, 1
		}
	case k.s.Kind == life.MapGrow && !k.firstGroup():
		return k.group(), full
	case k.s.Kind == life.Append && k.p.Sizes != nil:
		if of := k.s.Value.Type().Underlying().(*types.Slice).Elem(); !life.Parametrized(of) {
			return k.p.Sizes.Sizeof(of), 1
		}
	}
	return 0, 0
}

// firstGroup reports whether the bytes are those of first groups.
func (k *subject) firstGroup() bool { return k.firsts() > 0.9 }

// firsts is the share of the bytes with the size that a map allocates for its first eight
// entries, whatever its size hint.
func (k *subject) firsts() float64 {
	first := k.t.sizes[class(k.group())]
	if first == nil {
		return 0
	}
	return float64(first.Bytes) / float64(k.t.Bytes)
}

// group is the size of the group in which a map holds eight entries; 0 where it depends on type parameters.
func (k *subject) group() int64 {
	const entries, control, most = 8, 8, 128
	m, ok := k.s.Type.Underlying().(*types.Map)
	if !ok || k.p.Sizes == nil || life.Parametrized(m.Key()) || life.Parametrized(m.Elem()) {
		return 0
	}
	var entry []*types.Var
	for _, t := range []types.Type{m.Key(), m.Elem()} {
		if k.p.Sizes.Sizeof(t) > most { // the group has a pointer to it
			t = types.Typ[types.Uintptr]
		}
		entry = append(entry, types.NewField(token.NoPos, nil, "_", t, false))
	}
	return control + entries*k.p.Sizes.Sizeof(types.NewStruct(entry, nil))
}

// purpose says what takes the memory, if the expression itself tells.
func (k *subject) purpose() string {
	if k.outside() {
		return cmp.Or(k.e.Callee, k.e.What) + " allocates it" + allocator(k.c) + k.offered()
	}
	to, takes := k.consumer(), map[life.Kind]string{life.Box: "it takes an interface",
		life.Variadic: "it takes a list of its last arguments", life.Convert: "it is given a copy"}[k.s.Kind]
	if to == "" || takes == "" || k.s.Kind == life.Convert && !usedOnce(k.s.Value) {
		return ""
	}
	return to + ", which it is made for: " + takes
}

// usedOnce reports whether a value has exactly one use.
func usedOnce(v ssa.Value) bool {
	uses := 0
	life.Only(v, func(ssa.Instruction) bool { uses++; return true })
	return uses == 1
}

// shared reports whether the memory may share a block with that of others, and so live
// as long as any of them: small objects without pointers do. The profile counts blocks.
func (k *subject) shared() bool {
	if !k.outside() && k.s != nil && fixedSize(k.s) >= tinyBlock {
		return false
	}
	sizes := append(slices.Collect(maps.Keys(k.t.sizes)), int64(k.e.Size)) // the mean, where the profile has no sizes
	if slices.Min(sizes) > tinyBlock {
		return false
	}
	texts := []life.Kind{life.Call, life.Concat, life.Convert}
	return k.outside() || slices.Contains(texts, k.s.Kind) || !check.HasPointers(k.s.Type)
}

// allocator names the function that allocates below the callee, if it is the only one and others can call it.
func allocator(c *cause) string {
	if c.several || c.leaf == "" || c.leaf == c.callee || strings.HasPrefix(c.leaf, "runtime.") ||
		strings.HasPrefix(c.leaf, "internal/") {
		return ""
	}
	return ", in " + shortName(c.leaf)
}
