package advice

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

const flowing = `package m

type p struct{ n *int }

func Returned() *p {
	return &p{} // returned
}

func Handed(keep func(*p), n int) int {
	v := &p{} // handed
	w := v
	for range n {
		keep(w) // keeps
	}
	return n
}

func small() *p { return &p{} } // small

func Inlined(all map[int]*p) {
	v := small() // here
	all[1] = v   // stored
}

func Twice(all map[int]*p) {
	all[2] = small() // there
}

//go:noinline
func put(all map[int]*p, v *p) {
	all[3] = v // put
}

func Through(all map[int]*p) {
	v := &p{}   // through
	put(all, v) // only hands it on
}

//go:noinline
func (v *p) set(n int) {
	t := n // variable
	if n > 3 {
		v.n = &t // address
	}
}

func Same() (*p, *p) {
	return &p{}, &p{} // same
}

func Either(n int) *p {
	v := &p{} // either
	if n > 3 {
		return v // yes
	}
	return v // or
}

func Late() *p {
	v := &p{} // late
	v.n = new(int)
	return v // once
}

func Alike(all []*p) *p {
	all[0] = &p{}; return &p{} // alike
}

func Boxed(b []byte) any {
	return string(b) // boxed
}

func (v *p) mine() *p {
	w := &p{} // mine
	return w  // given
}

//go:noinline
func fill(all map[string]interface{}) { kept = all } // fills

var kept map[string]interface{}

func Looped(seq func(func(int) bool)) (n int) {
	for v := range seq { // looped
		n += v
	}
	return n
}

func Sized(n int) (sum int) {
	for _, v := range make([]p, n) { // sized
		sum += *v.n
	}
	return sum
}

func Spelled() {
	fill(map[string]interface{}{"a": 1}) // spelled
}
`

// locate records where the compiler has the expressions of a line with the spelling and kind of a site.
func locate(x *explainer, p *life.Package, e *Explained) {
	for _, s := range p.At(absolute(x.base, e.File), e.Line) {
		if s.From == e.Line && spelled(p, s.Node) == e.What && (e.Kind == "" || e.Kind == s.Kind.String()) {
			e.locate(p, s)
		}
	}
}

// TestFlows: the report has the compiler's step and the deciding place, in the words of
// this toolchain, and none if the compiler says different things.
func TestFlows(t *testing.T) {
	x, p := explainerOf(t, flowing)
	x.Dir = x.base
	line := func(comment string) int {
		before, _, ok := strings.Cut(flowing, "// "+comment)
		if !ok {
			t.Fatal(comment)
		}
		return 1 + strings.Count(before, "\n")
	}
	file := p.Fset.Position(p.Files[0].Package).Filename
	reached := func(comments string) *cause {
		c := &cause{chains: map[string]*chain{}}
		for i, one := range strings.Fields(comments) { // each makes a hundredth of the one before
			c.chains[one] = &chain{made: true, frames: []frame{{place: place{file, line(one)}}},
				site: site{Totals: Totals{Bytes: []int64{10000, 100, 100}[i]}}}
		}
		return c
	}
	var sites []Explained
	wants := []struct{ at, through, step, decides string }{
		{"returned", "", "return", "returned"}, {"handed", "", "keep(w)", "keeps"}, {"small", "", "return", "small"},
		{"small", "here", "all[1] = v", "stored"}, {"small", "there", "all[2] =", "there"}, {"small", "keeps", "", ""},
		{"small", "here there", "all[1] = v", "stored"}, {"small", "keeps here there", "", ""},
		{"through", "", "all[3] = v", "put"}, {"variable", "", "v.n = &t", "address"}, {"same", "", "return", "same"},
		{"alike", "", "", ""}, {"either", "", "return v", "yes or"}, {"late", "", "return v", "once"},
		{"small", " ", "return", "small"}, {"mine", " ", "return", "given"}, // inlined into tests only
		{"boxed", "", "return", "boxed"}, {"spelled", "", "kept = all", "fills"},
		{"looped", "", "for v := range seq { // looped (call parameter)", ""},
		{"sized", "", "make([]p, n) (non-constant size)", ""},
	}
	for _, w := range wants {
		e := Explained{File: filepath.Base(file), Line: line(w.at), What: "p{…}", Verdict: Look}
		switch w.at {
		case "variable":
			e.What = "t"
		case "boxed":
			e.What, e.Kind = "string(b)", life.Box.String()
		case "looped":
			e.What, e.Kind = "the body of range seq", life.Closure.String()
		case "spelled":
			e.What = "map[string]interface{}{…}"
		case "sized":
			e.What, e.Kind, e.Size, e.Open, e.Function = "make([]p, n)", life.Make.String(), 64, true, "m.Sized"
		}
		locate(x, p, &e)
		if w.through != "" {
			e.inlined, e.cause = true, reached(w.through)
		}
		sites = append(sites, e)
	}
	x.flows(t.Context(), sites)
	for i, w := range wants {
		e, decides := sites[i], ""
		if w.decides != "" && w.decides != w.at {
			var places []string
			for _, at := range strings.Fields(w.decides) {
				places = append(places, x.spell(place{file, line(at)}))
			}
			decides = strings.Join(places, ", ")
		}
		if !strings.Contains(e.Flow, w.step) || (e.Flow == "") != (w.step == "") || e.Decides != decides {
			t.Errorf("%s %s: %q, decided at %q; want %q at %q", w.at, w.through, e.Flow, e.Decides, w.step, decides)
		}
		if bySize := w.at == "sized"; bySize != (e.Lifetime == "dies with the call of m.Sized" && !e.Open) {
			t.Errorf("%s: open %v, %s", w.at, e.Open, e.Lifetime) // the compiler proves that nobody keeps it
		}
	}
}

