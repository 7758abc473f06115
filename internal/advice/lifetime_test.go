package advice

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/advise/life"
)

// TestDecide holds a lifetime to the flow that lives longest, or to the doubt that decides.
func TestDecide(t *testing.T) {
	may := func(whats ...string) (doubts []life.Doubt) {
		for i, what := range whats {
			doubts = append(doubts, life.Doubt{What: what, File: "/a/b.go", Line: 10*len(what) + i})
		}
		return doubts
	}
	in := func(kind lifeKind, name string, up int, doubts ...life.Doubt) lifetime {
		return lifetime{kind: kind, in: name, up: up, doubts: doubts, holder: life.Holder{Kind: life.Global, Name: name}}
	}
	for _, tt := range []struct {
		name string
		ends []lifetime
		want string
	}{
		{"nobody", []lifetime{in(died, "f", 0), in(died, "g", 1)}, "dies with the call of g"},
		{"proved", []lifetime{in(died, "f", 0), in(kept, "x", 0, may("a")...), in(kept, "y", 0)},
			"kept by package variable y"},
		{"returned, which makes the same verdict", []lifetime{in(kept, "x", 0, may("a")...), in(escaped, "f", 0)},
			"returned by f to its caller outside these packages"},
		{"dies under both answers", []lifetime{in(died, "f", 0), in(died, "g", 1, may("a")...)}, "dies with the call of g"},
		{"the only doubt of a flow", []lifetime{in(died, "f", 0), in(kept, "x", 0, may("a", "bb")...),
			in(kept, "y", 0, may("ccc")...)}, "not known: ccc decides, at a/b.go:30; at least until f returns"},
		{"the doubt of all flows", []lifetime{in(died, "f", 0), in(kept, "x", 0, may("a", "bb")...),
			in(kept, "y", 0, may("a", "ccc")...)}, "not known: a decides, at a/b.go:10; at least until f returns"},
		{"what goes without the doubt", []lifetime{in(died, "f", 0), in(died, "g", 1, may("a")...),
			in(kept, "x", 0, may("a")...)}, "not known: a decides, at a/b.go:10; at least until f returns"},
	} {
		x := &explainer{base: "/c"}
		if got := x.decide(tt.ends).String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestChainApart holds a way to the callers in the packages, also where another package
// calls a function literal of theirs.
func TestChainApart(t *testing.T) {
	j := &joiner{files: map[string]string{"/m/m.go": "/m/m.go"}}
	line := func(function, file string, at int64) profile.Line {
		return profile.Line{Function: &profile.Function{Name: function, Filename: file}, Line: at}
	}
	way, _ := j.chain(nil, []profile.Line{line("m.all.func1", "/m/m.go", 3), line("sync.(*Map).Range", "/go/map.go", 9),
		line("m.all", "/m/m.go", 2), line("m.use", "/m/m.go", 8), line("testing.(*B).run", "/go/b.go", 7)})
	var got []string
	for _, f := range way.frames {
		name := f.function
		if f.apart {
			name = "apart " + name
		}
		got = append(got, name)
	}
	if want := []string{"apart m.all", "m.use"}; !slices.Equal(got, want) || way.cut || way.beyond != "sync.(*Map).Range" {
		t.Errorf("got %q, cut %v, beyond %s; want %q", got, way.cut, way.beyond, want)
	}
}
