package tune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// TestThrottledCycles: if a quota stopped a run, one collection shows it and the others keep
// their cost. If other processes had the CPUs, all are scaled. If both, all are scaled by the
// wait for others if that gives less, however long they make a collection take.
func TestThrottledCycles(t *testing.T) {
	rec := steady(20) // each 11 ms of CPU time, in 1 s of wall and 2 s of CPU time
	rec.Cycles[7].CPUNs += 90e6
	rec.Set(cell.GCCPUScale, 0.2)
	if got := mustPilot(t, rec).GCSeconds; !near(got, 0.2*0.31, 0.01) {
		t.Errorf("%.3f s of collection behind other processes", got)
	}
	rec.Set(cell.PodThrottled, 1.5)
	rec.Set(cell.PodThrottledShare, 1)
	if got := mustPilot(t, rec).GCSeconds; !near(got, 0.2*0.31, 0.01) {
		t.Errorf("%.3f s where each second collection may have been stopped", got)
	}
	rec.Set(cell.PodThrottledShare, 0.5)
	rec.Set(cell.PodThrottled, 1.5/2)                   // of each of the threads
	for _, others := range []float64{0, 0.5, 1, 2, 6} { // seconds spent waiting for them
		want := min(0.011*(19+stretched), 2/(2+others)*0.31)
		rec.Set(cell.GCCPUScale, 2/(2+1.5+others))
		for _, marking := range []int64{1e6, 3.9e6, 4.1e6, 10e6} {
			for i := range rec.Cycles {
				rec.Cycles[i].MarkNs = marking
			}
			if got := mustPilot(t, rec).GCSeconds; !near(got, want, 0.01) {
				t.Errorf("%.3f s of collection in a throttled pod behind %.1f s of others, marking for %d ns; want %.3f", got,
					others, marking, want)
			}
		}
	}
	rec.Set(cell.GCCPUScale, 0.9) // less waiting than the quota stopped: threads slept
	if got := mustPilot(t, rec).GCSeconds; !near(got, 0.011*(19+stretched), 0.01) {
		t.Errorf("%.3f s of collection where hardly a thread waited", got)
	}
	rec.Set(cell.TotalCPU, 0.1)
	if got := mustPilot(t, rec).GCSeconds; got > 0.1001 {
		t.Errorf("%.3f s of collection in 0.1 s of CPU time", got)
	}
}

// A podRun is a recorded run of a program of trees in a pod of half a CPU. Its runtime read the
// CPU clock of each marking thread: Collecting is the time of mark workers and assists. Beside
// two and four busy loops and three builds the usual runtime ran; there only the share of
// collection is known, from gctrace of the program alone.
type podRun struct {
	Program, Beside                         string
	GOGC                                    int
	CPU, Wall, Scale, Throttled, Collecting float64    // seconds, but Scale
	Periods                                 float64    // share of them that were throttled
	Alone                                   float64    // share of collection, if Collecting is unknown
	Cycles                                  [][2]int64 // µs according to gctrace, and MiB live
}

