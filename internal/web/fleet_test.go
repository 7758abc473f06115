package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/monitor"
)

const hostileName = `w<script>document.title="owned"</script>` + "\x1b"

func testFleet() *fleet.Status {
	return &fleet.Status{Server: "srv", Cluster: "c1", Dead: 3,
		Workers: []fleet.Member{
			{Name: hostileName, Machine: cell.Machine{CPU: "a CPU", OS: "linux", Arch: "arm64", CPUs: 64, Kernel: "6.1"},
				Labels: map[string]string{"rack": "7", "cores": "64"}, Allow: []string{"lab", "exec"}, State: "running",
				Sweep: "run1", Block: 4, Cell: "alloc/gc=default", Done: 2, Cells: 7, CellsDone: 41, CellsFailed: 5, Retries: 6,
				LostHeartbeats: 8, Floor: 1.034},
			{Name: "w2", State: "idle", LostHeartbeats: 1},
		},
		Sweeps: []fleet.SweepStatus{{ID: "run1", Requires: fleet.Requirement{Kind: "lab", Labels: []string{"cores>=8"}},
			Queued: 17, Running: 1, Retried: 2, Results: 9, Unmet: "no worker has 8 cores"}},
	}
}

func TestFleetPage(t *testing.T) {
	store := filepath.Join(t.TempDir(), "none.db")
	if status, body, _ := get(t, newServer(t, Config{Store: store}), "/fleet"); status != 200 || !strings.Contains(body, " ui --fleet nats://127.0.0.1:4222 --fleet-token-file FILE") {
		t.Errorf("without a fleet: %d %.300s", status, body)
	}
	if status, _, _ := get(t, newServer(t, Config{Store: store}), "/fleet/events"); status != 404 {
		t.Errorf("events without a fleet: %d", status)
	}
	server := newServer(t, Config{Store: store, Fleet: func(context.Context) (*fleet.Status, error) { return testFleet(), nil }})
	status, body, _ := get(t, server, "/fleet")
	for _, want := range []string{
		"srv of cluster c1", "<dt>Workers</dt><dd>2</dd>", "<dt>Running cells</dt><dd>1</dd>", "<dt>Blocks queued</dt><dd>17</dd>", "<dt>Of those, retried</dt><dd>2</dd>",
		"<dt>Lost heartbeats</dt><dd>9</dd>", "<dt>Retries of workers</dt><dd>6</dd>", "<dt>Messages given up</dt><dd>3</dd>", "<dt>Results not stored</dt><dd>9</dd>",
		"w&lt;script&gt;", "running: run1 block 4, cell 3 of 7 alloc/gc=default", "a CPU linux/arm64", "<td>1.03x</td>", "<td>41</td>", "cores=64 rack=7", "lab cores&gt;=8", "no worker has 8 cores", `aria-current="page">Fleet`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if status != 200 || strings.Contains(body, "<script>") || strings.Contains(body, "\x1b") {
		t.Errorf("%d: a worker's name is not text", status)
	}
}

// The page of a failing fleet keeps the last known state, with the error above it.
func TestFleetTrouble(t *testing.T) {
	var fails atomic.Bool
	var asked atomic.Int32
	server := newServer(t, Config{Store: "none.db", Fleet: func(context.Context) (*fleet.Status, error) {
		asked.Add(1)
		if fails.Load() {
			return nil, errors.New("it is gone <b>")
		}
		return testFleet(), nil
	}})
	for range 5 {
		get(t, server, "/fleet")
	}
	if n := asked.Load(); n > 4 { // within fleetAge one answer is enough
		t.Errorf("the fleet was asked %d times for five looks", n)
	}
	fails.Store(true)
	server.fleet.at = time.Time{}
	status, body, _ := get(t, server, "/fleet")
	if status != 200 || !strings.Contains(body, "it is gone &lt;b&gt;; retrying") || !strings.Contains(body, "run1 block 4") {
		t.Errorf("%d: %.2000s", status, body)
	}
}

// Events hold only the changed parts.
func TestFleetEvents(t *testing.T) {
	var dead atomic.Uint64
	server := newServer(t, Config{Store: "none.db", Fleet: func(context.Context) (*fleet.Status, error) {
		f := testFleet()
		f.Dead = dead.Load()
		return f, nil
	}})
	listener := httptest.NewServer(server)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, listener.URL+"/fleet/events", nil)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	lines := bufio.NewScanner(response.Body)
	next := func() map[string]string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var parts map[string]string
				if err := json.Unmarshal([]byte(data), &parts); err != nil {
					t.Fatal(err)
				}
				return parts
			}
		}
		t.Fatal("the events end: ", lines.Err())
		return nil
	}
	first := next()
	if len(first) != 5 || !strings.Contains(first["fleet-workers"], "w2") || !strings.Contains(first["fleet-counts"], "<dd>0</dd>") || strings.Contains(first["fleet-workers"], "<script>") {
		t.Errorf("first: %v", first)
	}
	dead.Store(7)
	if second := next(); len(second) != 1 || !strings.Contains(second["fleet-counts"], "<dt>Messages given up</dt><dd>7</dd>") {
		t.Errorf("second: %v", second)
	}
}

func TestWatchedPages(t *testing.T) {
	shown, silent := live.NewRelay(time.Second), live.NewRelay(time.Second)
	defer shown.Close()
	if err := shown.Add(live.Sample{At: time.Now(), Process: monitor.Process{Program: "prog"},
		Figures: []monitor.Figure{{Key: "/a:bytes", Help: "a", Chart: "A"}}, Values: []float64{1}}); err != nil {
		t.Fatal(err)
	}
	silent.Gap("nothing listens there")
	server := newServer(t, Config{Store: "none.db", Watched: []Watched{{"localhost:6060", shown}, {hostileName, silent}}})
	for target, want := range map[string]struct {
		status int
		text   string
	}{
		"/live":           {200, `<a href="/live/1/">localhost:6060</a>`},
		"/live/1/":        {200, "prog"},
		"/live/1/page.js": {200, "EventSource"},
		"/live/1/history": {200, `"figures"`},
		"/live/2/":        {503, "No sample so far. nothing listens there"},
		"/live/3/":        {404, "no page"},
		"/live/0/":        {404, "no page"},
		"/live/x/":        {404, "no page"},
	} {
		status, body, h := get(t, server, target)
		if status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%s: %d, lacks %q: %.300s", target, status, want.text, body)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(body, "w<script>") {
			t.Errorf("%s: policy %q", target, h.Get("Content-Security-Policy"))
		}
	}
	if _, body, _ := get(t, server, "/live"); !strings.Contains(body, "nothing listens there") || strings.Contains(body, " ui --watch") {
		t.Errorf("live: %s", body)
	}
	// The store's guard also protects the pages of processes.
	guarded := newServer(t, Config{Store: "none.db", Token: "secret", Watched: server.config.Watched})
	if status, _, _ := get(t, guarded, "/live/1/history", "Host", "192.0.2.1:8080"); status != 401 {
		t.Errorf("without the token: %d", status)
	}
}
