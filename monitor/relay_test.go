package monitor

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRelayShowsWhatItIsGiven(t *testing.T) {
	figures := []Figure{
		{Key: "/heap/objects:bytes", Help: "Objects.", Chart: "Heap"},
		{Key: "/heap/goal:bytes", Help: "Goal.", Chart: "Heap"},
	}
	m, err := NewRelay(RelayConfig{Process: Process{Program: "orders", PID: 42, Go: "go1.99"}, Figures: figures})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Last(make([]float64, 2)); err == nil {
		t.Error("Last before any sample: no error")
	}
	at := time.UnixMilli(1_700_000_000_000)
	if err := m.Add(at, []float64{7, math.NaN()}); err != nil {
		t.Fatal(err)
	}
	if err := m.Add(at, []float64{7}); err == nil {
		t.Error("a sample of one value of two: no error")
	}
	values := make([]float64, 2)
	if when, err := m.Last(values); err != nil || !when.Equal(at) || values[0] != 7 || !math.IsNaN(values[1]) {
		t.Errorf("Last: %v, %v, %v", values, when, err)
	}
	srv := httptest.NewServer(m)
	defer srv.Close()
	get := func(path string) string {
		resp, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
		return string(b)
	}
	if page := get("/"); !strings.Contains(page, "<h1>orders</h1>") || !strings.Contains(page, "pid 42 · go1.99 · watched") {
		t.Errorf("the page does not name the process:\n%s", page)
	}
	var history struct {
		Process Process
		Rows    [][]*float64
	}
	if err := json.Unmarshal([]byte(get("/history")), &history); err != nil {
		t.Fatal(err)
	}
	if history.Process.Program != "orders" || len(history.Rows) != 1 || *history.Rows[0][0] != 1_700_000_000_000 || history.Rows[0][2] != nil {
		t.Errorf("history %+v", history)
	}
}

func TestRelayRefuses(t *testing.T) {
	if _, err := NewRelay(RelayConfig{}); err == nil {
		t.Error("a relay without figures: no error")
	}
	f := Figure{Key: "/a:bytes", Help: "A.", Chart: "A"}
	if _, err := NewRelay(RelayConfig{Figures: []Figure{f, f}}); err == nil || !strings.Contains(err.Error(), "two figures") {
		t.Errorf("a figure twice: %v", err)
	}
	m := start(t, Config{})
	if err := m.Add(time.Now(), make([]float64, len(m.Figures()))); err == nil {
		t.Error("Add to a monitor of its own process: no error")
	}
}

// A deadlined records the write deadline in force after each flush.
type deadlined struct {
	*httptest.ResponseRecorder
	deadline time.Time
	flushed  chan time.Time // capacity 1
}

func (w *deadlined) SetWriteDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

func (w *deadlined) FlushError() error {
	w.flushed <- w.deadline
	return nil
}

// TestWaitHasNoDeadline: HTTP/2 ends a stream when its write deadline passes,
// also if nothing is being written, so a stream that waits has none.
func TestWaitHasNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewRelay(RelayConfig{Figures: []Figure{{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}}})
		if err != nil {
			t.Fatal(err)
		}
		w := &deadlined{ResponseRecorder: httptest.NewRecorder(), flushed: make(chan time.Time, 1)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.ServeHTTP(w, httptest.NewRequest("GET", "/debug/isobar/stream", nil))
		}()
		if at := <-w.flushed; at.IsZero() {
			t.Error("wrote without a deadline")
		}
		synctest.Wait()
		if !w.deadline.IsZero() {
			t.Errorf("waits with a deadline in %v", time.Until(w.deadline))
		}
		m.Close()
		<-ended
	})
}
