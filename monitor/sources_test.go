package monitor

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/http11"
	"github.com/isobar-go/isobar/internal/base/invariant"
	"github.com/isobar-go/isobar/latency"
	"github.com/isobar-go/isobar/pool"
)

// read returns the values of a source by key.
func read(s Source) map[string]float64 {
	values := make([]float64, len(s.Figures))
	s.Read(values)
	out := map[string]float64{}
	for i, f := range s.Figures {
		out[f.Key] = values[i]
	}
	return out
}

// compare checks some of the values of a source.
func compare(t *testing.T, s Source, want map[string]float64) {
	t.Helper()
	got := read(s)
	for key, v := range want {
		have, ok := got[key]
		if !ok || have != v && !(math.IsNaN(v) && math.IsNaN(have)) {
			t.Errorf("%s = %v (found: %t), want %v", key, have, ok, v)
		}
	}
}

// controlled starts a controller with a budget in bytes; 0 for none.
func controlled(t *testing.T, limit int64, mode gcctl.Mode) *gcctl.Controller {
	t.Helper()
	c, err := gcctl.Start(gcctl.Config{LimitBytes: limit, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestControllerSource(t *testing.T) {
	t.Run("budget", func(t *testing.T) {
		c := controlled(t, 8<<30, gcctl.Default)
		if err := c.SetMode(gcctl.Hybrid); err != nil {
			t.Fatal(err)
		}
		if err := c.Force(context.Background()); err != nil {
			t.Fatal(err)
		}
		s := Of("", c.Stats)
		compare(t, s, map[string]float64{
			"/controller/budget:bytes": 8 << 30, "/controller/alarms:events": 0,
			"/controller/mode-changes:events": float64(c.Stats().ModeChanges),
		})
		got := read(s)
		if n := got["/controller/collections:events"]; n < 1 {
			t.Errorf("%v collections, want the forced one", n)
		}
		if n := got["/controller/memory:bytes"]; n <= 0 || n >= 8<<30 {
			t.Errorf("memory %v, want some, within the budget", n)
		}
		if n := got["/controller/mode-changes:events"]; n < 1 {
			t.Errorf("%v mode changes, want the one to Hybrid", n)
		}
	})
	said := func(s gcctl.Stats) Source { return Of("", func() gcctl.Stats { return s }) }
	// At the limit the time to it is zero, a value and not "none".
	t.Run("at the limit", func(t *testing.T) {
		compare(t, said(gcctl.Stats{BudgetBytes: 1 << 30, Percent: 100}), map[string]float64{
			"/controller/budget:bytes": 1 << 30, "/controller/gogc:percent": 100, "/controller/time-to-limit:seconds": 0,
		})
	})
	t.Run("none", func(t *testing.T) {
		compare(t, said(gcctl.Stats{Percent: -1, TimeToLimit: -1}), map[string]float64{
			"/controller/budget:bytes": math.NaN(), "/controller/gogc:percent": math.NaN(),
			"/controller/time-to-limit:seconds": math.NaN(),
		})
	})
}

func TestPoolSource(t *testing.T) {
	p := pool.New(pool.Config[[64]byte]{})
	a, b := p.Get(), p.Get()
	p.Put(a)
	stats := p.Stats()
	s := Of("orders", p.Stats)
	compare(t, s, map[string]float64{
		"/pool/orders/hits:gets": float64(stats.Hits), "/pool/orders/misses:gets": float64(stats.Misses),
		"/pool/orders/in-use:objects": 1, "/pool/orders/idle:objects": float64(stats.Idle),
	})
	if got := read(s); got["/pool/orders/hits:gets"]+got["/pool/orders/misses:gets"] != 2 {
		t.Errorf("%v, want two gets", got)
	}
	p.Put(b)
}

func TestLoopSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waited := latency.NewRecorder()
		l, err := eventloop.New(eventloop.Config{Latency: waited, OnPanic: func(any, []byte) {}})
		if err != nil {
			t.Fatal(err)
		}
		s, tasks := Of("orders", l.Stats), Latency("orders", waited)
		compare(t, tasks, map[string]float64{"/latency/orders/p99:seconds": math.NaN(), "/latency/orders/recorded:events": 0})
		for range 3 {
			l.Submit(func() {})
		}
		compare(t, s, map[string]float64{"/loop/orders/queued:tasks": 3, "/loop/orders/tasks:tasks": 0})
		l.Submit(func() { panic("task panics") })
		l.After(10*time.Millisecond, func() {})
		l.Submit(func() { time.Sleep(35 * time.Millisecond) }) // so the timer is 25 ms late
		go l.Run(context.Background())
		time.Sleep(time.Second)
		l.Submit(func() {})
		time.Sleep(time.Second)
		synctest.Wait()
		compare(t, s, map[string]float64{
			"/loop/orders/queued:tasks": 0, "/loop/orders/tasks:tasks": 6, "/loop/orders/panics:events": 1,
			"/loop/orders/lag:seconds": 0.025, "/loop/orders/wakeups:events": 1, "/loop/orders/turns:turns": float64(l.Stats().Turns),
		})
		compare(t, tasks, map[string]float64{"/latency/orders/p50:seconds": 0, "/latency/orders/recorded:events": 6})
		compare(t, tasks, map[string]float64{"/latency/orders/p50:seconds": math.NaN(), "/latency/orders/recorded:events": 6})
		l.Close()
		<-l.Done()
	})
}

