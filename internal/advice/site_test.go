package advice

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/go/packages"
)

// stackOf adds a sample of a line of m.go: below are the functions called from it, leaf
// first. F is the function of the line; line 40 calls line 30.
func stackOf(p *profile.Profile, line, bytes int64, values []int64, below ...string) {
	s := &profile.Sample{Value: values}
	if bytes > 0 {
		s.NumLabel = map[string][]int64{"bytes": {bytes}}
	}
	push := func(name, file string, line int64) {
		fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: file}
		loc := &profile.Location{ID: fn.ID, Line: []profile.Line{{Function: fn, Line: line}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		s.Location = append(s.Location, loc)
	}
	for _, name := range below {
		push(name, "/go/src/"+name, 1)
	}
	push("example.org/m.F", "example.org/m/m.go", line)
	if line == 30 {
		push("example.org/m.G", "example.org/m/m.go", 40)
	}
	p.Sample = append(p.Sample, s)
}

func save(t *testing.T, p *profile.Profile) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "profile")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFindingsHaveWhatTheyName: the share of a finding is what its fix saves, not
// everything on its lines.
func TestFindingsHaveWhatTheyName(t *testing.T) {
	allocs := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}}
	stackOf(allocs, 14, 16, []int64{100, 1600}) // a slice begins,
	stackOf(allocs, 14, 32, []int64{60, 1920})  // and grows
	stackOf(allocs, 14, 64, []int64{40, 2560})  // twice
	stackOf(allocs, 15, 8, []int64{300, 2400}, "strconv.Itoa", "fmt.Sprintf")
	stackOf(allocs, 15, 8, []int64{100, 800}, "fmt.Sprintf", "other.Call")
	stackOf(allocs, 12, 8, []int64{400, 3200}, "slices.pdqsort", "slices.Sort[...]")
	stackOf(allocs, 22, 64, []int64{500, 32000}, "bytes.growSlice", "bytes.(*Buffer).grow", "bytes.(*Buffer).Write", "fmt.Fprintf")
	stackOf(allocs, 22, 16, []int64{200, 3200}, "fmt.Fprintf")
	stackOf(allocs, 22, 8, []int64{50, 400})     // an argument is boxed
	stackOf(allocs, 30, 64, []int64{300, 19200}) // made by a function of the package
	stackOf(allocs, 60, 16, []int64{10, 160})    // no finding names it
	stackOf(allocs, 50, 48, []int64{10, 480})
	stackOf(allocs, 50, 16, []int64{90, 1440}) // a function literal in the same line
	allocs.Function[len(allocs.Function)-1].Name = "example.org/m.F.func1"
	cpu := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	stackOf(cpu, 15, 0, []int64{100}, "fmt.Sprintf")
	stackOf(cpu, 14, 0, []int64{200}, "runtime.mallocgc", "runtime.growslice")
	stackOf(cpu, 14, 0, []int64{300}) // it computes
	stackOf(cpu, 12, 0, []int64{400}, "slices.pdqsort", "slices.Sort[...]")
	at := func(line int, callee string) span { return span{File: "/m/m.go", From: line, To: line, Callee: callee} }
	findings := []Finding{
		{Check: "line", Spans: []span{at(14, "")}},
		{Check: "grows", Grows: true, Spans: []span{at(12, ""), at(14, "")}},
		{Check: "call", Spans: []span{at(15, "Sprintf")}},
		{Check: "other call", Spans: []span{at(15, "Itoa")}},
		{Check: "buffer", Spans: []span{at(20, "bytes.Buffer"), at(22, "bytes.Buffer")}},
		{Check: "of the package", Spans: []span{at(40, "F")}},
		{Check: "a line of that", Spans: []span{{File: "/m/m.go", From: 40, To: 40, Callee: "F", Beyond: true}, {File: "/m/m.go", From: 30, To: 30, Inner: true}}},
		{Check: "another line of that", Spans: []span{{File: "/m/m.go", From: 40, To: 40, Callee: "F", Beyond: true}, {File: "/m/m.go", From: 31, To: 33, Inner: true}}},
		{Check: "sort", Spans: []span{at(12, "Sort"), at(12, "Sort")}},
		{Check: "beyond", Spans: []span{{File: "/m/m.go", From: 22, To: 22, Callee: "Fprintf", Beyond: true}}},
		{Check: "and its arguments", Spans: []span{at(22, "Fprintf")}},
		{Check: "neither", Spans: []span{at(12, "")}},
		{Check: "around a literal", Spans: []span{{File: "/m/m.go", From: 49, To: 51}}},
		{Check: "in a literal", Spans: []span{{File: "/m/m.go", From: 50, To: 50, Literals: 1}}},
	}
	want := []Totals{
		{Objects: 200, Bytes: 6080, CPU: 200},
		{Objects: 100, Bytes: 60*16 + 40*32, CPU: 100},
		{Objects: 300, Bytes: 2400, CPU: 100},
		{},
		{Objects: 550, Bytes: 32400},
		{Objects: 300, Bytes: 19200},
		{Objects: 300, Bytes: 19200},
		{},
		{Objects: 400, Bytes: 3200, CPU: 400},
		{Objects: 700, Bytes: 35200},
		{Objects: 750, Bytes: 35600},
		{},
		{Objects: 10, Bytes: 480},
		{Objects: 100, Bytes: 1920},
	}
	units := []*unit{{Package: &packages.Package{PkgPath: "example.org/m"}, outcome: outcome{Files: []file{{Name: "/m/m.go", Lines: 99}}}}}
	e, err := join(t.Context(), Config{Profiles: []string{save(t, allocs), save(t, cpu)}}, units, "/m", findings)
	if err != nil {
		t.Fatal(err)
	}
	if total := (Totals{Objects: 2160, Bytes: 69360, CPU: 1000}); e.Total != total {
		t.Fatalf("in all %+v, want %+v", e.Total, total)
	}
	for i, f := range findings {
		if share := want[i].of(e.Total); *f.Share != share {
			t.Errorf("%s: %+v, want %+v", f.Check, *f.Share, share)
		}
	}
}

