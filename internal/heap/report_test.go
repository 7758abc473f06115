package heap

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/heap/graph"
)

// sample returns a report with a map of sessions of the given size in bytes.
func sample(sessions uint64) *Report {
	leaf := &Node{Label: "[]", Type: "main.Session", Retained: sessions - 1000, Below: 99, Reached: sessions - 1000,
		Bytes: sessions - 1000, Objects: 99}
	table := &Node{Label: ".sessions", Type: "map[int]*main.Session", Retained: sessions, Below: 100, Bytes: 1000,
		Reached: sessions, Objects: 1, Children: []*Node{leaf}}
	root := &Node{Label: "main.server", Retained: sessions, Reached: sessions, Below: 100, Children: []*Node{table}}
	other := &Node{Label: "main.other", Type: "[]uint8", Retained: 5000, Reached: 5000, Below: 1, Bytes: 5000, Objects: 1}
	return &Report{
		Format: format, Target: "process 1", Program: "/bin/x", Go: "go1.26.8", Time: time.Unix(1e9, 0).UTC(),
		Totals: graph.Totals{Live: sessions + 5000, Objects: 101, ScanBytes: 2000, Pointers: 100},
		Tree:   &Node{Retained: sessions + 5000, Children: []*Node{root, other}},
		Types:  []Type{{Name: "main.Session", Bytes: sessions, Objects: 99}},
	}
}

func TestHoldersStandWhereThePathSpreads(t *testing.T) {
	all := sample(1 << 20).Holders(0.001)
	if len(all) != 2 || all[0].Path != "main.server.sessions" || all[0].Type != "map[int]*main.Session" ||
		all[0].Retained != 1<<20 || all[1].Path != "main.other" {
		t.Fatalf("holders are %+v", all)
	}
	if all := sample(1 << 20).Holders(0.5); len(all) != 1 {
		t.Errorf("%d holders with half of the heap, want 1", len(all))
	}
	if !strings.Contains(all[0].Mostly, "[] main.Session") || all[0].Remedy == "" {
		t.Errorf("the line is %+v", all[0])
	}
}

// TestHoldersOfACache has a map and a list of the same elements, like an LRU cache: neither alone
// holds them. The row must be that of the elements, not one of the map's own bytes.
func TestHoldersOfACache(t *testing.T) {
	const mb = 1 << 20
	node := func(label, typ string, retained, objects uint64, children ...*Node) *Node {
		return &Node{Label: label, Type: typ, Retained: retained, Objects: objects, Below: objects, Children: children}
	}
	element := func() *Node {
		return node("[]", "list.Element", 60*mb, 100_000,
			node(".Value", "main.Item", 55*mb, 100_000,
				node(".meta", "map[string]any", 30*mb, 200_000), node(".Val", "[]uint8", 20*mb, 100_000)))
	}
	table := func(children ...*Node) *Node {
		return node(".m", "map[string]*list.Element", 4*mb, 260, children...)
	}
	shared := element() // its elements are held elsewhere, but not their values
	shared.Retained = 5 * mb
	for name, tc := range map[string]struct {
		root *Node
		want string
	}{
		"one global":  {node("main.cache", "", 64*mb, 0, table(element())), "main.cache.m[] 60"},
		"two globals": {node("main.byKey", "", 4*mb, 0, table(element())), "main.byKey.m[] 60"},
		"values":      {node("main.cache", "", 64*mb, 0, table(shared)), "main.cache.m[].Value 55"},
		"map alone":   {node("main.m", "", 64*mb, 0, node("", "map[string]*main.Item", 64*mb, 260, element())), "main.m 64"},
		"tree": {node("main.tree", "", 60*mb, 0, node(".root", "btree.node", 59*mb, 3000,
			node(".children", "[]*btree.node", 58*mb, 300), node(".items", "[]*main.Item", 50*mb, 3000))),
			"main.tree.root 59"},
		"only the map": {node("main.cache", "", 4*mb, 0, table()), "main.cache.m 4"},
	} {
		r := &Report{Totals: graph.Totals{Live: 100 * mb}, Tree: node("", "", 100*mb, 0, tc.root)}
		var got []string
		for _, h := range r.Holders(0.01) {
			got = append(got, fmt.Sprint(h.Path, " ", h.Retained/mb))
		}
		if strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), tc.want)
		}
	}
}

