package advice

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// Each function joins a text. The comment says what becomes of it, or nil and why it stays.
const keys = `package m

type id string

func name() string { return "" }

var symbols map[string]int

// fqn := append(append(append(room[:0], name()...), "."...), b...)
func lookup(b string) int {
	fqn := name() + "." + b
	if n, ok := symbols[fqn]; ok && fqn != b {
		return n
	}
	return 0
}

// symbols[string(append(append(room[:0], a...), b...))]
func direct(a, b string) int {
	return symbols[a+b]
}

// m[id(append(append(append(room[:0], a...), ".x"...), b...))]
func typed(m map[id]int, a, b id) int {
	return m[a+("."+"x")+b]
}

// if fqn := append(append(room[:0], a...), b...)
func within(a, b string) bool {
	for range b {
		if fqn := a + b; symbols[fqn] > 0 || fqn == "x" {
			return true
		}
	}
	return false
}

// nil: the map keeps it
func kept(a, b string) {
	fqn := a + b
	if symbols[fqn] == 0 {
		symbols[fqn] = 1
	}
}

// nil: the caller keeps it
func result(a, b string) (string, int) {
	fqn := a + b
	return fqn, symbols[fqn]
}

// nil: name may change the memory of a
func order(a string) int {
	return symbols[a+name()]
}

// nil: it changes
func changes(a, b string) int {
	fqn := a + b
	if symbols[fqn] == 0 {
		fqn = a
	}
	return symbols[fqn]
}

// nil: the function literal shares it
func captured(a, b string) func() int {
	fqn := a + b
	if a > b {
		fqn = a
	}
	return func() int { return symbols[fqn] }
}

// nil: any key is kept by an interface
func boxed(m map[any]int, a, b string) int {
	return m[a+b]
}

// nil: each round needs it
func condition(a, b string) (n int) {
	for symbols[a+b] > n {
		n++
	}
	return n
}

// nil: each case has a list of its own
func cases(a, b string) int {
	switch {
	case symbols[a+b] > 1:
		return 1
	}
	return 0
}
`

// TestKeysAreJoinedInAnArray: a text that is only looked up or compared becomes bytes of an array.
func TestKeysAreJoinedInAnArray(t *testing.T) {
	x, p := explainerOf(t, keys)
	var all []change
	var name string
	for _, decl := range p.Files[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		i := slices.IndexFunc(p.Sites(), func(s *life.Site) bool {
			return s.Kind == life.Concat && fn.Pos() <= s.Pos() && s.Pos() < fn.End()
		})
		if i < 0 {
			t.Fatal(fn.Name.Name, "joins no text")
		}
		m := (&subject{x: x, p: p, s: p.Sites()[i]}).mender()
		want, _, _ := strings.Cut(strings.TrimSpace(fn.Doc.Text()), ": ")
		if isKey(m.s.Value) && m.key(256) {
			for of, edits := range m.edits {
				name, all = of, append(all, edits...)
				text, err := edited(of, x.src.read(of), edits)
				if err != nil {
					t.Fatal(err)
				}
				array, _, _ := strings.Cut(strings.TrimPrefix(edits[0].Text, "var "), " ")
				if !strings.Contains(strings.ReplaceAll(string(text), array, "room"), want) {
					t.Errorf("%s: no %s in %s", fn.Name.Name, want, text)
				}
			}
		} else if want != "nil" {
			t.Errorf("%s: nil, want %s", fn.Name.Name, want)
		}
	}
	text, err := edited(name, x.src.read(name), all)
	if err != nil {
		t.Fatal(err)
	}
	if _, after := explainerOf(t, string(text)); len(after.Sites()) == 0 {
		t.Error("the fixes do not compile")
	}
}