// TestCollection: the collector's CPU time is separate, in assists, too.
func TestCollection(t *testing.T) {
	allocs := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}}
	stackOf(allocs, 14, 16, []int64{75, 7500})
	stackOf(allocs, 15, 16, []int64{25, 2500})
	cpu := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	stackOf(cpu, 16, 0, []int64{600})
	stackOf(cpu, 15, 0, []int64{50}, "runtime.scanobject", "runtime.gcAssistAlloc1", "runtime.mallocgc")
	stackOf(cpu, 14, 0, []int64{250}, "runtime.memclrNoHeapPointers", "runtime.mallocgc")
	background := &profile.Function{ID: 90, Name: "runtime.gcBgMarkWorker"}
	loc := &profile.Location{ID: 90, Line: []profile.Line{{Function: background}}}
	cpu.Function, cpu.Location = append(cpu.Function, background), append(cpu.Location, loc)
	cpu.Sample = append(cpu.Sample, &profile.Sample{Value: []int64{100}, Location: []*profile.Location{loc}})
	units := []*unit{{Package: &packages.Package{PkgPath: "example.org/m"}, outcome: outcome{Files: []file{{Name: "/m/m.go", Lines: 99}}}}}
	findings := []Finding{{Spans: []span{{File: "/m/m.go", From: 14, To: 14}}}, {Spans: []span{{File: "/m/m.go", From: 15, To: 15}}}}
	e, err := join(t.Context(), Config{Profiles: []string{save(t, allocs), save(t, cpu)}}, units, "/m", findings)
	if err != nil {
		t.Fatal(err)
	}
	if e.Total.GC != 150 || e.Total.CPU != 1000 {
		t.Errorf("collection takes %d of %d, want 150 of 1000", e.Total.GC, e.Total.CPU)
	}
}
