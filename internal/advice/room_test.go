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

type stack[T any] []T

// if cap(*s) == 0
func (s *stack[T]) push(v T) {
	*s = append(*s, v)
}

type queue[T any] []T

func (q queue[T]) with(v T) queue[T] { return append(q, v) }

// nil: with may be called twice
func (q *queue[T]) push(v T) {
	*q = append(*q, v)
}

// nil: nobody knows whose list it is
func next(of func() *stack[int], v int) {
	*of() = append(*of(), v)
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

// if cap(out) == 0
func literal(in []int) []int {
	out := []int{}
	for _, v := range in {
		out = append(out, v)
	}
	return out
}

// if cap(out) == 0
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

// TestListsBeginWithRoom: a list gets its capacity just before an append that adds something for sure, so that one to
// which nothing is added takes no memory, and a nil list stays nil. A list stays as it is if somebody could see the
// difference.
func TestListsBeginWithRoom(t *testing.T) {
	begins(t, lists, life.Append, func(m *mender) bool { return m.fills() && m.begin(8) })
}

// Each function fills a map; its comment is the text of the first edit, or nil and why there is none.
const maps14 = `package m

type index struct {
	names  map[string]int
	sized  map[string]int
	shared map[string]int
}

func newIndex(n int, names map[string]int) *index {
	return &index{names: map[string]int{}, sized: make(map[string]int, n), shared: names}
}

func (x *index) reset() { x.names, x.shared = make(map[string]int), given(nil) }

// make(map[string]int, 14)
func (x *index) add(name string) {
	x.names[name] = len(x.names)
}

// nil: its size is given
func (x *index) enter(name string) {
	x.sized[name] = len(x.sized)
}

// nil: the caller makes it
func (x *index) share(name string) {
	x.shared[name] = len(x.shared)
}

// , 14
func count(in []string) map[string]int {
	words := make(map[string]int)
	for _, word := range in {
		words[word]++
	}
	return words
}

// , 14
func within(each func(func(string))) int {
	var words = make(map[string]int)
	each(func(word string) {
		words[word] = 1
	})
	return len(words)
}

// nil: the caller makes it
func given(words map[string]int) map[string]int {
	words["given"] = 1
	return words
}

// nil: another function makes it
func made() {
	words := given(nil)
	words["made"] = 1
}
`

// TestMapsBeginWithRoom: a map gets its capacity wherever the package makes it without one.
func TestMapsBeginWithRoom(t *testing.T) {
	begins(t, maps14, life.MapGrow, func(m *mender) bool {
		return m.makeRoom(m.variable(m.s.Node.(*ast.IndexExpr).X), 14)
	})
}

// TestGroupsOfMaps: the size of a group of eight entries is the runtime's.
func TestGroupsOfMaps(t *testing.T) {
	x, p := explainerOf(t, `package m

func put[K comparable](a map[int64]bool, b map[string][17]int, c map[string]struct{}, d map[K]int, k K) {
	a[1] = true
	b[""] = [17]int{}
	c[""] = struct{}{}
	d[k] = 1
}
`)
	var got []int64
	for _, s := range p.Sites() {
		if s.Kind == life.MapGrow {
			got = append(got, (&subject{x: x, p: p, s: s}).group())
		}
	}
	if want := []int64{8 + 8*16, 8 + 8*24, 8 + 8*24, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFirstGroups: a map that is made again and again takes memory for its first entries, and does not grow.
func TestFirstGroups(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc put(a map[int64]bool) { a[1] = true }\n")
	for first, want := range map[int64]string{95: "it is the memory of the map's first entries",
		70: "most of it is the memory of maps' first entries", 20: "what grows is parameter a"} {
		sizes := map[int64]*Totals{class(8 + 8*16): {Bytes: first}, 512: {Bytes: 100 - first}}
		k := &subject{x: x, c: &cause{}, p: p, s: p.Sites()[0], t: &site{Totals: Totals{Bytes: 100}, sizes: sizes},
			e: &Explained{}}
		if got := k.grown(); got != want {
			t.Errorf("%d of 100 bytes: %q, want %q", first, got, want)
		}
	}
}

// begins changes the first site of a kind in each function that has a comment, and compares the edit with it.
func begins(t *testing.T, source string, kind life.Kind, change func(*mender) bool) {
	t.Helper()
	x, p := explainerOf(t, source)
	for _, decl := range p.Files[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		want, got := strings.TrimSpace(fn.Doc.Text()), "nil"
		i := slices.IndexFunc(p.Sites(), func(s *life.Site) bool {
			return s.Kind == kind && fn.Pos() <= s.Pos() && s.Pos() < fn.End()
		})
		if i < 0 {
			t.Fatal(fn.Name.Name, "has no such site")
		}
		s := p.Sites()[i]
		m := (&subject{x: x, p: p, s: s, growth: p.Growth(s)}).mender()
		if change(m) {
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
			if n > 0 {
				out[8<<i] = &Totals{Objects: n}
			}
		}
		return out
	}
	for _, tt := range []struct {
		sizes             map[int64]*Totals
		few               Totals
		each, limit, want int64
	}{
		{all(100, 100, 100), Totals{}, 8, 4096, 4},
		{all(100, 100, 100), Totals{}, 8, 31, 2},
		{all(100, 100, 1), Totals{}, 8, 4096, 2},         // few grow that large
		{all(0, 100, 60), Totals{}, 12, 4096, 2},         // not 2.7
		{all(900, 100, 100, 100), Totals{}, 16, 4096, 4}, // objects too small to hold an element do not count
		{all(100), Totals{}, 8, 4096, 0},
		{nil, Totals{}, 8, 4096, 0},
		{all(0, 0, 0, 100, 100, 100), Totals{}, 8, 4096, 32},
		{all(0, 0, 0, 100, 100, 100), Totals{Objects: 20, Bytes: 500}, 8, 4096, 32},
		{all(0, 0, 0, 100, 100, 100), Totals{Objects: 200, Bytes: 5000}, 8, 4096, 0}, // of 25 bytes; all would have 256
	} {
		if got := bestRoom(tt.sizes, tt.few, tt.each, tt.limit); got != tt.want {
			t.Errorf("%v: room for %d", tt, got)
		}
	}
}
