package advice

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// expressions are functions each of which has one expression of the kind that its name ends
// with. Those that have a remedy begin with Yes.
const expressions = `package m

import (
	"io"
	"strings"
)

var kept any

func hold(s string) { kept = s }

func NoRoundMake(r io.Reader, n int) byte {
	b := make([]byte, n)
	r.Read(b)
	return b[0]
}

func YesMake(r io.Reader, n int) (sum byte) {
	for range n {
		b := make([]byte, n)
		r.Read(b)
		sum += b[0]
	}
	return sum
}

func YesRecursiveMake(r io.Reader, n int) (sum byte) {
	for range n {
		b := make([]byte, n)
		r.Read(b)
		sum += b[0] + YesRecursiveMake(r, n-1)
	}
	return sum
}

func YesArgumentMake(r io.Reader, rows [][]byte) {
	for _, row := range rows {
		r.Read(make([]byte, len(row)))
	}
}

func NoKeptOnAPathMake(r io.Reader, n int) (sum byte) {
	for range n {
		b := make([]byte, n)
		if k, _ := r.Read(b); k > 100 {
			kept = b
		}
		sum += b[0]
	}
	return sum
}

func NoNextRoundMake(r io.Reader, n int) (sum byte) {
	var last []byte
	for range n {
		b := make([]byte, n)
		r.Read(b)
		if last != nil {
			sum += last[0]
		}
		last = b
	}
	return sum
}

func NoOtherSizeMake(r io.Reader, n int) {
	for n > 0 {
		k, _ := r.Read(make([]byte, n))
		n -= k
	}
}

func NoGoroutineMake(r io.Reader, n int) {
	for range n {
		go r.Read(make([]byte, n))
	}
}

func read(r io.Reader, b []byte) int {
	k, _ := r.Read(b)
	return k
}

func NoConditionMake(r io.Reader, n int) {
	for read(r, make([]byte, n)) > 0 {
	}
}

func YesBodyMake(r io.Reader, n int) (all int) {
	for range n {
		all += read(r, make([]byte, n))
	}
	return all
}

func NoPerhapsMake(from []*strings.Reader) (ok bool) {
	for _, f := range from {
		ok = f != nil && read(f, make([]byte, 9)) > 0
	}
	return ok
}

type growing struct{ n int }

func (g *growing) more() int { g.n++; return g.n }

func first(n int, r io.Reader, b []byte) int { return n + read(r, b) }

func last(r io.Reader, b []byte, n int) int { return n + read(r, b) }

func NoCallBeforeMake(g *growing, r io.Reader) (all int) {
	for range 9 {
		all += first(g.more(), r, make([]byte, g.n))
	}
	return all
}

func YesCallAfterMake(g *growing, r io.Reader) (all int) {
	for range 9 {
		all += last(r, make([]byte, g.n), g.more())
	}
	return all
}

func YesLiteralMake() func(r io.Reader, n int) byte {
	return func(r io.Reader, n int) (sum byte) {
		for range 9 {
			b := make([]byte, n)
			r.Read(b)
			sum += b[0]
		}
		return sum
	}
}

func NoLoopAroundTheLiteralMake(r io.Reader, n int) {
	for range n {
		func() {
			r.Read(make([]byte, n))
		}()
	}
}

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

func YesRowsMake(rows [][]int, n int) {
	for i := range rows {
		rows[i] = make([]int, n)
	}
}

func YesCountedMake(rows [][]int, in []int) {
	for i := 0; i <= len(in); i++ {
		rows[i] = make([]int, len(in)+1)
	}
}

func NoTriangleMake(rows [][]int) {
	for i := range rows {
		rows[i] = make([]int, i)
	}
}

func NoSkippingMake(rows [][]int, in []int, n int) {
	for i := 0; i < len(in); i++ {
		rows[i] = make([]int, n)
		if in[i] > 0 {
			i--
		}
	}
}
`

// explainerOf returns what explains a package of one file.
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

// TestRemediesNeedWhatTheyRestOn: a remedy is named where the code of the function and of what it
// calls leaves no doubt.
func TestRemediesNeedWhatTheyRestOn(t *testing.T) {
	kinds := map[string]life.Kind{"Make": life.Make, "Append": life.Append}
	x, p := explainerOf(t, expressions)
	judged := 0
	for _, s := range p.Sites() {
		name, _, _ := strings.Cut(s.Func.Name(), "$")
		of := false
		for end, kind := range kinds {
			of = of || strings.HasSuffix(name, end) && s.Kind == kind
		}
		if !of {
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

// TestReturnsOfSlicesMayAllocate: append begins a slice on the stack, and the return moves it to
// the heap; a number that is returned was never anywhere else.
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
		c := &cause{at: place{file, line}, function: "m.F"}
		e := x.part(c, p, nil, &site{Totals: Totals{Bytes: 64, Objects: 4}, sizes: map[int64]*Totals{16: {Objects: 4,
			Bytes: 64}}})
		if e.Verdict != want {
			t.Errorf("line %d: %s, %s; want %s", line, e.Kind, e.Verdict, want)
		}
	}
}

// TestLooksSayWhatHolds: what a look says of an expression is not said of those beside which it is wrong.
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

// TestSizesOfTypeParameters: what a type parameter decides has no size.
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
