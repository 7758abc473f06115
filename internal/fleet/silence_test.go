package fleet

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Failures that the servers do not report.

// TestConsumerIsLost restarts the server without the sweep's consumer of results, while the
// last block runs. The coordinator reconnects, but nobody answers its request for results.
func TestConsumerIsLost(t *testing.T) {
	config := ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: tokenFile(t, "the token of the test")}
	server := serve(t, config)
	o := Options{URL: server.URL(), TokenFile: config.TokenFile}
	config.Listen = strings.TrimPrefix(o.URL, "nats://")
	s := newStore(t, 3, 3)
	var once sync.Once
	startWorker(t, o, workerConfig(t, "w", func(ctx context.Context, c cell.Cell) (cell.Record, profiles, error) {
		if c.Block == 2 {
			once.Do(func() {
				server.Close()
				consumer := filepath.Join(config.Dir, "jetstream", "$G", "streams", resultStream, "obs", "test")
				if _, err := os.Stat(consumer); err != nil {
					t.Error(err)
				}
				if err := os.RemoveAll(consumer); err != nil {
					t.Error(err)
				}
				again, err := Serve(config)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(again.Close)
			})
		}
		return noop(ctx, c)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	sweep := s.sweep(t)
	sweep.AckWait = 2 * time.Second // longer than the server is away
	if err := connect(t, o).Sweep(ctx, sweep); err != nil {
		t.Fatal(err)
	}
	if failures, _ := s.check(t); failures > 0 {
		t.Errorf("%d cells failed", failures)
	}
}

// TestFailedWrite makes a server fail to write a message, as on a full disk. The server
// refuses the stream from then on, so it must end and let another take over.
func TestFailedWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open cannot be removed on Windows")
	}
	config := ServerConfig{Dir: t.TempDir()}
	server := serve(t, config)
	f := connect(t, Options{Server: server})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	messages := filepath.Join(config.Dir, "jetstream", "$G", "streams", resultStream, "msgs")
	if err := os.RemoveAll(messages); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(messages, nil, 0o600); err != nil { // not a directory: the next file cannot be made in it
		t.Fatal(err)
	}
	for block := range 8 { // more than fits into the open file
		if err := f.nc.Publish(resultSubject("test", block), make([]byte, maxMessage-4096)); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Wait(ctx); err == nil || !strings.Contains(err.Error(), resultStream) {
		t.Errorf("%v, want an error that names %s", err, resultStream)
	}
}
