package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// A chaos is a fleet of processes that are killed and restarted.
type chaos struct {
	t       *testing.T
	isobar  string
	dir, db string
	url     string
	reps    int
	server  *process
	lab     *process
	workers []*process
}

// TestFleetChaos kills the server, workers and the coordinator of a fleet with
// SIGKILL at random moments, fills the server's disk once, and restarts what
// died. The run must end with one record per cell, and each block from one
// attempt.
func TestFleetChaos(t *testing.T) {
	if invariant.Race {
		t.Skip("processes measure, which takes long in a race build; package fleet's own tests run with -race")
	}
	kills, reps, workers := 6, 16, 3
	if os.Getenv("ISOBAR_SOAK") != "" {
		kills, reps, workers = 50, 400, 4
	}
	c := &chaos{t: t, isobar: fleetBinary(t), dir: t.TempDir(), reps: reps, workers: make([]*process, workers)}
	c.db = filepath.Join(c.dir, "store.db")
	disk := c.smallDisk()
	c.url = "nats://127.0.0.1:" + strconv.Itoa(freePort(t))
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	t.Cleanup(func() {
		if t.Failed() {
			for _, p := range append([]*process{c.server, c.lab}, c.workers...) {
				t.Logf("%v\n%s%s", p.Args, p.out, p.err)
			}
		}
	})
	c.revive()
	killed := map[string]int{}
	for kill := range kills {
		c.progress(rng)
		if kill == kills/2 && disk {
			killed["disk full"]++
			c.fillDisk()
		}
		switch kill % 4 {
		case 1:
			killed["server"]++
			c.kill(c.server)
		case 3:
			killed["coordinator"]++
			c.kill(c.lab)
		default:
			killed["worker"]++
			c.kill(c.workers[rng.IntN(workers)])
		}
		c.revive()
	}
	most := 5 * time.Minute
	if os.Getenv("ISOBAR_SOAK") != "" {
		most = 10 * time.Minute
	}
	eventuallyWithin(t, most, "the run is complete", func() bool {
		c.revive()
		return c.count() == 5*reps && c.ended(c.lab)
	})
	attempts := checkChaos(t, c.db, 5*reps)
	t.Logf("%d kills %v: %d cells, %d records, %d blocks of %d attempts in the store", kills, killed, 5*reps, c.count(),
		reps, attempts)
}

// smallDisk gives the server its own file system, where that is allowed.
func (c *chaos) smallDisk() bool {
	dir := filepath.Join(c.dir, "server")
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	if runtime.GOOS != "linux" || exec.Command("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", dir).Run() != nil {
		c.t.Log("cannot mount a file system here: the server's disk is not filled")
		return false
	}
	c.t.Cleanup(func() {
		c.kill(c.server)
		if output, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			c.t.Errorf("umount: %v: %s", err, output)
		}
	})
	return true
}

// fillDisk fills the server's disk until the server gives up or a moment has
// passed, then makes room again.
func (c *chaos) fillDisk() {
	name := filepath.Join(c.dir, "server", "full")
	f, err := os.Create(name)
	if err != nil {
		c.t.Fatal(err)
	}
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2 // try to fill the last bytes too
		}
	}
	select {
	case <-c.server.exited:
		c.t.Logf("the server ended on a full disk: %s", bytes.TrimSpace([]byte(c.server.err.String())))
	case <-time.After(5 * time.Second):
		c.t.Log("the server survives a full disk")
	}
	f.Close()
	if err := os.Remove(name); err != nil {
		c.t.Fatal(err)
	}
}

// revive starts every process that is not running.
func (c *chaos) revive() {
	address := c.url[len("nats://"):]
	token := filepath.Join(c.dir, "token")
	if c.ended(c.server) {
		c.server = startCommand(c.t, c.isobar, "fleet", "serve", "--listen", address, "--dir", filepath.Join(c.dir, "server"),
			"--token-file", token)
		for range 500 { // it may trip over what its predecessor left; revive is called again
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				break
			}
			if c.ended(c.server) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	for i, w := range c.workers {
		if c.ended(w) {
			c.workers[i] = startCommand(c.t, c.isobar, "worker", c.url, "--token-file", token, "--name", fmt.Sprintf("w%d", i),
				"--dir", filepath.Join(c.dir, fmt.Sprintf("w%d", i)))
		}
	}
	if c.ended(c.lab) && c.count() < 5*c.reps {
		args := []string{"--store", c.db, "lab", "run", "strategies", "--strategy", "plain,syncpool,chanpool,arena",
			"--duration", "4ms", "--reps", strconv.Itoa(c.reps), "--name", "chaos"}
		if c.count() >= 0 {
			args = []string{"--store", c.db, "lab", "run", "--resume"}
		}
		c.lab = startCommand(c.t, c.isobar, append(args, "--fleet", c.url, "--fleet-token-file", token, "--fleet-patience",
			"2s", "--fleet-attempts", "1000")...)
	}
}

func (c *chaos) ended(p *process) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (c *chaos) kill(p *process) {
	if p != nil {
		p.Process.Kill()
		<-p.exited
	}
}

// progress waits until there are more records, or for a limited time, and then for a random while.
func (c *chaos) progress(rng *rand.Rand) {
	before := c.count()
	for range 30 {
		if c.count() > before {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
}

// count is the number of records of the run, -1 if there is no run.
func (c *chaos) count() int {
	s, err := store.OpenReadOnly(c.db)
	if err != nil {
		return -1
	}
	defer s.Close()
	run, err := s.Last()
	if err != nil {
		return -1
	}
	return run.Finished + run.Failed
}

// checkChaos fails the test unless the store has one run with one record per
// cell, and each block comes from one attempt, in plan order. It returns the
// number of attempts.
func checkChaos(t *testing.T, db string, want int) int {
	t.Helper()
	attempts, blocks := map[string]int{}, map[int]*cell.Record{}
	for i, rec := range fleetRecords(t, db, want) {
		if rec.Cell.Index != i {
			t.Errorf("record %d is of cell %d", i, rec.Cell.Index)
		}
		if rec.Err != nil || rec.Origin == nil {
			t.Errorf("cell %d: %v, origin %v", i, rec.Err, rec.Origin)
			continue
		}
		attempts[rec.Origin.Attempt]++
		if last := blocks[rec.Cell.Block]; last != nil {
			if last.Origin.Attempt != rec.Origin.Attempt || last.Origin.Worker != rec.Origin.Worker {
				t.Errorf("block %d is from %s and from %s", rec.Cell.Block, last.Origin.Worker, rec.Origin.Worker)
			}
			if rec.Started.Before(last.Started) {
				t.Errorf("cell %d of block %d began before the previous one", i, rec.Cell.Block)
			}
		}
		blocks[rec.Cell.Block] = rec
	}
	for attempt, n := range attempts {
		if n != 5 {
			t.Errorf("attempt %s has %d records, want the 5 of a block", attempt, n)
		}
	}
	s, err := store.OpenReadOnly(db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if runs, err := s.Runs(); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v, want 1", len(runs), err)
	}
	return len(attempts)
}

// freePort is an unused port on loopback.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
