package advice

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// callersOf is a module whose functions return memory that their callers treat in several ways.
var callersOf = map[string]string{"go.mod": "module example.org/m\n\ngo 1.25\n",
	"m.go": `package m

import "example.org/m/internal/in"

type point struct{ x [99]int }

var global *point

func dropped() *point { return &point{} }

func Drops() int { return dropped().x[3] }

func mixed() *point { return &point{} }

func Mixes() int { global = mixed(); return mixed().x[1] }

func passed() *point { return &point{} }

func passes() *point { return passed() }

func Keeps() { global = passes() }

func Exported() *point { return &point{} }

func Calls() int { return Exported().x[1] }

func fails() (int, error) { return 0, &bad{1} }

type bad struct{ n int }

func (*bad) Error() string { return "" }

func Fails() error { _, err := fails(); return err }

func Reads() int { return in.Made().X[1] }

func listed(n int) (sum int) {
	var all []*point
	for range n {
		all = append(all, dropped2())
	}
	for _, p := range all {
		sum += p.x[0]
	}
	return sum
}

func dropped2() *point { return &point{} }

type hidden struct{}

func (hidden) Method() *point { return &point{} }
`, "internal/in/in.go": `package in

type P struct{ X [99]int }

func Made() *P { return &P{} }
`}

// TestEndings: what callers do with a result is read in their code, in all packages of the
// module; one that other modules can call belongs to their callers.
func TestEndings(t *testing.T) {
	dir := tree(t, callersOf)
	units, err := analyze(context.Background(), Config{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	x := newExplainer(t.Context(), Config{}, units, dir, nil)
	for _, tt := range []struct {
		function string
		kind     lifeKind
		many     bool
		want     []string
	}{
		{"dropped", died, false, []string{"m.Drops (m.go:11) keeps nothing of it"}},
		{"dropped2", died, true, []string{"m.listed (m.go:"}},
		{"mixed", escaped, false, []string{"which 1 of 2 callers drop", "m.Mixes (m.go:15) keeps it: package variable global"}},
		{"passed", escaped, false, []string{"m.Keeps (m.go:21) keeps it: package variable global"}},
		{"Exported", escaped, false, []string{"callers outside of these packages have it", "m.Calls (m.go:25) keeps nothing of it"}},
		{"Method", escaped, false, []string{"m.hidden.Method (m.go:52) is a method of a type that is not exported"}},
		{"fails", escaped, false, []string{"m.Fails (m.go:33) is exported"}},
		{"Made", died, false, []string{"m.Reads (m.go:35) keeps nothing of it"}},
	} {
		found := false
		for _, u := range units {
			p := x.life.of(u.Package)
			for _, s := range p.Sites() {
				if s.Func.Name() != tt.function || s.Kind != life.Literal {
					continue
				}
				found = true
				l := x.lifetime(p, s, &cause{at: place{p.Fset.Position(s.Pos()).Filename, s.From}, function: "m." + tt.function})
				text := l.result()
				missing := slices.ContainsFunc(tt.want, func(w string) bool { return !strings.Contains(text, w) })
				if l.kind != tt.kind || l.many != tt.many || missing {
					t.Errorf("%s: kind %d, many %v, %q; want %d, %v, %q", tt.function, l.kind, l.many, text, tt.kind, tt.many, tt.want)
				}
			}
		}
		if !found {
			t.Errorf("%s: no site", tt.function)
		}
	}
}

// TestDyingIn: whose calls the parts die with is said of all of them.
func TestDyingIn(t *testing.T) {
	l := lifetime{kind: died, in: "m.String", mixed: true, rest: []lifetime{
		{kind: died, in: "m.Equal"}, {kind: kept, in: "m.Keep"}, {kind: died, in: "m.String"},
	}}
	if got, want := l.dyingIn(), []string{"m.String", "m.Equal"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