// TestGoroutinesAreToEnd: stacks of goroutines that wait get a remedy. Main's, and those that work, do not.
func TestGoroutinesAreToEnd(t *testing.T) {
	const end = "end the goroutines that do no work"
	for _, tc := range []struct {
		start         string
		waits, works  uint64
		remedy, label string
	}{
		{"main.leak.func1", 900, 0, end, " in main.f"},
		{"main.leak.func1", 900, 100, end, " in main.f"},
		{"main.leak.func1", 100, 900, "", " in main.f"},
		{"main.leak.func1", 900, 0, "", ".x"},
		{"runtime.main", 900, 0, "", " in main.f"},
	} {
		frame := &Node{Label: tc.label, Type: "unknown", Retained: 1000, Objects: 9}
		root := &Node{Label: "goroutine " + tc.start, Retained: 1000, Children: []*Node{frame}}
		r := &Report{Totals: graph.Totals{Live: 1000}, Tree: &Node{Retained: 1000, Children: []*Node{root}},
			Goroutines: []Goroutines{{Start: tc.start, Wait: "select", Retained: tc.waits}, {Start: tc.start, Retained: tc.works},
				{Start: "main.other", Retained: 5000}}}
		all := r.Holders(0.01)
		if len(all) != 1 || !strings.HasPrefix(all[0].Remedy, tc.remedy) || tc.remedy == "" && all[0].Remedy != "" {
			t.Errorf("%+v: %+v", tc, all)
		}
	}
}

// TestManySmallHolders: what no row lists is summed up, and JSON has a list of rows even if it is empty.
func TestManySmallHolders(t *testing.T) {
	r := &Report{Totals: graph.Totals{Live: 100_000}, Tree: &Node{Retained: 100_000}}
	for i := range 200 {
		r.Tree.Children = append(r.Tree.Children, &Node{Label: fmt.Sprint("global at ", i), Retained: 400, Objects: 1})
	}
	var b strings.Builder
	if err := r.Write(&b, View{Lines: 5, Share: 0.01}); err != nil || !strings.Contains(b.String(), " 80 % ") ||
		!strings.Contains(b.String(), "what holds less than 1 % each: --share") {
		t.Errorf("%v\n%s", err, &b)
	}
	if got, err := json.Marshal(r.Document(0.01)); err != nil || !bytes.Contains(got, []byte(`"holders":[]`)) {
		t.Errorf("%v\n%s", err, got)
	}
	b.Reset()
	if err := r.Write(&b, View{Lines: 5, Share: 0.001}); err != nil || strings.Contains(b.String(), "less than") {
		t.Errorf("all are listed: %v\n%s", err, &b)
	}
}

// TestRemedyOfAMapInAStruct: the tables of a map are not objects that could be values in one slice.
func TestRemedyOfAMapInAStruct(t *testing.T) {
	elem := &Node{Label: "[]", Type: "main.Item", Retained: 900, Objects: 90_000}
	table := &Node{Label: ".m", Type: "map[int]*main.Item", Retained: 950, Objects: 1026, Children: []*Node{elem}}
	a := new(Report).remedy([]*Node{{Label: "main.store", Type: "main.store", Retained: 1000}}, []*Node{table, elem}, 0, 0)
	if !strings.HasPrefix(a.do, "bound it") || a.saves != "90000 objects to mark" {
		t.Errorf("the remedy is %+v", a)
	}
}

// TestRemedyOfAPool: a buffer with room in a pool is not to be copied. A field that is only named like one is no pool.
func TestRemedyOfAPool(t *testing.T) {
	for typ, want := range map[string]string{"unknown": "do not put back", "main.local": "keep a copy"} {
		path := []*Node{{Label: "main.buffers"}, {Label: ".local", Type: typ}, {Label: " → ", Type: "main.buffer"},
			{Label: ".b", Type: "[]uint8", Retained: 4 << 20, Unused: 4 << 20}}
		if a := new(Report).remedy(path, nil, 4<<20, 0); !strings.HasPrefix(a.do, want) {
			t.Errorf("%s: the remedy is %+v, want %q", typ, a, want)
		}
	}
}

func TestGoroutinesStandInTheProgram(t *testing.T) {
	for want, frames := range map[string][]string{
		"main.put":       {"gcWriteBarrier", "runtime.wbMove", "internal/runtime/maps.(*Map).Put", "main.put", "main.main"},
		"runtime.gopark": {"runtime.gopark", "goexit"},
		"unknown":        nil,
	} {
		if got := standsIn(frames); got != want {
			t.Errorf("%q: stands in %s, want %s", frames, got, want)
		}
	}
}

// TestLongPathsEnd: the end of a path names what holds the memory.
func TestLongPathsEnd(t *testing.T) {
	got := clean("main.server" + strings.Repeat(".é", 400) + ".entries")
	if utf8.RuneCountInString(got) != 300 || !strings.HasPrefix(got, "main.server.") || !strings.HasSuffix(got, ".entries") {
		t.Errorf("the path is %q", got)
	}
}

