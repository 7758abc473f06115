package advice

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// Each function takes the address of its first variable on the heap. The comment says how many returns copy it, or nil
// and why the variable stays as it is.
const branches = `package m

import "sync"

type big struct {
	n    [40]int
	list []int
}

func (b *big) add(v int) *big { b.n[0] += v; return b }

func (b big) sum() int { return b.n[0] }

func given(*big) {}

var kept *big

// 1
func closure(info big, later bool) func() int {
	if later {
		return func() int { return info.n[1] }
	}
	info.n[1]++
	n := info.sum()
	return func() int { return n }
}

// 1
func pointer(in []int) *big {
	var b big
	for i, v := range in {
		b.n[i] = v
		if v < 0 {
			return &b
		}
	}
	return nil
}

// 2
func method(b big, v int) *big {
	switch {
	case v > 0:
		return b.add(v)
	case v < 0:
		return b.add(-v)
	}
	return nil
}

// 1
func changed(n int) func() int {
	if n > 9 {
		return func() int { n++; return n }
	}
	return nil
}

// 1
func literal() func(int, bool) *int {
	return func(n int, is bool) *int {
		if is {
			return &n
		}
		return nil
	}
}

// 1
func round(in []big) *int {
	for _, b := range in {
		if b.n[1] > 0 {
			return &b.n[2]
		}
	}
	return nil
}

// nil: each call makes it anyway
func always(n int) *int {
	return &n
}

// nil: as above, behind another return
func last(n int) *int {
	if n > 0 {
		return nil
	}
	return &n
}

// nil: the deferred call would see what the function has
func deferred(b big, is bool) *big {
	defer func() { b.n[0]++; kept = &b }()
	if is {
		return &b
	}
	return nil
}

// nil: given may keep it
func earlier(b big, is bool) *big {
	given(&b)
	if is {
		return &b
	}
	return nil
}

// nil: the goroutine shares it with the function
func started(n int, is bool) *int {
	if is {
		go func() { n++ }()
		return &n
	}
	return nil
}

// nil: the caller of the loop's function would have another one in each round
func rounds(in []int, each func(func())) {
	var n int
	for _, v := range in {
		if v > 0 {
			each(func() { n += v })
		}
	}
}

// nil: it is the result
func result(is bool) (n int, p *int) {
	if is {
		return 1, &n
	}
	return 0, nil
}

// nil: a lock is not copied
func locked(is bool) *sync.Mutex {
	var m struct {
		n  int
		mu sync.Mutex
	}
	if is {
		return &m.mu
	}
	return nil
}

// nil: its elements are handed on before
func sliced(is bool) []int {
	var list [9]int
	kept.list = list[:]
	if is {
		return list[2:]
	}
	return nil
}

// nil: the name is that of another variable there
func shadowed(n int, is bool) (p *int, q func() *int) {
	f := func() *int { return &n }
	if n := 2; is {
		return &n, f
	}
	return nil, nil
}

// nil: the function literal runs before its return, and after
func recursive(is bool) func() int {
	var f func() int
	f = func() int { return f() }
	if is {
		return func() int { return f() }
	}
	return nil
}
`

// TestVariablesAreCopiedInBranches: a variable is copied just before the returns that take its address, if no other
// code has the address and the returns are not the function's only way.
func TestVariablesAreCopiedInBranches(t *testing.T) {
	x, p := explainerOf(t, branches)
	var name string
	var all []change
	for _, decl := range p.Files[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		i := slices.IndexFunc(p.Sites(), func(s *life.Site) bool {
			return s.Kind == life.Variable && fn.Pos() <= s.Pos() && s.Pos() < fn.End()
		})
		if i < 0 {
			t.Fatal(fn.Name.Name, "has no variable on the heap")
		}
		m, got := (&subject{x: x, p: p, s: p.Sites()[i]}).mender(), "nil"
		if returns := m.returns(); len(returns) > 0 && m.copyBefore(returns) {
			got = fmt.Sprint(len(returns))
			for of, edits := range m.edits {
				name, all = of, append(all, edits...)
			}
		}
		if want, _, _ := strings.Cut(strings.TrimSpace(fn.Doc.Text()), ":"); got != want {
			t.Errorf("%s: %s, want %s", fn.Name.Name, got, want)
		}
	}
	text, err := edited(name, x.src.read(name), all)
	if err != nil {
		t.Fatal(err)
	}
	if _, after := explainerOf(t, string(text)); len(after.Sites()) == 0 {
		t.Error("the fixes do not compile")
	}
	if !strings.Contains(string(text), copied) {
		t.Errorf("%s", text)
	}
}

const copied = `	if later {
		info := info
		return func() int { return info.n[1] }
	}
`
