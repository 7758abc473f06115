package advice

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a profile proves and no check knows: each function has a benchmark, and
// a test that says what it does.
const mendable = `package m

import (
	"container/heap"
	"reflect"
)

type point struct{ x, y [8]int }

func capacity(in []int) []int {
	var out []int
	out = append(out, 1)
	for i, v := range in {
		if v >= 0 {
			out = append(out, v*i)
		}
	}
	return out
}

func filtered(in []int) (out []int) {
	for _, v := range in {
		if v > 0 {
			out = append(out, v)
		}
	}
	return out
}

func measured(in reflect.Value) (out []int) {
	for i := 0; i < in.Len(); i++ {
		if in.Index(i).Int() > 0 {
			out = append(out, i)
		}
	}
	return out
}

func silent(in []int) (out []int) {
	for _, v := range in {
		if v > 0 {
			//isobar:ignore prealloc it is clearer so
			out = append(out, v)
		}
	}
	return out
}

var kept []*point

func stays(n int) int {
	p := &point{}
	p.x[0] = n
	if len(kept) < 9 {
		kept = append(kept, p)
	}
	return p.x[0]
}

func handed(h heap.Interface, n int) int {
	p := &point{}
	p.x[0] = n
	h.Push(p)
	return n
}

var longest []int

func grouped(in []int) int {
	m := map[int][]int{}
	for i := range in {
		m[i%97] = append(m[i%97], i)
	}
	longest = m[0]
	return len(m)
}

type state func() state

type machine struct{ all []*point }

var leftover []*point

func (m *machine) first() state {
	m.all = append(m.all, &point{})
	return nil
}

func states() int {
	m := &machine{}
	for s := state(m.first); s != nil; {
		s = s()
	}
	leftover = m.all
	return len(leftover)
}

func reflected(n int) int {
	p := &point{}
	return reflect.ValueOf(p).Elem().Field(0).Len() + n
}
`

const mendableTest = `package m

import (
	"container/heap"
	"reflect"
	"slices"
	"testing"
)

func ExampleNothing() {} // go vet complains of it, with any fix and without

var in, ones = make([]int, 300), slices.Repeat([]int{1}, 300)

func Test(t *testing.T) {
	for range 3 {
		if n := len(capacity(in)); n != 301 {
			t.Error("capacity", n)
		}
		if filtered(in) != nil || len(filtered(ones)) != 300 {
			t.Error("filtered", filtered(in))
		}
		if measured(reflect.ValueOf(in)) != nil || len(measured(reflect.ValueOf(ones))) != 300 {
			t.Error("measured")
		}
	}
}

var sum int

func BenchmarkCapacity(b *testing.B) {
	for b.Loop() {
		sum += len(capacity(in))
	}
}

func BenchmarkFiltered(b *testing.B) {
	for b.Loop() {
		sum += len(filtered(ones))
	}
}

func BenchmarkMeasured(b *testing.B) {
	for b.Loop() {
		sum += len(measured(reflect.ValueOf(ones)))
	}
}

func BenchmarkSilent(b *testing.B) {
	for b.Loop() {
		sum += len(silent(ones))
	}
}

type stack struct{ heap.Interface }

var last any

func (stack) Push(x any) { last = x }

func BenchmarkHanded(b *testing.B) {
	for b.Loop() {
		sum += handed(stack{}, 3)
	}
}

func BenchmarkGrouped(b *testing.B) {
	for b.Loop() {
		sum += grouped(in)
	}
}

func BenchmarkStates(b *testing.B) {
	for b.Loop() {
		sum += states()
	}
}

func BenchmarkReflected(b *testing.B) {
	for b.Loop() {
		sum += reflected(3)
	}
}

func BenchmarkStays(b *testing.B) {
	for b.Loop() {
		sum += stays(3)
	}
}
`

// TestMendedFixesHold tries each fix that the account writes: it builds, the tests
// pass, and its benchmark allocates less.
func TestMendedFixesHold(t *testing.T) {
	c := profiled(t, "1.25", mendable, mendableTest)
	r := ran(t, c)
	var fixes []Finding
	for _, f := range r.Findings {
		if strings.Contains(f.Function, "m.") { // else no benchmark is known to run it
			t.Errorf("the fix is in %s, want the name without the package", f.Function)
		}
		if len(f.Edits) > 0 && f.Share != nil && f.Share.weight() > 0.001 {
			fixes = append(fixes, f)
		}
	}
	v, err := Verify(t.Context(), Config{Dir: c.Dir, Patterns: c.Patterns, Bench: ".", Blocks: 4, BenchTime: "20x",
		Limit: Limit{Budget: 20 * time.Minute}, Profiles: c.Profiles, Progress: func(string) {}}, fixes)
	if err != nil {
		t.Fatal(err)
	}
	outcome := map[string]string{}
	for _, f := range v.Fixes {
		outcome[f.Finding.Function[strings.LastIndexByte(f.Finding.Function, '.')+1:]] = f.Outcome + ": " + f.Reason + f.Diff
	}
	for _, name := range []string{"capacity", "filtered", "measured"} {
		if !strings.HasPrefix(outcome[name], Kept) {
			t.Errorf("%s: %q, want it kept", name, outcome[name])
		}
	}
	if _, ok := outcome["silent"]; ok {
		t.Error("a comment silences the line, and there is a fix")
	}
	if _, ok := outcome["stays"]; ok {
		t.Error("a point that a package variable keeps has a fix")
	}
	for _, s := range r.Evidence.Account.Sites {
		switch {
		case s.Function == "m.handed" && s.Kind == "composite literal" && (s.Verdict != Look || s.Decides == "" || !s.Open):
			t.Errorf("handed: %s, %q: want no remedy for what may be kept, and the place that decides", s.Verdict, s.Decides)
		case s.Function == "m.grouped" && s.Kind == "map grown" && !strings.HasPrefix(s.Lifetime, "dies with"):
			t.Errorf("grouped: the map %s: want that it dies with the call, though an element does not", s.Lifetime)
		case s.Function == "m.machine.first" && (s.Verdict == Remedy || s.Verdict == Candidate):
			t.Errorf("first: %s, %s: want no remedy for what a package variable keeps", s.Verdict, s.Lifetime)
		case strings.Contains(s.Lifetime, "dummy"):
			t.Errorf("%s: %s: reflect's dummy keeps nothing", s.Function, s.Lifetime)
		}
	}
	if t.Failed() {
		for _, s := range r.Evidence.Account.Sites {
			t.Logf("%s:%d %s %s: %s: %s, %s", filepath.Base(s.File), s.Line, s.Kind, s.What, s.Verdict, s.Remedy, s.Lifetime)
		}
	}
}
