package runner

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/base/cgroup"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// runInPod runs a shell script in a pod.
func runInPod(t *testing.T, pod cell.Pod, script string) cell.Record {
	t.Helper()
	c := testCell("exec")
	c.Command, c.Pod = []string{"sh", "-c", script}, pod
	rec, _, err := New(Config{Log: testWriter{t}}).Run(t.Context(), c)
	if errors.Is(err, cgroup.ErrNotAllowed) {
		t.Skipf("this machine does not allow pods: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestPodThrottles(t *testing.T) {
	const loop = `i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; test -z "$ISOBAR_JOIN"`
	rec := runInPod(t, cell.Pod{CPUs: 0.05, MemoryBytes: 64 << 20}, loop) // less than what many neighbours leave
	if rec.Err != nil || !hasWarning(rec, "throttled") {
		t.Errorf("error %v, warnings %v", rec.Err, rec.Warnings)
	}
	if share := rec.Metrics[cell.PodThrottledShare]; share <= 0 || share > 1 || rec.Metrics[cell.PodThrottled] <= 0 {
		t.Errorf("throttled in %v of the periods, for %v s", share, rec.Metrics[cell.PodThrottled])
	}
	if peak := rec.Metrics[cell.PodMemoryPeak]; peak <= 0 || peak > 64<<20 {
		t.Errorf("a memory peak of %v bytes", peak)
	}
	if wall, cpu := rec.Metrics[cell.WallTime], rec.Metrics[cell.TotalCPU]; wall < 3*cpu {
		t.Errorf("%v s of CPU time in %v s: at a twentieth of a CPU, want twenty times that", cpu, wall)
	}
}

func TestPodRunsOutOfMemory(t *testing.T) {
	const hog = "dd if=/dev/zero of=/dev/null bs=200M count=1 iflag=fullblock" // iflag: interrupts do not matter
	rec := runInPod(t, cell.Pod{MemoryBytes: 24 << 20}, "exec "+hog)
	const said = "24MiB of its pod (OOM kills: 1)"
	if rec.Err == nil || rec.Err.Kind != cell.FailMemory || !strings.Contains(rec.Err.Message, said) {
		t.Errorf("killed for its memory: %v", rec.Err)
	}
	rec = runInPod(t, cell.Pod{MemoryBytes: 24 << 20}, hog+" || true")
	if rec.Err != nil || !hasWarning(rec, "oom") {
		t.Errorf("a subprocess was killed: error %v, warnings %v", rec.Err, rec.Warnings)
	}
}

// TestPodRefusals has cells whose program cannot be in a pod.
func TestPodRefusals(t *testing.T) {
	inside := testCell("test-env")
	inside.Pod = cell.Pod{CPUs: 1}
	_, _, err := New(Config{}).Run(context.Background(), inside)
	if err == nil || !strings.Contains(err.Error(), "only programs") {
		t.Errorf("a workload without a program: %v", err)
	}
	other := testCell("", "exit")
	other.Pod = cell.Pod{CPUs: 1}
	config := Config{Account: &Account{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}}
	_, _, err = New(config).Run(context.Background(), other)
	if err == nil || !strings.Contains(err.Error(), "other accounts") {
		t.Errorf("another account: %v", err)
	}
}
