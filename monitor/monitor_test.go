package monitor

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

func start(t testing.TB, c Config) *Monitor {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// value returns a figure from the newest sample.
func value(t *testing.T, m *Monitor, key string) float64 {
	t.Helper()
	values := make([]float64, len(m.Figures()))
	if _, err := m.Last(values); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Figures(), func(f Figure) bool { return f.Key == key })
	if i < 0 {
		t.Fatalf("no figure %s", key)
	}
	return values[i]
}

var kept [][]byte

func TestFiguresFollowTheProcess(t *testing.T) {
	m := start(t, Config{Interval: time.Hour, History: 10 * time.Hour})
	before := map[string]float64{}
	for _, key := range []string{"/gc/cycles:gc-cycles", "/gc/cycles-forced:gc-cycles", "/alloc/size:bytes",
		"/alloc/to-512:objects", "/alloc/larger:objects", "/sched/goroutines:goroutines"} {
		before[key] = value(t, m, key)
	}
	stop := make(chan struct{})
	for range 500 {
		go func() { <-stop }()
	}
	for range 1000 {
		kept = append(kept, make([]byte, 300))
	}
	for range 10 {
		kept = append(kept, make([]byte, 100_000))
	}
	for range 3 {
		runtime.GC()
	}
	m.sample(time.Now())
	gained := func(key string) float64 { return value(t, m, key) - before[key] }
	if n := gained("/gc/cycles-forced:gc-cycles"); n != 3 {
		t.Errorf("%v forced collections, want 3", n)
	}
	if n := gained("/gc/cycles:gc-cycles"); n < 3 {
		t.Errorf("%v collections, want 3 or more", n)
	}
	if n := gained("/alloc/size:bytes"); n < 1_300_000 {
		t.Errorf("%v bytes allocated, want 1,300,000 or more", n)
	}
	if n := gained("/alloc/to-512:objects"); n < 1000 || n > 20_000 {
		t.Errorf("%v objects of up to 512 bytes, want at least 1000 and few more", n)
	}
	if n := gained("/alloc/larger:objects"); n < 10 || n > 100 {
		t.Errorf("%v large objects, want at least 10 and few more", n)
	}
	if n := gained("/sched/goroutines:goroutines"); n < 400 { // other tests' goroutines may end meanwhile
		t.Errorf("%v more goroutines, want 500", n)
	}
	close(stop)
	goal, objects := value(t, m, "/heap/goal:bytes"), value(t, m, "/heap/objects:bytes")
	if live := live(t, m); live < 1_300_000 || goal <= live || objects < live/2 {
		t.Errorf("live %v, goal %v, objects %v", live, goal, objects)
	}
	p99, most := value(t, m, "/gc/pause/p99:seconds"), value(t, m, "/gc/pause/max:seconds")
	if !(p99 > 0) || most < p99 || most > 10 {
		t.Errorf("pauses: p99 %v, max %v", p99, most)
	}
	resident := value(t, m, "/memory/resident:bytes")
	if runtime.GOOS == "linux" && (resident < live(t, m) || resident > 1<<36) {
		t.Errorf("resident %v", resident)
	}
	if limit := value(t, m, "/memory/limit:bytes"); !math.IsNaN(limit) {
		t.Errorf("limit %v, want none", limit)
	}
	kept = nil
}

func live(t *testing.T, m *Monitor) float64 { return value(t, m, "/heap/live:bytes") }

// TestSizes compares the classes with a hand count.
func TestSizes(t *testing.T) {
	samples := []metrics.Sample{{Name: bySize}}
	metrics.Read(samples)
	h := samples[0].Value.Float64Histogram()
	got := make([]float64, len(sizes))
	countSizes(got, samples[0].Value)
	var want, all float64
	for i, n := range h.Counts {
		all += float64(n)
		if low := h.Buckets[i]; low > 32 && low <= 128 { // buckets start at a size
			want += float64(n)
		}
	}
	sum := 0.0
	for _, n := range got {
		sum += n
	}
	if got[1] != want || sum != all {
		t.Errorf("%v objects of 33 to 128 bytes, want %v; %v in total, want %v", got[1], want, sum, all)
	}
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	n := 0.0
	m := start(t, Config{Interval: time.Hour, History: 5 * time.Hour, Sources: []Source{{
		Figures: []Figure{{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}},
		Read:    func(v []float64) { n++; v[0] = n },
	}}})
	news, leave := m.watch()
	defer leave()
	if allocs := testing.AllocsPerRun(100, func() { m.sample(time.Now()) }); allocs != 0 {
		t.Errorf("%v allocations a sample", allocs)
	}
	select {
	case <-news:
	default:
		t.Error("the viewer was not notified")
	}
	if got := value(t, m, "/mine:widgets"); got != n || n < 100 {
		t.Errorf("the source's figure is %v, want %v", got, n)
	}
}

