package web

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/session"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/latency"
)

// testPlan returns two configurations and a twin in the given number of blocks.
func testPlan(blocks int) []cell.Cell {
	var cells []cell.Cell
	for block := range blocks {
		for i, strategy := range []string{"plain", "arena", "plain"} {
			config := cell.Config{Workload: "strategies", Params: map[string]string{"strategy": strategy}, GC: cell.DefaultGC, Twin: i == 2}
			cells = append(cells, cell.Cell{Config: config, Index: len(cells), Order: i, Block: block, Seed: uint64(block)})
		}
	}
	return cells
}

// testRecord returns a record with everything that pages show.
func testRecord(c cell.Cell) *cell.Record {
	rng := rand.New(rand.NewPCG(uint64(c.Index), 1))
	var h latency.Histogram
	rec := &cell.Record{Cell: c, Started: time.Unix(1700000000+int64(c.Index), 0).UTC(), GoVersion: "go1.26", Stderr: "a line\n",
		Buckets: map[string]cell.Buckets{cell.HistPause: {Lower: []float64{1e-5}, Upper: []float64{2e-5}, Count: []uint64{30}}}, Noise: cell.Noise{Steal: 0.01, CPUPressure: -1}}
	for i := range 60 {
		h.Record(time.Duration(100 + rng.Int64N(1e5)))
		rec.Timeline.AtNs = append(rec.Timeline.AtNs, int64(i)*1e7)
		rec.Timeline.HeapBytes = append(rec.Timeline.HeapBytes, 1<<20+rng.Int64N(1<<20))
		rec.Timeline.GoalBytes = append(rec.Timeline.GoalBytes, 4<<20)
		rec.Pauses = append(rec.Pauses, cell.Pause{AtNs: int64(i)*1e7 + 5e6, Ns: rng.Int64N(1e5)})
	}
	data, err := h.MarshalBinary()
	if err != nil {
		panic(err) // a freshly recorded histogram is encodable
	}
	rec.Latency = map[string][]byte{cell.HistService: data}
	rec.Set(cell.OpTime, 100+10*float64(c.Order)+rng.Float64())
	rec.Set(cell.RSSPeak, 1<<25+rng.Float64()*1e5)
	rec.Set(cell.Throughput, 1e7+rng.Float64())
	return rec
}

func testStore(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// addRun stores a run and the given number of its records.
func addRun(t testing.TB, s *store.Store, blocks, records int) int64 {
	t.Helper()
	plan := testPlan(blocks)
	id, err := s.CreateRun(store.Run{Name: "a <b>run</b>", Created: time.Unix(1700000000, 0), Args: []string{"lab", "run", "strategies"}, Seed: 7,
		Machine: cell.Machine{OS: "linux", CPUs: 2}}, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan[:records] {
		if err := s.Append(id, testRecord(c), nil); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func newServer(t testing.TB, c Config) *Server {
	if c.Ledger == nil {
		c.Ledger = func() (*text.Ledger, error) { return &text.Ledger{}, nil }
	}
	s := New(c)
	s.poll = 5 * time.Millisecond
	t.Cleanup(func() { s.Close() })
	return s
}

// get requests a page like a browser on this machine.
func get(t testing.TB, s http.Handler, target string, header ...string) (status int, body string, h http.Header) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "127.0.0.1:8080"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Result().Header
}

func TestPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	addRun(t, s, 6, 18)
	addRun(t, s, 6, 18)
	addRun(t, s, 4, 5)
	server := newServer(t, Config{Store: path, Version: "v1"})
	for target, want := range map[string]struct {
		status int
		texts  []string
	}{
		"/":                             {200, []string{"a &lt;b&gt;run&lt;/b&gt;", "18 of 18", "unfinished", `name="a"`}},
		"/?q=STRATEGIES&before=3":       {200, []string{`href="/run/2"`, "Newest"}},
		"/?q=nothing":                   {200, []string{"None of 3 runs matches"}},
		"/?before=x":                    {400, []string{"want a number"}},
		"/run/1":                        {200, []string{"arena", "Speed and memory", "isobar lab run strategies --seed 7", `href="#cells"`, `href="/run/1/cell/0"`}},
		"/run/1?units=base":             {200, []string{"33", " bytes</td>", "Scaled units"}},
		"/run/last":                     {200, []string{"5 of 12 cells", "isobar --store ", " lab run --resume 3", "have no record", "pending"}},
		"/run/9":                        {404, []string{"no run 9", "All runs"}},
		"/run/x":                        {400, []string{"want a number"}},
		"/run/1/nothing":                {404, []string{"no page"}},
		"/run/1/cell/0":                 {200, []string{"Heap over time", "Pauses over time", "/op/time:ns", "a line", `href="/run/1/cell/1"`}},
		"/run/1/cell/2":                 {200, []string{"the second copy of the baseline", "Heap over time", "Latency by percentile"}},
		"/run/1/cell/0?from=100&to=300": {200, []string{"From 100 ms to 300 ms of 590 ms"}},
		"/run/1/cell/0?from=900&to=100": {200, []string{"Heap over time"}},
		"/run/1/cell/0?from=-1":         {400, []string{"want milliseconds"}},
		"/run/3/cell/7":                 {200, []string{"has not been measured yet", "isobar --store ", " lab run --resume 3"}},
		"/run/1/cell/99":                {404, []string{"no cell 99"}},
		"/run/1/cell/x":                 {400, []string{"want its number"}},
		"/compare":                      {200, []string{" lab compare A B"}},
		"/compare?a=1&b=2":              {200, []string{"Run 2 against run 1", "no difference shown", "Ratios of B to A"}},
		"/compare?a=1&b=8":              {404, []string{"no run 8"}},
		"/live":                         {200, []string{"Run 3", "isobar watch"}},
		"/claims":                       {200, []string{" claims run --quick"}},
		"/advice":                       {200, []string{" advise --bench"}},
		"/nothing":                      {404, []string{"no page"}},
		"/assets/nothing":               {404, []string{"no such file"}},
		"/assets/ui.js":                 {200, []string{"use strict"}},
		"/assets/report.css":            {200, []string{"light-dark"}},
		"/run/1/cell/0?from=1&to=2&units=%3Cb%3E": {200, nil},
	} {
		status, body, h := get(t, server, target)
		if status != want.status {
			t.Errorf("%s: status %d, want %d: %.300s", target, status, want.status, body)
		}
		for _, text := range want.texts {
			if !strings.Contains(body, text) {
				t.Errorf("%s: %q is not in the page", target, text)
			}
		}
		if h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", target, h)
		}
		// The policy would make the browser ignore them.
		if inline := regexp.MustCompile(`(?i)<style|<script>|<script [^>]*></script>.+<script|[\s"]style=|\son[a-z]+=|javascript:|<b>run`).FindString(body); inline != "" && strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %q in the page", target, inline)
		}
	}
}

