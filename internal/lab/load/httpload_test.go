package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunDoesWhatIsDue(t *testing.T) {
	var requests, bytes atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.Header.Get("X-Field-07") == "" || r.Header.Get("X-Field-08") != "" {
			t.Errorf("request with fields %v: %v", r.Header, err)
		}
		requests.Add(1)
		bytes.Add(n)
		time.Sleep(10 * time.Millisecond)
		io.WriteString(w, "ok")
	}
	c := Config{Headers: 8, BodyBytes: 100, Connections: 3, Rate: 50, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Due != 100 || r.Done != 100 || r.Failed != 0 || requests.Load() != 100 || bytes.Load() != 100*100 {
			t.Errorf("due %d, done %d, failed %d; the server saw %d requests and %d bytes; want 100 of each, and 10000 bytes",
				r.Due, r.Done, r.Failed, requests.Load(), bytes.Load())
		}
		if r.Response.Count() != 100 || r.Service.Count() != 100 || r.Response.Max() < r.Service.Min() {
			t.Errorf("%d response times, %d service times; want 100", r.Response.Count(), r.Service.Count())
		}
	})
	c.Rate, c.Duration = 0, time.Second
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Due != 300 || r.Done != 300 || r.Failed != 0 {
			t.Errorf("closed loop: due %d, done %d, failed %d; want what 3 connections do in 10 ms each",
				r.Due, r.Done, r.Failed)
		}
	})
}

// TestTCP sends requests over TCP, in both loops, until the server ends the run.
func TestTCP(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, 500} {
		ctx, cancel := context.WithCancel(t.Context())
		var requests atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 100 {
				cancel()
			}
			io.WriteString(w, "ok")
		}))
		c := Config{Address: srv.Listener.Addr().String(), Connections: 3, Rate: rate, Duration: time.Hour}
		r, err := Run(ctx, c)
		if err != nil || r.Failed != 0 || r.Done < 100 || r.Done != requests.Load() {
			t.Errorf("rate %v: done %d, failed %d: %v, %v; the server saw %d", rate, r.Done, r.Failed, r.FirstErr, err,
				requests.Load())
		}
		cancel()
		srv.Close()
	}
}

// TestDueCountsWhatWasNotSent: a slow server does not shorten the schedule. Requests still unsent
// after twice the duration count as backlog.
func TestDueCountsWhatWasNotSent(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(1500 * time.Millisecond)
		io.WriteString(w, "ok")
	}
	c := Config{Connections: 2, Rate: 100, Duration: time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Due != 100 || r.Done != 4 || r.Failed != 0 {
			t.Errorf("due %d, done %d, failed %d; want 100 due and two done on each connection", r.Due, r.Done, r.Failed)
		}
	})
}

// TestDrift loads a server that takes longer for the first 25 of 60 requests.
func TestDrift(t *testing.T) {
	var requests atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= 25 {
			time.Sleep(90 * time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
	}
	c := Config{Connections: 5, Rate: 30, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Done != 60 || r.Drift < 0.09 || r.Drift > 0.11 {
			t.Errorf("drift %.2f of %d requests, want 0.1 of 60", r.Drift, r.Done)
		}
	})
}

// TestStall: response times include a stall for every request due during it.
func TestStall(t *testing.T) {
	const stall = time.Second
	var once atomic.Bool
	handler := func(w http.ResponseWriter, r *http.Request) {
		if !once.Swap(true) {
			time.Sleep(stall) // the stall that is measured
		}
		io.WriteString(w, "ok")
	}
	c := Config{Rate: 40, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		// 40 requests came due during the stall; one of them was in flight.
		if r.Done != 80 || r.Response.Quantile(0.75) < 4*stall/10 || r.Service.Quantile(0.98) != 0 {
			t.Errorf("done %d; response p75 %v, service p98 %v; want 80, and a response time that includes the stall",
				r.Done, r.Response.Quantile(0.75), r.Service.Quantile(0.98))
		}
	})
}

func TestBursts(t *testing.T) {
	c := Config{Rate: 1000, Busy: 20 * time.Millisecond, Idle: 80 * time.Millisecond}
	for i, want := range map[int64]time.Duration{
		0: 0, 19: 19 * time.Millisecond, 20: 100 * time.Millisecond, 39: 119 * time.Millisecond, 40: 200 * time.Millisecond,
	} {
		if got := c.due(i); got != want {
			t.Errorf("request %d is due at %v, want %v", i, got, want)
		}
	}
}

