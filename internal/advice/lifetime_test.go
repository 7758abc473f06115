package advice

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// TestChain checks the way to the callers in the packages, also if another package
// calls their function literal.
func TestChain(t *testing.T) {
	j := &joiner{files: map[string]string{"/m/m.go": "/m/m.go"}}
	line := func(function, file string, at int64) profile.Line {
		return profile.Line{Function: &profile.Function{Name: function, Filename: file}, Line: at}
	}
	way, _ := j.chain(nil, []profile.Line{line("m.all.func1", "/m/m.go", 3), line("sync.(*Map).Range", "/go/map.go", 9),
		line("m.all", "/m/m.go", 2), line("m.use", "/m/m.go", 8), line("testing.(*B).run", "/go/b.go", 7)})
	var got []string
	for _, f := range way.frames {
		got = append(got, f.function)
	}
	if want := []string{"m.all", "m.use"}; !slices.Equal(got, want) || way.cut || way.beyond != "sync.(*Map).Range" {
		t.Errorf("got %q, cut %v, beyond %s; want %q", got, way.cut, way.beyond, want)
	}
}

// TestSomeShareABlock: where only some of the objects are small, these may share a block.
func TestSomeShareABlock(t *testing.T) {
	_, p := explainerOf(t, "package m\n\nfunc text(b []byte) string { return string(b) }\n")
	k := &subject{c: &cause{}, p: p, s: p.Sites()[0], e: &Explained{Size: 40}, t: &site{sizes: map[int64]*Totals{32: {}, 48: {}}}}
	if k.shared() {
		t.Error("objects of 32 and 48 bytes share a block")
	}
	if k.t.sizes[16] = new(Totals); !k.shared() {
		t.Error("objects of 16 bytes share none")
	}
}

// TestNearIsOfTheHolder: what shares a block is said of what keeps the memory, before what was not measured.
func TestNearIsOfTheHolder(t *testing.T) {
	l := lifetime{kind: escaped, in: "m.F", near: true, unmeasured: 0.25}
	const want = "returned by m.F, or by what lies in the same 16 bytes; 25 % of its bytes not measured"
	if got := l.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNeighbours: memory in a block with others may be kept by these, whichever part of it is kept.
func TestNeighbours(t *testing.T) {
	l := lifetime{kind: died, in: "f", part: 0.6, rest: []lifetime{{kind: escaped, in: "g", part: 0.4}}}
	l.inBlock()
	const want = "partly dies with the call of f; partly returned by g, or by what lies in the same 16 bytes"
	if got := l.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