// TestOneRenderer checks that a run's page has exactly the drawings and tables of the self-contained file.
func TestOneRenderer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	addRun(t, s, 6, 18)
	server := newServer(t, Config{Store: path})
	_, shown, _ := get(t, server, "/run/1")
	_, file, h := get(t, server, "/run/1/report.html")
	if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		t.Error("the file with its inline style is shown, not saved")
	}
	run, analysis, err := session.Load(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if err := page.Write(&want, page.Run{Meta: run.Meta}, analysis); err != nil {
		t.Fatal(err)
	}
	if file != want.String() {
		t.Error("the file is not what package report writes")
	}
	parts := regexp.MustCompile(`(?s)<(svg|figcaption|table)\b.*?</(svg|figcaption|table)>`).FindAllString(file, -1)
	if len(parts) < 20 {
		t.Fatalf("only %d parts in the file", len(parts))
	}
	for _, part := range parts {
		if !strings.Contains(shown, part) {
			t.Errorf("the page lacks what the file has: %.200s", part)
		}
	}
}

func TestNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	server := newServer(t, Config{Store: path})
	for _, target := range []string{"/", "/live"} {
		if status, body, _ := get(t, server, target); status != 200 || !strings.Contains(body, " lab</pre>") {
			t.Errorf("%s without a store: %d %s", target, status, body)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("looking created a store")
	}
	if status, body, _ := get(t, server, "/run/1"); status != 404 || !strings.Contains(body, "no store at") {
		t.Errorf("a run of no store: %d %s", status, body)
	}
	// The first lab creates it; later another file replaces it.
	first := testStore(t, path)
	if status, body, _ := get(t, server, "/"); status != 200 || !strings.Contains(body, " lab</pre>") {
		t.Errorf("an empty store: %d %s", status, body)
	}
	addRun(t, first, 2, 6)
	if status, body, _ := get(t, server, "/run/1"); status != 200 || !strings.Contains(body, "6 of 6 cells") {
		t.Errorf("after the first run: %d %.300s", status, body)
	}
	first.Close()
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		os.Remove(name)
	}
	addRun(t, testStore(t, path), 3, 9)
	if status, body, _ := get(t, server, "/run/1"); status != 200 || !strings.Contains(body, "9 of 9 cells") {
		t.Errorf("after another store took its place: %d %.300s", status, body)
	}
}

