package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestRequirement(t *testing.T) {
	member := &Member{Machine: cell.Machine{Isobar: "v1", OS: "linux", Arch: "amd64"}, Allow: []string{KindLab}, Labels: map[string]string{"cpu": "AMD EPYC 7B13", "cores": "8"}}
	for _, test := range []struct {
		r    Requirement
		want string
	}{
		{Requirement{Kind: KindLab, Version: "v1"}, ""},
		{Requirement{Kind: KindExec, Version: "v1"}, "does not allow exec"},
		{Requirement{Kind: KindLab, Version: "v2"}, "isobar v1, not v2"},
		{Requirement{Kind: KindLab, Version: "v1", Platforms: []string{"linux/arm64"}}, "no program for linux/amd64"},
		{Requirement{Kind: KindLab, Version: "v1", Platforms: []string{"linux/arm64", "linux/amd64"}}, ""},
		{Requirement{Kind: KindLab, Version: "v1", Labels: []string{"cpu=AMD*", "cores>=8"}}, ""},
		{Requirement{Kind: KindLab, Version: "v1", Labels: []string{"cores>=9"}}, "cores=8"},
		{Requirement{Kind: KindLab, Version: "v1", Labels: []string{"cpu=Intel*"}}, "cpu=AMD"},
		{Requirement{Kind: KindLab, Version: "v1", Labels: []string{"rack=7"}}, "no label"},
	} {
		if err := CheckLabels(test.r.Labels); err != nil {
			t.Error(err)
		}
		r, err := parseRequirement(test.r.metadata())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.unmet(member); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.r, got, test.want)
		}
	}
	for _, bad := range []string{"", "cores", "=8", "cores>=many", ">=8", "cpu=[a"} {
		if CheckLabels([]string{bad}) == nil {
			t.Errorf("label %q was accepted", bad)
		}
	}
}

// TestLargeResults sends results, with profiles, that do not fit into a
// message.
func TestLargeResults(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 3, 3)
	profile := make([]byte, 1<<20) // noise, which does not compress
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(profile)
	startWorker(t, Options{Server: server}, workerConfig(t, "w", func(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
		rec, _, err := noop(ctx, c)
		if c.Twin {
			return rec, nil, err
		}
		return rec, map[string][]byte{"cpu": profile}, err
	}))
	f := connect(t, Options{Server: server})
	if err := f.Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures != 0 {
		t.Errorf("%d cells failed", failures)
	}
	for _, c := range s.cells {
		got, err := s.Profile(s.run, c.Index, "cpu")
		if c.Twin {
			if err == nil {
				t.Errorf("cell %d has the profile of another", c.Index)
			}
		} else if err != nil || string(got) != string(profile) {
			t.Errorf("cell %d: a profile of %d bytes, %v", c.Index, len(got), err)
		}
	}
	bucket, err := f.js.ObjectStore(t.Context(), resultStore)
	if err != nil {
		t.Fatal(err)
	}
	if objects, err := bucket.List(t.Context()); err == nil && len(objects) > 0 {
		t.Errorf("%d objects are left", len(objects))
	}
}

// TestInterruptAndResume withdraws a sweep and resumes it.
func TestInterruptAndResume(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 3, 30)
	f := connect(t, Options{Server: server})
	ctx, interrupt := context.WithCancel(t.Context())
	startWorker(t, Options{Server: server}, workerConfig(t, "w", func(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
		if c.Block == 10 {
			interrupt()
		}
		return noop(ctx, c)
	}))
	if err := f.Sweep(ctx, s.sweep(t)); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	status, err := f.Status(t.Context(), 100*time.Millisecond)
	for end := time.Now().Add(time.Minute); err == nil && len(status.Workers) == 0 && time.Now().Before(end); { // answering may take longer
		status, err = f.Status(t.Context(), 100*time.Millisecond)
	}
	if err != nil || len(status.Sweeps) != 0 || len(status.Workers) != 1 {
		t.Errorf("after an interruption: %+v, %v", status, err)
	}
	if err := f.Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures != 0 {
		t.Errorf("%d cells failed", failures)
	}
}

// TestPartition silently cuts workers off for longer than the allowed silence: the block
// goes to another worker, and the late result changes nothing.
func TestPartition(t *testing.T) {
	server := serve(t, ServerConfig{Listen: "127.0.0.1:0"})
	s := newStore(t, 4, 20)
	proxy := newProxy(t, strings.TrimPrefix(server.URL(), "nats://"))
	var once sync.Once
	slow := func(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
		if c.Block >= 3 {
			once.Do(func() {
				proxy.cut(true)
				time.AfterFunc(4*time.Second, func() { proxy.cut(false) })
			})
		}
		return noop(ctx, c)
	}
	startWorker(t, Options{URL: "nats://" + proxy.address, TokenFile: tokenFile(t, server.token)}, workerConfig(t, "cut", slow))
	startWorker(t, Options{Server: server}, workerConfig(t, "near", func(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
		time.Sleep(5 * time.Millisecond) // leave some cells for the other
		return noop(ctx, c)
	}))
	if err := connect(t, Options{Server: server}).Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	failures, workers := s.check(t)
	if failures != 0 {
		t.Errorf("%d cells failed", failures)
	}
	t.Logf("blocks by worker: %v", workers)
}

// A proxy forwards connections, or holds back their data while it is cut.
type proxy struct {
	address string
	mu      sync.Mutex
	open    chan struct{} // closed while it forwards; guarded by mu
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String(), open: make(chan struct{})}
	close(p.open)
	t.Cleanup(func() {
		listener.Close()
		p.cut(false)
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			go p.copy(far, near)
			go p.copy(near, far)
		}
	}()
	return p
}

// copy forwards until the connection ends. Data that arrives while the proxy is
// cut waits, as in a network that loses packets.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		<-open
		if _, err2 := to.Write(buffer[:n]); err != nil || err2 != nil {
			return
		}
	}
}

func (p *proxy) cut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		if cut {
			p.open = make(chan struct{})
		}
	default:
		if !cut {
			close(p.open)
		}
	}
}

// TestPickOnClosed: without a connection the error says so.
func TestPickOnClosed(t *testing.T) {
	f := connect(t, Options{Server: serve(t, ServerConfig{})})
	f.Close()
	_, err := f.Pick(t.Context(), Requirement{Kind: KindLab}, nil)
	if !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("%v, want the reason: %v", err, nats.ErrConnectionClosed)
	}
}

// TestUnfitWorkerLeaves: a worker whose directory fails leaves, instead of taking every block until its attempts are
// used up while the only healthy worker is busy.
func TestUnfitWorkerLeaves(t *testing.T) {
	server := serve(t, ServerConfig{})
	s := newStore(t, 1, 6)
	config := workerConfig(t, "unfit", noop)
	config.Dir = filepath.Join(config.Dir, "file")
	if err := os.WriteFile(config.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sweep := s.sweep(t)
	sweep.Attempts = 2
	done := make(chan error, 1)
	go func() { done <- connect(t, Options{Server: server}).Sweep(t.Context(), sweep) }()
	err := NewWorker(connect(t, Options{Server: server}), config).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it cannot work here and leaves: mkdir ") {
		t.Errorf("the unfit worker: %v", err)
	}
	startWorker(t, Options{Server: server}, workerConfig(t, "healthy", noop))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures != 0 {
		t.Errorf("%d cells failed", failures)
	}
}
