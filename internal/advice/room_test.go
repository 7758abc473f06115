package advice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// Each function grows a list; the comment before it says where that gets its capacity: before a statement, or in
// place of an expression. Others are left as they are.
const lists = `package m

type node struct {
	list  []int
	other []int
}

func (n *node) count() int { return len(n.list) }

func (n *node) clone() *node { c := *n; return &c }

// if cap(n.list) == 0
func (n *node) field(v int) {
	n.list = append(n.list, v)
}

// if cap(n.list) == 0
func nodeOf(in []int) (n node, ok bool) {
	for _, v := range in {
		if v > 0 {
			n.list = append(n.list, v+len(in))
		}
	}
	return n, n.list != nil
}

// if cap(out) == 0
func filtered(in []int) (out []int) {
	for _, v := range in {
		if v > 0 {
			out = append(out, v)
		}
	}
	return out
}

// make([]int, 0, 8)
func literal(in []int) []int {
	out := []int{}
	for _, v := range in {
		out = append(out, v)
	}
	return out
}

// , 8
func made(in []int) []int {
	out := make([]int, 0)
	for _, v := range in {
		out = append(out, v)
	}
	return out
}

// if cap(out) == 0 && len(in) > 0
func copied(in []int) (out []int) {
	out = append(out, in...)
	return out
}

// if cap(out) == 0
func text(in []int) string {
	var out []byte
	for range in {
		out = append(out, "one"...)
	}
	return string(out)
}

// if cap(out) == 0 && len("") > 0
func nothing() (out []byte) {
	out = append(out, ""...)
	return out
}

// if cap(out) == 0
func within(each func(func(int))) (n int) {
	var out []int
	each(func(v int) {
		out = append(out, v)
	})
	return len(out)
}

// nil: it may have been something else before
func shared(each func(func(int)), in []int) (n int) {
	var out []int
	each(func(v int) {
		out = append(out, v)
	})
	out = in
	return len(out)
}

// nil: as above
func read(each func(func(int)), other func(*[]int)) (n int) {
	var out []int
	each(func(v int) {
		out = append(out, v)
	})
	other(&out)
	return len(out)
}

// nil: what is added may be empty, and costs something to find
func joined(in [][]int) (out []int) {
	for i := range in {
		out = append(out, in[i]...)
	}
	return out
}

// nil: the callers have the list
func given(dst []int, v int) []int {
	dst = append(dst, v)
	return dst
}

// nil: two that come from one would write to the same memory
func (n node) with(v int) node {
	n.list = append(n.list, v)
	return n
}

// nil: as above
func (n *node) and(v int) *node {
	c := n.clone()
	c.list = append(c.list, v)
	return c
}

// nil: as above
func twice(in []int) [][]int {
	var list []int
	for _, v := range in {
		list = append(list, v)
	}
	return [][]int{append(list, 1), append(list, 2)}
}

// nil: count would see a list
func (n *node) add() {
	n.list = append(n.list, n.count())
}

// nil: a goroutine would see it
func (n *node) receive(c chan int) {
	n.list = append(n.list, <-c)
}

// nil: somebody asks for its capacity
func (n *node) asked(v int) int {
	n.other = append(n.other, v)
	return cap(n.other)
}

// nil: an element costs something to find
func element(m map[int][]int, v int) {
	m[v] = append(m[v], v)
}

// nil: no statement can stand before it
func begins(in []int) []int {
	var out []int
	for out = append(out, 1); len(out) < len(in); {
	}
	return out
}
`

// TestListsBeginWithRoom: a list gets its capacity where the code makes it, or just
// before an append that adds something for sure, so that a nil list stays nil. A list
// stays as it is if somebody could see the difference.
func TestListsBeginWithRoom(t *testing.T) {
	x, p := explainerOf(t, lists)
	for _, decl := range p.Files[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		want, got := strings.TrimSpace(fn.Doc.Text()), "nil"
		i := slices.IndexFunc(p.Sites(), func(s *life.Site) bool {
			return s.Kind == life.Append && fn.Pos() <= s.Pos() && s.Pos() < fn.End()
		})
		if i < 0 {
			t.Fatal(fn.Name.Name, "has no list")
		}
		s := p.Sites()[i]
		m := (&subject{x: x, p: p, s: s, growth: p.Growth(s)}).mender()
		if m.fills() && m.begin(8) {
			for name, edits := range m.edits {
				text, err := edited(name, x.src.read(name), edits)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := parser.ParseFile(token.NewFileSet(), name, text, 0); err != nil {
					t.Error(err)
				}
				got, _, _ = strings.Cut(edits[0].Text, " {")
			}
		}
		if want, _, _ := strings.Cut(want, ":"); got != want {
			t.Errorf("%s: %s, want %s", fn.Name.Name, got, want)
		}
	}
}

// TestRoomByCounts: initial capacities, from the number of objects of each size.
func TestRoomByCounts(t *testing.T) {
	all := func(n ...int64) map[int64]*Totals {
		out := map[int64]*Totals{}
		for i, n := range n {
			out[8<<i] = &Totals{Objects: n}
		}
		return out
	}
	for _, tt := range []struct {
		sizes             map[int64]*Totals
		each, limit, want int64
	}{
		{all(100, 100, 100), 8, 4096, 4},
		{all(100, 100, 100), 8, 31, 2},
		{all(100, 100, 1), 8, 4096, 2}, // few grow that large
		{all(0, 100, 60), 12, 4096, 2}, // not 2.7
		{all(100), 8, 4096, 0},
		{nil, 8, 4096, 0},
	} {
		if got := bestRoom(tt.sizes, tt.each, tt.limit); got != tt.want {
			t.Errorf("%v: room for %d", tt, got)
		}
	}
}
