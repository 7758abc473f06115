package advice

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/life"
	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/base/rusage"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// recorded lists how the exercises must be explained: a part of the line to charge,
// what allocates there and the check about it. It includes the document's table of
// signatures, with corrected numbers.
var recorded = []struct {
	exercise int
	variant  string
	line     string
	kind     string
	check    string
	frame    string // from the document's table, for CPU profiles; empty for none
}{
	{1, "before", "fmt.Sprintf(", "call", "sprintf", "runtime.mallocgc"},
	{2, "kept", "keepBytes([]byte(in.token))", "conversion", "byteconv", "runtime.stringtoslicebyte"},
	{3, "before", "sumString(string(in.line))", "conversion", "stringconv", "runtime.slicebytetostring"},
	{4, "before", "s += f", "concatenation", "concatloop", "runtime.concatstring"},
	{5, "before", "append(out, f(x))", "append", "prealloc", "runtime.growslice"},
	{6, "before", "var buf bytes.Buffer", "variable on the heap", "bufferpercall", "runtime.mallocgc"},
	{7, "before", "go func() {", "closure", "closurecapture", "runtime.new"},
	{8, "before", `logAny("user"`, "boxing", "boxing", "runtime.convT64"},
	{9, "before", "&linkedNode{", "composite literal", "optionalpointer", ""},
	{10, "before", "time.After(", "call", "timeafter", "time.NewTimer"},
	{11, "before", "json.Marshal(", "call", "jsonloop", ""},
	{12, "before", "regexp.MustCompile(", "call", "regexpcompile", ""},
	{14, "before", "defer ", "defer record", "deferloop", "runtime.deferproc"},
	{15, "before", "errors.New(", "call", "errorsnew", ""},
	{18, "before", "func newUser(", "composite literal", "pointerwrapper", "runtime.newobject"},
}

