package advice

import (
	"strings"
	"testing"
	"time"
)

const pooling = `package m

import "io"

// Slice fills one.
func Slice(in []int) (n int) {
	size := int32(len(in))
	all := make([]int, size)
	copy(all, in)
	for i := range all {
		n += all[len(all)-1-i]
	}
	return n
}

type list []int

func Argument(in []int) int { return sum(append(make(list, 0, len(in)), in...)) }

func sum(of list) (n int) {
	for _, v := range of {
		n += v
	}
	return n
}

func Variable(r io.Reader) int {
	var b [512]byte
	n, _ := io.ReadFull(r, b[1:])
	return n + int(b[0]) + len(b)
}

type head struct {
	kind int
	text [256]byte
}

func Field(r io.Reader) int {
	h := head{kind: 1}
	io.ReadFull(r, h.text[:])
	p := &h
	return int(h.text[0]) + p.kind
}

func Literal(r io.Reader) int {
	h := &head{kind: 1}
	io.ReadFull(r, h.text[:])
	return int(h.text[0]) + h.kind
}

func New(r io.Reader) int {
	h := new(head)
	n, _ := io.ReadFull(r, h.text[:])
	return n + h.kind
}

func Few(r io.Reader) int {
	var b [16]byte
	n, _ := io.ReadFull(r, b[:])
	return n
}

func Rounds(r io.Reader) (n int) {
	for range 3 {
		var b [512]byte
		k, _ := io.ReadFull(r, b[:])
		n += k
	}
	return n
}

func Deferred(r io.Reader) (n int) {
	var after []byte
	defer func() { n += len(after) + int(after[0]) }()
	b := make([]byte, 2*len(in))
	after = b
	k, _ := io.ReadFull(r, b)
	return k
}

func Kept(r io.Reader) int {
	b := make([]byte, 2*len(in))
	kept = b
	n, _ := io.ReadFull(r, b)
	return n
}

func Returned(r io.Reader) []byte {
	b := make([]byte, 2*len(in))
	io.ReadFull(r, b)
	return b
}

var kept []byte

var in = make([]int, 1000)
`

const poolingTest = `package m

import "testing"

type ones struct{}

func (ones) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 1
	}
	return len(b), nil
}

func Test(t *testing.T) {
	in[999] = 3
	for range 3 { // what comes from a pool is empty
		for name, got := range map[string][2]int{"Slice": {Slice(in), 3}, "Argument": {Argument(in), 3},
			"Variable": {Variable(ones{}), 511 + 512}, "Field": {Field(ones{}), 2}, "Literal": {Literal(ones{}), 2},
			"New": {New(ones{}), 256}, "Few": {Few(ones{}), 16}, "Rounds": {Rounds(ones{}), 3 * 512},
			"Deferred": {Deferred(ones{}), 4001}, "Kept": {Kept(ones{}), 2000},
			"Returned": {len(Returned(ones{})), 2000}} {
			if got[0] != got[1] {
				t.Error(name, got)
			}
		}
	}
}

var n int

func Benchmark(b *testing.B) {
	for b.Loop() {
		n += Slice(in) + Argument(in) + Variable(ones{}) + Field(ones{}) + Literal(ones{}) + New(ones{}) + Few(ones{}) +
			Rounds(ones{}) + Deferred(ones{}) + Kept(ones{}) + len(Returned(ones{}))
	}
}
`

// TestPooledWhereItDies: what dies with its call and is not small comes from a pool, if the benchmark shows that it
// saves, and is as empty there. What is kept, returned or used by a deferred call is not touched.
func TestPooledWhereItDies(t *testing.T) {
	c := profiled(t, "1.25", pooling, poolingTest)
	c.Try, c.Bench, c.Budget = true, ".", 10*time.Minute
	want := map[string]bool{"Slice": true, "Argument": true, "Variable": true, "Field": true, "Literal": true, "New": true,
		"Few": false, "Rounds": false, "Deferred": false, "Kept": false, "Returned": false}
	const text = "take it from a sync.Pool, and give it back as m."
	r := ran(t, c)
	for _, s := range r.Evidence.Account.Sites {
		name := strings.TrimPrefix(s.Function, "m.")
		pooled, known := want[name]
		if !known {
			continue
		}
		if got := s.Verdict == Remedy && strings.HasPrefix(s.Remedy, text+name+" ends: nobody keeps it; tried: "); got != pooled {
			t.Errorf("%s: %s: %s (%s); want a pool: %v", name, s.Verdict, s.Remedy, s.Lifetime, pooled)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("without a site: %v", want)
	}
	var fixes []Finding
	for _, f := range r.Findings {
		if strings.HasPrefix(f.Message, text) {
			fixes = append(fixes, f)
		}
	}
	p, err := PatchOf(t.Context(), c.Dir, fixes)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"+var pool8 = sync.Pool{New: func() any { return new([]int) }}\n+\n // Slice fills one.",
		"-\tall := make([]int, size)\n", "+\tall := (*held8)[:size:size]\n",
		"append(list((*held18)[:0:len(in)]), in...)", "+\t*held39 = head{kind: 1}\n", "+\tp := held39\n",
		"int(held39.text[0])", "+\tn, _ := io.ReadFull(r, (*held28)[1:])", "+\th := held52\n"} {
		if text := p.String(); !strings.Contains(text, line) {
			t.Errorf("%q is missing in\n%s", line, text)
			break
		}
	}
}
