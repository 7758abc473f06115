package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// A site is a network namespace with a link to the server's.
type site struct {
	t    *testing.T
	name string // of the namespace
	link string // its end of the link
	far  string // the server's address on the link
}

// newNetwork makes a namespace for a server and one for each host. Hosts reach
// the server but not each other.
func newNetwork(t *testing.T, hosts int) (server string, all []*site) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("network namespaces need Linux")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("no ip command: install iproute2: %v", err)
	}
	id := strconv.Itoa(os.Getpid())
	server = "isobar-" + id + "-s"
	add := func(name string) error {
		output, err := exec.Command("ip", "netns", "add", name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
		}
		t.Cleanup(func() { ip(t, "netns", "delete", name) })
		return nil
	}
	if err := add(server); err != nil {
		t.Skipf("cannot make a network namespace here: %v", err)
	}
	ip(t, "-n", server, "link", "set", "lo", "up")
	for i := range hosts {
		h := &site{t: t, name: fmt.Sprintf("isobar-%s-%d", id, i), link: fmt.Sprintf("host%d", i),
			far: fmt.Sprintf("10.99.%d.1", i)}
		if err := add(h.name); err != nil {
			t.Fatal(err)
		}
		near := fmt.Sprintf("server%d", i)
		ip(t, "-n", server, "link", "add", near, "type", "veth", "peer", "name", h.link, "netns", h.name)
		ip(t, "-n", server, "address", "add", h.far+"/30", "dev", near)
		ip(t, "-n", h.name, "address", "add", fmt.Sprintf("10.99.%d.2/30", i), "dev", h.link)
		ip(t, "-n", server, "link", "set", near, "up")
		ip(t, "-n", h.name, "link", "set", h.link, "up")
		all = append(all, h)
	}
	return server, all
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, output)
	}
}

// within is the command line that runs a command in a namespace.
func within(namespace string, command ...string) []string {
	return append([]string{"netns", "exec", namespace}, command...)
}

func (h *site) url() string { return "nats://" + h.far + ":4222" }

// cut takes the host's link down: packets are lost silently.
func (h *site) cut() { ip(h.t, "-n", h.name, "link", "set", h.link, "down") }

func (h *site) heal() { ip(h.t, "-n", h.name, "link", "set", h.link, "up") }

// TestFleetPartition puts server, coordinator and two workers on their own
// hosts, cuts off one worker and then the coordinator, and heals the network
// each time. The run must end with one record per cell, and each block from one
// attempt.
func TestFleetPartition(t *testing.T) {
	if invariant.Race || testing.Short() {
		t.Skip("processes measure, which takes long in a race build")
	}
	cut, reps := 500*time.Millisecond, 12
	if os.Getenv("ISOBAR_SOAK") != "" {
		cut, reps = 30*time.Second, 240
	}
	isobar, dir := fleetBinary(t), t.TempDir()
	server, hosts := newNetwork(t, 3)
	db, token := filepath.Join(dir, "store.db"), filepath.Join(dir, "token")
	serve := startCommand(t, "ip", within(server, isobar, "fleet", "serve", "--listen", "0.0.0.0:4222", "--plaintext",
		"--dir", filepath.Join(dir, "server"), "--token-file", token, "--json")...)
	serve.served(t)
	for i := range 2 {
		name := fmt.Sprint("w", i)
		w := startCommand(t, "ip", within(hosts[i].name, isobar, "worker", hosts[i].url(), "--token-file", token, "--name",
			name, "--dir", filepath.Join(dir, name))...)
		eventually(t, "the worker has joined", func() bool { return strings.Contains(w.err.String(), "has joined") })
	}
	lab := startCommand(t, "ip", within(hosts[2].name, isobar, "--store", db, "lab", "run", "strategies", "--strategy",
		"plain,syncpool,chanpool,arena", "--duration", "4ms",
		"--reps", strconv.Itoa(reps), "--fleet", hosts[2].url(), "--fleet-token-file", token, "--fleet-patience", "1s",
		"--fleet-attempts", "1000")...)
	stored := func() (n int, workers map[string]int) {
		s, err := store.OpenReadOnly(db)
		if err != nil {
			return 0, nil
		}
		defer s.Close()
		run, err := s.Last()
		if err != nil {
			return 0, nil
		}
		records, err := s.Records(run.ID)
		if err != nil {
			t.Fatal(err)
		}
		workers = map[string]int{}
		for _, rec := range records {
			if rec.Origin != nil {
				workers[rec.Origin.Worker]++
			}
		}
		return len(records), workers
	}
	eventually(t, "both workers have finished a block", func() bool { _, workers := stored(); return len(workers) == 2 })
	var during []int // records that arrived while a host was cut off
	var healed time.Time
	for _, away := range []*site{hosts[0], hosts[2]} {
		away.cut()
		before, _ := stored()
		time.Sleep(cut) // the cut has to last this long
		after, _ := stored()
		during = append(during, after-before)
		away.heal()
		if healed.IsZero() {
			healed = time.Now()
			eventually(t, "records arrive", func() bool { n, _ := stored(); return n > after || n == 5*reps })
		}
	}
	last, still := 0, 0
	for running := true; running; {
		select {
		case <-lab.exited:
			running = false
		case <-time.After(100 * time.Millisecond):
			if now, _ := stored(); now != last {
				last, still = now, 0
			} else if still++; still > 1800 {
				t.Fatalf("%d of %d cells are stored, and no more arrive\n%s", last, 5*reps, lab.err)
			}
		}
	}
	if code := lab.exit(t); code != exitOK {
		t.Fatalf("lab run: status %d\n%s%s", code, lab.out, lab.err)
	}
	attempts := checkChaos(t, db, 5*reps)
	back := 0
	for _, rec := range fleetRecords(t, db, 5*reps) {
		if rec.Origin.Worker == "w0" && rec.Started.After(healed) {
			back++
		}
	}
	n, workers := stored()
	t.Logf("a worker and then the coordinator were cut off for %v each: %d cells, %d records, %d blocks of %d attempts, "+
		"by worker %v, %d afterwards by the worker that was cut off; %v records arrived during the cuts",
		cut, 5*reps, n, reps, attempts, workers, back, during)
	if back == 0 && os.Getenv("ISOBAR_SOAK") != "" { // the short run may end first
		t.Error("the worker that was cut off did not come back")
	}
}