// TestRecordedPods checks the share of collection in runs for which it is known.
func TestRecordedPods(t *testing.T) {
	data, err := os.ReadFile("testdata/pods.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	off := map[string][]float64{}
	for line := range bytes.Lines(data) {
		var r podRun
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		var rec cell.Record
		for metric, v := range map[string]float64{cell.TotalCPU: r.CPU, cell.WallTime: r.Wall, cell.GCCPUScale: r.Scale,
			cell.PodThrottled: r.Throttled, cell.PodThrottledShare: r.Periods} {
			rec.Set(metric, v)
		}
		for _, c := range r.Cycles {
			rec.Cycles = append(rec.Cycles, cell.Cycle{CPUNs: c[0] * 1e3, LiveBytes: c[1] * mib, Procs: 2})
		}
		spent := 0.0
		for _, ns := range cycleCosts(&rec) {
			spent += ns / 1e9
		}
		by := spent/r.CPU - cmp.Or(r.Alone, r.Collecting/r.CPU)
		if r.Alone == 0 && math.Abs(by) > 0.2 {
			t.Errorf("%s beside %s, GOGC=%d: %.3f s of collection, and it took %.3f of %.3f s", r.Program, r.Beside, r.GOGC,
				spent, r.Collecting, r.CPU)
		}
		name := fmt.Sprintf("%s beside %s, GOGC=%d", r.Program, r.Beside, r.GOGC)
		off[name] = append(off[name], by)
	}
	for name, by := range off {
		if mid := stat.Median(by); math.Abs(mid) > 0.15 {
			t.Errorf("%s: the median share of %d runs is off by %.2f", name, len(by), mid)
		}
	}
}

// TestThrottledPod runs a program in a control group of half a CPU and in one of the whole
// machine. Throttled threads do not collect: the share of collection is about the same, gctrace's
// CPU time never exceeds the program's, and the waiting shows.
func TestThrottledPod(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("control groups are of Linux")
	}
	exe := filepath.Join(t.TempDir(), "trees")
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/programs/trees").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := runner.New(runner.Config{})
	grouped := false // a control group was available
	run := func(gc cell.GC, pod cell.Pod) Pilot {
		config := cell.Config{Workload: "exec", Command: []string{exe}, GC: gc, Pod: pod}
		rec, _, err := r.Run(t.Context(), cell.Cell{Config: config, Timeout: time.Minute})
		if err != nil || rec.Err != nil {
			if !grouped {
				t.Skipf("no control group here: %v, %v", err, rec.Err)
			}
			t.Fatal(err, rec.Err)
		}
		grouped = true
		p, err := NewPilot(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if p.GCSeconds > 1.01*p.CPU {
			t.Errorf("%s in %v: %.3f s of collection in %.3f s of CPU time", gc, pod, p.GCSeconds, p.CPU)
		}
		return p
	}
	// Take the median of five each: a run is an outlier if the quota stops one of its collections
	// for several periods. Where the medians are far apart, five more decide with them, twice at most.
	const runs, far = 5, 0.25
	half, whole := cell.Pod{CPUs: 0.5}, cell.Pod{CPUs: float64(runtime.NumCPU())} // others slow both alike
	var inside, outside []Pilot
	for _, percent := range []int{100, 50, 400} {
		for range runs {
			inside = append(inside, run(setting(percent, 0), half))
			outside = append(outside, run(setting(percent, 0), whole))
		}
	}
	apart := func(i int) float64 {
		return math.Abs(measuredOf(inside)[i].GCShare.Mid - measuredOf(outside)[i].GCShare.Mid)
	}
	for i, s := range measuredOf(inside) {
		for more := 0; more < 2*runs && (more%runs > 0 || apart(i) > far); more++ {
			inside = append(inside, run(s.GC, half))
			outside = append(outside, run(s.GC, whole))
		}
	}
	m, err := NewModel(inside)
	if err != nil {
		t.Fatal(err)
	}
	in, out := measuredOf(inside), measuredOf(outside)
	for i := range in {
		t.Logf("%s: GC share %.2f in the pod, %.2f outside; waited %.2f", in[i].GC, in[i].GCShare.Mid, out[i].GCShare.Mid,
			inside[runs*i].Waiting)
		if apart(i) > far {
			t.Errorf("%s: a GC share of %.2f in the pod, %.2f outside", in[i].GC, in[i].GCShare.Mid, out[i].GCShare.Mid)
		}
		p := m.Expect(in[i].GC)
		if c := in[i].CPU.Mid; c < p.CPU.Lo || c > p.CPU.Hi {
			t.Errorf("%s: CPU time %+v is printed beside %.3f s measured", in[i].GC, p.CPU, c)
		}
	}
	var waits []float64
	for _, p := range inside[:runs] {
		waits = append(waits, p.Waiting)
	}
	slices.Sort(waits)
	if waited := waits[runs/2]; waited < 0.2 {
		t.Errorf("half a CPU, and the program waited %.2f of its time", waited)
	}
	if why := m.contradicted(); why != "" {
		t.Log(why)
	}
}
