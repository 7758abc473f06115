package advice

import (
	"maps"
	"strings"
	"testing"
	"time"
)

const tryable = `package m

func All(in []int) (out []int) {
	for _, v := range in {
		out = append(out, v+1)
	}
	return out
}

func Few(in []int) (out []int) {
	for _, v := range in {
		if v%16 == 0 {
			out = append(out, v+1)
		}
	}
	return out
}

func Begun(in []int) (n int) {
	for i := range in {
		var few []int
		for j := i % 3; j < 18 && n >= 0; j++ {
			few = append(few, j)
		}
		kept = few
		n += len(few)
	}
	return n
}

var kept []int

func Scratch(in []int) (n int) {
	for range in[:99] {
		bits := make([]uint64, 2*len(in)+1)
		bits[2*len(in)] += uint64(in[99])
		n += int(bits[2*len(in)])
	}
	return n
}

func Framed(in []int) (n int) {
	bits := make([]uint64, len(in)/2+1)
	for range in[:99] {
		bits[len(in)/2] += uint64(in[99])
	}
	return int(bits[len(in)/2])
}

type reader interface{ Read(b []byte) (int, error) }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return copy(b, "abc"), nil }

func Argument(r reader, rows [][]int) (n int) {
	for _, row := range rows {
		k, _ := r.Read(make([]byte, 0, len(row))[:len(row)])
		n += k
	}
	return n
}

var last []uint64

func Stored(in []int) (n int) {
	for range in[:9] {
		bits := make([]uint64, len(in)/2+1)
		bits[0]++
		last = bits
		n += int(last[0])
	}
	return n
}

var entered map[int]int

func Sized(in []int) int {
	m := map[int]int{}
	for i, v := range in {
		m[i] = v
	}
	entered = m
	return len(m)
}

func Doubling(in []int) (out []int) {
	for _, v := range in {
		out = append(out, v+1)
	}
	return out
}

type line struct{ text []byte }

func Joined(l *line, in []int) {
	for i, v := range in[:4] {
		if v == 2 {
			l.text = append(l.text, "two"...)
		} else {
			l.text = append(l.text, '#', byte('0'+v))
		}
		if i%2 == 0 {
			l.text = append(l.text, "; and so on"...)
		}
	}
}

var each func(in []int, do func(int))

func init() {
	each = func(in []int, do func(int)) {
		for _, v := range in {
			do(v)
		}
	}
}

func Together(in []int) int {
	sum := 0
	var last [2]int
	each(in, func(v int) {
		sum += v
		last[0] = v
	})
	return sum - last[0]
}

func OnStack(in []int) (n int) {
	few, sum := [2]int{}, 0
	part := few[:]
	each(in, func(v int) { sum += v })
	for _, v := range part {
		n += v
	}
	return n + sum
}

var table = map[string]int{"orders of the warehouse in the north of Italy": 3}

func Keyed(in []string) (n int) {
	for _, s := range in {
		n += table["orders of the warehouse in the north of "+s]
	}
	return n
}
`

const tryableTest = `package m

import "testing"

var in = make([]int, 1000)

var out []int

func init() {
	for i := range in {
		in[i] = i
	}
}

func doubles(in []int) (out []int) {
	for _, v := range in {
		out = append(out, v+1)
	}
	return out
}

func TestDoubling(t *testing.T) {
	for n := range in {
		if got, want := cap(Doubling(in[:n])), cap(doubles(in[:n])); got != want {
			t.Fatal(n, got, want)
		}
	}
}

func BenchmarkAll(b *testing.B) {
	for b.Loop() {
		out = All(in)
	}
}

func BenchmarkFew(b *testing.B) {
	for b.Loop() {
		out = Few(in)
	}
}

func BenchmarkBegun(b *testing.B) {
	for b.Loop() {
		sum = Begun(in)
	}
}

func TestScratch(t *testing.T) {
	if n := Scratch(in[:100]); n != 99*99 {
		t.Error(n)
	}
	if n := Framed(in[:100]); n != 99*99 {
		t.Error(n)
	}
	if n := Argument(zeros{}, [][]int{in, nil, in[:2], in}); n != 8 {
		t.Error(n)
	}
}

func BenchmarkScratch(b *testing.B) {
	for b.Loop() {
		sum = Scratch(in[:100])
	}
}

func BenchmarkFramed(b *testing.B) {
	for i := 0; i < b.N; i++ {
		sum = Framed(in[:100])
	}
}

func BenchmarkArgument(b *testing.B) {
	for b.Loop() {
		sum = Argument(zeros{}, [][]int{in, in, in, in})
	}
}

func BenchmarkStored(b *testing.B) {
	for b.Loop() {
		sum = Stored(in[:100])
	}
}

func BenchmarkSized(b *testing.B) {
	for b.Loop() {
		sum = Sized(in)
	}
}

var sum int

func BenchmarkDoubling(b *testing.B) {
	for b.Loop() {
		out = Doubling(in)
	}
}

var joined line

func TestJoined(t *testing.T) {
	if Joined(&joined, in); string(joined.text) != "#0; and so on#1two; and so on#3" {
		t.Errorf("%s", joined.text)
	}
}

func BenchmarkJoined(b *testing.B) {
	for b.Loop() {
		joined = line{}
		Joined(&joined, in)
	}
}

func TestTogether(t *testing.T) {
	if n := Together([]int{0, 3, 5}); n != 3 {
		t.Error(n)
	}
}

func BenchmarkTogether(b *testing.B) {
	for b.Loop() {
		sum = Together(in[:100])
	}
}

func BenchmarkOnStack(b *testing.B) {
	for b.Loop() {
		sum = OnStack(in[:100])
	}
}

var countries = []string{"Italy", "France"}

func TestKeyed(t *testing.T) {
	if n := Keyed(countries); n != 3 {
		t.Error(n)
	}
}

func BenchmarkKeyed(b *testing.B) {
	for b.Loop() {
		sum = Keyed(countries)
	}
}
`

