package advice

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// leading has a function for each change that can be named; the comment of a line begins the name of its allocation's
// kind, and the rest of it has to be in the lead: all of it after "= ", and "-" is none.
const leading = `package m

import (
	"fmt"
	"hash"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

type keeper struct {
	lock *sync.Mutex
	last any
	name string
}

type big struct{ a [40]int }

func (k *keeper) made(n int) int {
	b := make([]byte, n) // make: = one from a sync.Pool could serve all calls; clear it (Go 1.21) unless all of it is written
	return len(fill(b))
}

func fill(b []byte) []byte { b[0] = 1; return b }

func rounds(n int) (sum int) {
	for range n {
		b := make([]byte, n) // make: = one slice, made before the loop and made larger where a round needs more, could serve all its rounds; clear it unless all of it is written
		sum += len(fill(b))
	}
	return sum
}

func given(n int) []byte {
	return make([]byte, n) // make: appended to a slice that the caller gives
}

func set(names []string) map[string]bool {
	m := make(map[string]bool) // map made: -
	for _, n := range names {
		m[n] = true
	}
	return m
}

func sized(names []string) map[string]bool {
	m := make(map[string]bool, len(names)) // map made: -
	for _, n := range names {
		m[n] = true
	}
	return m
}

func hashed(h hash.Hash, s string) { h.Write([]byte(s)) } // conversion: = one buffer from a sync.Pool, as append(b[:0], x...), could serve all calls

func matched(r *regexp.Regexp, s string) bool { return r.Match([]byte(s)) } // conversion: Regexp.MatchString takes

func read(b []byte) *strings.Reader { return strings.NewReader(string(b)) } // conversion: -

func number(b []byte) (n int) {
	n, _ = strconv.Atoi(string(b)) // conversion: -
	return n
}

func compared(b []byte, s string) bool {
	return string(b) == s // conversion: -
}

func found(m map[string]int, b []byte) int {
	return m[string(b)] // conversion: -
}

func counter() func() int {
	n := 0
	return func() int { n++; return n } // closure: -
}

func (k *keeper) takes(n int) { k.boxes(n) } // boxing: -

func (k *keeper) boxes(v any) { fmt.Println(v) }

func listed(n int) []int {
	return []int{n, n} // composite literal: -
}

func reused(b, more []byte) []byte {
	return append(b[:0], more...) // append: -
}

func (k *keeper) filled(several [][]string) (all []list) {
	for _, names := range several {
		l := list{}
		for _, n := range names {
			l.of = append(l.of, n) // append: -
		}
		all = append(all, l)
	}
	return all
}

type list struct{ of []string }

func (l *list) fill(names []string) {
	for _, n := range names {
		l.of = append(l.of, n) // append: -
	}
}

func (l *list) refill(names []string) {
	all := l.of[:0]
	for _, n := range names {
		all = append(all, n) // append: -
	}
	l.of = all
}

type rows struct{ of, all, some, buf, few []string }

func (r *rows) fill(names []string) {
	for _, n := range names {
		r.of = append(r.of, n)     // append: -
		r.all = append(r.all, n)   // append: -
		r.some = append(r.some, n) // append: -
	}
}

func (r *rows) reset() { r.of = nil }

func newRows(n int) *rows { return &rows{some: make([]string, 0, n)} }

func (r *rows) need(n int) {
	if cap(r.buf) < n {
		r.buf = make([]string, n) // make: -
	}
	r.few = make([]string, n) // make: -
}

func handed(c chan []byte, n int) {
	c <- make([]byte, n) // make: -
	b := make([]byte, n) // make: -
	go fill(b)
}

func to(b *[]byte, n int) {
	*b = make([]byte, n) // make: -
}

type brief struct{ n int }

func short(n int) int {
	b := &brief{n}
	return b.sum()
}

func (b *brief) sum() int {
	list := make([]byte, b.n) // make: = one from a sync.Pool could serve all calls; clear it (Go 1.21) unless all of it is written
	return len(fill(list))
}

func (r *rows) first(names []string) {
	all := make([]string, len(names)+len(r.all))
	copy(all[copy(all, names):], r.all)
	r.all = all
}

func collects(m *sync.Mutex, each func(func(int))) ([]int, error) {
	m.Lock()
	defer m.Unlock()
	all := []int{}
	each(func(n int) {
		all = append(all, n) // append: -
	})
	return all, nil
}

func collected(each func(func(int))) (all []int) {
	each(func(n int) {
		all = append(all, n) // append: -
	})
	return all
}

func ranged2(a []string, b string) (n int) {
	for _, s := range append(a, b) { // append: -
		n += len(s)
	}
	return n
}

func literal() int {
	m := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9} // map made: -
	return len(m)
}

func (k *keeper) several(n int) (all [][]byte) {
	for range n {
		all = append(all, make([]byte, n)) // make: -
	}
	return all
}

func joined(a, b []byte) []byte {
	out := make([]byte, 4)
	copy(out, a)
	return append(out, b...) // append: = made with room for len(b) more, the slice needs no other
}

func roomy(a, b []byte) []byte {
	out := make([]byte, 4, 4+len(b))
	copy(out, a)
	return append(out, b...) // append: -
}

var once sync.Once

func start(n int) {
	once.Do(func() {
		shared(func(f func()) { println(fmt.Sprint(n)) }) // closure: this runs only as the package is initialized
	})
}

var afterwards = func(n int) int {
	b := make([]byte, n) // make: -
	return len(fill(b))
}

func waited() {
	done := make(chan bool) // channel: -
	go func() { close(done) }()
	<-done
}

func count(c chan string) map[string]int {
	m := make(map[string]int)
	for s := range c {
		m[s]++ // map grown: -
	}
	return m
}

func answered() int {
	c := make(chan int, 1) // channel: -
	go func() { c <- 1 }()
	return <-c
}

func each(all func(func(int) bool)) (n int) {
	for v := range all {
		n += v
	}
	return n
}

func letter(r rune) int {
	s := string(r) // conversion: -
	return len(s)
}

func letters(r []rune) int {
	s := string(r) // conversion: -
	return len(s)
}

type raw []byte

func (r *raw) set(n int) int {
	b := make([]byte, n) // make: = one from a sync.Pool could serve all calls; clear it (Go 1.21) unless all of it is written
	return len(fill(b))
}

func printed(n int) string { return fmt.Sprint(n) } // boxing: = append and strconv.AppendInt and its like write numbers and text to a buffer without boxes

func own(n int) { boxed(n) } // boxing: -

func boxed(v any) { fmt.Println(v) }

func (k *keeper) keeps(n int) { k.last = n } // boxing: -

func locked() *keeper {
	return &keeper{lock: &sync.Mutex{}} // composite literal: -
}

func later(n, m int) func() int {
	return func() int { return n + m } // closure: -
}

func ranged(b big, each func(func(int))) {
	each(func(i int) { b.a[i]++ }) // closure: -
}

func shared(each func(func())) (n int) {
	sum := 0 // variable on the heap: -
	each(func() { sum++ })
	return sum
}

func seen(b big, each func(func())) (n int) { // variable on the heap: in a variable that is set once, leaves it on the stack
	each(func() { println(b.a[0], b.a[1]) })
	return n
}

func looked(m map[string]int, a, b string) int { return m[a+b] } // concatenation: = it is only looked up or compared: its parts, appended to an array of the function, as string(bytes) there, need no copy

func key(a, b string) string { return a + "/" + b } // concatenation: -

func byKey(m map[string]int, a, b string) int { return m[key(a, b)] }

func name(b []byte) string { return string(b) } // conversion: -

func byName(m map[string]int, b []byte) int { return m[name(b)] }

func runes(r []rune) string { return string(r) } // conversion: -

func counted(s string) int { return len(sorted([]rune(s))) } // conversion: -

func sorted(r []rune) []rune { return r }

func bounded(n int) []int {
	b := make([]int, 0, n) // make: -
	for len(b) < cap(b) {
		b = append(b, n)
	}
	return b
}

func (k *keeper) named(b []byte) { k.name = string(b) } // conversion: -

func put(p *sync.Pool, b []byte) { p.Put(b) } // boxing: a pool of pointers, of which Put gets the one that Get gave

func logs(n int) { debugf("%d", n) } // boxing: if m.debugf often does nothing with it

func listedOf(args ...int) (n int) { return len(args) }

func lists(n int) int { return listedOf(n, n) } // variadic list: -

func logged(n *big) { debugf("%p", n) } // variadic list: = if m.debugf often does nothing with it, as a logger below its level, ask that before the call

func debugf(format string, args ...any) { fmt.Printf(format, args...) }

func either(n int, s string) any {
	if n > 0 {
		return n // boxing: -
	}
	return s
}

type shower interface{ show() string }

func (b big) show() string { return "" }

func shown(b big, to func(shower)) { to(b) } // boxing: -

func several(n int) (all []*big) {
	for range n {
		all = append(all, &big{}) // composite literal: -
	}
	return all
}

func mapped(m map[int]*big) { m[1] = &big{} } // composite literal: -

func sent(to chan *big) { to <- &big{} } // composite literal: -

func (k *keeper) copied(b []byte) []byte {
	if len(b) > 9 {
		return make([]byte, 9) // make: -
	}
	return append([]byte(nil), b...) // append: -
}

type hooked struct{ done func() int }

func (h *hooked) hook(n, m int) {
	h.done = func() int { return n + m } // closure: -
}

func (h *hooked) counted() {
	calls := 0 // variable on the heap: -
	h.done = func() int { calls++; return calls }
}

func deferred(locks []*sync.Mutex) {
	for _, l := range locks {
		l.Lock()
		defer l.Unlock() // defer record: -
	}
}

type ring struct {
	all  []string
	head int
}

func (r *ring) grow(n int) {
	all := make([]string, n) // make: -
	copy(all[copy(all, r.all[r.head:]):], r.all[:r.head])
	r.all, r.head = all, 0
}

func (r *ring) wider(n int) {
	all := make([]string, 0, n+1) // make: -
	r.all = append(all, r.all...)
}

func (r *ring) each(n int) {
	all := make([]string, n) // make: -
	for i, s := range r.all {
		all[i] = s
	}
	r.all = all
}

func newRing(n int) *ring {
	return &ring{all: make([]string, n)} // make: -
}

type methodical []int

func (m methodical) sum() (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func (r *ring) result(n int) methodical {
	return make(methodical, n) // make: -
}

type cellOf struct{ value any }

func boxes(all map[string]cellOf, list []any, texts map[string]any, n int) {
	all["x"] = cellOf{n} // boxing: -
	list[0] = n + 1     // boxing: -
	texts["y"] = n + 2  // boxing: -
}

func elements(n int) map[int][]int {
	all := map[int][]int{}
	for k := range n {
		all[k] = nil
		for i := range n / (k + 1) {
			all[k] = append(all[k], i) // append: -
		}
	}
	return all
}

type guard struct {
	sync.Mutex
	n int
}

func newGuard() *guard {
	return &guard{n: 1} // composite literal: -
}

func guards(n int) (all []*guard) {
	for range n {
		all = append(all, &guard{}) // composite literal: -
	}
	return all
}


func newText() fmt.Stringer {
	return &plainText{} // composite literal: -
}

type plainText struct{ n int }

func (p *plainText) String() string { return fmt.Sprint(p.n) }

type stack []int

func (s *stack) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last // boxing: -
}

func copied(b []byte) []byte {
	return append([]byte{}, b...) // append: -
}

func (r *ring) sorted(n int) {
	all := make([]string, 0, n) // make: -
	for _, s := range r.all {
		all = append(all, s+"x")
	}
	r.all = all
}

type path struct{ parts []string }

func (p path) and(s string) path {
	parts := make([]string, len(p.parts)+1) // make: -
	parts[copy(parts, p.parts)] = s
	return path{parts: parts}
}

type pieces struct{ front, back []string }

func (p *pieces) push(s string) {
	p.front = append(p.front, s) // append: -
}

func (p *pieces) merge() {
	all := append(p.back, p.front...)
	p.front = all[1:]
}

func numbers(lines [][]byte, all []int) (sum int) {
	var few []int
	for _, line := range lines {
		few = few[:0]
		for _, c := range line {
			few = append(few, int(c)) // append: -
		}
		sum += total(few)
	}
	for len(all) > 0 {
		few = append(few[:0], all[0]) // append: -
		all, sum = all[1:], sum+total(few)
	}
	return sum
}

func total(all []int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum
}

func (p *pieces) words(all []string) {
	for _, s := range all {
		p.back = p.back[:0]
		for _, c := range s {
			p.back = append(p.back, string(c)) // append: -
		}
	}
}

func usesGiven(n int) int { return len(given(n)) + newGuard().n }

func (k *keeper) keepsOthers(n int) *keeper {
	k.last = listed(n)
	return locked()
}

func batch(n int) (sum int) {
	var all []*brief
	for i := range n {
		all = append(all, &brief{i}) // composite literal: -
	}
	for _, b := range all {
		sum += b.n
	}
	return sum
}

func sends(w io.Writer, n int) { w.Write([]byte("n" + strconv.Itoa(n))) } // conversion: = io.WriteString copies nothing if the Writer has WriteString

func contains(b []byte) bool { return strings.Contains(string(b), "abc") } // conversion: = bytes.Contains takes it as it is

func mixed(b []byte, s string) bool { return strings.Contains(string(b), s) } // conversion: -

func oneLetter(b *strings.Builder, r rune) { b.WriteString(string(r)) } // conversion: = strings.Builder.WriteRune writes it without a text

func late(c chan func(int) int, n int) {
	var b big // variable on the heap: -
	c <- func(i int) int { return b.a[i] }
	b.a[n] = n
}

type level int

func (l level) String() string { return "level" }

func leveled(l level) string { return fmt.Sprint(l) } // boxing: -

func fills(m map[string]int, b []byte) {
	s := string(b) // conversion: m[string(b)] looks bytes up without a copy (m.go:
	if _, ok := m[s]; !ok {
		m[s] = 1
	}
}

func counts(m map[string]int, b []byte) {
	s := string(b) // conversion: -
	m[s]++
}

func bracketed(s []byte) []byte {
	out := []byte{'['}
	more := fill(s)
	return append(out, more...) // append: -
}
`

