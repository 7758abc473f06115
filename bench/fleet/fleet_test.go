// Package fleet compares 'isobar lab run --fleet local', which takes each block
// through a NATS server, with 'isobar lab run', which runs the same plan by
// itself.
package fleet

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// BenchmarkLabRun is the whole command: blocks of three cells of one second.
// ISOBAR_BLOCKS says how many blocks, 3 unless given. ISOBAR_COMMAND names the
// command; it is built where that is not given.
func BenchmarkLabRun(b *testing.B) {
	isobar := command(b)
	blocks := 3
	if s := os.Getenv("ISOBAR_BLOCKS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			b.Fatalf("ISOBAR_BLOCKS=%s: want a number of blocks", s)
		}
		blocks = n
	}
	sides := []struct {
		name  string
		flags []string
	}{{"isobar-fleet", []string{"--fleet", "local"}}, {"local", nil}}
	for _, i := range rand.Perm(len(sides)) { // neither is always the first
		side := sides[i]
		b.Run("cell=1s/cells="+strconv.Itoa(3*blocks)+"/impl="+side.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				args := append([]string{"--store", filepath.Join(dir, "store.db"), "lab", "run", "strategies", "--strategy", "plain,syncpool", "--duration", "1s",
					"--reps", strconv.Itoa(blocks), "--seed", "1", "--out", filepath.Join(dir, "report.html")}, side.flags...)
				cmd := exec.Command(isobar, args...)
				b.StartTimer()
				began := time.Now()
				output, err := cmd.CombinedOutput()
				if err != nil {
					b.Fatalf("isobar %v: %v\n%s", args, err, output)
				}
				b.ReportMetric(float64(3*blocks)/time.Since(began).Minutes(), "cells/min")
			}
		})
	}
}

// command is the command to run.
func command(b *testing.B) string {
	if isobar := os.Getenv("ISOBAR_COMMAND"); isobar != "" {
		return isobar
	}
	isobar := filepath.Join(b.TempDir(), "isobar")
	build := exec.Command("go", "build", "-o", isobar, "./cmd/isobar")
	build.Dir = filepath.Join("..", "..") // its module has what the command needs
	if output, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, output)
	}
	return isobar
}