func TestSpared(t *testing.T) {
	second := time.Second
	for _, tc := range []struct {
		c          Collector
		live, mark float64
		want       float64
	}{
		{Collector{second, 10 * second, 100}, 0.5, 0.5, 0.1 * 2 / 3},   // half to mark, 1.5 times the headroom
		{Collector{second, 10 * second, 100}, 0, 0.5, 0.05},            // as often, half to mark
		{Collector{second, 10 * second, 100}, 0.5, 0, 0.1 / 3},         // as much to mark
		{Collector{second, 10 * second, 400}, 0.5, 0, 0.1 * 0.5 / 4.5}, // little headroom gained
		{Collector{second, 10 * second, -1}, 0.5, 0.5, 0},
		{Collector{}, 0.5, 0.5, 0},
	} {
		if got := tc.c.spared(tc.live, tc.mark); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v: without %v and %v of marking %v are spared, want %v", tc.c, tc.live, tc.mark, got, tc.want)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.heap")
	r := sample(1 << 20)
	if err := r.Save(name); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if err := r.Save(name); err == nil {
		t.Error("a file that is there was written over")
	}
	got, err := Load(name)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("loaded %+v, %v", got, err)
	}
}

func TestVerdicts(t *testing.T) {
	const mb = 1 << 20
	for _, tc := range []struct {
		sizes []uint64
		want  Verdict
	}{
		{[]uint64{mb, mb + 10}, Stays},
		{[]uint64{mb, 2 * mb}, Grew},
		{[]uint64{2 * mb, mb}, Shrank},
		{[]uint64{mb, 2 * mb, 3 * mb, 4 * mb, 5 * mb, 6 * mb}, Leaks},
		{[]uint64{mb, 4 * mb, 6 * mb, 7 * mb, 7*mb + 1000, 7*mb + 1000}, Fills},
		{[]uint64{mb, 9 * mb, 2 * mb, 8 * mb, mb, 3 * mb}, Varies},
		{[]uint64{0, 0, 0, 0, 9 * mb}, Varies},
		{[]uint64{8 * mb, 8 * mb, 10 * mb, 10 * mb, 10 * mb, 13 * mb}, Leaks}, // append grows a list by a quarter
		{[]uint64{5 * mb, 4 * mb, 3 * mb}, Shrank},
		{[]uint64{mb, 5 * mb, mb}, Varies},
	} {
		if got := verdict(tc.sizes); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.sizes, got, tc.want)
		}
	}
}

func TestCompare(t *testing.T) {
	changes, err := Compare([]*Report{sample(1 << 20), sample(3 << 20), sample(5 << 20)}, 0.01)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v; want one change", changes, err)
	}
	if c := changes[0]; c.Path != "main.server.sessions" || c.Growth != 4<<20 || c.Verdict != Leaks {
		t.Errorf("the change is %+v", c)
	}
	// Two goroutines hold the store: which of them the path begins at depends on the moment.
	moved := []*Report{sample(1 << 20), sample(3 << 20), sample(5 << 20)}
	for i, start := range []string{"main.send", "main.receive", "main.send"} {
		root := moved[i].Tree.Children[0]
		root.Label, root.Children[0].Type = "goroutine "+start, "main.Store"
	}
	changes, err = Compare(moved, 0.01)
	if err != nil || len(changes) != 1 || changes[0].Verdict != Leaks || changes[0].Path != "goroutine main.send.sessions" {
		t.Errorf("%+v, %v; want one leak", changes, err)
	}
	if _, err := Compare([]*Report{sample(1)}, 0); err == nil {
		t.Error("one report was compared")
	}
}

func TestOrderOfReports(t *testing.T) {
	first, second := sample(1<<20), sample(3<<20)
	second.Time = first.Time.Add(time.Minute)
	for _, c := range []struct {
		reports []*Report
		want    string
	}{{[]*Report{first, second}, "1m0s later\n"}, {[]*Report{second, first}, "1m0s earlier: give the oldest report first\n"}} {
		var b strings.Builder
		if err := WriteChanges(&b, c.reports, nil, 1); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%v: %s; want %s", err, b.String(), c.want)
		}
	}
}

func TestProfileHasEveryByte(t *testing.T) {
	r := sample(1 << 20)
	var b bytes.Buffer
	if err := r.WriteProfile(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil || p.CheckValid() != nil {
		t.Fatal(err, p.CheckValid())
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	if sum != int64(r.Live) {
		t.Errorf("the samples have %d bytes of %d", sum, r.Live)
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range []string{"", "{}", `{"isobar_heap":1}`, `{"isobar_heap":1,"tree":{"children":[null]}}`,
		`{"isobar_heap":1,"tree":{"label":"a","children":[{"label":"b","retained_bytes":9}]},"live_bytes":9}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(text)
		z.Close()
		r, err := decode(&b)
		if err != nil {
			return
		}
		r.Holders(0.01)
		if err := r.Write(&bytes.Buffer{}, View{Lines: 5, Share: 0.01}); err != nil {
			t.Fatal(err)
		}
		if err := r.Page(&bytes.Buffer{}, View{Lines: 5, Share: 0.01}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := Compare([]*Report{r, r}, 0.01); err != nil {
			t.Fatal(err)
		}
	})
}