func BenchmarkSample(b *testing.B) {
	m := start(b, Config{Interval: time.Hour, History: 5 * time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		m.sample(time.Now())
	}
}

// TestQuantiles compares quantiles with sorted values.
func TestQuantiles(t *testing.T) {
	bounds := []float64{math.Inf(-1), 1, 2, 3, 4, math.Inf(1)}
	d := delta{bounds: bounds, gained: make([]uint64, 5), counts: make([]uint64, 5)}
	if q := d.quantile(0.5); !math.IsNaN(q) {
		t.Errorf("the median of no values is %v", q)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var all []float64
		d.total = 0
		for i := range d.gained {
			d.gained[i] = uint64(r.IntN(4))
			d.total += d.gained[i]
			for range d.gained[i] {
				all = append(all, []float64{1, 2, 3, 4, 4}[i])
			}
		}
		if len(all) == 0 {
			continue
		}
		for _, q := range []float64{0, 0.25, 0.5, 0.99, 1} {
			want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
			if got := d.quantile(q); got != want {
				t.Fatalf("quantile %v of %v is %v, want %v", q, all, got, want)
			}
		}
	}
}

// TestHistoryIsBounded: new samples replace the oldest, in order.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0.0
		m := start(t, Config{Interval: time.Second, History: 10 * time.Second, Sources: []Source{{
			Figures: []Figure{{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}},
			Read:    func(v []float64) { n++; v[0] = n },
		}}})
		time.Sleep(24*time.Second + time.Millisecond)
		synctest.Wait()
		b, next := m.from(0, nil)
		var rows [][]*float64
		if err := json.Unmarshal(fmt.Appendf(nil, "[%s]", b), &rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) != 10 || next != 25 {
			t.Fatalf("%d rows ending before sample %d, want 10 up to 25", len(rows), next)
		}
		for i, row := range rows {
			if got := *row[len(row)-1]; got != float64(16+i) {
				t.Errorf("row %d holds sample %v, want %d", i, got, 16+i)
			}
			if i > 0 && *row[0]-*rows[i-1][0] != 1000 {
				t.Errorf("row %d is %v ms after the one before", i, *row[0]-*rows[i-1][0])
			}
		}
		m.Close()
		m.Close()
		time.Sleep(10 * time.Second)
		if _, after := m.from(0, nil); after != next {
			t.Error("sampled after Close")
		}
	})
}

// TestMemory: ten minutes of samples, one per second, stay below 1 MiB.
func TestMemory(t *testing.T) {
	m := start(t, Config{})
	if bytes := 8 * (len(m.values) + len(m.times)); bytes > 1<<20 || len(m.times) != 600 {
		t.Errorf("%d samples in %d bytes, want 600 in less than 1 MiB", len(m.times), bytes)
	}
}

// event reads one event of a stream: its rows and its id.
func event(t *testing.T, in *bufio.Reader) (rows [][]*float64, id string) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &rows); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case line == "" && rows != nil:
			return rows, id
		}
	}
}

// TestStream follows the samples, disconnects, and reconnects without missing
// one.
func TestStream(t *testing.T) {
	m := start(t, Config{Interval: time.Hour, History: 20 * time.Hour})
	srv := httptest.NewServer(http.StripPrefix("/debug", m))
	defer srv.Close()
	open := func(id string) (*bufio.Reader, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+"/debug/stream", nil)
		if id != "" {
			r.Header.Set("Last-Event-ID", id)
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("a stream of %s", kind)
		}
		return bufio.NewReader(resp.Body), func() { cancel(); resp.Body.Close() }
	}
	place := func(k uint64) string { return string(m.appendID(nil, k)) }
	in, leave := open(place(0))
	if rows, id := event(t, in); len(rows) != 1 || id != place(1) || len(rows[0]) != 1+len(m.Figures()) {
		t.Errorf("%d rows up to %s, want the existing rows", len(rows), id)
	}
	m.sample(time.Now())
	rows, id := event(t, in)
	if len(rows) != 1 || id != place(2) {
		t.Errorf("%d rows up to %s, want the second", len(rows), id)
	}
	leave()
	for range 3 {
		m.sample(time.Now())
	}
	in, leave = open(id)
	defer leave()
	if rows, id = event(t, in); len(rows) != 3 || id != place(5) {
		t.Errorf("after reconnecting: %d rows up to %s, want 3 up to 5", len(rows), id)
	}
	if k, ok := m.parseID("1-0"); ok {
		t.Errorf("position %d of another process was accepted", k)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // viewers that left are forgotten
		m.mu.Lock()
		n := len(m.viewers)
		m.mu.Unlock()
		if n == 1 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%d viewers, want 1", n)
			break
		}
	}
	m.Close()
	if _, err := io.ReadAll(in); err != nil {
		t.Errorf("closing the monitor did not end the stream: %v", err)
	}
}

