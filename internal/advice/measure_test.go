package advice

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// plantedLifetimes lists the functions of the test data, with the kind of site and how
// long what it makes lives.
var plantedLifetimes = []struct{ function, kind, want string }{
	{"Dies", "make", "dies with the call of planted.Dies"},
	{"inner", "make", "dies with the call of planted.Outer"},
	{"Rounds", "make", "dies in the round of a loop in planted.Rounds"},
	{"Several", "make", "dies with the call of planted.Several"},
	{"Returns", "composite literal", "returned by planted.Returns"},
	{"Returns", "call", "returned by planted.Returns, in record.name"},
	{"T.Keep", "make", "kept by field T.last"},
	{"T.Enter", "composite literal", "kept by field T.all"},
	{"T.Link", "composite literal", "kept by field T.chain"},
	{"T.Send", "composite literal", "kept by field T.ch<-"},
	{"Global", "make", "kept by package variable planted.global"},
	{"Goes", "make", "kept by goroutine planted.Goes.func1"},
	{"Generic", "make", "dies with the call of planted.Generic"},
	{"Tree", "composite literal", "returned by planted.Tree"},
	{"Recovers", "make", "dies with the call of planted.Recovers"},
	{"Named.func1", "make", "returned by planted.Named"},
	{"Shadow", "make", "dies with the call of planted.Shadow"},
	{"buffer.fill", "make", "dies with the call of planted.Local, held by buffer.b as planted.buffer.fill returned"},
	{"Captured.func1", "make", "dies with the call of planted.Captured"},
	{"build", "call", "dies with the call of planted.Build"},
	{"Prepared", "composite literal", "dies with the call of planted.Prepared"},
	{"T.Box", "call", "kept by field T.box"},
}

func TestMeasured(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it runs benchmarks, and reads their memory")
	}
	ctx := context.Background()
	c := Config{Dir: filepath.Join("testdata", "lifetimes"), Patterns: []string{"./..."}}
	say := func(string) {}
	var err error
	if c.Profiles, c.LeftOut, err = Profile(ctx, c, ".", t.TempDir(), say); err != nil {
		t.Fatal(err)
	}
	c.Budget = 20 * time.Minute
	c.Bench, c.Progress = ".", say
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range r.Evidence.Notes {
		t.Log(note)
		if strings.Contains(note, "fails with hooks") { // also where one ends while its heap is read
			t.Error("no benchmark fails")
		}
	}
	sites := r.Evidence.Account.Sites
	for _, want := range plantedLifetimes {
		i := slices.IndexFunc(sites, func(e Explained) bool {
			return e.Objects > 0 && e.Function == "planted."+want.function && e.Kind == want.kind
		})
		switch {
		case i < 0:
			t.Errorf("%s: no %s in the account", want.function, want.kind)
		case sites[i].Measured == 0:
			t.Errorf("%s: %s: not measured: %s", want.function, want.kind, sites[i].Lifetime)
		case !regexp.MustCompile(`^in these benchmarks, \d+ objects?: (partly )?` + regexp.QuoteMeta(want.want)).MatchString(
			sites[i].Lifetime):
			t.Errorf("%s: %s: %q, want %q", want.function, want.kind, sites[i].Lifetime, want.want)
		}
	}
	for _, e := range sites {
		t.Logf("%s:%d %s %s: %s", e.Function, e.Line, e.Kind, e.What, e.Life())
	}
}

// TestRuntimeHolds: a goroutine that waits for a channel may be held by the runtime's
// lists alone, whose names mean nothing to a reader.
func TestRuntimeHolds(t *testing.T) {
	global := heap.Root{Kind: image.Global, Name: "runtime.allgptr"}
	waiting := []graph.Step{{Type: "[]*runtime.g", Label: "[]"}, {Type: "runtime.g", Label: ".waiting"},
		{Type: "runtime.sudog", Label: ".c"}}
	ours := append(slices.Clone(waiting), graph.Step{Type: "m.T", Label: ".list"})
	for _, tt := range []struct {
		o    heap.Object
		want string
	}{
		{heap.Object{Root: global, Way: waiting}, "kept by the runtime, for a goroutine or timer that waits"},
		{heap.Object{Root: heap.Root{Kind: image.Stack}, Way: waiting[1:]},
			"kept by the runtime, for a goroutine or timer that waits"},
		{heap.Object{Root: global, Way: ours}, "kept by field T.list"},
		{heap.Object{Root: global}, "kept by the runtime, for a goroutine or timer that waits"},
		{heap.Object{Root: heap.Root{Kind: image.Global, Name: "example.org/m/runtime.all"}},
			"kept by package variable runtime.all"},
	} {
		if got := holderOf(&tt.o).lifetime(frame{function: "m.F"}).String(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.o, got, tt.want)
		}
	}
}