func TestFailuresAreCounted(t *testing.T) {
	var n atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 {
			http.Error(w, "no", http.StatusTeapot)
		}
	}
	c := Config{Rate: 10, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Done != 10 || r.Failed != 10 || r.FirstErr == nil || !strings.Contains(r.FirstErr.Error(), "418") {
			t.Errorf("done %d, failed %d: %v; want 10, 10 and the status", r.Done, r.Failed, r.FirstErr)
		}
	})
}

// TestAnyStatusOfSuccess: a POST is often answered with 201 or 204, which has no body.
func TestAnyStatusOfSuccess(t *testing.T) {
	for _, status := range []int{http.StatusCreated, http.StatusAccepted, http.StatusNoContent} {
		handler := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }
		c := Config{Rate: 10, Duration: time.Second, BodyBytes: 5}
		simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
			if r.Done != 10 || r.Failed != 0 {
				t.Errorf("%d: done %d, failed %d: %v", status, r.Done, r.Failed, r.FirstErr)
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		want string
	}{
		{Config{Address: "192.0.2.1:80", Duration: 1}, "loopback"},
		{Config{Address: "example.com:80", Duration: 1}, "loopback"},
		{Config{Address: "127.0.0.1", Duration: 1}, "host:port"},
		{Config{Address: "127.0.0.1:1", Duration: 1, Idle: 1}, "Busy"},
		{Config{Address: "127.0.0.1:1", Duration: 1, Upgrade: true}, "BodyBytes"},
		{Config{Address: "127.0.0.1:1", Duration: 1, Path: "/a b"}, "begins with /"},
		{Config{Address: "127.0.0.1:1", Duration: 1, HalfOpen: 1}, "half-open"},
		{Config{Address: "127.0.0.1:1", Duration: 1}, "is the server up"},
	} {
		if _, err := Run(t.Context(), tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want an error with %q", tc.c, err, tc.want)
		}
	}
}

// TestPipeline sends eight requests at a time.
func TestPipeline(t *testing.T) {
	var requests, conns atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/here" {
			t.Errorf("a request for %s", r.URL)
		}
		requests.Add(1)
		io.WriteString(w, "ok")
	}
	srv := &http.Server{Handler: http.HandlerFunc(handler), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}}
	c := Config{Path: "/here", Connections: 2, Pipeline: 8, Rate: 80, Duration: 2 * time.Second}
	simulate(t, c, srv, func(r Result) {
		if r.Due != 160 || r.Done != 160 || r.Response.Count() != 160 || requests.Load() != 160 || conns.Load() != 2 {
			t.Errorf("due %d, done %d (%v), the server saw %d on %d connections; want 160 on 2",
				r.Due, r.Done, r.FirstErr, requests.Load(), conns.Load())
		}
	})
}

// TestUpgrade sends messages on connections that the server has switched.
func TestUpgrade(t *testing.T) {
	var upgrades, bytes atomic.Int64
	handler := func(w http.ResponseWriter, r *http.Request) {
		upgrades.Add(1)
		nc, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		n, _ := io.Copy(nc, rw) // until the client closes
		bytes.Add(n)
	}
	c := Config{BodyBytes: 1000, Connections: 4, Upgrade: true, Rate: 50, Duration: 2 * time.Second}
	simulate(t, c, &http.Server{Handler: http.HandlerFunc(handler)}, func(r Result) {
		if r.Done != 100 || r.Failed != 0 || upgrades.Load() != 4 {
			t.Errorf("done %d, failed %d (%v), %d upgrades; want 100, 0 and 4", r.Done, r.Failed, r.FirstErr, upgrades.Load())
		}
		if n := bytes.Load(); n != 100*1000 {
			t.Errorf("the server echoed %d bytes, want 100000", n)
		}
	})
}

// TestHalfOpen: half-open connections stay open during the load, are reopened when the server
// closes them, and are gone afterwards.
func TestHalfOpen(t *testing.T) {
	var open, made atomic.Int64
	srv := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }),
		ReadHeaderTimeout: 50 * time.Millisecond,
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				open.Add(1)
				made.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		},
	}
	simulate(t, Config{HalfOpen: 20, Rate: 15, Duration: 2 * time.Second}, srv, func(r Result) {
		if r.Done != 30 || r.HalfOpen != 20 || r.Reopened < 20 || made.Load() != 1+r.Reopened+r.HalfOpen {
			t.Errorf("%+v, %d connections; want 30 requests, 20 half-open connections, each reopened", r, made.Load())
		}
		if n := open.Load(); n != 0 {
			t.Errorf("%d connections are open after the run", n)
		}
	})
}