// TestLeads: memory without a proven remedy is told what would make it needless, and nothing where that was done.
func TestLeads(t *testing.T) {
	x, p := explainerOf(t, leading)
	lines := strings.Split(leading, "\n")
	said := map[int]bool{} // by line
	for _, s := range p.Sites() {
		if s.Node == nil {
			continue
		}
		_, note, ok := strings.Cut(lines[s.From-1], " // ")
		kind, want, _ := strings.Cut(note, ": ")
		if !ok || s.Kind.String() != kind {
			continue
		}
		k := &subject{x: x, c: &cause{}, p: p, s: s, t: &site{}, e: &Explained{Size: 128}, growth: p.Growth(s)}
		k.life = x.lifetime(p, s, k.c)
		lead := k.lead()
		whole, exact := strings.CutPrefix(want, "= ")
		switch {
		case want == "-":
			said[s.From] = said[s.From] || lead == ""
		case exact:
			said[s.From] = said[s.From] || lead == whole
		default:
			said[s.From] = said[s.From] || strings.Contains(lead, want)
		}
		if !said[s.From] {
			t.Logf("line %d, %v: %q", s.From, k.life, lead)
		}
	}
	for n, line := range lines {
		if _, note, ok := strings.Cut(line, " // "); ok && !said[n+1] {
			t.Errorf("line %d: not said: %s", n+1, note)
		}
	}
}

