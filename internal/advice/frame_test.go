package advice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// The comment before each function says what its slice becomes, and nil where an array could be seen by others.
const slicesOfCalls = `package m

type ids []int

// append(room[:0], make([]int, n)...)
func made(n int) int {
	list := make([]int, n)
	return len(list)
}

// append(ids(room[:0]), make(ids, n)...)
func typed(n int) int {
	list := make(ids, n)
	return len(list)
}

// append(room[:0], make([]int, n)...)[:n:n]
func appended(n int) (a, b []int) {
	list := make([]int, n)
	return append(list, 1), append(list, 2)
}

// nil: to ask for its capacity is to count twice
func asked(count func() int) int {
	list := make([]int, count())
	return cap(list)
}

// append(room[:0], make([]int, 2*n)...)[:n:2*n]
func behind(n int) int {
	list := make([]int, n, 2*n)
	return len(list)
}

// append(room[:0], make([]int, v)...)
func each(in []int) (n int) {
	for _, v := range in {
		n += len(make([]int, v))
	}
	return n
}

// append(room[:0], text...)
func bytes(text string) int {
	list := []byte(text)
	return len(list)
}

// nil: a rune has several bytes
func runes(text string) int {
	list := []rune(text)
	return len(list)
}

var size int

// nil: whoever sends may set the size before
func received(c chan int) int {
	return <-c + len(make([]int, size))
}

// nil: the rounds would share the array
func rounds(n int) {
	for list := make([]int, n); len(list) < n; list = make([]int, n) {
	}
}

// nil: no statement can stand before it
func branch(n int) int {
	if list := make([]int, n); len(list) > 3 {
		return 3
	}
	return n
}

// if cap(list) == 0 {list = room[:0]}
func grown(in []int) int {
	var list []int
	for _, v := range in {
		list = append(list, v)
	}
	return len(list)
}

// room[:0]
func begun(in []int) int {
	list := []int{}
	for _, v := range in {
		list = append(list, v)
	}
	return len(list)
}

// nil: it begins with elements
func filled(in []int) int {
	list := make([]int, 3)
	for _, v := range in {
		list = append(list, v)
	}
	return len(list)
}

// nil: it begins twice
func again(in []int, sum func([]int) int) (n int) {
	var list []int
	for _, v := range in {
		list = append(list, v)
		if v == 0 {
			n += sum(list)
			list = nil
		}
	}
	return n
}

// nil: as above
func through(in []int) (n int) {
	var list []int
	for _, v := range in {
		p := &list
		*p = append(*p, v)
		if v == 0 {
			n, list = n+len(list), nil
		}
	}
	return n
}

// nil: calls of the function would share the array
func literal(in []int) func() int {
	return func() (n int) {
		return func(list []int) int {
			for _, v := range in {
				list = append(list, v)
			}
			return len(list)
		}(nil)
	}
}

// nil: the result is the caller's
func result(in []int) (list []int) {
	for _, v := range in {
		list = append(list, v)
	}
	return list
}
`

// TestSlicesBeginInTheFrame: each way to begin a slice in an array of its own, and what is left as it is.
func TestSlicesBeginInTheFrame(t *testing.T) {
	x, p := explainerOf(t, slicesOfCalls)
	for _, decl := range p.Files[0].Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		i := slices.IndexFunc(p.Sites(), func(s *life.Site) bool {
			if fn.Name.Name == "filled" && s.Kind != life.Append {
				return false
			}
			return slices.Contains([]life.Kind{life.Append, life.Make, life.Convert}, s.Kind) && fn.Pos() <= s.Pos() && s.Pos() < fn.End()
		})
		if i < 0 {
			t.Fatal(fn.Name.Name, "has no slice")
		}
		s, got := p.Sites()[i], "nil"
		m := (&subject{x: x, p: p, s: s, growth: p.Growth(s)}).mender()
		array := "[8]int"
		if s.Kind == life.Convert {
			array = "[8]byte"
		}
		if m.frame(array) {
			for name, edits := range m.edits {
				text, err := edited(name, x.src.read(name), edits)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := parser.ParseFile(token.NewFileSet(), name, text, 0); err != nil {
					t.Error(err)
				}
				if !strings.HasPrefix(edits[0].Text, "var room") || !strings.HasSuffix(edits[0].Text, " "+array+"\n") {
					t.Errorf("%s: %q declares no array", fn.Name.Name, edits[0].Text)
				}
				got = ""
				for _, e := range edits[1:] {
					got += strings.ReplaceAll(e.Text, "\n", "")
				}
				got = regexp.MustCompile(`room\d+`).ReplaceAllString(got, "room")
			}
		}
		want := strings.TrimSpace(fn.Doc.Text())
		if left := strings.HasPrefix(want, "nil: "); left && got != "nil" || !left && got != want {
			t.Errorf("%s: %s, want %s", fn.Name.Name, got, want)
		}
	}
}
