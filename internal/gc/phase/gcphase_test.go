package phase

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree is a structure to mark.
type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return nil
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

// TestKnownCause runs operations of which every fifth collects, with no other collections:
// only those must be attributed to a collection.
func TestKnownCause(t *testing.T) {
	live := grow(16)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err) // another trace is running
	}
	began := Anchor()
	type timed struct {
		start, end time.Duration
		collects   bool
	}
	var all []timed
	for i := range 50 {
		op := timed{start: time.Since(began), collects: i%5 == 0}
		if op.collects {
			runtime.GC()
		}
		for time.Since(began)-op.start < 200*time.Microsecond {
		}
		op.end = time.Since(began)
		all = append(all, op)
		time.Sleep(100 * time.Microsecond) // between operations
	}
	trace.Stop()
	runtime.KeepAlive(live)
	line, err := Read(&b)
	if err != nil || line.Cut != nil {
		t.Fatal(err, line.Cut)
	}
	if line.Anchor == 0 {
		t.Fatal("no anchor in the trace")
	}
	var with, without []Op
	for _, op := range all {
		o := Op{line.At(op.start), line.At(op.end)}
		if op.collects {
			with = append(with, o)
		} else {
			without = append(without, o)
		}
	}
	hit, missed := line.Attribute(with, 1), line.Attribute(without, 1)
	if hit.Ops != 10 || missed.Ops != 40 {
		t.Fatalf("%d and %d operations within the trace, want 10 and 40", hit.Ops, missed.Ops)
	}
	// Every collection stops the world, the most severe phase.
	if hit.Rows[0].Phase != Stop.String() || hit.Rows[0].Ops != 10 {
		t.Errorf("operations that collect: %+v", hit.Rows)
	}
	for _, row := range missed.Rows {
		if row.Phase != None.String() && row.Ops > 0 {
			t.Errorf("operations between collections: %d in %s", row.Ops, row.Phase)
		}
	}
	var total, marking int64
	for _, row := range hit.Rows {
		total += row.TimeNs
		if strings.HasPrefix(row.Phase, "mark") {
			marking += row.TimeNs
		}
	}
	if total != hit.WindowNs || marking == 0 {
		t.Errorf("phases of %d ns in %d ns, marking %d ns", total, hit.WindowNs, marking)
	}
}

// TestAssist lets goroutines allocate far beyond the goal.
func TestAssist(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	live := grow(18)
	cycles, before := collected()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	ctx, task := trace.NewTask(context.Background(), "order")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		trace.WithRegion(ctx, "allocate", func() {
			for range 100 {
				sink = grow(8)
			}
		})
		if n, assist := collected(); n > cycles+3 && assist > before+0.001 {
			break
		} else if n <= cycles+1 { // CPU times appear at the end of a cycle
			before = assist
		}
	}
	task.End()
	trace.Stop()
	runtime.KeepAlive(live)
	line, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(line.Ops["task order"]); n != 1 {
		t.Errorf("%d tasks", n)
	}
	if n := len(line.Ops["region allocate"]); n == 0 {
		t.Error("no region")
	}
	if len(line.Ops[Waits]) == 0 {
		t.Error("no goroutine ever waited for a CPU")
	}
	a := line.Attribute(line.Ops["region allocate"], 1)
	i := slices.IndexFunc(a.Rows, func(r Row) bool { return r.Phase == Assist.String() })
	if a.Rows[i].TimeNs == 0 {
		t.Errorf("no assist: %+v", a.Rows)
	}
}

// TestReference compares During with a brute-force search, and chance with its
// known value.
func TestReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	line := &Timeline{Start: 0, End: 10_000}
	line.begin(0, None)
	phaseAt := make([]Phase, line.End)
	now := None
	for at := range line.End {
		if random.IntN(50) == 0 {
			now = Phase(random.IntN(int(phases)))
			line.begin(at, now)
		}
		phaseAt[at] = now
	}
	for range 1000 {
		start := random.Int64N(line.End - 200)
		end := start + 1 + random.Int64N(199)
		if got, want := line.During(start, end), slices.Max(phaseAt[start:end]); got != want {
			t.Fatalf("%d to %d: %v, want %v", start, end, got, want)
		}
	}
	// An operation as long as the timeline overlaps all of it wherever it begins;
	// chance for moments is the share of time.
	whole := line.Attribute([]Op{{0, line.End}}, 3)
	if whole.Rows[0].Ops != 1 || whole.Rows[0].Chance != 1 {
		t.Errorf("an operation as long as the timeline: %+v", whole.Rows)
	}
	var moments []Op
	for i := range line.End - 1 {
		moments = append(moments, Op{i, i})
	}
	for _, r := range line.Attribute(moments, 3).Rows {
		if share := float64(r.TimeNs) / float64(line.End); math.Abs(r.Chance/float64(len(moments))-share) > 0.01 {
			t.Errorf("%s: chance %v, share of time %v", r.Phase, r.Chance/float64(len(moments)), share)
		}
	}
	line.Start, line.End = 1000, 9000 // as with an anchor
	var sum int64
	for _, r := range line.Attribute(nil, 3).Rows {
		sum += r.TimeNs
	}
	if sum != 8000 {
		t.Errorf("phases of %d ns in 8000", sum)
	}
	line.Start, line.End = 0, 10_000
	if out := line.Attribute([]Op{{-5, 10}, {9000, 10_001}, {5, 4}}, 3); out.Ops != 0 {
		t.Errorf("%d operations counted outside the timeline", out.Ops)
	}
}

func TestStopped(t *testing.T) {
	line := &Timeline{End: 100, at: []int64{0, 10, 20, 50, 90}, phase: []Phase{None, Stop, Mark, OtherStop, Stop}}
	for _, c := range []struct {
		op   Op
		want int64
	}{{Op{0, 100}, 20}, {Op{5, 15}, 5}, {Op{12, 14}, 2}, {Op{20, 90}, 0}, {Op{15, 95}, 10}} {
		if ns := line.Stopped(c.op); ns != c.want {
			t.Errorf("%v: stopped for %d ns, want %d", c.op, ns, c.want)
		}
	}
}

func TestSlowest(t *testing.T) {
	s := NewSlowest(100)
	var all []int64
	random := rand.New(rand.NewPCG(3, 4))
	for i := range int64(5000) {
		d := random.Int64N(1_000_000)
		all = append(all, d)
		s.Add(Op{i, i + d})
	}
	slices.Sort(all)
	if n := len(s.Above(all[len(all)-51])); n != 50 {
		t.Errorf("%d operations longer than the 51st longest, want 50", n)
	}
	if n := len(s.Above(-1)); n != 100 {
		t.Errorf("%d operations kept, want 100", n)
	}
}

func TestBadTraces(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	runtime.GC()
	trace.Stop()
	for _, in := range []string{"", "hello", strings.Repeat("x", 1<<16), "go 1.26 trace\x00\x00\x00"} {
		if line, err := Read(strings.NewReader(in)); err == nil && line.Cut == nil && line.End > line.Start {
			t.Errorf("%.20q: read without error", in)
		}
	}
	for _, n := range []int{20, b.Len() / 2, b.Len() - 5} {
		if line, err := Read(bytes.NewReader(b.Bytes()[:n])); err == nil && line.Cut == nil && line.End > line.Start && n < b.Len()/2 {
			t.Errorf("the first %d of %d bytes: read without error", n, b.Len())
		}
	}
}

var sink *tree

// collected returns the number of collections and the seconds of CPU time that
// goroutines spent assisting.
func collected() (cycles uint64, assist float64) {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Float64()
}