// TestLeaksOfSeveral: where several parameters leak, to the heap or to a variable there, it is not told which one is
// meant; one that is only returned does not.
func TestLeaksOfSeveral(t *testing.T) {
	x, _ := explainerOf(t, "package m\n\ntype p struct{ n *int }\n\nvar last *p\n\n"+
		"//go:noinline\nfunc both(v, w *p) any {\n\tlast = v\n\tmoved := struct{ of *p }{w}\n\treturn &moved\n}\n\n"+
		"//go:noinline\nfunc one(v, w *p) (back *p) {\n\tlast = v\n\treturn w\n}\n\n"+
		"func Both(v *p) any { return both(v, &p{}) }\n\nfunc One(w *p) { one(&p{}, w) }\n")
	x.Dir = x.base
	said, err := x.escapes(t.Context(), nil, nil, "", "build", ".")
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{20: "both(v, &p{}) (call parameter)", 22: "last = v (assign)"}
	for at, facts := range said {
		for _, f := range facts {
			if step := want[at.line]; escaping(f) && step != "" {
				if got := x.leaked(f, said).text; got != step {
					t.Errorf("line %d: %q, want %q", at.line, got, step)
				}
				delete(want, at.line)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing escapes: %v", want)
	}
}

const spotted = `package m

type t struct {
	n int
	s string
}

func (v *t) get() int { return v.n }

//go:noinline
func number(n int, of ...int) int { kept = of; return n }

var kept []int

func Convert(b []byte) any { return string(b) }

func Join(a, b string) any { return a + "-" + ("-" + b) }

func Field(p *t) any { return p.s }

func Element(l []t) any { return l[1] }

func Part(b []byte) any { return b[1:2] }

func Assert(v any) any { return v.(t) }

func Result(n int) any { return number(n, n, n) }

func List() any { return []int{1, 2} }

func Struct(n int) any { return t{n, "s"} }

func Pointer() *t { return (&t{}) }

func Pointers() []*t { return []*t{{}, {n: 1}} }

func Make(n int) any { return make([]int, n) }

func New() *int { return new(int) }

func Closure(n int) func() int { return func() int { n++; return n } }

func Bound(v *t) func() int { return v.get }

func Moved(v t) *t { return &v }

func Map() map[int]int {
	m := map[int]int{}
	m[1] = 2
	return m
}

func Large(n int) map[int]int {
	m := make(map[int]int, n)
	m[1] = 2
	return m
}

func Value(p *t) any { return *p }

func Sum(a, b int) any { return -(a + b) }
`

// TestSpotsAreThoseOfTheCompiler: the compiler says exactly one thing about each expression.
func TestSpotsAreThoseOfTheCompiler(t *testing.T) {
	x, p := explainerOf(t, spotted)
	x.Dir = x.base
	said, err := x.escapes(t.Context(), nil, nil, "", "build", ".")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[life.Kind]int{}
	for _, s := range p.Sites() {
		e := Explained{Kind: s.Kind.String()}
		e.locate(p, s)
		grown := s.Kind == life.MapGrow && s.Func.Name() == "Large" // also for its size
		if about := e.about(said); len(about) != min(1, len(e.spots)) || grown != (len(e.spots) == 0) && s.Kind != life.Call {
			t.Errorf("%s: %s at %v: the compiler says %v", s.Func.Name(), e.Kind, e.spots, about)
		}
		kinds[s.Kind]++
	}
	if kinds[life.Box] != 12 || len(kinds) < 12 {
		t.Errorf("%v: want 12 boxes, and 12 kinds or more", kinds)
	}
}

// TestCopiesAreNamed: if inlined copies go to the heap by different ways, no place decides.
func TestCopiesAreNamed(t *testing.T) {
	x, p := explainerOf(t, flowing)
	x.Dir = x.base
	file := p.Fset.Position(p.Files[0].Package).Filename
	line := func(comment string) int {
		before, _, _ := strings.Cut(flowing, "// "+comment+"\n")
		return 1 + strings.Count(before, "\n")
	}
	c := &cause{chains: map[string]*chain{}}
	for _, one := range []string{"here", "there"} {
		c.chains[one] = &chain{made: true, frames: []frame{{place: place{file, line(one)}}},
			site: site{Totals: Totals{Bytes: 100}}}
	}
	sites := []Explained{{File: filepath.Base(file), Line: line("small"), What: "p{…}", Verdict: Look, inlined: true,
		cause: c}}
	locate(x, p, &sites[0])
	x.flows(t.Context(), sites)
	for _, want := range []string{"all[1] = v", "all[2] =", "there may be other ways"} {
		if !strings.Contains(sites[0].Flow, want) || sites[0].Decides != "" {
			t.Errorf("%q, decided at %q; want %s, and no place", sites[0].Flow, sites[0].Decides, want)
		}
	}
}

// TestBenchmarksDecideOfWhatTheyInline: tests are not compiled again, so nothing is proven about copies in them.
func TestBenchmarksDecideOfWhatTheyInline(t *testing.T) {
	x, p := explainerOf(t, flowing)
	x.Dir = x.base
	before, _, _ := strings.Cut(flowing, "// small\n")
	file := p.Fset.Position(p.Files[0].Package).Filename
	const here = "; it is inlined into m.BenchmarkSmall, which decides there"
	for _, tt := range []struct {
		inlined bool
		test    string
		through string
		want    bool
	}{
		{true, "m.BenchmarkSmall", "", true},
		{true, "m.BenchmarkSmall", "here", true}, // all of Inlined is in the benchmark
		{false, "", "", false},
		{true, "", "", false},
	} {
		e := Explained{File: filepath.Base(file), Line: 1 + strings.Count(before, "\n"), What: "p{…}", Verdict: Look,
			inlined: tt.inlined, cause: &cause{chains: map[string]*chain{"": {made: true, test: tt.test,
				site: site{Totals: Totals{Bytes: 100}}}}}}
		if before, _, ok := strings.Cut(flowing, "// "+tt.through+"\n"); ok && tt.through != "" {
			e.cause.chains[""].frames = []frame{{place: place{file, 1 + strings.Count(before, "\n")}}}
		}
		locate(x, p, &e)
		sites := []Explained{e}
		x.flows(t.Context(), sites)
		if got := sites[0].Flow; !strings.Contains(got, "return") || strings.HasSuffix(got, here) != tt.want {
			t.Errorf("inlined %v, into %s through %s: %q", tt.inlined, tt.test, tt.through, got)
		}
	}
}

// TestInstancesOfTests: if only tests instantiate a generic function, the compiler's
// facts are those of the tests.
func TestInstancesOfTests(t *testing.T) {
	x, p := explainerOf(t, "package m\n\ntype list[T any] struct{ of []T }\n\n//go:noinline\n"+
		"func (l *list[T]) copied() *list[T] {\n\tother := *l\n\treturn &other\n}\n")
	x.Dir = x.base
	file := p.Fset.Position(p.Files[0].Package).Filename
	test := "package m\n\nimport \"testing\"\n\nfunc TestCopied(t *testing.T) {\n" +
		"\tnew(list[int]).copied()\n\tnew(list[string]).copied()\n}\n"
	if err := os.WriteFile(filepath.Join(x.base, "m_test.go"), []byte(test), 0o644); err != nil {
		t.Fatal(err)
	}
	sites := []Explained{{File: filepath.Base(file), Line: 7, What: "other", Verdict: Look, cause: &cause{}}}
	locate(x, p, &sites[0])
	if err := x.flows(t.Context(), sites); err != nil {
		t.Fatal(err)
	}
	if want := "return &other (return), line 8; there may be other ways"; sites[0].Flow != want || sites[0].Decides != "" {
		t.Errorf("%q, decided at %q; want %q, and no place", sites[0].Flow, sites[0].Decides, want)
	}
}

// TestBoxesFitSharedBlocks: an integer boxed for a map of another line lies in a block of 16 bytes.
func TestBoxesFitSharedBlocks(t *testing.T) {
	_, p := explainerOf(t, "package m\n\nfunc f(l int, set func(map[string]any)) {\n"+
		"\tset(map[string]any{\n\t\t\"a\": l,\n\t})\n}\n")
	at := place{p.Fset.Position(p.Files[0].Package).Filename, 5}
	if made := choose(p, at, "", 16); len(made) != 1 || made[0].Kind != life.Box {
		t.Errorf("%v: want the boxed integer", made)
	}
}

// TestRoomOfMaps: the runtime allocates a map with a large size hint even if it does not escape.
func TestRoomOfMaps(t *testing.T) {
	x, p := explainerOf(t, `package m

func asked(in []int) map[int]int {
	return make(map[int]int, len(in))
}

func few(in []int) map[int]int {
	return make(map[int]int, 8)
}
`)
	x.Dir = x.base
	for name, want := range map[string]string{
		"asked": "return make(map[int]int, len(in)) (return), line 4; make(map[int]int, len(in)) (the room asked for), line 4",
		"few":   "return make(map[int]int, 8) (return), line 8",
	} {
		made := matching(p.Sites(), func(s *life.Site) bool { return s.Func.Name() == name })
		at := place{p.Fset.Position(made[0].Pos()).Filename, made[0].From}
		c := &cause{at: at, function: "m." + name, chains: map[string]*chain{}}
		sites := []Explained{*x.part(c, p, made[0], &site{Totals: Totals{Bytes: 9000, Objects: 10}})}
		sites[0].cause = c
		x.flows(t.Context(), sites)
		if got, _, _ := strings.Cut(sites[0].Flow, "; there"); got != want && got != want+"; each by itself" {
			t.Errorf("%s: %q, want %q", name, sites[0].Flow, want)
		}
		c.chains[""] = &chain{made: true, test: "m.BenchmarkRoom", site: site{Totals: Totals{Bytes: 100}}}
		sites[0].inlined = true
		x.flows(t.Context(), sites)
		if strings.Contains(sites[0].Flow, "return") != (name == "few") {
			t.Errorf("%s, inlined into a benchmark: %q", name, sites[0].Flow)
		}
	}
}

// TestWaitsAreNotOfTheStatementAround: the line that waits is in the body of a literal, not of the go statement.
func TestWaitsAreNotOfTheStatementAround(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc f(in, out chan int) {\n\tgo func() {\n"+
		"\t\tselect {\n\t\tcase out <- 1:\n\t\tcase <-in:\n\t\t}\n\t\tout <- <-in\n\t}()\n}\n")
	for at, want := range map[int]string{4: "goroutine", 5: "waiting goroutine", 8: "unknown", 9: "waiting goroutine"} {
		c := &cause{at: place{p.Fset.Position(p.Files[0].Package).Filename, at}, function: "m.f.func1",
			chains: map[string]*chain{}, site: site{Totals: Totals{Bytes: 1120, Objects: 10}}}
		if got := x.explain(c)[0].Name(); !strings.HasPrefix(got, want) {
			t.Errorf("line %d: %s, want %s", at, got, want)
		}
	}
}

// TestCgo: functions that use C are read, and the others of their package.
func TestCgo(t *testing.T) {
	_, p := explainerOf(t, "package m\n\n// typedef struct { int n; } pair;\n// static int twice(int x) { return 2 * x; }\n"+
		"import \"C\"\n\nvar four = C.twice(2)\n\ntype holder struct{ of C.pair }\n\n"+
		"func f(h *holder) int { return int(C.twice(h.of.n)) }\n\nfunc g(h *holder) []int { return []int{int(h.of.n), int(four)} }\n\n"+
		"func made(n int) []int { return make([]int, n) }\n")
	var made []string
	for _, s := range p.Sites() {
		made = append(made, s.Func.Name())
	}
	if !slices.Contains(made, "made") || !slices.Contains(made, "g") {
		t.Errorf("sites in %q, want those of made and g", made)
	}
}

// TestRunesBecomeStrings: a string made from a rune is allocated.
func TestRunesBecomeStrings(t *testing.T) {
	_, p := explainerOf(t, "package m\n\nvar kept string\n\nfunc f(r rune) {\n\tkept = string(r)\n}\n")
	at := place{p.Fset.Position(p.Files[0].Package).Filename, 6}
	if made := choose(p, at, "", 16); len(made) != 1 || made[0].Kind != life.Convert {
		t.Errorf("%v: want the conversion", made)
	}
}

// TestConversionsByDirection: of two conversions of a line, the runtime's function tells which one made an object.
func TestConversionsByDirection(t *testing.T) {
	_, p := explainerOf(t, "package m\n\nfunc f(s string, of func(...any)) string {\n"+
		"\tof([]byte(s), []rune(s)); return string(append([]byte(s), s...)) + string([]rune(s))\n}\n")
	at := place{p.Fset.Position(p.Files[0].Package).Filename, 4}
	for leaf, want := range map[string]string{"slicebytetostring": "string(append([]byte(s), s...))",
		"stringtoslicebyte": "[]byte(s) []byte(s)", "slicerunetostring": "string([]rune(s))",
		"stringtoslicerune": "[]rune(s) []rune(s)", "growslice": "append([]byte(s), s...)"} {
		var made []string
		for _, s := range choose(p, at, "runtime."+leaf, 64) {
			made = append(made, spelled(p, s.Node))
		}
		if got := strings.Join(made, " "); got != want {
			t.Errorf("%s made %s, want %s", leaf, got, want)
		}
	}
}

// TestFactsAreSieved: what is left of the compiler's lines explains sites as well as all of them.
func TestFactsAreSieved(t *testing.T) {
	dir, err := compiled(t.Context(), ".", "", nil, "build", "text/template/parse")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	every := func(*Fact) bool { return true }
	all, err := facts(dir, nil, every)
	some, err2 := facts(dir, explains(), every)
	if err != nil || err2 != nil || len(some) == len(all) {
		t.Fatalf("%d facts of %d are left (%v, %v), want fewer", len(some), len(all), err, err2)
	}
	count := func(all []Fact) map[string]int {
		by := map[string]int{}
		for _, f := range all {
			switch at := fmt.Sprint(f.Code, f.where(-1)); {
			case escaping(&f) || f.Code == inlinable:
				by[at]++
			case f.Code == "leak" && !f.inlined() && strings.Contains(f.Message, "leaks to ") &&
				!strings.Contains(f.Message, "leaks to ~r"):
				by[at] = min(by[at]+1, 2) // several are none
			}
		}
		return by
	}
	if want, got := count(all), count(some); !maps.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}