// measureIn measures benchmarks of the package in dir.
func measureIn(t *testing.T, m *measurer, dir string, over overlay, benchmarks ...string) error {
	mod, err := goEnv(t.Context(), dir)
	if err != nil {
		return err
	}
	pkgs, err := command{dir: dir}.benchPackages(t.Context(), []string{"."})
	if err != nil {
		return err
	}
	return m.measurePackage(t.Context(), over, &mod, pkgs[0], benchmarks)
}

// TestMeasuringGoesOnAfterBenchmarksWithoutEnd: such a benchmark is named, its results
// count, and the next runs.
func TestMeasuringGoesOnAfterBenchmarksWithoutEnd(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it builds and runs benchmarks")
	}
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.25\n", "m_test.go": `package m

import (
	"testing"
	"time"
)

func BenchmarkForever(b *testing.B) {
	if b.N > 1 {
		time.Sleep(time.Hour)
	}
}

func BenchmarkNext(*testing.B) {}
`})
	told := ""
	m := &measurer{Config: Config{Progress: func(s string) { told += s + "\n" }}, tmp: t.TempDir(),
		result: sightings{}, perBenchmark: 2 * time.Second}
	err := measureIn(t, m, dir, overlay{}, "BenchmarkForever", "BenchmarkNext")
	if err != nil || !slices.Contains(m.late, "2s of BenchmarkForever") || !strings.Contains(told, "BenchmarkNext") {
		t.Errorf("%v; late are %q; it told %q", err, m.late, told)
	}
	if why := m.why(nil); !strings.Contains(why, "within 2s of BenchmarkForever") {
		t.Errorf("the note is %q", why)
	}
}

// TestHooksLeaveRoom: a benchmark that holds more than the first limit of memory is not collected without end, and
// nothing is collected while a call is sampled.
func TestHooksLeaveRoom(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it builds and runs a benchmark")
	}
	dir := tree(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.25\n",
		"m.go": `package m

func F(n int) []byte {
	return make([]byte, n)
}

func Each(n int, f func([]byte)) {
	for i := 0; i < n; i++ {
		f(make([]byte, 1<<20))
	}
}
`, "m_test.go": `package m

import (
	"runtime"
	"testing"
)

var held [][]byte

func collections() int {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.NumGC)
}