func TestPages(t *testing.T) {
	m := start(t, Config{})
	mux := http.NewServeMux()
	mux.Handle("/debug/isobar/", m)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, test := range []struct {
		method, path, host string
		status             int
		text               string
	}{
		{"GET", "/debug/isobar/", "", 200, "<h1>"},
		{"HEAD", "/debug/isobar/", "", 200, ""},
		{"GET", "/debug/isobar/page.js", "", 200, "EventSource"},
		{"GET", "/debug/isobar/uplot.js", "", 200, "uPlot"},
		{"GET", "/debug/isobar/history", "", 200, `"key":"/heap/goal:bytes"`},
		{"GET", "/debug/isobar/flight", "", 404, "no Alarms"},
		{"GET", "/debug/isobar/handler.go", "", 404, "no such page"},
		{"GET", "/debug/isobar/assets/page.js.tmpl", "", 404, "no such page"},
		{"POST", "/debug/isobar/history", "", 405, "only GET"},
		{"GET", "/debug/isobar/", "evil.example", 403, "localhost"},
		{"GET", "/debug/isobar/history", "evil.example:80", 403, "localhost"},
		{"GET", "/debug/isobar/", "localhost", 200, "<h1>"},
		{"GET", "/debug/isobar/", "LOCALHOST.:80", 200, "<h1>"},
		{"GET", "/debug/isobar/", "[::1]:123", 200, "<h1>"},
	} {
		r, err := http.NewRequest(test.method, srv.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(body), test.text) {
			t.Errorf("%s %s for %q: %d %.80q, want %d with %q", test.method, test.path, test.host, resp.StatusCode, body,
				test.status, test.text)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", test.path, csp)
		}
	}
	// Behind another address the proxy in front decides.
	r := httptest.NewRequest("GET", "/x/", nil)
	r.Host = "service.example"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}))
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("on another address: %d", w.Code)
	}
}

func TestHandlerIsShared(t *testing.T) {
	if Handler() != Handler() {
		t.Error("Handler made two monitors")
	}
}

func TestNewRefuses(t *testing.T) {
	figure := Figure{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}
	source := Source{Figures: []Figure{figure}, Read: func([]float64) {}}
	noKey := Source{Figures: []Figure{{Key: "widgets", Help: "x", Chart: "y"}}, Read: source.Read}
	for want, c := range map[string]Config{
		"at least 100ms":         {Interval: time.Millisecond},
		"at least two intervals": {History: time.Second},
		"needs more than":        {History: 1000 * time.Hour},
		"no Read or no figures":  {Sources: []Source{{Figures: []Figure{figure}}}},
		"want a key as":          {Sources: []Source{noKey}},
		"two figures":            {Sources: []Source{source, source}},
		"no such figure":         {Alarms: []Alarm{{Key: "/nothing:bytes"}}},
		"a counter only grows":   {Alarms: []Alarm{{Key: "/gc/cycles:gc-cycles"}}},
	} {
		if m, err := New(c); err == nil {
			m.Close()
			t.Errorf("%+v was accepted, want an error with %q", c, want)
		} else if !strings.HasPrefix(err.Error(), "monitor: New: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ... %s", err, want)
		}
	}
	m := start(t, Config{})
	if _, err := m.Last(nil); err == nil {
		t.Error("Last accepted an empty slice")
	}
}

// TestAlarm: a recording is saved when the condition begins, at most one per
// minute.
func TestAlarm(t *testing.T) {
	level := 0.0
	m := start(t, Config{Interval: time.Hour, History: 20 * time.Hour,
		Sources: []Source{{
			Figures: []Figure{{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}},
			Read:    func(v []float64) { v[0] = level },
		}},
		Alarms: []Alarm{{Key: "/mine:widgets", Above: 5}}})
	fetch := func() (int, []byte) {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest("GET", "/debug/isobar/flight", nil))
		return w.Code, w.Body.Bytes()
	}
	now := time.Now()
	m.sample(now)
	if code, body := fetch(); code != 404 {
		t.Errorf("before an alarm: %d %.50q", code, body)
	}
	at := func(seconds int, l float64) (when time.Time) {
		level = l
		m.sample(now.Add(time.Duration(seconds) * time.Second))
		if rec, err := m.flight.recording(); rec != nil && err == nil {
			return rec.at
		}
		return time.Time{}
	}
	first := at(1, 6)
	if code, body := fetch(); code != 200 || !strings.HasPrefix(string(body), "go 1.") {
		t.Errorf("after an alarm: %d %.50q, want a trace", code, body)
	}
	if got := at(100, 7); got != first {
		t.Error("recorded twice during one alarm")
	}
	at(101, 0)
	if got := at(102, 6); !got.After(first) {
		t.Error("a second alarm was not recorded")
	}
	at(103, 0)
	if got := at(104, 6); !got.Equal(now.Add(102 * time.Second)) {
		t.Errorf("recorded again within a minute, at %v", got.Sub(now))
	}
}
