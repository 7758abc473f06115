package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
)

// fleetBinary is this test binary under a name that makes it the command.
func fleetBinary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	isobar := filepath.Join(t.TempDir(), "isobar")
	if err := os.Symlink(self, isobar); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	return isobar
}

// A process is a running command.
type process struct {
	*exec.Cmd
	out, err *syncBuffer
	exited   chan struct{}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startCommand starts isobar, which is killed when the test ends.
func startCommand(t *testing.T, isobar string, args ...string) *process {
	t.Helper()
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok { // a test that times out does not clean up
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-5*time.Second))
		t.Cleanup(cancel)
	}
	p := &process{Cmd: exec.CommandContext(ctx, isobar, args...), out: &syncBuffer{}, err: &syncBuffer{},
		exited: make(chan struct{})}
	p.Stdout, p.Stderr = p.out, p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.exited
	})
	return p
}

// exit waits for the command's end and returns its status.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%v does not end:\n%s%s", p.Args, p.out, p.err)
	}
	return p.ProcessState.ExitCode()
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	eventuallyWithin(t, 5*time.Minute, what, condition)
}

func eventuallyWithin(t *testing.T, most time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout: waited until %s", what)
		}
	}
}

// served waits until 'fleet serve --json' prints where it listens.
func (p *process) served(t *testing.T) (where struct {
	URL     string `json:"url"`
	Token   string `json:"token_file"`
	Metrics string `json:"metrics"`
}) {
	t.Helper()
	eventually(t, "the server listens", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the server ended: %s", p.err)
		default:
		}
		return json.Unmarshal([]byte(p.out.String()), &where) == nil
	})
	return where
}

