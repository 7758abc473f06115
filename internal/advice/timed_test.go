package advice

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/go/packages"
)

// timedFile says on its lines whether a benchmark times them: it does if nothing is
// said, or nothing can be told.
const timedFile = `package m

import "testing"

func BenchmarkLoop(b *testing.B) {
	prepare() // not
	for b.Loop() {
		work() // timed
	}
}

func BenchmarkParts(b *testing.B) {
	all := prepare() // not
	for _, one := range all {
		prepare() // not
		b.Run(one, func(b *testing.B) {
			prepare() // not
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				work() // timed
				if i%100 == 0 {
					b.StopTimer()
					prepare() // not
					b.StartTimer()
				}
				work() // timed
			}
			check(float64(b.N)) // not
		})
	}
}

func BenchmarkStopped(b *testing.B) {
	b.StopTimer()
	for range b.N {
		prepare() // not
		b.StartTimer()
		work() // timed
		b.StopTimer()
		check(0) // not
	}
}

func BenchmarkStoppedAround(b *testing.B) {
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		prepare() // not
		for range 10 {
			prepare() // not
			b.StartTimer()
			work() // timed
		}
	}
}

func BenchmarkParallel(b *testing.B) {
	prepare() // not
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			work() // timed
		}
	})
}

func BenchmarkHandedOn(b *testing.B) {
	prepare() // timed
	for range b.N {
		work() // timed
	}
	work(b.N) // timed
}

func BenchmarkElsewhere(b *testing.B) {
	repeat(b) // timed
}
`

func TestTimed(t *testing.T) {
	name := filepath.Join(tree(t, map[string]string{"m_test.go": timedFile}), "m_test.go")
	j := newTimings()
	line := func(function, file string, line int) profile.Line {
		return profile.Line{Function: &profile.Function{Name: function, Filename: file}, Line: int64(line)}
	}
	top := line("example.org/m.f", "/m/m.go", 1)
	run := line("testing.(*B).runN", "/go/src/testing/benchmark.go", 1)
	for i, text := range strings.Split(timedFile, "\n") {
		_, says, ok := strings.Cut(text, " // ")
		if !ok {
			continue
		}
		if got, want := j.prepares([]profile.Line{top, line("example.org/m.B", name, i+1), run}, true), says == "not"; got != want {
			t.Errorf("line %d, %s: left out: %v, want %v", i+1, strings.TrimSpace(text), got, want)
		}
		if j.prepares([]profile.Line{top, line("example.org/m.B", name, i+1)}, true) {
			t.Errorf("line %d is left out although its stack does not reach down to the benchmark", i+1)
		}
	}
	// In a helper's own preparation, called from a timed loop.
	if stack := []profile.Line{top, line("example.org/m.B", name, 6), line("example.org/m.B", name, 8), run}; j.prepares(stack, true) {
		t.Error("what a timed loop calls is left out")
	}
	if !j.prepares([]profile.Line{top, line("runtime.doInit1", "/go/src/runtime/proc.go", 1)}, true) {
		t.Error("what runs before the benchmarks is not left out")
	}
	if j.prepares([]profile.Line{top, line("main.main", "/m/main.go", 1)}, false) {
		t.Error("what a program does is left out")
	}
}

// TestParts: a part of a benchmark has its own stack, which has only the function that begins it.
func TestParts(t *testing.T) {
	const file = `package m

func BenchmarkA(b *testing.B) { one(b); both(b) }

func BenchmarkB(b *testing.B) {
	for _, run := range table {
		run(b)
	}
	both(b)
}

var table = []func(*testing.B){two}

func one(b *testing.B)   { deep(b) }
func deep(b *testing.B)  {}
func two(b *testing.B)   {}
func both(b *testing.B)  {}
func other(b *testing.B) {}
`
	name := filepath.Join(tree(t, map[string]string{"m_test.go": file}), "m_test.go")
	for function, want := range map[string]string{"BenchmarkB": "BenchmarkB", "one": "BenchmarkA", "deep": "BenchmarkA",
		"two": "BenchmarkB", "both": "", "other": ""} {
		stack := []profile.Line{{Function: &profile.Function{Name: "example.org/m.f", Filename: "/m/m.go"}},
			{Function: &profile.Function{Name: "example.org/m_test." + function + ".func1", Filename: name}},
			{Function: &profile.Function{Name: "testing.(*B).runN", Filename: "/go/src/testing/benchmark.go"}}}
		got, ok := newTimings().benchmark(stack)
		if ok != (want != "") || ok && got != (bench{"example.org/m", want}) {
			t.Errorf("%s is a part of %v (%v), want %q", function, got, ok, want)
		}
	}
}

// TestLiteralsAreFunctionsOfTheirOwn: allocations in the body of a function literal do
// not count where the literal is made.
func TestLiteralsAreFunctionsOfTheirOwn(t *testing.T) {
	const text = `package m

func F(n int, do func(string, func() []int)) func() []int {
	do(
		"text",
		func() []int {
			m := make([]int, n)
			return m
		})
	return func() []int {
		return make([]int, n)
	}
}
`
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "m.go": text})
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir}, ".")
	if err != nil {
		t.Fatal(err)
	}
	p := pkgs[0]
	at := func(from, to string) span {
		f := p.Fset.File(p.Syntax[0].Pos())
		end := strings.LastIndex(text, to) + len(to)
		return spanAt(p, f.Pos(strings.Index(text, from)), f.Pos(end))
	}
	if s := at("func() []int {\n\t\treturn", "\n\t}"); s.From != 10 || s.To != 10 {
		t.Errorf("the literal is made in lines %d to %d, want 10", s.From, s.To)
	}
	if s := at("do(\n", "})"); s.From != 4 || s.To != 9 || s.Literals != 0 {
		t.Errorf("the call is in lines %d to %d and %d literals, want 4 to 9 in none", s.From, s.To, s.Literals)
	}
	if s := at("return m\n", "\t\t\treturn m"); s.Literals != 1 {
		t.Errorf("a line of a literal is in %d", s.Literals)
	}
	for name, want := range map[string]int{"m.F": 0, "m.F.func1": 1, "m.(*T[...]).F.func1.2": 2, "m.F.func1.G": 0, "m.F.func1.G.func2": 1} {
		if got := literals(name); got != want {
			t.Errorf("%s is in %d literals, want %d", name, got, want)
		}
	}
}
