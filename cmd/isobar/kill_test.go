package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/store"
)

// TestKillAndResume kills the lab with SIGKILL at random moments and resumes it
// each time, until the run is complete. Then the store must have every cell
// exactly once, and earlier records unchanged.
func TestKillAndResume(t *testing.T) {
	kills, reps := 5, 15
	if os.Getenv("ISOBAR_SOAK") != "" {
		kills, reps = 20, 150 // more than fits between the kills
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main runs the command named by the program's base name.
	isobar := filepath.Join(t.TempDir(), "isobar")
	if err := os.Symlink(self, isobar); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	lab := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		var output bytes.Buffer
		cmd := exec.Command(isobar, append([]string{"--store", path, "lab", "run"}, args...)...)
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &output
	}
	begin := []string{"strategies", "--strategy", "plain,syncpool", "--duration", "10ms", "--reps", strconv.Itoa(reps)}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	stored := map[int]time.Time{} // cell -> start of its record
	args := begin
	for kill := range kills {
		cmd, _ := lab(args...)
		time.Sleep(time.Duration(100+rng.IntN(600)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		records := checkStored(t, path, stored)
		t.Logf("kill %d: %d records", kill, records)
		if records >= 0 {
			args = []string{"--resume"}
		}
	}
	cmd, output := lab(args...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the last resume: %v\n%s", err, output)
	}
	if n := checkStored(t, path, stored); n != 3*reps { // 2 configurations and a twin
		t.Errorf("%d records after the last resume, want %d", n, 3*reps)
	}
}

// checkStored returns the number of records of the only run, or -1 if there is
// no run yet. It fails the test if a cell has two records, or if an earlier
// record is missing or has changed.
func checkStored(t *testing.T, path string, stored map[int]time.Time) int {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return -1
	}
	s, err := store.Open(path)
	if err != nil {
		t.Fatalf("the store no longer opens: %v", err)
	}
	defer s.Close()
	runs, err := s.Runs()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return -1
	}
	if len(runs) > 1 {
		t.Fatalf("%d runs in the store, want 1", len(runs))
	}
	records, err := s.Records(runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, rec := range records {
		if seen[rec.Cell.Index] {
			t.Errorf("cell %d has two records", rec.Cell.Index)
		}
		seen[rec.Cell.Index] = true
		if rec.Err != nil {
			t.Errorf("cell %d: %v", rec.Cell.Index, rec.Err)
		}
		if before, ok := stored[rec.Cell.Index]; ok && !before.Equal(rec.Started) {
			t.Errorf("cell %d was measured again", rec.Cell.Index)
		}
		stored[rec.Cell.Index] = rec.Started
	}
	for index := range stored {
		if !seen[index] {
			t.Errorf("the record of cell %d is gone", index)
		}
	}
	return len(records)
}