// TestRoomBySizes: if nine of ten have each of the first sizes, room for the last of these spares the others.
func TestRoomBySizes(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nimport \"bytes\"\n\ntype list struct{ all []int64 }\n\n"+
		"func (l *list) add(v int64) { l.all = append(l.all, v) }\n\nfunc count(m map[int64]bool, n int64) { m[n] = true }\n\n"+
		"func write(b *bytes.Buffer) { b.WriteByte('.') }\n")
	said := func(n int, size string, room int64) string {
		return fmt.Sprintf("nine of ten seem to grow through %d sizes up to %s: with room for %d from the beginning, each takes "+
			"one object", n, size, room)
	}
	for _, tt := range []struct {
		name   string
		counts map[int64]int64
		within float64
		want   string
	}{
		{"add", map[int64]int64{8: 100, 16: 98, 32: 95, 64: 92, 128: 30}, 0, said(4, "64.0 B", 8)},
		{"add", map[int64]int64{512: 20, 1024: 20, 2048: 20, 4096: 10}, 0, said(3, "2.00 KiB", 256)},
		{"add", map[int64]int64{4: 1, 8: 100, 16: 98, 32: 95}, 0, said(3, "32.0 B", 4)}, // no element has 4 bytes
		{"add", map[int64]int64{8: 100, 16: 80, 32: 79}, 0, ""},                         // some end early
		{"add", map[int64]int64{8: 20, 16: 100, 32: 100}, 0, ""},                        // or begin later
		{"add", map[int64]int64{8: 100, 16: 100}, 0, ""},                                // one object less
		{"add", map[int64]int64{8: 100, 16: 98, 32: 95}, 0.2, ""},                       // by few samples
		{"add", map[int64]int64{8: 2, 16: 2, 32: 2}, 0, ""},                             // of two lists
		{"add", map[int64]int64{16 << 10: 50, 32 << 10: 50, 64 << 10: 50, 128 << 10: 50}, 0, said(3, "64.0 KiB", 8192)},
		{"count", map[int64]int64{272: 50, 544: 50, 1088: 49, 2176: 100}, 0, said(3, "1.06 KiB", 56)}, // then it splits
		{"count", map[int64]int64{272: 50, 544: 50, 1088: 49}, 0, said(3, "1.06 KiB", 56)},
		{"write", map[int64]int64{64: 10, 128: 10, 256: 10}, 0, said(3, "256 B", 256)},
	} {
		of := &site{sizes: map[int64]*Totals{}}
		for size, n := range tt.counts {
			of.charge(Totals{Objects: n, Bytes: n * size}, size)
		}
		for _, s := range p.Sites() {
			c := &cause{}
			if s.Kind == life.Call {
				c.callee = "bytes.(*Buffer).WriteByte"
			}
			k := &subject{x: x, c: c, p: p, s: s, t: of, e: &Explained{Within: tt.within}, growth: p.Growth(s)}
			if got := k.reached(); s.Func.Name() == tt.name && got != tt.want {
				t.Errorf("%s, %v: %q, want %q", tt.name, tt.counts, got, tt.want)
			}
			k.e.fixes = []Finding{{}}
			if got := k.reached(); got != "" {
				t.Errorf("%s, with a fix: %q", tt.name, got)
			}
		}
	}
}