func BenchmarkF(b *testing.B) {
	for range 8 {
		var seen []int // while the call is sampled
		Each(100, func([]byte) {
			if runtime.MemProfileRate == 1 {
				seen = append(seen, collections())
			}
		})
		if len(seen) > 0 && seen[0] != seen[len(seen)-1] {
			b.Fatal("collected in a sampled call")
		}
	}
	for len(held) < 160 {
		held = append(held, F(1<<20))
	}
	for i := 0; i < 10*b.N; i++ {
		held[i%160] = F(1<<20)
	}
	if n := collections(); n > 80 {
		b.Fatal(n, "collections")
	}
}
`})
	m := &measurer{Config: Config{Progress: func(string) {}}, j: &joiner{}, tmp: t.TempDir(),
		in: instrumenter{hooks: "example.org/m/" + hookPackage}, result: sightings{}, perBenchmark: time.Minute}
	over := overlay{}
	err := m.lay(over, filepath.Join(dir, "m.go"), []int{4, 9})
	if err == nil {
		err = over.add(m.tmp, filepath.Join(dir, hookPackage, hookPackage+".go"), []byte(hookSource))
	}
	if err == nil {
		err = measureIn(t, m, dir, over, "BenchmarkF")
	}
	if err != nil {
		t.Error(err)
	}
}

// TestHooksAreOld: modules with old language versions can be measured, too.
func TestHooksAreOld(t *testing.T) {
	dir := t.TempDir()
	in := instrumenter{hooks: "example.org/m/" + hookPackage}
	const name, src = "m.go", "package m\n\nfunc F(n int, _ string) (b []byte) {\n\tfor i := 0; i < n; i++ {\n" +
		"\t\tb = append(b, 1)\n\t}\n\treturn b\n}\n"
	text := in.file(name, []byte(src), []int{5})
	if got := strings.Count(string(text), "\n"); got != strings.Count(src, "\n") || len(in.probes) != 1 {
		t.Errorf("%d lines, %d probes: %s", got, len(in.probes), text)
	}
	for file, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.13\n", name: string(text),
		hookPackage + "/" + hookPackage + ".go": hookSource} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (command{dir, nil}).run(t.Context(), "go", "build", "./..."); err != nil {
		t.Error(err)
	}
}

// TestPartsNeedASample: several ends are parts, and no holder is named for sizes that were not seen.
func TestPartsNeedASample(t *testing.T) {
	at := frame{place: place{"/m/m.go", 7}, function: "example.org/m.F"}
	by, kept := bench{"example.org/m", "BenchmarkF"}, heldBy{rank: byGlobal, name: "m.all"}
	for _, tt := range []struct {
		name        string
		seen        tally
		size, bytes int64
		want        string
	}{
		{"some dies", tally{made: 4, live: 2, by: map[heldBy]int{kept: 2}}, 64, 10 << 20,
			"partly dies with the call of m.F; partly kept by package variable m.all"},
		{"two holders", tally{made: 4, live: 4, by: map[heldBy]int{kept: 2, {rank: byOthers}: 2}}, 64, 10 << 20,
			"partly "},
		{"another size that ends alike", tally{made: 4, live: 4, by: map[heldBy]int{kept: 4}}, 4096, 10 << 20,
			"kept by package variable m.all"},
		{"another size with two ends", tally{made: 4, live: 2, by: map[heldBy]int{kept: 2}}, 4096, 10 << 20, ""},
	} {
		made64 := made{by: by, size: 64}
		m, of := sightings{}, &site{}
		*m.of(kindOf{trailOf("", []frame{at}), made64}) = tt.seen
		of.charge(Totals{Bytes: tt.bytes, Objects: tt.bytes / tt.size}, tt.size)
		c := &cause{at: at.place, chains: map[string]*chain{"": {origin: at, made: true, by: map[bench]*site{by: of}}}}
		l, _, ok := m.lifetime(c, of)
		if ok != (tt.want != "") || ok && !strings.Contains(l.String(), tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, l, ok, tt.want)
		}
	}
}

// TestPartsAreOfSeveralObjects: what was seen as a caller returned counts, too.
func TestPartsAreOfSeveralObjects(t *testing.T) {
	at, above := frame{place{"/m/m.go", 7}, "example.org/m.F"}, frame{place{"/m/m.go", 9}, "example.org/m.G"}
	kept := heldBy{rank: byGlobal, name: "m.all"}
	m, of := sightings{}, &site{}
	*m.of(kindOf{trailOf("", []frame{at}), made{size: 64}}) = tally{made: 1, live: 1, by: map[heldBy]int{kept: 1}}
	*m.of(kindOf{trailOf("", []frame{at, above}), made{size: 64}}) = tally{made: 2, live: 1, by: map[heldBy]int{kept: 1}}
	of.charge(Totals{Bytes: 64, Objects: 1}, 64)
	c := &cause{at: at.place, chains: map[string]*chain{"": {origin: at, frames: []frame{above}, made: true,
		by: map[bench]*site{{}: of}}}}
	if l, n, ok := m.lifetime(c, of); !ok || n != 3 || !l.mixed {
		t.Errorf("%d objects, %v: %s", n, ok, l)
	}
}

// TestWhatGrowsIsNamed: the report names the declaration of a slice that append grows, or the parameter.
func TestWhatGrowsIsNamed(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc f(in map[int]bool, list []int) ([]int, []int) {\n\tvar out []int\n"+
		"\tfor v := range in {\n\t\tif v > 3 {\n\t\t\tout = append(out, v)\n\t\t}\n\t}\n\treturn out, append(list, 1)\n}\n"+
		"\nfunc g(list []int) int {\n\tmore := append(list, 1)\n\treturn len(more)\n}\n")
	want := []string{unproven + "; what grows is declared at m.go:4", unproven + "; what grows is parameter list", unproven}
	for i, s := range p.Sites() {
		k := &subject{x: x, c: &cause{}, p: p, s: s, t: &site{}, e: &Explained{}}
		k.judge()
		if k.look(); k.e.Verdict != Look || k.e.Remedy != want[i] {
			t.Errorf("%s: %q, want %q", k.e.Verdict, k.e.Remedy, want[i])
		}
	}
}

// TestWhatTestsMakeIsTheirs: what a test's function makes when the packages call it is not charged to the packages.
func TestWhatTestsMakeIsTheirs(t *testing.T) {
	line := func(function, file string) profile.Line {
		return profile.Line{Function: &profile.Function{Name: function, Filename: file}, Line: 3}
	}
	j := &joiner{files: map[string]string{"/m/m.go": "/m/m.go"}, lengths: map[string]int{"/m/m.go": 9},
		timings: newTimings(), causes: map[causeKey]*cause{}, others: map[string]int{}}
	j.charge(&profile.Sample{Location: []*profile.Location{{Line: []profile.Line{
		line("example.org/m.BenchmarkF.func1", "/m/m_test.go"), line("example.org/m.Each", "/m/m.go"),
		line("example.org/m.BenchmarkF", "/m/m_test.go")}}}}, Totals{Bytes: 64, Objects: 1})
	if len(j.causes) != 0 || j.outside.Bytes != 64 {
		t.Errorf("causes %v, outside %v", j.causes, j.outside)
	}
}

// TestGoroutinesOfPreparation: what a goroutine makes counts, and may be of what a benchmark prepares if that makes the
// goroutine's function, too.
func TestGoroutinesOfPreparation(t *testing.T) {
	for line, want := range map[int64]bool{3: true, 5: false} { // before the loop, in it
		timings := newTimings()
		timings.files["/m/m_test.go"] = []timedDecl{{lines: lines{1, 9}, timed: []lines{{4, 6}}}}
		j := &joiner{files: map[string]string{"/m/m.go": "/m/m.go"}, lengths: map[string]int{"/m/m.go": 99},
			timings: timings, causes: map[causeKey]*cause{}, others: map[string]int{}, early: map[place]bool{}, benchmarks: true}
		at := func(function, file string, line, begins int64) profile.Line {
			return profile.Line{Function: &profile.Function{Name: function, Filename: file, StartLine: begins}, Line: line}
		}
		for _, stack := range [][]profile.Line{
			{at("example.org/m.make", "/m/m.go", 40, 39), at("example.org/m.Start.func1", "/m/m.go", 22, 21)},
			{at("example.org/m.Start", "/m/m.go", 21, 20), at("example.org/m.BenchmarkF", "/m/m_test.go", line, 1),
				at("testing.(*B).runN", "/go/testing.go", 7, 1)},
		} {
			j.charge(&profile.Sample{Location: []*profile.Location{{Line: stack}}}, Totals{Bytes: 64, Objects: 1})
		}
		sites := j.account(t.Context(), Config{}, nil, "/m", nil).Sites
		i := slices.IndexFunc(sites, func(e Explained) bool { return e.Line == 40 })
		if i < 0 || strings.Contains(sites[i].Made(), "some perhaps of what benchmarks prepare") != want {
			t.Errorf("line %d, want %v: %+v", line, want, sites)
		}
	}
}

// TestCopiesAreOneCause: copies of a function literal are one site per line, with the literal's own name.
func TestCopiesAreOneCause(t *testing.T) {
	j := &joiner{files: map[string]string{"/m/m.go": "/m/m.go"}, lengths: map[string]int{"/m/m.go": 9},
		timings: newTimings(), causes: map[causeKey]*cause{}, others: map[string]int{}}
	for i, function := range []string{"m.Get.func4.twice.2", "m.twice.func1", "m.twice"} {
		j.charge(&profile.Sample{Location: []*profile.Location{{Line: []profile.Line{{
			Function: &profile.Function{Name: "example.org/" + function, Filename: "/m/m.go"}, Line: 3}}}}},
			Totals{Bytes: 64 << i, Objects: 1})
	}
	got := map[string]int64{}
	for _, c := range j.causes {
		got[c.function] = c.Bytes
	}
	want := map[string]int64{"example.org/m.twice.func1": 192, "example.org/m.twice": 256} // twice makes the literal
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOutgrownIsNotUsedAgain: arrays that append outgrows die, but the result keeps the
// last one, which nobody may overwrite: no memory is reused.
func TestOutgrownIsNotUsedAgain(t *testing.T) {
	x, p := explainerOf(t, "package m\n\nfunc f(in []int) (out []int) {\n\tfor _, v := range in {\n"+
		"\t\tout = append(out, v)\n"+
		"\t}\n\treturn out\n}\n")
	s := p.Sites()[0]
	escapes := lifetime{kind: escaped, in: "m.f", part: 0.4}
	l := lifetime{kind: died, in: "m.f", part: 0.6, mixed: true, rest: []lifetime{escapes}}
	k := &subject{x: x, c: &cause{}, p: p, s: s, t: &site{}, e: &Explained{}, life: l}
	k.judge()
	if k.look(); k.e.Verdict != Look {
		t.Errorf("%s: %s", k.e.Verdict, k.e.Remedy)
	}
}

// A holder is named by a type and a field, or not at all.
func TestFieldsAreNamed(t *testing.T) {
	for at, want := range map[[2]string]string{
		{"os.file", ".name"}: "file.name", {"[]main.item[int]", "[].next[]"}: "item.next", {"main.item", "[]"}: "",
		{"", ".name"}: "", {"os.file", "."}: "",
	} {
		if got := fieldOf(at[0], at[1]); got != want {
			t.Errorf("%q: %q, want %q", at, got, want)
		}
	}
}
