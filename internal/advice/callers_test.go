package advice

import (
	"context"
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

func shared() *point { return &point{} }

func One() int { return shared().x[0] }

func Two() int { return shared().x[0] }

type hidden struct{}

func (hidden) Method() *point { return &point{} }
`, "internal/in/in.go": `package in

type P struct{ X [99]int }

func Made() *P { return &P{} }
`}

// TestDropped: what callers do with a result is read in their code, in all packages of the
// module; of one that other modules can call, nothing is claimed.
func TestDropped(t *testing.T) {
	dir := tree(t, callersOf)
	units, err := analyze(context.Background(), Config{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	x := newExplainer(t.Context(), Config{}, units, dir, nil)
	for _, tt := range []struct {
		function string
		many     bool
		want     string
	}{
		{"dropped", false, "dies with the call of m.Drops"},
		{"dropped2", true, "dies with the call of m.listed"},
		{"mixed", false, "returned by m.mixed"},
		{"passed", false, "returned by m.passed"},
		{"Exported", false, "returned by m.Exported"},
		{"Method", false, "returned by m.Method"},
		{"fails", false, "returned by m.fails"},
		{"Made", false, "dies with the call of m.Reads"},
		{"shared", false, "dies with the call of the callers of m.shared"},
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
				if l.String() != tt.want || l.many != tt.many || (l.dropped != nil) != (l.kind == died) {
					t.Errorf("%s: %q, many %v, dropped %v; want %q, %v", tt.function, l, l.many, l.dropped, tt.want, tt.many)
				}
			}
		}
		if !found {
			t.Errorf("%s: no site", tt.function)
		}
	}
}
