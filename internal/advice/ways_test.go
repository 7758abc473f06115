package advice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

const manyWays = `package m

import (
	"fmt"
	"strings"
)

type node struct {
	next *node
	text string
	of   interface{}
}

type shelf struct {
	all  []*node
	by   map[string]*node
	last *node
}

func (s *shelf) keep(n *node) { s.last = n }

func (n *node) join(s *shelf) { s.last = n } // joined

var kept interface{}

//go:noinline
func take(v interface{}) { kept = v } // kept

func Boxed(n node) {
	take(n) // boxed
}

func Listed(s *shelf) *node {
	n := &node{} // listed
	s.all = append(s.all, n) // appended
	return n // returned
}

func Nested(s *shelf) {
	n := &node{} // nested
	s.last = &node{next: n} // literal
}

func Received(s *shelf) {
	n := &node{} // received
	n.join(s)
}

func Sized(n int) []byte {
	b := make([]byte, n+1) // sized
	return b // out
}

func Sizes(n int) int {
	b := make([]byte, n) // dies
	return len(strings.TrimSpace(string(b)))
}

func Sent(to chan *node, m map[node]bool) {
	n := &node{} // sent
	to <- n // sends
}

func Started() {
	n := node{} // started
	go func() { n.text = "t" }()
}

func Caught() func() *node {
	n := node{} // caught
	return func() *node { return &n } // func
}

func Thrown(err error) {
	n := &node{} // thrown
	if err != nil {
		panic(n) // panics
	}
	kept = n // stored
}

func Spread(s *shelf, more []*node) (n *node) {
	n = new(node) // spread
	s.by["a"], s.of().next = n, n // both
	return
}

func (s *shelf) of() *node { return s.last }

func Long(n *node) string {
	t := fmt.Sprint(n.text, n.of) // printed
	return t
}
`

// TestWays: without the places that the report names, the compiler leaves the memory on
// the stack. If it does not, or was not asked, no place decides.
func TestWays(t *testing.T) {
	for _, version := range []string{"1.25", "1.17"} {
		t.Run(version, func(t *testing.T) {
			x, p := explainerOf(t, manyWays)
			x.Dir = x.base
			mod := filepath.Join(x.base, "go.mod")
			if err := os.WriteFile(mod, []byte("module example.org/m\n\ngo "+version+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			file := p.Fset.Position(p.Files[0].Package).Filename
			x.units[file].Module.GoVersion = version
			line := func(comment string) int {
				before, _, _ := strings.Cut(manyWays, "// "+comment+"\n")
				return 1 + strings.Count(before, "\n")
			}
			wants := []struct{ at, what, flow, decides string }{
				{"boxed", "n", "assign", "kept"},
				{"listed", "node{…}", "call parameter, return, each by itself", "appended returned"},
				{"nested", "node{…}", "struct literal element", "literal"},
				{"received", "node{…}", "assign", "joined"},
				{"sized", "make([]byte, n+1)", "return, non-constant size, each by itself", "out sized"},
				{"dies", "make([]byte, n)", "non-constant size", ""},
				{"sent", "node{…}", "send", "sends"},
				{"started", "n", "reference, there may be other ways", ""},
				{"caught", "n", "reference", "func"},
				{"thrown", "node{…}", "call parameter, assign, each by itself", "panics stored"},
				{"spread", "new(node)", "assign", ""}, // to the result, before any of its uses
			}
			var sites []Explained
			for _, w := range wants {
				e := Explained{File: filepath.Base(file), Line: line(w.at), What: w.what, Verdict: Look}
				if strings.HasPrefix(w.what, "make") {
					e.Kind, e.Size = life.Make.String(), 100
				}
				locate(x, p, &e)
				sites = append(sites, e)
			}
			x.flows(t.Context(), sites)
			for i, w := range wants {
				var decides []string
				for _, at := range strings.Fields(w.decides) {
					decides = append(decides, x.spell(place{file, line(at)}))
				}
				flow := sites[i].Flow
				for _, part := range strings.Split(w.flow, ", ") {
					_, after, ok := strings.Cut(flow, part)
					if flow = after; !ok {
						t.Errorf("%s: %q, want %s", w.at, sites[i].Flow, w.flow)
					}
				}
				if strings.Contains(flow, ";") || sites[i].Decides != strings.Join(decides, ", ") {
					t.Errorf("%s: %q, decided at %q; want %s and no more, decided at %v", w.at, sites[i].Flow, sites[i].Decides,
						w.flow, decides)
				}
			}
		})
	}
}

// TestFilesCalledAlike: facts about a file survive another file of the same name whose
// code is inlined.
func TestFilesCalledAlike(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n",
		"value.go": "package m\n\nimport \"example.org/m/z\"\n\nfunc Boxed(n int) any {\n\treturn n\n}\n\n" +
			"type Outer struct{ *z.Inner }\n\nvar Made any = Outer{}\n",
		"z/value.go": "package z\n\ntype Inner struct{ p *int }\n\nfunc (v *Inner) Keep(p *int) { v.p = p }\n"})
	units, err := analyze(t.Context(), Config{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	x := newExplainer(Config{Dir: dir}, units, dir, nil)
	file := filepath.Join(dir, "value.go")
	e := Explained{File: "value.go", Line: 6, What: "n", Kind: life.Box.String(), Verdict: Look}
	locate(x, x.life.of(units[0].Package), &e)
	sites := []Explained{e}
	if err := x.flows(t.Context(), sites); err != nil || !strings.Contains(sites[0].Flow, "return n (return), line 6") {
		t.Errorf("error %v, the way to the heap is %q", err, sites[0].Flow)
	}
	if len(x.apart) != 1 || x.apart[0] != file {
		t.Errorf("compiled under other names: %q", x.apart)
	}
	said, err := Why(t.Context(), file+":6")
	if err != nil || !slices.ContainsFunc(said, func(f Fact) bool { return escaping(&f) && f.file == file }) {
		t.Errorf("error %v, the compiler says %v", err, said)
	}
}

// TestHiddenBuiltins: the functions of package unsafe have no place of their own to pass a value to.
func TestHiddenBuiltins(t *testing.T) {
	_, p := explainerOf(t, "package m\n\nimport \"unsafe\"\n\nfunc text(in []byte) string {\n"+
		"\tb := append([]byte{}, in...)\n\treturn unsafe.String(&b[0], len(b))\n}\n")
	file := p.Fset.Position(p.Files[0].Package).Filename
	text, _, err := hidden(p.Source, file, []way{{at: place{file, 7}}})
	if want := "return isobarHide(unsafe.String(&b[0], len(b)))"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("error %v; %q is not in\n%s", err, want, text)
	}
}