func TestServerSource(t *testing.T) {
	server := &http11.Server{Handler: http11.HandlerFunc(func(c *http11.Context) { c.WriteString("ok") })}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body) // or the client drops the connection
	resp.Body.Close()
	s := Of("front", server.Stats)
	compare(t, s, map[string]float64{"/http11/front/accepted:connections": 1, "/http11/front/open:connections": 1, "/http11/front/refused:requests": 0, "/http11/front/timeouts:requests": 0})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("not a request\r\n\r\n"))
	conn.Read(make([]byte, 4096)) // the answer
	conn.Close()
	for deadline := time.Now().Add(10 * time.Second); server.Stats().Conns > 1 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	compare(t, s, map[string]float64{"/http11/front/accepted:connections": 2, "/http11/front/refused:requests": 1, "/http11/front/open:connections": 1})
	m := server.Stats().Memory
	compare(t, s, map[string]float64{
		"/http11/front/hits:blocks": float64(m.Hits), "/http11/front/misses:blocks": float64(m.Misses), "/http11/front/in-use:blocks": float64(m.InUse),
		"/http11/front/utilization:ratio": m.Utilization(), "/http11/front/made:chunks": float64(m.ChunksMade), "/http11/front/freed:chunks": float64(m.ChunksFreed),
	})
	if m.Hits+m.Misses == 0 {
		t.Error("two requests used no memory")
	}
	got := read(s)
	if got["/http11/front/held:bytes"] < got["/http11/front/in-use:bytes"] {
		t.Errorf("%v: more memory in use than held", got)
	}
}

// TestSourcesDoNotAllocate: a monitor reads them every second, possibly in a
// program built to allocate nothing.
func TestSourcesDoNotAllocate(t *testing.T) {
	if invariant.Race {
		t.Skip("the race detector allocates")
	}
	l, err := eventloop.New(eventloop.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := pool.New(pool.Config[[64]byte]{})
	for name, s := range map[string]Source{
		"controller": Of("", controlled(t, 8<<30, gcctl.Default).Stats), "pool": Of("orders", p.Stats),
		"loop": Of("orders", l.Stats), "server": Of("front", new(http11.Server).Stats),
		"latency": Latency("orders", latency.NewRecorder()),
	} {
		values := make([]float64, len(s.Figures))
		if n := testing.AllocsPerRun(100, func() { s.Read(values) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// TestSharedSource: two Monitors with the same Source do not read it at once.
func TestSharedSource(t *testing.T) {
	var busy atomic.Bool
	source := Source{Figures: []Figure{{Key: "/mine:widgets", Help: "Widgets.", Chart: "Mine"}}, Read: func([]float64) {
		if !busy.CompareAndSwap(false, true) {
			t.Error("read by two goroutines at once")
		}
		for range 20 {
			runtime.Gosched()
		}
		busy.Store(false)
	}}
	var readers sync.WaitGroup
	for range 2 {
		m := start(t, Config{Interval: time.Hour, History: 10 * time.Hour, Sources: []Source{source}})
		readers.Go(func() {
			for range 1000 {
				m.sample(time.Now())
			}
		})
	}
	readers.Wait()
}
