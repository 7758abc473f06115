package advice

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// scratches are functions that make memory: those whose names begin with Yes can use it again.
const scratches = `package m

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"sort"
	"strings"
	"sync"
)

type node struct {
	name string
	next *node
}

type visitor interface{ visit(n int) int }

type counter struct {
	last    []int
	buf     *bytes.Buffer
	sent    chan []int
	started []func() int
}

func (c *counter) YesSlice(n int, v visitor) (sum int) {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	if n > 1 {
		sum = v.visit(n - 1) // which may come to call this again
	}
	for _, k := range list {
		sum += k
	}
	return sum
}

func (c counter) YesValueReceiver(n int) int {
	list := make([]int, n)
	for i := range list {
		list[i] = c.last[i]
	}
	sort.Ints(list)
	return list[0]
}

func YesRecursive(n int) int {
	seen := map[int]bool{}
	for i := range n {
		seen[i%3] = true
	}
	if n > 0 {
		return YesRecursive(n-1) + len(seen)
	}
	return len(seen)
}

func YesGrown(in []*node) (sum int) {
	var found []*node
	for _, n := range in {
		if n.next != nil {
			found = append(found, n)
		}
	}
	for i := range found {
		sum += len(found[i].name)
	}
	return sum
}

func YesGrownInRounds(in [][]int) (sum int) {
	for _, row := range in {
		few := []int{}
		for _, n := range row {
			if n%2 == 0 {
				few = append(few, n)
			}
		}
		sum += len(few)
	}
	return sum
}

func YesMapInRounds(in [][]int) (sum int) {
	for _, row := range in {
		set := make(map[int]bool, len(row))
		for _, n := range row {
			set[n] = true
		}
		sum += len(set)
	}
	return sum
}

func YesBuffer(in []string) string {
	var buf bytes.Buffer
	for _, s := range in {
		buf.WriteString(s)
	}
	return buf.String()
}

func YesPanics(in []string) string {
	buf := &bytes.Buffer{}
	for _, s := range in {
		if buf.WriteString(s); s == "panic" {
			panic("a text")
		}
	}
	return buf.String()
}

func YesReader(r io.Reader) (byte, error) {
	br := bufio.NewReaderSize(r, 1<<12)
	return br.ReadByte()
}

func YesHash(b []byte) (sum [32]byte) {
	h := sha256.New()
	h.Write(b)
	h.Sum(sum[:0])
	return sum
}

func YesObject(r io.Reader) int {
	n := new(block)
	k, _ := r.Read(n.data[:])
	return k
}

func YesRunes(a, b string) (same int) {
	runes := []rune(a)
	for i, r := range []rune(b) {
		if i < len(runes) && runes[i] == r {
			same++
		}
	}
	return same
}

func YesBytes(a string, w io.Writer) (int, error) {
	text := []byte(a)
	text[0] = 'x'
	return w.Write(text)
}

func YesInLiteral() func(n int) int {
	return func(n int) int {
		list := make([]int, n)
		for i := range list {
			list[i] += i
		}
		return list[n-1]
	}
}

type parser struct {
	text string
	at   int
	last *node
	num  [32]int
}

func yesHanded(text string) *parser {
	p := &parser{text: text}
	p.num[0] = len(text)
	return p
}

func yesHandedUp(text string) *parser { return &parser{text: text, at: 1} }

func begun(text string) (*parser, error) {
	p := yesHandedUp(text)
	if text == "" {
		return nil, io.EOF
	}
	return p, nil
}

func parse(text string) int {
	p := yesHanded(text)
	q, err := begun(text)
	if err != nil {
		return p.num[0]
	}
	return p.num[0] + q.at
}

func rest(text string) *parser { return yesHanded(text) } // whose callers keep it, or not

var all []*parser

func noHandedKept(text string) *parser {
	p := &parser{text: text}
	all = append(all, p)
	return p
}

func noHandedAndOld(text string) *parser {
	p := &parser{text: text}
	if len(all) > 3 {
		return all[0]
	}
	return p
}

func noHandedInField(text string) *parser {
	p := &parser{text: text}
	return p
}

func noHandedToGoroutine(text string) *parser {
	p := &parser{text: text}
	return p
}

func dropped(c *counter, text string) int {
	p, q, r, s := noHandedKept(text), noHandedAndOld(text), noHandedInField(text), noHandedToGoroutine(text)
	go s.next()
	all[0] = r
	return p.at + q.at
}

func droppedToo(text string) int {
	p := noHandedKept(text)
	q := noHandedAndOld(text)
	r := noHandedInField(text)
	all[0] = r
	s := noHandedToGoroutine(text)
	go s.next()
	return p.at + q.at
}

func (p *parser) next() int { p.at++; return p.at }

type block struct {
	data [256]byte
	next *block
}

func NoContents(in []string) string {
	buf := bytes.NewBufferString("begins so")
	for _, s := range in {
		buf.WriteString(s)
	}
	return buf.String()
}

func NoBehindTheLength(n int) (sum int) {
	list := make([]int, 0, n)
	for _, k := range list[:n] {
		sum += k
	}
	return sum
}

func NoBytes(in []string) []byte {
	var buf bytes.Buffer
	for _, s := range in {
		buf.WriteString(s)
	}
	return buf.Bytes()
}

func NoCopiedBuffer(in []string) bytes.Buffer {
	var buf bytes.Buffer
	for _, s := range in {
		buf.WriteString(s)
	}
	return buf
}

func NoBuilder(in []string) string {
	var b strings.Builder
	for _, s := range in {
		b.WriteString(s)
	}
	return b.String()
}

func NoReturned(n int) []int {
	list := make([]int, n)
	return list[1:]
}

func (c *counter) NoField(n int) {
	list := make([]int, n)
	c.last = list
}

func (c *counter) NoBufferInField(in []string) {
	c.buf = new(bytes.Buffer)
	buf := new(bytes.Buffer)
	c.buf = buf
	buf.WriteString(in[0])
}

func (c *counter) NoChannel(n int) {
	list := make([]int, n)
	c.sent <- list
}

func NoGoroutine(n int) {
	list := make([]int, n)
	go func() { list[0]++ }()
}

func NoWaitedGoroutine(n int) int {
	var wg sync.WaitGroup
	list := make([]int, n)
	wg.Add(1)
	go func() { list[0]++; wg.Done() }()
	return len(list)
}

func (c *counter) NoClosure(n int) {
	list := make([]int, n)
	c.started = append(c.started, func() int { return list[0] })
}

func (n *node) set() int { return len(n.name) }

func (c *counter) NoMethodValue(name string) func() int {
	n := &node{name: name}
	return n.set
}

func NoCallback(n int, f func([]int)) {
	list := make([]int, n)
	f(list)
}

func NoPanicValue(n int) {
	list := make([]int, n)
	panic(list)
}

func NoNilIsSeen(in []int, f func([]int) bool) bool {
	var out []int
	for _, n := range in {
		if n > 0 {
			out = append(out, n)
		}
	}
	return out == nil
}

func NoSecondName(in []int) (sum int) {
	var out, last []int
	for _, n := range in {
		var few []int
		few = append(few, n)
		if n > 3 {
			last = few
		}
	}
	return len(out) + len(last)
}

func NoElementKept(in []int) *int {
	var out []int
	for _, n := range in {
		out = append(out, n)
	}
	return &out[0]
}

func NoForeign(in, other []int) int {
	var out []int
	for _, n := range in {
		out = append(out, n)
	}
	if len(out) > 3 {
		out = other
	}
	return len(out)
}

func NoLineKept(r io.Reader) []byte {
	br := bufio.NewReader(r)
	line, _ := br.ReadSlice('\n')
	return line
}

func NoBeyondTheRound(in [][]int) int {
	var last []int
	for _, row := range in {
		list := make([]int, len(row))
		copy(list, row)
		last = list
	}
	return len(last)
}

func NoSent(in []string, w chan<- *bytes.Buffer) {
	var buf bytes.Buffer
	for _, s := range in {
		buf.WriteString(s)
	}
	w <- &buf
}
`