func exercise(t *testing.T, number int, variant string) workload.Closed {
	t.Helper()
	w, err := workload.Lookup("exercises")
	if err != nil {
		t.Fatal(err)
	}
	params, err := w.Resolve(map[string]string{"exercise": strconv.Itoa(number), "variant": variant})
	if err != nil {
		t.Fatal(err)
	}
	task, err := w.New(workload.Env{Params: params, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return task.(workload.Closed)
}

var exercisePackage = sync.OnceValues(func() ([]*unit, error) {
	return analyze(context.Background(), Config{Dir: filepath.Join("..", ".."),
		Patterns: []string{"./internal/lab/exercise"}, Checks: advise.All()})
})

// exerciseLife is shared, because all profiles are of the same packages.
var exerciseLife = sync.OnceValue(func() *lifetimes {
	pkgs, _ := exercisePackage()
	return newLifetimes(&cache{}, pkgs)
})

// resolve joins a profile to the exercises and returns the explanation of each line;
// lines are named by file, number and text.
func resolve(t *testing.T, profile string) (map[string]Explained, error) {
	t.Helper()
	pkgs, err := exercisePackage()
	if err != nil {
		t.Fatal(err)
	}
	var findings []Finding
	for _, u := range pkgs {
		findings = append(findings, u.Findings...)
	}
	c := Config{Profiles: []string{profile}, life: exerciseLife()}
	e, err := join(t.Context(), c, pkgs, filepath.Join("..", ".."), findings)
	if err != nil {
		return nil, err
	}
	lines := map[string]Explained{}
	for _, l := range e.Account.Sites {
		if strings.Contains(l.File, "lab/exercise/") {
			lines[l.File+":"+strconv.Itoa(l.Line)+": "+l.Source+" "+l.Kind+" "+l.What] = l
		}
	}
	return lines, nil
}

// recognized reports whether a line with the text is explained as it should be.
func recognized(lines map[string]Explained, text, kind, check string) bool {
	for name, l := range lines {
		if strings.Contains(name, text) && (l.Kind == kind || kind == "") && l.Check == check {
			return true
		}
	}
	return false
}

// TestAllocationsResolve records all allocations of each exercise, and finds the line
// and the exercise in the profile.
func TestAllocationsResolve(t *testing.T) {
	if invariant.Race {
		t.Skip("race builds allocate otherwise")
	}
	rate := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = rate }()
	for _, c := range recorded {
		task := exercise(t, c.exercise, c.variant)
		runtime.MemProfileRate = 1
		task.Loop(0, 2000/int64(1+19*btoi(c.exercise == 12 || c.exercise == 11)))
		runtime.MemProfileRate = rate
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	}
	runtime.GC()
	name := filepath.Join(t.TempDir(), "allocs")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := resolve(t, name) // the profile has everything that the process made
	for _, c := range recorded {
		if err != nil || !recognized(lines, c.line, c.kind, c.check) {
			t.Errorf("exercise %d is not recognized at %q: %v, %s", c.exercise, c.line, err, listed(lines))
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSignaturesResolve records CPU profiles of the exercises in the document's table of
// signatures, until each has a sample in the line to blame: samples are few and random.
func TestSignaturesResolve(t *testing.T) {
	if testing.Short() || invariant.Race || rusage.Self().CPU() < 0 {
		t.Skip("records CPU profiles of seconds of CPU time")
	}
	tasks := map[int]workload.Closed{} // by index in recorded
	for i, c := range recorded {
		if c.frame != "" {
			tasks[i] = exercise(t, c.exercise, c.variant)
			defer func() {
				if err := tasks[i].Close(); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	found := map[int]bool{}
	var lines map[string]Explained
	var failed error
	for range 25 {
		if len(found) == len(tasks) {
			break
		}
		name := filepath.Join(t.TempDir(), "cpu")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			t.Fatal(err)
		}
		for i, task := range tasks {
			// Samples follow CPU time, however much of it there is.
			for before := rusage.Self(); task != nil && !found[i] && rusage.Self().Since(before).CPU() < 0.2; {
				task.Loop(0, 50)
			}
		}
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		lines, failed = resolve(t, name)
		for i, c := range recorded {
			kind := c.kind
			if c.check != "" { // a goroutine and its closure share a line
				kind = ""
			}
			if tasks[i] != nil && failed == nil && recognized(lines, c.line, kind, c.check) {
				found[i] = true
			}
		}
	}
	for i, c := range recorded {
		if tasks[i] != nil && !found[i] {
			t.Errorf("exercise %d (%s) is not recognized at %q: %v, %s", c.exercise, c.frame, c.line, failed, listed(lines))
		}
	}
}

func listed(lines map[string]Explained) string {
	var b strings.Builder
	for name, l := range lines {
		fmt.Fprintf(&b, "\n%s: check %q, %s: %s", name, l.Check, l.Verdict, l.Remedy)
	}
	return b.String()
}

// TestWithin checks how often the interval of a number contains the true one: with 29
// samples, in 92 to 93 %.
func TestWithin(t *testing.T) {
	const rate, all, trials = 1000, 300, 2000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int64{100, 500, 2000} {
		p, held := 1-math.Exp(-float64(size)/rate), 0
		for range trials {
			seen := 0
			for range all {
				if rng.Float64() < p {
					seen++
				}
			}
			n := Totals{Objects: int64(math.Round(float64(seen) / p))}
			n.sampled(size, rate)
			if math.Abs(float64(n.Objects)-all) <= n.within()*float64(n.Objects)+0.5 {
				held++
			}
		}
		if held < trials*92/100 || held > trials*98/100 {
			t.Errorf("objects of %d: %d of %d intervals have the number", size, held, trials)
		}
	}
	exact := Totals{Objects: 5}
	if exact.sampled(100, 1); exact.within() > 1e-9 {
		t.Errorf("a profile of all objects is off by %v", exact.within())
	}
}

// TestNumbersAreSampled: the report says how accurate a number is, and what the profile may have missed.
func TestNumbersAreSampled(t *testing.T) {
	var made site
	for size, n := range map[int64]int64{256: 40, 2048: 10} {
		one := Totals{Objects: n, Bytes: n * size}
		one.sampled(size, 1024)
		made.charge(one, size)
	}
	e := Explained{Objects: made.Objects, totals: made.Totals, Unsampled: made.unsampled()}
	e.average()
	want := "50 objects (±47 %) in the profile, 614 bytes on average, and perhaps smaller ones without a sample, together " +
		"3.00 KiB or less"
	if got := e.Made(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if made.rate = 10; made.unsampled() != 0 {
		t.Error("of 256 bytes a profile that samples each ten bytes has all")
	}
}

// TestUnsampled: objects without a sample are few bytes, of which the profile says nothing else.
func TestUnsampled(t *testing.T) {
	const large = 1 << 20
	for name, tt := range map[string]struct {
		sizes map[int64]int64
		rate  int64
		want  int64
	}{
		"beside one size":   {map[int64]int64{large: 40}, 16 << 10, 48 << 10},
		"beside two sizes":  {map[int64]int64{large: 40, 2 * large: 3}, 16 << 10, 48 << 10},
		"all are sampled":   {map[int64]int64{large: 40}, 1, 0},
		"none are smaller":  {map[int64]int64{16: 40}, 16 << 10, 0},
		"too few to matter": {map[int64]int64{64: 400000}, 16 << 10, 0},
	} {
		var made site
		for size, n := range tt.sizes {
			one := Totals{Objects: n, Bytes: n * size}
			one.sampled(size, tt.rate)
			made.charge(one, size)
		}
		if got := made.unsampled(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	rng, lost := rand.New(rand.NewPCG(1, 2)), 0
	const rate, size, trials = 1024, 32, 2000
	for range trials { // as many bytes as may have no sample have none in one of twenty profiles
		seen := false
		for range 3 * rate / size {
			seen = seen || rng.Float64() < 1-math.Exp(-size/float64(rate))
		}
		if !seen {
			lost++
		}
	}
	if lost < trials*3/100 || lost > trials*7/100 {
		t.Errorf("%d of %d profiles have no sample", lost, trials)
	}
}

// TestHandedToGoroutines: the sampled call waits, while goroutines may go on with what it gave them, or never ran.
func TestHandedToGoroutines(t *testing.T) {
	for kind, want := range map[life.HolderKind]lifeKind{life.Goroutine: unproved, life.Chan: unproved, life.Field: died} {
		k := &subject{e: &Explained{}, c: &cause{}, life: lifetime{kind: kept, holder: life.Holder{Kind: kind}}}
		if k.known(lifetime{kind: died}, 4, true); k.life.kind != want || (k.e.Measured == 0) != (want == unproved) {
			t.Errorf("what %v keeps: %+v, %d measured", kind, k.life, k.e.Measured)
		}
	}
}

// TestKeptOnOtherWays: what few calls did not show, but the code has, is said beside what they did.
func TestKeptOnOtherWays(t *testing.T) {
	for _, tt := range []struct {
		seen lifetime
		want string
	}{
		{lifetime{kind: died, in: "m.f"}, "dies with the call of m.f, unless field list.last keeps it"},
		{lifetime{kind: died, in: "m.g"}, "dies with the call of m.g"}, // perhaps together with the list
		{lifetime{kind: escaped, in: "m.f"}, "returned by m.f"},
		{lifetime{kind: died, in: "m.f", mixed: true}, "dies with the call of m.f"}, // the other part says it
	} {
		of := life.Holder{Kind: life.Field, Name: "list.last"}
		k := &subject{e: &Explained{}, c: &cause{}, s: &life.Site{}, life: lifetime{kind: kept, in: "m.f", holder: of}}
		if k.known(tt.seen, 1, true); k.life.String() != tt.want {
			t.Errorf("%q, want %q", k.life, tt.want)
		}
	}
}

// TestSharedBlocks: objects of less than 16 bytes without pointers share blocks, and the profile counts blocks.
func TestSharedBlocks(t *testing.T) {
	for _, tt := range []struct {
		object, bytes int64
		want          string
	}{
		{4, 160, "at least 10 objects of 4 bytes: the profile has so many blocks of 16 bytes, which they share"},
		{8, 80, "10 objects in the profile, 8 bytes on average"}, // with pointers
		{16, 160, "10 objects in the profile, 16 bytes on average"},
		{0, 160, "at least 10 objects in the profile, 16 bytes on average: it counts blocks of 16, which smaller ones share"},
		{0, 320, "10 objects in the profile, 32 bytes on average"}, // unknown, and too large on average
	} {
		e := Explained{object: tt.object, Objects: 10, totals: Totals{Bytes: tt.bytes, Objects: 10}}
		e.average()
		if got := e.Made(); got != tt.want {
			t.Errorf("objects of %d: %q, want %q", tt.object, got, tt.want)
		}
	}
}

// What begins with its kind says it once.
func TestSitesAreNamedOnce(t *testing.T) {
	for want, e := range map[string]Explained{
		"make([]int, n)":         {Kind: "make", What: "make([]int, n)"},
		"defer f.Close()":        {Kind: "defer record", What: "defer f.Close()"},
		"call f(x)":              {Kind: "call", What: "f(x)"},
		"unknown":                {Kind: "unknown"},
		"composite literal T{…}": {Kind: "composite literal", What: "T{…}"},
	} {
		if got := e.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