// TestRemediesAreTried: a fix that saves is a remedy, with its figures. One that takes more bytes or
// breaks a test is none and not mentioned; another fix that saves at the same place is.
func TestRemediesAreTried(t *testing.T) {
	said := 0
	c := profiled(t, "1.17", tryable, tryableTest)
	verdicts := func() map[string]Explained {
		r := ran(t, c)
		by := map[string]Explained{}
		for _, s := range r.Evidence.Account.Sites {
			if name := strings.TrimPrefix(s.Function, "m."); by[name].Verdict != Remedy {
				by[name] = s
			}
		}
		for _, f := range r.Findings {
			if by[f.Function].Verdict == Look {
				t.Errorf("%s: a fix that saves nothing is offered", f.Function)
			}
		}
		return by
	}
	proposed := map[string]string{"Begun": "begin few with room for 32",
		"Joined":   "begin l.text with room for 32, just before its first element is appended: make([]byte, 0, 32)",
		"Together": "make them one object: var shared struct{ sum int; last [2]int }",
		"Framed":   "begin in an array of the function, [52]uint64: only what is longer is on the heap",
		"Scratch":  "make the slice once, before the loop", "Argument": "make the slice once, before the loop",
		"Keyed": "it is only looked up or compared: join its bytes in an array of the function, [256]byte",
		"Sized": "make m with room for "}
	tried := maps.Clone(proposed)
	tried["Few"] = "begin out with room for "
	for name, s := range verdicts() {
		if _, ok := proposed[name]; ok || name == "OnStack" || name == "Stored" {
			if s.Verdict == Candidate && s.Fix {
				t.Errorf("%s was not tried, and is a candidate: %s", name, s.Remedy)
			}
			continue
		}
		if s.Verdict != Candidate || !s.Fix || len(s.Tried) > 0 {
			t.Errorf("%s without benchmarks: %s: %s", name, s.Verdict, s.Remedy)
		}
	}
	c.Budget = 16 * time.Minute
	c.Try, c.Bench = true, "."
	c.Progress = func(step string) {
		if strings.HasPrefix(step, "trying fix") {
			said++
		}
	}
	by := verdicts()
	proven := func(by map[string]Explained, name string) bool {
		return by[name].Verdict == Remedy && strings.Contains(by[name].Remedy, tried[name])
	}
	if s := by["All"]; s.Verdict != Remedy || len(s.Tried) == 0 || !strings.Contains(s.Remedy, " -> 1 allocs/op") ||
		!strings.HasSuffix(s.Remedy, " in BenchmarkAll") {
		t.Errorf("All: %s: %s", s.Verdict, s.Remedy)
	}
	for name, text := range tried {
		if s := by[name]; !proven(by, name) {
			t.Errorf("%s: %s: %s; %d measured, %s; want %s", name, s.Verdict, s.Remedy, s.Measured, s.Lifetime, text)
		}
	}
	if s := by["OnStack"]; s.Verdict != Look || s.Fix {
		t.Errorf("OnStack: %s: %s: the other variable is no object", s.Verdict, s.Remedy)
	}
	if s := by["Stored"]; s.Verdict != Look || s.Fix {
		t.Errorf("Stored: %s: %s: the last is kept", s.Verdict, s.Remedy)
	}
	if s := by["Doubling"]; s.Verdict != Look || s.Fix || strings.Contains(s.Remedy, "size") {
		t.Errorf("Doubling: %s: %s", s.Verdict, s.Remedy)
	}
	if said < 7 {
		t.Errorf("%d trials are announced, want 7 or more", said)
	}
}