func TestFleetCommands(t *testing.T) {
	if invariant.Race {
		t.Skip("processes measure, which takes long in a race build; package fleet's own tests run with -race")
	}
	isobar, dir := fleetBinary(t), t.TempDir()
	db := filepath.Join(dir, "store.db")
	server := startCommand(t, isobar, "fleet", "serve", "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "server"),
		"--metrics", "127.0.0.1:0", "--json")
	where := server.served(t)

	for _, refused := range [][]string{
		{"worker", where.URL},
		{"fleet", "status", where.URL},
		{"--store", db, "lab", "run", "strategies", "--fleet", where.URL},
	} {
		p := startCommand(t, isobar, refused...)
		if code := p.exit(t); code != exitFailure || !strings.Contains(p.err.String(), "token-file") {
			t.Errorf("%v without a credential: status %d, %s", refused, code, p.err)
		}
	}

	worker := startCommand(t, isobar, "worker", where.URL, "--token-file", where.Token, "--name", "w1", "--dir",
		filepath.Join(dir, "w1"), "--label", "rack=7")
	eventually(t, "the worker has joined", func() bool { return strings.Contains(worker.err.String(), "has joined") })
	second := startCommand(t, isobar, "worker", where.URL, "--token-file", where.Token, "--dir", filepath.Join(dir, "w1"))
	if code := second.exit(t); code != exitFailure || !strings.Contains(second.err.String(), "in use") {
		t.Errorf("a second worker in the same directory: status %d, %s", code, second.err)
	}

	run := startCommand(t, isobar, "--store", db, "lab", "run", "strategies", "--strategy", "plain,syncpool", "--duration",
		"10ms", "--reps", "4",
		"--fleet", where.URL, "--fleet-token-file", where.Token, "--fleet-require", "rack=7")
	if code := run.exit(t); code != exitOK {
		t.Fatalf("lab run --fleet: status %d\n%s%s", code, run.out, run.err)
	}
	for _, rec := range fleetRecords(t, db, 12) {
		if rec.Err != nil || rec.Origin == nil || rec.Origin.Worker != "w1" || rec.Origin.Machine.CPUs < 1 ||
			rec.Metrics[cell.OpTime] <= 0 {
			t.Errorf("record %d: %v, origin %+v", rec.Cell.Index, rec.Err, rec.Origin)
		}
	}

	var got fleet.Status
	eventually(t, "the worker answers in the time that a status gives it", func() bool {
		status := startCommand(t, isobar, "fleet", "status", where.URL, "--token-file", where.Token, "--json")
		if code := status.exit(t); code != exitOK || json.Unmarshal([]byte(status.out.String()), &got) != nil {
			t.Fatalf("fleet status: status %d\n%s%s", code, status.out, status.err)
		}
		return len(got.Workers) > 0
	})
	if len(got.Workers) != 1 || got.Workers[0].CellsDone != 12 || got.Workers[0].Labels["rack"] != "7" ||
		got.Workers[0].Floor < 1 || len(got.Sweeps) != 0 {
		t.Errorf("fleet status = %+v", got)
	}
	var metrics string
	eventually(t, "the worker answers in the quarter of a second that a scrape gives it", func() bool {
		response, err := http.Get(where.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		metrics = string(text)
		return !strings.Contains(metrics, `isobar_fleet_workers{state="idle"} 0`)
	})
	if !strings.Contains(metrics, `isobar_fleet_workers{state="idle"} 1`) ||
		!strings.Contains(metrics, "isobar_fleet_cells_total") {
		t.Errorf("metrics: %s", metrics)
	}

	drain := startCommand(t, isobar, "worker", where.URL, "--token-file", where.Token, "--drain", "w1")
	if code := drain.exit(t); code != exitOK {
		t.Errorf("worker --drain: status %d, %s", code, drain.err)
	}
	if code := worker.exit(t); code != exitOK {
		t.Errorf("the drained worker: status %d, %s", code, worker.err)
	}
	server.Process.Signal(syscall.SIGTERM)
	if code := server.exit(t); code != exitOK {
		t.Errorf("the server: status %d, %s", code, server.err)
	}
}

// fleetRecords returns the records of the newest run and checks their number.
func fleetRecords(t *testing.T, db string, want int) []*cell.Record {
	t.Helper()
	s, err := store.OpenReadOnly(db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run, err := s.Last()
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != want {
		t.Fatalf("%d records, want %d", len(records), want)
	}
	return records
}

// TestWorkerFinishesItsBlock ends a worker with SIGTERM during a cell: the
// worker finishes the block before it leaves, and the run completes.
func TestWorkerFinishesItsBlock(t *testing.T) {
	if invariant.Race {
		t.Skip("processes measure, which takes long in a race build")
	}
	isobar, dir := fleetBinary(t), t.TempDir()
	db := filepath.Join(dir, "store.db")
	server := startCommand(t, isobar, "fleet", "serve", "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "server"),
		"--json")
	where := server.served(t)
	worker := startCommand(t, isobar, "worker", where.URL, "--token-file", where.Token, "--dir", filepath.Join(dir, "w"))
	run := startCommand(t, isobar, "--store", db, "lab", "run", "strategies", "--strategy", "plain,syncpool", "--duration",
		"1s", "--reps", "1",
		"--fleet", where.URL, "--fleet-token-file", where.Token)
	f, err := fleet.Connect(t.Context(), fleet.Options{URL: where.URL, TokenFile: where.Token})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	eventually(t, "a cell runs", func() bool {
		members, err := f.Members(t.Context(), 500*time.Millisecond)
		return err == nil && len(members) == 1 && members[0].State == "running"
	})
	worker.Process.Signal(syscall.SIGTERM)
	if code := worker.exit(t); code != exitOK {
		t.Errorf("the worker: status %d, %s", code, worker.err)
	}
	if code := run.exit(t); code != exitOK {
		t.Errorf("the run: status %d, %s", code, run.err)
	}
	for _, rec := range fleetRecords(t, db, 3) {
		if rec.Err != nil {
			t.Errorf("cell %d: %v", rec.Cell.Index, rec.Err)
		}
	}
}

// TestFleetServeTwice: a second server would write into the first one's streams.
func TestFleetServeTwice(t *testing.T) {
	dir := t.TempDir()
	unlock, err := store.Lock(filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	var out, errw bytes.Buffer
	args := []string{"fleet", "serve", "--listen", "127.0.0.1:0", "--dir", dir}
	if code := run(t.Context(), args, strings.NewReader(""), &out, &errw); code != exitFailure ||
		!strings.Contains(errw.String(), "give each a --dir") {
		t.Errorf("status %d, %s", code, &errw)
	}
}

// TestFleetLockFails: a place that cannot be locked is not one that is in use.
func TestFleetLockFails(t *testing.T) {
	dir := t.TempDir()
	for _, lock := range []string{"server.lock", "worker.lock"} {
		if err := os.Mkdir(filepath.Join(dir, lock), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"fleet", "serve", "--listen", "127.0.0.1:0"}, {"worker", "nats://127.0.0.1:1"}} {
		var out, errw bytes.Buffer
		code := run(t.Context(), append(args, "--dir", dir), strings.NewReader(""), &out, &errw)
		if text := errw.String(); code != exitFailure || !strings.Contains(text, "choose another place with --dir") ||
			strings.Contains(text, "in use") || strings.Contains(text, "--store") {
			t.Errorf("%v: status %d, %s", args, code, text)
		}
	}
}

func TestFleetUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"worker", "want 'isobar worker URL"},
		{"worker nats://127.0.0.1:1 --allow everything", "lab or exec"},
		{"worker nats://127.0.0.1:1 --label rack", "KEY=VALUE"},
		{"worker nats://127.0.0.1:1 --max-memory lots", "4GiB"},
		{"worker nats://127.0.0.1:1 --token-file a --nkey b", "none of the others can be"},
		{"lab run market --fleet local --input ticks.csv", "names a file of this machine"},
		{"lab run market --fleet local --budget 1m", "whole plan"},
		{"lab run market --fleet local --fleet-require cores", "KEY=PATTERN"},
		{"fleet status", "want 'isobar fleet status"},
		{"fleet serve --listen 0.0.0.0:0", "in the clear"},
	} {
		var out, errw bytes.Buffer
		args := append([]string{"--store", filepath.Join(t.TempDir(), "store.db")}, strings.Fields(test.args)...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errw)
		if code == exitOK || !strings.Contains(errw.String(), test.want) {
			t.Errorf("%s: status %d, %s; want %q", test.args, code, &errw, test.want)
		}
	}
}
