package workload

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/gc/trace"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

func TestProgramEnv(t *testing.T) {
	gc := cell.GC{Percent: 50, LimitBytes: 1 << 20}
	for _, tc := range []struct{ environ, want []string }{
		{[]string{"A=b", "GOGC=7", "GOMEMLIMIT=1GiB"}, []string{"A=b", "GOGC=50", "GOMEMLIMIT=1048576", "GODEBUG=gctrace=1"}},
		{[]string{"GODEBUG=madvdontneed=1", "A=b=c"}, []string{"A=b=c", "GOGC=50", "GOMEMLIMIT=1048576", "GODEBUG=madvdontneed=1,gctrace=1"}},
		{[]string{"GODEBUG="}, []string{"GOGC=50", "GOMEMLIMIT=1048576", "GODEBUG=gctrace=1"}},
	} {
		if got := programEnv(tc.environ, gc.Env()); !slices.Equal(got, tc.want) {
			t.Errorf("programEnv(%q) = %q, want %q", tc.environ, got, tc.want)
		}
	}
}

func TestExecNeedsACommand(t *testing.T) {
	w, err := Lookup("exec")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.New(Env{}); err == nil || !strings.Contains(err.Error(), "after --") {
		t.Errorf("without a command: %v", err)
	}
}

func TestSetTrace(t *testing.T) {
	cycle := trace.Cycle{
		N: 1, AtNs: 1e9, SweepNs: 1e6, MarkNs: 10e6, TerminationNs: 2e6,
		CPUNs: 2e6 + 3e6 + 4e6 + 6e6, AssistNs: 3e6, DedicatedNs: 4e6, IdleNs: 5e6,
		StartBytes: 4 << 20, EndBytes: 5 << 20, LiveBytes: 1 << 20, GoalBytes: 6 << 20, Procs: 2,
	}
	second := cycle
	second.N, second.AtNs, second.Forced, second.LiveBytes, second.TerminationNs = 2, 2e9, true, 2<<20, 4e6
	rec := cell.Record{}
	rec.Set(cell.TotalCPU, 0.4)
	setTrace(&rec, trace.Trace{Cycles: []trace.Cycle{cycle, second}, Streams: 1}, watched{})
	for name, want := range map[string]float64{
		cell.GCCycles: 2, cell.GCForced: 1, cell.GCPauseTotal: 0.008, cell.GCPauseLast: 0.005, cell.GCPauseMax: 0.004,
		cell.GCCPUAssist: 0.006, cell.GCCPUDedicated: 0.008, cell.GCCPUIdle: 0.010, cell.GCCPUPause: 0.016, cell.GCCPUTotal: 0.040, cell.GCCPUShare: 0.1,
		cell.HeapMax: 5 << 20, cell.HeapLive: 2 << 20, cell.GoalMax: 6 << 20, cell.GCRelayed: 0,
	} {
		if got := rec.Metrics[name]; got < want*(1-1e-9) || got > want*(1+1e-9) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	want := cell.Cycle{N: 2, AtNs: 2e9, MarkNs: 10e6, SweepNs: 1e6, TerminationNs: 4e6, CPUNs: 15e6, AssistNs: 3e6, DedicatedNs: 4e6, IdleNs: 5e6, StartBytes: 4 << 20, EndBytes: 5 << 20, LiveBytes: 2 << 20, GoalBytes: 6 << 20, Procs: 2, Forced: true}
	if len(rec.Cycles) != 2 || rec.Cycles[1] != want {
		t.Errorf("cycles %+v, want two, the second %+v", rec.Cycles, want)
	}
	if len(rec.Warnings) > 0 || len(rec.Pauses) != 4 || !slices.Equal(rec.Timeline.HeapBytes, []int64{4 << 20, 5 << 20, 1 << 20, 4 << 20, 5 << 20, 2 << 20}) {
		t.Errorf("warnings %v, %d pauses, heap %v", rec.Warnings, len(rec.Pauses), rec.Timeline.HeapBytes)
	}
}

func TestSetTraceDoubts(t *testing.T) {
	var cycles []trace.Cycle
	for n := range 20_000 {
		cycles = append(cycles, trace.Cycle{N: uint64(n + 1), AtNs: int64(n) * 1e9, GoalBytes: 1 << 62})
	}
	rec := cell.Record{}
	setTrace(&rec, trace.Trace{Cycles: cycles, Streams: 2, Gaps: 3, Relayed: 4}, watched{})
	var codes []string
	for _, w := range rec.Warnings {
		codes = append(codes, w.Code)
	}
	if want := []string{"gctrace-relayed", "gctrace-gaps", "gctrace-streams", "cycles-cut"}; !slices.Equal(codes, want) {
		t.Errorf("warnings %q, want %q", codes, want)
	}
	if _, ok := rec.Metrics[cell.GoalMax]; ok || rec.Timeline.GoalBytes != nil {
		t.Error("a goal, though collection was off")
	}
	if len(rec.Cycles) != maxCycles || rec.Cycles[0].GoalBytes != 0 {
		t.Errorf("%d cycles listed, the first with a goal of %d", len(rec.Cycles), rec.Cycles[0].GoalBytes)
	}
	if n := len(rec.Timeline.AtNs); n == 0 || n > maxTimeline {
		t.Errorf("%d rows of timeline", n)
	}
	none := cell.Record{}
	setTrace(&none, trace.Trace{}, watched{})
	if none.Metrics[cell.GCCycles] != 0 || len(none.Timeline.AtNs) != 0 {
		t.Errorf("no cycles: %v", none.Metrics)
	}
}

// TestHeldOff has first collections that begin where GOGC asks for them, and far beyond.
func TestHeldOff(t *testing.T) {
	first := func(start, globals int64) trace.Cycle {
		return trace.Cycle{N: 1, StartBytes: start << 20, GlobalBytes: globals << 20}
	}
	for name, tc := range map[string]struct {
		percent      int
		cycles       []trace.Cycle
		began, asked int64 // MiB
	}{
		"none":            {100, nil, 0, 0},
		"at once":         {100, []trace.Cycle{first(4, 0)}, 0, 0},
		"a little late":   {100, []trace.Cycle{first(11, 0)}, 0, 0},
		"GOGC=400":        {400, []trace.Cycle{first(16, 0)}, 0, 0},
		"large globals":   {100, []trace.Cycle{first(30, 28)}, 0, 0},
		"held off":        {100, []trace.Cycle{first(122, 0)}, 122, 4},
		"under GOGC=400":  {400, []trace.Cycle{first(124, 1)}, 124, 16},
		"GOGC=off":        {-1, []trace.Cycle{first(124, 0)}, 0, 0},
		"the first lacks": {100, []trace.Cycle{{N: 2, StartBytes: 122 << 20}}, 0, 0},
		"two processes":   {100, []trace.Cycle{first(4, 0), {Stream: 1, N: 1, StartBytes: 80 << 20}}, 80, 4},
	} {
		began, asked := heldOff(cell.GC{Percent: tc.percent}, tc.cycles)
		if began != tc.began<<20 || asked != tc.asked<<20 {
			t.Errorf("%s: began at %d bytes, asked for %d", name, began, asked)
		}
	}
}

// TestCPUScale scales gctrace's CPU times, which include threads that wait for a CPU, but never
// beyond the program's own CPU time.
func TestCPUScale(t *testing.T) {
	threads := func(seconds ...float64) watched {
		w := watched{threads: map[int]host.ThreadTime{}}
		for i := 0; i < len(seconds); i += 2 {
			w.threads[i] = host.ThreadTime{On: uint64(seconds[i] * 1e9), Waited: uint64(seconds[i+1] * 1e9)}
		}
		return w
	}
	for name, tc := range map[string]struct {
		seen watched
		cpu  float64
		want float64
		warn bool
	}{
		"unknown":          {watched{}, 10, 1, false},
		"alone":            {threads(5, 0.1), 10, 5 / 5.1, false},
		"half of the time": {threads(2, 2), 10, 0.5, true},
		"two threads":      {threads(3, 1, 1, 3), 10, (3*0.75 + 0.25) / 4, true},
		"a monitor waits":  {threads(2, 0, 0.01, 2), 10, 2 / 2.01, false},
		"none ran":         {threads(0, 1), 10, 1, false},
		"more than all":    {watched{}, 1, 0.25, false},
	} {
		rec := cell.Record{}
		rec.Set(cell.TotalCPU, tc.cpu)
		got := cpuScale(&rec, 4*time.Second, tc.seen)
		if got < tc.want*0.999 || got > tc.want*1.001 || (len(rec.Warnings) > 0) != tc.warn || rec.Metrics[cell.GCCPUScale] != got {
			t.Errorf("%s: %v, warnings %v; want %v", name, got, rec.Warnings, tc.want)
		}
	}
}

// TestProcessesAtOnce adds up the memory of processes that run at the same time.
func TestProcessesAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		polls    [][]int64
		together int64 // 0 for one large process
		large    int
	}{
		"one":             {[][]int64{{9}, {9}, {7}}, 0, 1},
		"four":            {[][]int64{{2, 20, 20}, {2, 20, 20, 18, 19}, {2, 24, 20, 20, 20}, {2, 9}}, 79, 4},
		"a small wrapper": {[][]int64{{2, 20}, {2, 20}, {2, 20}}, 0, 1},
		"in turn":         {[][]int64{{2, 20}, {2}, {2, 30}, {2, 30}, {2, 25}}, 0, 1},
		"a fork":          {[][]int64{{50}, {50, 50}, {50}, {50, 1}, {50, 1}}, 0, 1},
	} {
		var w watched
		for _, resident := range tc.polls {
			w.add(resident)
		}
		rec := cell.Record{}
		if got := w.setTogether(&rec); got != tc.together || w.large != tc.large || (len(rec.Warnings) > 0) != (got > 0) {
			t.Errorf("%s: %d bytes of %d processes, warnings %v", name, got, w.large, rec.Warnings)
		}
	}
}

// TestPeakNeedsPolls: what a program used as it began does not stand for its peak.
func TestPeakNeedsPolls(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	for _, early := range []bool{true, false} {
		rec := cell.Record{}
		setUsage(&rec, cmd.ProcessState, 1<<50, watched{peak: 12 << 10, pids: map[int]bool{1: true}, early: early})
		if peak, ok := rec.Metrics[cell.RSSPeak]; ok == early || ok && peak != 12<<10 || len(rec.Warnings) != 1 {
			t.Errorf("early %v: peak %v, %v", early, peak, rec.Warnings)
		}
	}
}
