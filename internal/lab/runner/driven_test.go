package runner

import (
	"maps"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// driven is the duration of a load.
const driven = 2 * time.Second

// checkDone fails the test unless a load did all requests. Some may be left only if it took twice
// its time: then the machine stood still, and the record says so. None may fail.
func checkDone(t *testing.T, rec cell.Record, want float64) {
	t.Helper()
	due, done := rec.Metrics[cell.Scheduled], rec.Metrics[cell.Done]
	took := done / rec.Metrics[cell.Throughput]
	late := hasWarning(rec, "backlog") && took >= 2*driven.Seconds()
	if due != want || done != want && !late {
		t.Errorf("%v requests were due and %v done in %.2f s, want %v: %v", due, done, took, want, rec.Warnings)
	}
}

// TestHTTP runs a server and its load, each in its own process.
func TestHTTP(t *testing.T) {
	servers := []string{"nethttp"}
	for _, mode := range http11.MemoryModes() {
		servers = append(servers, mode.String())
		if mode.Info().OffHeap {
			servers = append(servers, mode.String()+"-offheap")
		}
	}
	for _, server := range servers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := testCell("http")
			c.Params = map[string]string{
				"server": server, "rate": "100", "connections": "7", "duration": driven.String(), "body": "1000", "reply": "9000",
				"live": "1MB", "controller": "idle",
			}
			rec := run(t, c)
			if rec.Err != nil {
				t.Fatal(rec.Err)
			}
			checkDone(t, rec, 200)
			if len(rec.Latency[cell.HistResponse]) == 0 || len(rec.Latency[cell.HistService]) == 0 {
				t.Error("no latencies")
			}
			if got, want := rec.Metrics["/http/memory/hits:blocks"] > 0, server != "nethttp"; got != want {
				t.Errorf("hits of request memory: %v, want %v", got, want)
			}
		})
	}
}

// TestHTTPAnswers runs each kind of response on both kinds of server.
func TestHTTPAnswers(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"text":    {"body": "100", "wait": "1ms", "pipeline": "4", "from": "heap"},
		"file":    {"answer": "file", "reply": "100000"},
		"upgrade": {"answer": "upgrade", "body": "100"},
		"half":    {"halfopen": "30"},
	} {
		for _, server := range []string{"arena", "nethttp"} {
			t.Run(name+"/"+server, func(t *testing.T) {
				t.Parallel()
				c := testCell("http")
				c.Params = map[string]string{"server": server, "rate": "50", "connections": "5", "duration": driven.String()}
				maps.Copy(c.Params, params)
				rec := run(t, c)
				if rec.Err != nil {
					t.Fatal(rec.Err)
				}
				checkDone(t, rec, 100)
				if rec.Metrics[cell.OpCPU] <= 0 {
					t.Errorf("%v ns of CPU time a request", rec.Metrics[cell.OpCPU])
				}
				if n := rec.Metrics["/httpload/halfopen:connections"]; name == "half" && n != 30 {
					t.Errorf("%v half-open connections, want 30", n)
				}
			})
		}
	}
}

// TestBesideFails: a failure beside a cell is the cell's failure.
func TestBesideFails(t *testing.T) {
	c := testCell("httpload")
	c.Params = map[string]string{"address": "127.0.0.1:1", "duration": "10ms"}
	if rec := run(t, c); rec.Err == nil || rec.Err.Kind != cell.FailWorkload {
		t.Errorf("load on a closed port: %v, want a failure", rec.Err)
	}
	if _, err := runBeside(t.Context(), c); err == nil {
		t.Error("runBeside returned no error for a cell that failed")
	}
}
