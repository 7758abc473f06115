package tune

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// tuneInPods tunes a simulated program that needs a whole CPU, and dies in pods
// smaller than its peak.
func tuneInPods(t *testing.T, pods ...string) *Answer {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	c := Config{Base: cell.Config{Workload: "exec", Command: []string{"prog"}, GC: cell.DefaultGC}, Objective: Wall,
		Budget: 30 * time.Minute, Seed: 1}
	for _, text := range pods {
		pod, err := cell.ParsePod(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Pods = append(c.Pods, pod)
	}
	s := program(0.2)
	a, err := Tune(c, func(c cell.Config, block int) (*cell.Record, error) {
		rec := s.record(c, 0.01, rng)
		rec.Cell.Block = block
		if q := c.Pod.CPUs; q > 0 && q < 1 {
			rec.Set(cell.WallTime, rec.Metrics[cell.WallTime]/q)
			rec.Set(cell.PodThrottledShare, 0.9)
			if q < 0.1 {
				rec.Err = &cell.Failure{Kind: cell.FailWorkload, Message: "the server was not ready"}
			}
		}
		if m := c.Pod.MemoryBytes; m > 0 && rec.Metrics[cell.RSSPeak] > float64(m) {
			rec.Err = &cell.Failure{Kind: cell.FailMemory, Message: "OOM kill"}
		}
		if limit := c.GC.LimitBytes; c.Pod.MemoryBytes > 0 && (limit == 0 || limit > c.Pod.MemoryBytes*9/10) {
			t.Errorf("pod %s with a limit of %d", c.Pod, limit)
		}
		return rec, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSmallestPod(t *testing.T) {
	a := tuneInPods(t, "2:1GiB", "0.05:1GiB", "0.5:1GiB", "1:1GiB", "1:32MiB", "2:32MiB")
	p := a.SmallestPod()
	if p == nil || p.Setting.Pod != (cell.Pod{CPUs: 1, MemoryBytes: 1 << 30}) {
		t.Fatalf("the smallest pod is %+v of %+v", p, a.Pods)
	}
	want := []string{"0.05:1GiB fails", "0.5:1GiB loses", "1:32MiB fails", "1:1GiB keeps", "2:32MiB fails", "2:1GiB keeps"}
	for i, trial := range a.Pods {
		if got := trial.Setting.Pod.String() + " " + trial.Outcome; got != want[i] {
			t.Errorf("pod %d: %s, want %s", i, got, want[i])
		}
	}
	if half := a.Pods[1]; half.Cost.Mid < 1.3 || half.Throttled.Mid != 0.9 || half.Rounds < 4 {
		t.Errorf("half a CPU: %+v", half)
	}
	var b strings.Builder
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a pod of 1 CPU, 1GiB with GOGC=", "90 % of periods", "OOM kill",
		"of today's in 2 CPUs, 1GiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	files, err := a.Deploy()
	if err != nil || !a.Deploys() {
		t.Fatal(err)
	}
	for _, want := range []string{"memory: 1024Mi", "cpu: 1000m", "the container that it was measured in"} {
		if !strings.Contains(files[4].Text, want) {
			t.Errorf("no %q in\n%s", want, files[4].Text)
		}
	}
}

// judgedPods judges pods after six rounds. A run takes a second of CPU time, and wall seconds in its pod.
func judgedPods(t *testing.T, wall func(cell.Pod) float64, failures []*cell.Failure, pods ...string) *Answer {
	t.Helper()
	tuned := newTuning(Config{Base: cell.Config{GC: cell.DefaultGC}, Objective: CPU}, nil)
	var arms []cell.Config
	var records [][]*cell.Record
	for _, pod := range pods {
		size, err := cell.ParsePod(pod)
		if err != nil {
			t.Fatal(err)
		}
		arm := fitted(tuned.Base, size)
		var of []*cell.Record
		for block := range 6 {
			rec := &cell.Record{Cell: cell.Cell{Config: arm, Block: block}}
			rec.Set(cell.TotalCPU, 1+0.001*float64(block))
			rec.Set(cell.WallTime, wall(size)*(1+0.001*float64(block)))
			of = append(of, rec)
		}
		arms, records = append(arms, arm), append(records, of)
	}
	if err := tuned.judgePods(arms, records, failures); err != nil {
		t.Fatal(err)
	}
	return tuned.answer
}

// TestPodThatFitsByChance: where another pod of the same memory killed the program, the next run may die, too.
func TestPodThatFitsByChance(t *testing.T) {
	failures := []*cell.Failure{2: {Kind: cell.FailMemory, Message: "OOM kill"}, 3: nil}
	a := judgedPods(t, func(cell.Pod) float64 { return 1 }, failures, "2:128MiB", "1:64MiB", "2:64MiB", "2:128MiB")
	for i, want := range []string{PodUnsure, PodFails, PodKeeps} {
		if p := a.Pods[i]; p.Outcome != want {
			t.Errorf("%s: %s (%s), want %s", podName(p.Setting.Pod), p.Outcome, p.Reason, want)
		}
	}
}

// TestQuotaCostsNoCPUTime: where a quota stops the program, it takes the same CPU time and longer.
func TestQuotaCostsNoCPUTime(t *testing.T) {
	a := judgedPods(t, func(p cell.Pod) float64 { return max(1, 0.5/p.CPUs) }, make([]*cell.Failure, 4), "2", "0.1", "0.5", "2")
	if p := a.Pods[0]; p.Outcome != PodLoses || p.Cost.Mid != 1 || p.Reason != "wall time 5.00x [5.00, 5.00]" {
		t.Errorf("a tenth of a CPU: %+v", p)
	}
	if p := a.SmallestPod(); p == nil || p.Setting.Pod.CPUs != 0.5 || p.Reason != "" {
		t.Errorf("the smallest pod is %+v of %+v", p, a.Pods)
	}
	if line := a.podLine(); !strings.Contains(line, "keeps CPU time (1.00x [1.00, 1.00] of today's in 2 CPUs, 6 rounds) and wall time") {
		t.Error(line)
	}
}

// TestPodsBelowTheProgram: pods in which the program does not run take nothing from the answer.
func TestPodsBelowTheProgram(t *testing.T) {
	a := tuneInPods(t, "2:8MiB", "1:8MiB")
	if a.Outcome != Recommended || len(a.Pods) > 0 || !strings.Contains(strings.Join(a.Others, "\n"),
		"GOMEMLIMIT=7MiB does not run in the largest, 2 CPUs, 8MiB: ") {
		t.Errorf("%s: %q, pods %+v", a.Outcome, a.Others, a.Pods)
	}
}

// TestLongReasonWidensNoTable has a pod fail with a long reason.
func TestLongReasonWidensNoTable(t *testing.T) {
	long := strings.Repeat("it does not fit ", 20)
	setting := cell.Config{GC: cell.DefaultGC, Pod: cell.Pod{CPUs: 1}}
	a := &Answer{Base: setting, Objective: CPU, Pods: []PodTrial{{Setting: setting, Outcome: PodKeeps, Rounds: 4},
		{Setting: setting, Outcome: PodFails, Reason: long}}}
	var b strings.Builder
	if err := a.Write(&b); err != nil || !strings.Contains(b.String(), "1 CPU fails: "+long) {
		t.Errorf("%v: the reason is missing in\n%s", err, &b)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 120 && !strings.Contains(line, long) {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestPodsCompareWithTheLargest(t *testing.T) {
	a := tuneInPods(t, "0.3", "0.5")
	if p := a.SmallestPod(); p == nil || p.Setting.Pod.CPUs != 0.5 {
		t.Errorf("beside today's at half a CPU, half a CPU with the answer's setting: %+v", a.Pods)
	}
}