// TestLeadKept: what benchmarks saw kept by a field is nothing for callers to fill; a variable of theirs is no such place.
func TestLeadKept(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc list(n int) []int { return make([]int, n) }\n\n"+
		"func sum(n int) int { return list(n)[0] }\n")
	for kind, want := range map[life.HolderKind]bool{life.Field: false, life.MapEntry: false, life.Global: true} {
		k := &subject{x: x, c: &cause{}, p: p, s: p.Sites()[0], t: &site{}, e: &Explained{},
			life: lifetime{kind: kept, holder: life.Holder{Kind: kind, Name: "list.of"}}}
		if got := k.lead(); strings.Contains(got, "that the caller gives") != want {
			t.Errorf("%v: %q", kind, got)
		}
	}
}

// TestGoroutinesAreNamed: a goroutine has the name that stack traces have.
func TestGoroutinesAreNamed(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc f(done chan bool) {\n\tgo func() { done <- true }()\n}\n")
	for _, s := range p.Sites() {
		if s.Kind != life.Go {
			continue
		}
		if got, want := x.lifetime(p, s, &cause{}).String(), "kept by goroutine f.func1"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		return
	}
	t.Error("no goroutine found")
}

// TestRoomForOuterRounds: where an outer loop repeats the one that appends, room for one round of it is not all.
func TestRoomForOuterRounds(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc once(in []int) (out []int) {\n\tfor _, n := range in {\n"+
		"\t\tout = append(out, n)\n\t}\n\treturn out\n}\n\nfunc again(all [][]int) (out []int) {\n"+
		"\tfor _, in := range all {\n\t\tfor _, n := range in {\n\t\t\tout = append(out, n)\n\t\t}\n\t}\n\treturn out\n}\n\n"+
		"func more(in []int) (out []int) {\n\tfor _, n := range in {\n\t\tout = append(out, n)\n\t}\n\treturn append(out, 1)\n}\n")
	want := map[string]string{
		"more":  "make room for len(in) elements as the first is appended, and for what m.go:23 appends",
		"once":  "make room for len(in) elements as the first is appended",
		"again": "make room for len(in) elements as the first is appended, or for those of all rounds of the loop over all (m.go:11)",
	}
	for _, s := range p.Sites() {
		if s.Kind != life.Append || p.Growth(s).Loop == nil {
			continue
		}
		grows := &site{Totals: Totals{Bytes: 24, Objects: 2}, sizes: map[int64]*Totals{8: {Bytes: 8, Objects: 1},
			16: {Bytes: 16, Objects: 1}}}
		k := &subject{x: x, c: &cause{}, p: p, s: s, t: grows, e: &Explained{}, growth: p.Growth(s)}
		k.judge()
		if in := s.Func.Name(); k.e.Remedy != want[in] {
			t.Errorf("%s: %q, want %q", in, k.e.Remedy, want[in])
		}
		delete(want, s.Func.Name())
	}
	if len(want) > 0 {
		t.Errorf("nothing is appended: %v", want)
	}
}