// The fixed functions are run from two goroutines, from within themselves, and after a panic.
const scratchesTest = `package m

import (
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
)

type again struct{ c *counter }

func (a again) visit(n int) int { return a.c.YesSlice(n, a) }

func try(f func()) {
	defer func() { recover() }()
	f()
}

func Test(t *testing.T) {
	c := &counter{last: []int{3, 1, 2}}
	chain := []*node{{"abc", &node{}}, {"x", nil}, {"de", &node{}}}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 50 {
				try(func() { YesPanics([]string{"left behind", "panic"}) })
				var big strings.Builder
				for range 300 {
					big.WriteByte('z')
				}
				b, err := YesReader(strings.NewReader(big.String()))
				for _, got := range []struct{ got, want any }{
					{c.YesSlice(5, again{c}), 20}, {c.YesValueReceiver(3), 1}, {YesRecursive(4), 9},
					{YesGrown(chain), 5}, {YesGrown(chain[1:2]), 0}, {YesGrownInRounds([][]int{{2, 4}, {1}, {6}}), 3},
					{YesMapInRounds([][]int{{1, 2, 2}, {3}}), 3}, {YesBuffer([]string{"a", "b"}), "ab"},
					{YesPanics([]string{"c"}), "c"}, {b, byte('z')}, {err, nil},
					{YesHash([]byte("x")), sha256.Sum256([]byte("x"))}, {YesObject(strings.NewReader("four")), 4},
					{YesRunes("añ\xffb", "añcb"), 3}, {YesRunes("a", "ab"), 1}, {YesInLiteral()(4), 3}, {parse("abc"), 4}, {parse(""), 0}, {rest("a").num[0], 1},
				} {
					if got.got != got.want {
						t.Errorf("%v, want %v", got.got, got.want)
					}
				}
			}
		})
	}
	wg.Wait()
}
`

