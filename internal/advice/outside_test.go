package advice

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/life"
)

// sharedLines are lines with one expression that has a fix, and others without.
const sharedLines = `package m

import (
	"fmt"
	"strings"
)

type Held struct{ Value any }

func show(v any) bool { return v == nil }

func Build(in []int) string {
	var b strings.Builder
	for _, n := range in {
		b.WriteString(fmt.Sprintf("%d,", n))
	}
	return b.String()
}

func Boxed(h *Held, in []int) {
	for _, n := range in {
		show(n); h.Value = n
	}
}
`

// TestFixesAreOfTheirExpression: a check's fix of one expression is not offered for
// another one of the line.
func TestFixesAreOfTheirExpression(t *testing.T) {
	x, p := explainerOf(t, sharedLines)
	r, err := Run(t.Context(), Config{Dir: x.base, Patterns: []string{"."}, Checks: advise.All()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Findings {
		r.Findings[i].Fix = true
	}
	x.findings = newExplainer(Config{}, nil, x.base, r.Findings).findings
	judged := map[string]bool{}
	for _, s := range p.Sites() {
		c := &cause{function: "m." + s.Func.Name(), at: place{p.Fset.Position(s.Pos()).Filename, s.From},
			chains: map[string]*chain{"": {made: true}}}
		switch {
		case s.Callee() == "WriteString":
			c.callee, c.leaf = "strings.(*Builder).WriteString", "strings.(*Builder).WriteString"
		case s.Callee() == "Sprintf":
			c.callee, c.leaf = "fmt.Sprintf", "fmt.Sprintf"
		case s.Kind != life.Box || s.Func.Name() != "Boxed":
			continue
		}
		k := &subject{x: x, c: c, p: p, s: s, t: &site{Totals: Totals{Bytes: 4096, Objects: 16}}, e: &Explained{}}
		k.e.Callee = shortName(c.callee)
		k.judge()
		name := s.Callee()
		if s.Kind == life.Box {
			name = "kept"
			if k.consumer() != "" {
				name = "shown"
			}
		}
		judged[name] = k.e.Fix
		if !k.e.Fix && k.e.Verdict == Candidate {
			t.Errorf("%s: no fix, %s: %s", name, k.e.Verdict, k.e.Remedy)
		}
	}
	want := map[string]bool{"Sprintf": true, "WriteString": false, "shown": true, "kept": false}
	if !maps.Equal(judged, want) {
		t.Errorf("fixes %v, want %v; the findings are %+v", judged, want, r.Findings)
	}
}

// TestBoxesOfInterfaces: a struct of one interface field has two words, and does not
// fit into an interface.
func TestBoxesOfInterfaces(t *testing.T) {
	_, p := explainerOf(t, "package m\n\ntype value interface{ get() any }\n\ntype wrapper struct{ v any }\n\n"+
		"func (w wrapper) get() any { return w.v }\n\nvar one = wrapper{1}\n\n"+
		"func of(v any) value {\n\tif v == nil {\n\t\treturn one\n\t}\n\treturn wrapper{v}\n}\n")
	var lines []int
	for _, s := range p.Sites() {
		if s.Kind == life.Box && s.Func.Name() == "of" {
			lines = append(lines, s.From)
		}
	}
	if slices.Sort(lines); !slices.Equal(lines, []int{13, 15}) {
		t.Errorf("boxes in lines %d, want 13 and 15", lines)
	}
}

// TestBoxingKeepsToTheGoVersion: before Go 1.18 there are no type parameters.
func TestBoxingKeepsToTheGoVersion(t *testing.T) {
	const source = "package m\n\nfunc show(v interface{}) bool { return v == nil }\n\n" +
		"func All(in []int) {\n\tfor _, n := range in {\n\t\tshow(n)\n\t}\n}\n"
	for version, named := range map[string]bool{"1.17": false, "1.18": true} {
		dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo " + version + "\n", "m.go": source})
		r, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All()})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) != 1 || strings.Contains(r.Findings[0].Message, "type parameter") != named {
			t.Errorf("go %s: %+v; type parameters named: want %v", version, r.Findings, named)
		}
	}
}

// TestAFindingIsAboutItsExpression: what else its line makes, around it or beside it, is neither in its share nor has
// its remedy.
func TestAFindingIsAboutItsExpression(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": `package m

import "fmt"

type item struct {
	name string
	n    int
}

var kept []*item

func F(n int) {
	it := &item{name: fmt.Sprintf("item-%d", n), n: n}
	kept = append(kept, it)
}
`})
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_objects"}, {Type: "alloc_space"}}}
	stackOf(p, 13, 24, []int64{100, 2400})              // the item
	stackOf(p, 13, 8, []int64{100, 800})                // n in an interface
	stackOf(p, 13, 16, []int64{50, 800}, "fmt.Sprintf") // the text
	r, err := Run(t.Context(), Config{Dir: dir, Patterns: []string{"."}, Checks: advise.All(), Profiles: []string{save(t, p)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || *r.Findings[0].Share != (Shares{Bytes: 0.4, Objects: 0.6}) {
		t.Errorf("findings %+v, want one with 40 %% of bytes", r.Findings)
	}
	verdicts := map[string]Verdict{"composite literal": Look, "boxing": Candidate, "call": Candidate}
	for _, e := range r.Evidence.Account.Sites {
		if e.Verdict != verdicts[e.Kind] {
			t.Errorf("%s: %s, want %s", e.Name(), e.Verdict, verdicts[e.Kind])
		}
	}
	if n := len(r.Evidence.Account.Sites); n != len(verdicts) {
		t.Errorf("%d sites", n)
	}
}
