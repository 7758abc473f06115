package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestCluster runs a sweep on a cluster of three nats-server processes, built
// from the same module as the embedded server, and kills the leader of the work
// queue midway.
func TestCluster(t *testing.T) {
	if invariant.Race {
		t.Skip("the servers are separate processes, which the race detector cannot see")
	}
	binary := filepath.Join(t.TempDir(), "nats-server")
	build := exec.Command("go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	if output, err := build.CombinedOutput(); err != nil {
		t.Skipf("nats-server cannot be built here: %v: %s", err, output)
	}
	nodes := startCluster(t, binary)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.url)
	}
	o := Options{URL: strings.Join(urls, ","), TokenFile: tokenFile(t, "the token of the cluster"), Log: t.Logf}
	var f *Fleet
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) { // until a leader is elected
		var err error
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		f, err = Connect(ctx, o)
		cancel()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	t.Cleanup(f.Close)
	work, err := f.js.Stream(t.Context(), workStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := work.CachedInfo().Config.Replicas; n != 3 {
		t.Fatalf("the work queue has %d replicas, want 3", n)
	}
	s := newStore(t, 4, 60)
	var once sync.Once
	for i := range 3 {
		config := workerConfig(t, fmt.Sprint(i), func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
			if c.Block >= 20 {
				once.Do(func() {
					leader := work.CachedInfo().Cluster.Leader
					t.Logf("killing %s, the leader of %s", leader, workStream)
					nodes[leader].kill()
				})
			}
			return noop(ctx, c)
		})
		startWorker(t, o, config)
	}
	if err := f.Sweep(t.Context(), s.sweep(t)); err != nil {
		t.Fatal(err)
	}
	failures, workers := s.check(t)
	if failures != 0 {
		t.Errorf("%d cells failed", failures)
	}
	t.Logf("%d cells, blocks by worker: %v", len(s.cells), workers)
}

// A node is a server process.
type node struct {
	url  string
	cmd  *exec.Cmd
	once sync.Once
}

func (n *node) kill() {
	n.once.Do(func() {
		n.cmd.Process.Kill()
		n.cmd.Wait()
	})
}

// startCluster starts three servers, by name.
func startCluster(t *testing.T, binary string) map[string]*node {
	t.Helper()
	ports := freePorts(t, 6)
	var routes []string
	for _, port := range ports[3:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	nodes := map[string]*node{}
	for i := range 3 {
		name, dir := fmt.Sprintf("n%d", i), t.TempDir()
		config := filepath.Join(dir, "server.conf")
		doc := fmt.Sprintf(`server_name: %s
listen: "127.0.0.1:%d"
jetstream { store_dir: %q, max_file_store: 1GB }
authorization { token: "the token of the cluster" }
max_payload: 8MB
cluster { name: isobar, listen: "127.0.0.1:%d", routes: [%s] }
`, name, ports[i], dir, ports[3+i], strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if deadline, ok := t.Deadline(); ok { // a test that times out does not clean up
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-5*time.Second))
			t.Cleanup(cancel)
		}
		n := &node{url: fmt.Sprintf("nats://127.0.0.1:%d", ports[i]), cmd: exec.CommandContext(ctx, binary, "-c", config)}
		if err := n.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.kill)
		nodes[name] = n
	}
	return nodes
}

// freePorts returns n unused loopback ports. They lie below the range from which the kernel
// serves requests for any port, so that it does not assign them meanwhile.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for len(ports) < n {
		port := 10_000 + rand.IntN(32_768-10_000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // all at once, so that they differ
		ports = append(ports, port)
	}
	return ports
}