// TestBadStores opens files that are not complete stores.
func TestBadStores(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	s := testStore(t, whole)
	addRun(t, s, 20, 60)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	scrambled := append([]byte(nil), data...)
	for i := 4096; i < len(scrambled); i++ {
		scrambled[i] ^= 0x5a
	}
	for name, content := range map[string][]byte{"text": []byte("no store at all, but a text of some length"), "truncated": data[:len(data)/2], "scrambled": scrambled} {
		path := filepath.Join(t.TempDir(), name+".db")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		server := newServer(t, Config{Store: path})
		for _, target := range []string{"/", "/run/1", "/run/1/cell/0", "/live", "/compare?a=1&b=1", "/run/1/report.html", "/run/1/events"} {
			status, body, _ := get(t, server, target)
			if status != 500 || !regexp.MustCompile(`choose another|restore it|restore the store`).MatchString(body) {
				t.Errorf("%s, %s: %d %s", name, target, status, body)
			}
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != string(content) {
			t.Errorf("%s: looking changed the file: %v", name, err)
		}
	}
}

// TestWhileMeasuring reads a store while a lab writes to it.
func TestWhileMeasuring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	id := addRun(t, s, 20, 0)
	server := newServer(t, Config{Store: path})
	written := make(chan error, 1)
	go func() {
		for _, c := range testPlan(20) {
			if err := s.Append(id, testRecord(c), nil); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	count := regexp.MustCompile(`(\d+) of 60 cells finished`)
	last, looked := 0, 0
	for done := false; !done; looked++ {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		for _, target := range []string{"/", "/run/1", "/run/1/cell/0"} {
			status, body, _ := get(t, server, target)
			if status != 200 {
				t.Fatalf("%s: %d %s", target, status, body)
			}
			if m := count.FindStringSubmatch(body); m != nil {
				var n int
				fmt.Sscan(m[1], &n)
				if n < last {
					t.Fatalf("%d cells after %d", n, last)
				}
				last = n
			}
		}
	}
	if last != 60 {
		t.Errorf("%d of 60 cells at the end, after %d looks", last, looked)
	}
}

// TestClaims shows the ledger, and checks that it is recomputed only if the store has changed.
func TestClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	asked := 0
	ledger := &text.Ledger{Documents: []text.LedgerDocument{{ID: "000", Title: "A <b>document</b>", Claims: []text.LedgerClaim{{ID: "000/one", Quote: "so it is", LedgerFigure: text.LedgerFigure{Verdict: "holds"}}}}}}
	server := newServer(t, Config{Store: path, Ledger: func() (*text.Ledger, error) { asked++; return ledger, nil }})
	for i, want := range []int{1, 1, 2, 2} {
		if i == 2 {
			addRun(t, s, 2, 1)
			ledger.Created = time.Unix(1700000000, 0)
		}
		status, body, _ := get(t, server, "/claims")
		if status != 200 || asked != want || !strings.Contains(body, "000/one") || strings.Contains(body, "<b>document") || strings.Contains(body, "Nothing has been measured") != (i < 2) {
			t.Errorf("look %d: %d, asked %d times, want %d: %.2000s", i, status, asked, want, body)
		}
	}
}

// TestEvents follows a run to its end, and another one partly.
func TestEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	id := addRun(t, s, 2, 3)
	server := newServer(t, Config{Store: path})
	left := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, r)
		left <- r.URL.Path
	}))
	defer web.Close()
	answer, err := http.Get(web.URL + "/run/1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v", answer.Header)
	}
	lines := bufio.NewReader(answer.Body)
	next := func() string { // the next event that says something, "" at the end
		for {
			event, err := lines.ReadString('\n')
			blank, _ := lines.ReadString('\n')
			if event+blank != alive || err != nil {
				return event + blank
			}
		}
	}
	for i := 3; i <= 6; i++ {
		if i > 3 {
			if err := s.Append(id, testRecord(testPlan(2)[i-1]), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := next(), fmt.Sprintf("data: {\"finished\":%d,\"failed\":0,\"total\":6}\n\n", i); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if rest := next(); rest != "" {
		t.Errorf("%q after the end", rest)
	}
	<-left
	// A browser that leaves ends the request.
	addRun(t, s, 2, 0)
	answer, err = http.Get(web.URL + "/run/2/events")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := <-left; got != "/run/2/events" {
		t.Error(got)
	}
	if status, body, _ := get(t, server, "/run/7/events"); status != 404 || !strings.Contains(body, "no run 7") {
		t.Errorf("%d %s", status, body)
	}
}

// TestNamesOfRuns: a comparison leads to its runs by number, whatever they are called.
func TestNamesOfRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := testStore(t, path)
	server := newServer(t, Config{Store: path})
	for _, name := range []string{"", "turned \u202e round"} {
		if _, err := s.CreateRun(store.Run{Name: name, Created: time.Unix(1700000000, 0)}, testPlan(1)); err != nil {
			t.Fatal(err)
		}
		if name == "" {
			if _, body, _ := get(t, server, "/"); !strings.Contains(body, ">1 run in the store.") {
				t.Error("the list does not count one run")
			}
		}
	}
	_, body, _ := get(t, server, "/compare?a=1&b=2")
	for _, want := range []string{`href="/run/1">Run 1 (A)<`, `href="/run/2">Run 2 (B)<`} {
		if !strings.Contains(body, want) {
			t.Errorf("the comparison lacks %s", want)
		}
	}
	if strings.Contains(body, "\u202e") {
		t.Error("a name turns the text round")
	}
}