// TestScratch: what nobody keeps is kept for the next round or call, as the golden file has it; the code builds, and
// does what it did. What somebody may keep is left alone.
func TestScratch(t *testing.T) {
	x, p := explainerOf(t, scratches)
	x.try = true
	file := p.Fset.Position(p.Files[0].Package).Filename
	fixes := map[string]fix{} // by the key of the finding: sites of one variable share it
	fixed := map[string]bool{}
	for _, s := range p.Sites() {
		name, _, _ := strings.Cut(s.Func.Name(), "$")
		c := &cause{at: place{file, s.From}, function: "m." + name}
		if s.Kind == life.Call {
			c.callee = s.Callee()
		}
		if strings.HasSuffix(c.callee, "Buffer.String") {
			continue // it copies, whoever has the buffer
		}
		e := x.part(c, p, s, &site{Totals: Totals{Bytes: 1920, Objects: 10}, sizes: map[int64]*Totals{192: {Objects: 10, Bytes: 1920}}})
		if e.mended.Edits == nil {
			continue
		}
		fixes[e.mended.key()], fixed[name] = e.mended.Edits, true
		if !e.unsure {
			t.Errorf("%s: %s: it is said without a trial", name, e.Remedy)
		}
	}
	for _, fn := range p.Funcs {
		want := strings.HasPrefix(strings.ToLower(fn.Name()), "yes")
		if fn.Parent() == nil && (want || strings.HasPrefix(strings.ToLower(fn.Name()), "no")) && fixed[fn.Name()] != want {
			t.Errorf("%s: has a fix: %v", fn.Name(), fixed[fn.Name()])
		}
	}
	var all []change
	for _, key := range slices.Sorted(maps.Keys(fixes)) {
		for _, changes := range fixes[key] {
			all = append(all, changes...)
		}
	}
	text, err := edited(file, []byte(scratches), all)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "scratch.golden")
	if want, err := os.ReadFile(golden); err != nil || string(want) != string(text) {
		t.Errorf("%v: %s is not what is written:\n%s", err, golden, text)
	}
	if testing.Short() {
		return
	}
	put(t, file, text)
	put(t, filepath.Join(filepath.Dir(file), "m_test.go"), []byte(scratchesTest))
	run(t, filepath.Dir(file), "go", "test", "-race", ".")
}
