package rusage

import (
	"os"
	"os/exec"
	"testing"
)

// TestSelf: work takes CPU time, and reading new memory takes faults.
func TestSelf(t *testing.T) {
	if os.Getenv("RUSAGE_CHILD") != "" {
		work()
		return
	}
	before, children := Self(), Children()
	work()
	used := Self().Since(before)
	if before.User < 0 {
		t.Skip("unknown on this platform")
	}
	if used.CPU() <= 0 || used.MinorFaults == 0 {
		t.Errorf("after work: %+v", used)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSelf$")
	cmd.Env = append(os.Environ(), "RUSAGE_CHILD=1")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if used := Children().Since(children); children.User >= 0 && used.CPU() <= 0 {
		t.Errorf("after a child's work: %+v", used)
	}
}

var kept [][]byte

// work takes a few milliseconds of CPU time and 64 MiB of memory.
func work() {
	kept = nil
	for range 64 {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(i)
		}
		kept = append(kept, b)
	}
}

// TestUnknown: a figure that one side lacks is unknown in the difference.
func TestUnknown(t *testing.T) {
	if d := (Usage{5, 4, 3, -1}).Since(Usage{1, 1, -1, 1}); d != (Usage{4, 3, -1, -1}) {
		t.Errorf("difference %+v", d)
	}
	if unknown.CPU() != -1 || (Usage{User: 1, System: 2}).CPU() != 3 {
		t.Error("CPU is not the sum, or -1")
	}
}
