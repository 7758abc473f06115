package advice

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// Each function has variables on the heap. Those of a name that begins with Yes become one object.
const apart = `package m

import (
	"runtime"
	. "sync/atomic"
)

var each func(func(int))

type item struct{ n, list int }

type pair[K, V any] struct {
	k *K
	v []V
}

// YesCounters has both kinds of declarations, and a field of the same name.
func YesCounters(in []int) (int, item) {
	n := len(in) // to come
	var sum int

	each(func(v int) { sum += v; n-- })
	it := item{n: n}
	return sum, it
}

func YesLate(in []int) (int, error) {
	var low, high int
	if len(in) > 9 {
		return 0, nil
	}
	// Nothing is found yet.
	found, err := len(in), error(nil)
	each(func(v int) { low, high, found, err = v, low, v, nil })
	if found, err := found, err; err == nil {
		return found, err
	}
	return high, err
}

func YesGeneric[K comparable, V any](in []V) *K {
	var few pair[K, V]
	var more []pair[K, V]
	each(func(v int) { few.v = nil; more = nil })
	_ = more
	return few.k
}

func YesWide() int64 {
	var sum int64
	var on int32
	each(func(v int) { AddInt64(&sum, int64(v)); on = 1 })
	return sum + int64(on)
}

func YesRounds(in []int) (sum int) {
	for _, a := range in {
		a, b := a, 2
		each(func(v int) { a += v; b -= v })
		sum += a * b
	}
	return sum
}

func YesOneList(in []int) (sum int) {
	a, b := len(in), 2
	each(func(v int) { a += v; b -= v })
	if sum = a * b; sum > 0 {
		c := 1
		each(func(v int) { c += v })
		sum += c
	}
	return sum
}

func NoWide() int64 {
	var on int32
	var sum int64
	each(func(v int) { AddInt64(&sum, int64(v)); on = 1 })
	return sum + int64(on)
}

func NoGoto(in []int) int {
again:
	a, b := len(in), 0
	each(func(v int) { a += v; b = v })
	if b > 0 {
		goto again
	}
	return a
}

func NoName() int {
	a := 1
	type text string
	var b text
	each(func(v int) { a, b = 1, "" })
	return a + len(b)
}

var keep *[2]int

func NoLonger() int {
	var a, b [2]int
	keep = &a
	each(func(v int) { b[v]++ })
	return b[1]
}

func NoLarge() int {
	var a, b [64]int
	each(func(v int) { a[v], b[v] = v, v })
	return a[1] + b[1]
}

func NoFinalizer() int {
	a, b := 1, 2
	for _, p := range []*int{&a, &b} {
		runtime.SetFinalizer(p, nil)
	}
	return a
}

func NoComment() int {
	a := 1
	// It counts.
	var b int
	var c int // of all
	each(func(v int) { a, b, c = v, v, v })
	return a + b + c
}

func NoFew(in []int) int {
	low, high := in[0], in[0]
	each(func(v int) { low, high = min(low, v), max(high, v) })
	return high - low
}

func NoOther() int {
	a := 1
	each(func(v int) { a = v })
	for b := range 5 {
		each(func(v int) { b += v })
	}
	return a
}
`

// joined is the result for the first functions.
const joined = `func YesCounters(in []int) (int, item) {
	var shared struct {
		n   int
		sum int
	}
	shared.n = len(in) // to come

	each(func(v int) { shared.sum += v; shared.n-- })
	it := item{n: shared.n}
	return shared.sum, it
}

func YesLate(in []int) (int, error) {
	var shared struct {
		low   int
		high  int
		found int
		err   error
	}
	if len(in) > 9 {
		return 0, nil
	}
	// Nothing is found yet.
	shared.found, shared.err = len(in), error(nil)
	each(func(v int) { shared.low, shared.high, shared.found, shared.err = v, shared.low, v, nil })
	if found, err := shared.found, shared.err; err == nil {
		return found, err
	}
	return shared.high, shared.err
}

func YesGeneric[K comparable, V any](in []V) *K {
	var shared struct {
		few  pair[K, V]
		more []pair[K, V]
	}
	each(func(v int) { shared.few.v = nil; shared.more = nil })
	_ = shared.more
	return shared.few.k
}
`

// united returns the proposals for each function of a file, by key, if a profile has objects of each variable.
func united(x *explainer, p *life.Package) map[string]map[string]fix {
	var subjects []*subject
	x.Try, x.causes = true, map[causeKey]*cause{}
	for _, s := range p.Sites() {
		if s.Kind == life.Variable {
			fn := s.Func.Name()
			c := &cause{at: place{p.Fset.Position(s.Pos()).Filename, s.From}, function: "m." + fn}
			c.Objects = 1
			x.causes[causeKey{place: c.at}] = c
			subjects = append(subjects, &subject{x: x, p: p, s: s, c: c, t: &c.site, e: &Explained{Function: fn}})
		}
	}
	all := map[string]map[string]fix{}
	for _, k := range subjects {
		k.mender().together()
		if got := k.mend(); got != nil {
			if all[k.e.Function] == nil {
				all[k.e.Function] = map[string]fix{}
			}
			f := k.mended(got)
			all[k.e.Function][f.key()] = got
		}
	}
	return all
}

// unite returns the source with all proposals applied.
func unite(t *testing.T, all map[string]map[string]fix) (string, error) {
	t.Helper()
	edits, name := []change(nil), ""
	for _, of := range all {
		for _, f := range of {
			for name = range f {
				edits = append(edits, f[name]...)
			}
		}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := edited(name, src, edits)
	return string(text), err
}

// TestVariablesLieTogether: variables of one statement list with the same lifetime
// become one object, and the code keeps its meaning.
func TestVariablesLieTogether(t *testing.T) {
	x, p := explainerOf(t, apart)
	all := united(x, p)
	for fn := range p.SSA.Members {
		if want := strings.Count(fn, "Yes"); len(all[fn]) != want {
			t.Errorf("%s: %d proposals, want %d: %v", fn, len(all[fn]), want, slices.Collect(maps.Keys(all[fn])))
		}
	}
	text, err := unite(t, all)
	if err != nil {
		t.Fatal(err)
	}
	_, after := explainerOf(t, text)
	count := map[string]int{}
	for _, s := range after.Sites() {
		if s.Kind == life.Variable && strings.HasPrefix(s.Func.Name(), "Yes") {
			count[s.Func.Name()]++
		}
	}
	for fn, n := range count {
		if want := strings.Count(fn, "List") + 1; n != want {
			t.Errorf("%s: %d objects, want %d", fn, n, want)
		}
	}
	if len(count) != 6 || !strings.Contains(text, joined) {
		t.Errorf("%d functions, got %s", len(count), text)
	}
}

// TestOneStructAFunction: proposals that declare the same name in a function are not tried together.
func TestOneStructAFunction(t *testing.T) {
	all := united(explainerOf(t, `package m

var each func(func(int))

func F(in []int) int {
	a, b := len(in), 2
	each(func(v int) { a, b = v, v })
	for range in {
		a, b := a, b
		each(func(v int) { a, b = v, v })
		in[0] += a + b
	}
	return a
}
`))
	if n := len(all["F"]); n != 2 {
		t.Fatalf("%d proposals, want 2", n)
	}
	if text, err := unite(t, all); err == nil {
		t.Errorf("both are made: %s", text)
	}
}
