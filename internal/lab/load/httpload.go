// Package load sends HTTP/1.1 requests to a server on this machine and records
// response times.
//
// With a rate it is an open loop: each connection follows its share of a
// schedule that does not wait for responses, and response time counts from when a
// request was due. A connection has one request in flight; later ones wait and
// are sent late, and their response time includes the delay (the method of
// wrk2). Without a rate it is a closed loop. Responses other than 2xx and failed
// connections are counted; a failed connection is reopened.
//
// Connections may be upgraded first; they then carry messages that the server echoes.
// Beside the load there may be connections that start a request and send no
// more.
package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/base/loopback"
	"github.com/isobar-go/isobar/latency"
)

// Config says what load to send. Nothing in it is negative.
type Config struct {
	// Address is host and port of the server; the host must be a loopback address.
	Address string
	// Path is the request target; "" is /load?item=42.
	Path string
	// Headers is the number of extra header fields, 32 bytes each.
	Headers int
	// BodyBytes is the size of the body of a POST; 0 sends GET.
	BodyBytes int
	// Connections is their number; 0 means 1.
	Connections int
	// Pipeline is the number of requests that a connection sends at once; all are
	// due with the first. 0 means 1.
	Pipeline int
	// Upgrade makes every connection switch to another protocol first. A request
	// is then a message of BodyBytes, which the server must echo.
	Upgrade bool
	// HalfOpen is the number of extra connections that send the start of a head
	// and nothing more. If the server closes one, it is reopened.
	HalfOpen int
	// Rate is in requests per second over all connections; 0 is a closed loop.
	Rate float64
	// Busy and Idle, if Idle is not 0, interrupt the schedule: requests are due
	// for Busy, then none for Idle. Rate applies within Busy.
	Busy, Idle time.Duration
	// Duration is the length of the schedule. Requests due within it may take as
	// long again to finish.
	Duration time.Duration

	// dial replaces TCP in tests whose time stands still while a goroutine works.
	dial func(context.Context) (net.Conn, error)
}

// Result is the outcome of a load.
type Result struct {
	Due, Done int64 // Done counts responses with status 2xx
	Failed    int64
	FirstErr  error // of the failed requests
	// HalfOpen is the number of half-open connections at the end; Reopened counts
	// how often one was reopened.
	HalfOpen, Reopened int64
	Elapsed            time.Duration
	// Both end with the response: Response starts when the request was due, Service
	// when it was sent.
	Response, Service *latency.Histogram
	// Drift is the median response time in the second half of the load over that in the first; 0
	// if a half has no response. A server that warms up is below 1.
	Drift float64
}

func (c Config) check() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("load: address %q: %w; want host:port", c.Address, err)
	}
	if !loopback.Is(c.Address) {
		return fmt.Errorf("load: address %q is not a loopback address; load must stay on this machine", c.Address)
	}
	switch {
	case c.Upgrade && (c.BodyBytes == 0 || c.Pipeline > 1):
		return errors.New("load: Upgrade without BodyBytes, or with Pipeline; messages have a size and go one by one")
	case c.Path != "" && (c.Path[0] != '/' || strings.ContainsAny(c.Path, " \r\n")):
		return fmt.Errorf("load: path %q; want one that begins with / and has no space", c.Path)
	case c.Idle > 0 && (c.Busy == 0 || c.Rate == 0):
		return errors.New("load: Idle without Busy or Rate; bursts need both")
	}
	return nil
}

// request returns the bytes of a request, without the body if the connection is
// upgraded.
func (c Config) request() []byte {
	var b strings.Builder
	method := "GET"
	if c.BodyBytes > 0 && !c.Upgrade {
		method = "POST"
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, c.Path, c.Address)
	for i := range c.Headers {
		fmt.Fprintf(&b, "X-Field-%02d: %s\r\n", i, "abcdefghijklmnopqr")
	}
	switch {
	case c.Upgrade:
		b.WriteString("Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		return []byte(b.String())
	case c.BodyBytes > 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", c.BodyBytes)
	}
	b.WriteString("\r\n")
	return append([]byte(b.String()), c.body()...)
}

func (c Config) body() []byte {
	b := make([]byte, c.BodyBytes)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

// due returns when request i of the schedule is due.
func (c Config) due(i int64) time.Duration {
	t := time.Duration(float64(i) / c.Rate * float64(time.Second))
	if c.Idle > 0 {
		t += t / c.Busy * c.Idle
	}
	return t
}

// Run opens the connections, then follows the schedule. If ctx ends, it returns
// early with the results so far.
func Run(ctx context.Context, c Config) (Result, error) {
	c.Connections, c.Pipeline = max(c.Connections, 1), max(c.Pipeline, 1)
	if err := c.check(); err != nil {
		return Result{}, err
	}
	c.Path = cmp.Or(c.Path, "/load?item=42")
	ctx, cancel := context.WithTimeout(ctx, 2*c.Duration+patience)
	defer cancel()
	run := &run{Config: c, ctx: ctx, response: latency.NewRecorder(), service: latency.NewRecorder()}
	run.bytes = bytes.Repeat(c.request(), c.Pipeline)
	if c.Upgrade {
		run.message = c.body()
	}
	half, err := run.openHalf(c.HalfOpen)
	defer half.close()
	if err != nil {
		return Result{}, err
	}
	clients := make([]*client, c.Connections)
	defer func() {
		for _, cl := range clients {
			cl.close()
		}
	}()
	for i := range clients {
		cl := &client{run: run}
		clients[i] = cl
		if err := cl.dial(); err != nil {
			return Result{}, fmt.Errorf("load: %w; is the server up?", err)
		}
	}
	run.start = time.Now()
	window := run.response.Window()
	medianOf := func(to []time.Duration) { window.Next([]float64{0.5}, to) }
	var early, late [1]time.Duration
	var wg, clock sync.WaitGroup
	loaded := make(chan struct{})
	clock.Go(func() {
		select {
		case <-time.After(c.Duration / 2):
			medianOf(early[:])
		case <-loaded:
		}
	})
	for i, cl := range clients {
		wg.Go(func() { cl.loop(int64(i)) })
	}
	wg.Wait()
	close(loaded)
	clock.Wait()
	medianOf(late[:])
	r := Result{
		Elapsed: time.Since(run.start), Response: run.response.Snapshot(), Service: run.service.Snapshot(),
		HalfOpen: half.open.Load(), Reopened: half.reopened.Load(),
	}
	if early[0] > 0 {
		r.Drift = float64(late[0]) / float64(early[0])
	}
	for _, cl := range clients {
		r.Due += cl.due
		r.Done += cl.done
		r.Failed += cl.failed
		r.FirstErr = cmp.Or(r.FirstErr, cl.firstErr)
	}
	return r, nil
}

// patience bounds connecting, and finishing the requests in flight at the end.
const patience = 10 * time.Second

// A run is shared by the clients. It does not change once they run.
type run struct {
	Config
	ctx               context.Context
	bytes             []byte // the requests to send at once, or the upgrade request
	message           []byte // nil without Upgrade
	start             time.Time
	response, service *latency.Recorder
}
