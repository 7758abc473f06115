package advice

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// expressions are functions with one expression each, of the kind that ends the
// function's name. Those with a remedy begin with Yes.
const expressions = `package m

import "strings"

func YesAppend(in []string) (out []string) {
	for _, s := range in {
		out = append(out, s+"x")
	}
	return out
}

func NoCostlyAppend(in string) (out []string) {
	for _, s := range strings.Fields(in) {
		out = append(out, s+"x")
	}
	return out
}

func NoCharactersAppend(in string) (out []rune) {
	for _, r := range in {
		out = append(out, r)
	}
	return out
}
`

// explainerOf returns an explainer of a package of one file.
func explainerOf(t *testing.T, source string) (*explainer, *life.Package) {
	t.Helper()
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.25\n", "m.go": source})
	units, err := analyze(t.Context(), Config{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	x := newExplainer(Config{}, units, dir, nil)
	return x, x.life.of(units[0].Package)
}

// TestRemediesNeedWhatTheyRestOn: a remedy is only named if the code of the function
// and its callees leaves no doubt.
func TestRemediesNeedWhatTheyRestOn(t *testing.T) {
	x, p := explainerOf(t, expressions)
	judged := 0
	for _, s := range p.Sites() {
		name := s.Func.Name()
		if s.Kind != life.Append {
			continue
		}
		judged++
		grown := map[int64]*Totals{64: {Objects: 10, Bytes: 640}, 128: {Objects: 10, Bytes: 1280}}
		e := x.part(&cause{at: place{p.Fset.Position(s.Pos()).Filename, s.From}, function: "m." + name}, p, s,
			&site{Totals: Totals{Bytes: 1920, Objects: 20}, sizes: grown})
		if want := strings.HasPrefix(name, "Yes"); (e.Verdict == Candidate) != want {
			t.Errorf("%s: %s: %s; want a remedy: %v", name, e.Verdict, e.Remedy, want)
		}
	}
	if want := strings.Count(expressions, "\nfunc Yes") + strings.Count(expressions, "\nfunc No"); judged != want {
		t.Errorf("%d of %d functions are judged", judged, want)
	}
}

// TestReturnsOfSlicesMayAllocate: append begins a slice on the stack, and the return
// moves it to the heap, as the program's call says; returning a number never allocates.
func TestReturnsOfSlicesMayAllocate(t *testing.T) {
	x, p := explainerOf(t, `package m

func Even(in []int) []int {
	out := []int{}
	for _, n := range in {
		if n%2 == 0 {
			out = append(out, n)
		}
	}
	return out
}

func Sum(in []int) (n int) {
	for _, m := range in {
		n += m
	}
	return n
}
`)
	file := p.Fset.Position(p.Files[0].Package).Filename
	for line, want := range map[int]Verdict{10: Look, 17: Unknown} {
		c := &cause{at: place{file, line}, function: "m.F", leaf: map[int]string{10: "runtime.moveSlice"}[line]}
		e := x.part(c, p, nil, &site{Totals: Totals{Bytes: 64, Objects: 4}, sizes: map[int64]*Totals{16: {Objects: 4,
			Bytes: 64}}})
		if e.Verdict != want {
			t.Errorf("line %d: %s, %s; want %s", line, e.Kind, e.Verdict, want)
		}
	}
}

// TestLooksSayWhatHolds: what the report says about one expression is not said about others for which it is wrong.
func TestLooksSayWhatHolds(t *testing.T) {
	x, p := explainerOf(t, `package m

func count(m map[string]int, s string) { m[s]++ }

func same(a, b []rune) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }

func once(a string, b []rune) bool { return same([]rune(a), b) }

func twice(a string, b []rune) bool {
	text := []rune(a)
	return same(text, b) || len(text) > 9
}

type pair struct{ a, b int }

func made() *pair { return new(pair) }
`)
	const first, convert = "first entries", "same, which it is made for"
	for _, tt := range []struct {
		function string
		kind     life.Kind
		sizes    map[int64]*Totals
		says     string
	}{
		{"count", life.MapGrow, map[int64]*Totals{208: {Objects: 9, Bytes: 9 * 208}}, first},
		{"count", life.MapGrow, map[int64]*Totals{48: {Objects: 9, Bytes: 9 * 48}, 416: {Objects: 9, Bytes: 9 * 416}}, ""},
		{"once", life.Convert, nil, convert},
		{"twice", life.Convert, nil, ""},
		{"made", life.New, nil, ""},
	} {
		of := &site{sizes: tt.sizes}
		for _, one := range tt.sizes {
			of.add(*one)
		}
		found := matching(p.Sites(), func(s *life.Site) bool { return s.Func.Name() == tt.function && s.Kind == tt.kind })
		if len(found) != 1 {
			t.Fatalf("%d of kind %v in %s", len(found), tt.kind, tt.function)
		}
		at := place{p.Fset.Position(found[0].Pos()).Filename, found[0].From}
		e := x.part(&cause{at: at, function: "m." + tt.function}, p, found[0], of)
		for _, text := range []string{first, convert} {
			if strings.Contains(e.Remedy, text) != (text == tt.says) {
				t.Errorf("%s: %q; want %q", tt.function, e.Remedy, tt.says)
			}
		}
	}
}

// TestSizesOfTypeParameters: an object whose type depends on a type parameter has no size.
func TestSizesOfTypeParameters(t *testing.T) {
	x, p := explainerOf(t, `package m

type cache[K comparable, V any] struct {
	items map[K]V
	list  []V
}

func (c *cache[K, V]) Add(k K, v V) {
	if c.items == nil {
		c.items = make(map[K]V)
	}
	c.items[k] = v
	c.list = append(c.list, v)
}
`)
	for _, s := range p.Sites() {
		e := x.part(&cause{at: place{p.Fset.Position(s.Pos()).Filename, s.From}, function: "m.(*cache[...]).Add"}, p, s,
			&site{Totals: Totals{Bytes: 1920, Objects: 20}, sizes: map[int64]*Totals{64: {Objects: 10, Bytes: 640},
				128: {Objects: 10, Bytes: 1280}}})
		if e.Verdict != Look {
			t.Errorf("%s %s: %s, want look", e.Kind, e.What, e.Verdict)
		}
	}
	if len(p.Sites()) < 3 {
		t.Errorf("%d sites, want a map, its growth and a list's", len(p.Sites()))
	}
}
