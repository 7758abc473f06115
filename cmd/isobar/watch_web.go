package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/isobar-go/isobar/internal/watch"
	"github.com/isobar-go/isobar/monitor"
)

// watchWeb serves the page of package monitor with the samples of another
// process.
func (a *app) watchWeb(ctx context.Context, feed watch.Feed, o *watchOptions) error {
	host, _, err := net.SplitHostPort(o.address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage(fmt.Errorf("--address %q: want an address of this machine's loopback interface, such as 127.0.0.1:8090: the page asks for no password; from elsewhere reach it through ssh -L", o.address))
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("watch: %w; choose another --address", err)
	}
	p := &relayed{interval: o.interval}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer p.close()
	defer server.Close()
	err = eachSample(ctx, feed, o, func(text string) {
		fmt.Fprintf(a.err, "isobar: %s\n", text)
		p.gap()
	}, func(s watch.Sample) bool {
		if p.last.Load() == nil {
			for _, n := range feed.Notes() {
				fmt.Fprintf(a.err, "isobar: %s\n", n)
			}
			defer fmt.Fprintf(a.out, "http://%s/\n", listener.Addr())
		}
		if err := p.add(s); err != nil {
			failed <- err
		}
		return len(failed) == 0
	})
	switch {
	case len(failed) > 0:
		return fmt.Errorf("watch: %w", <-failed)
	case errors.Is(err, context.Canceled):
		return &exitError{code: exitInterrupted}
	case err != nil:
		return err
	}
	fmt.Fprintln(a.err, "isobar: the process has ended; its page stays until you interrupt this command")
	<-ctx.Done()
	return &exitError{code: exitInterrupted}
}

// relayed is the page of the process that is watched now. A process that
// begins anew gets a page of its own, to which browsers change by themselves.
type relayed struct {
	interval time.Duration
	last     atomic.Pointer[monitor.Monitor] // publishes the page of the newest epoch

	epoch int // owned by the goroutine that adds
	lost  bool
}

func (p *relayed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := p.last.Load()
	if m == nil {
		http.Error(w, "isobar: no sample so far; try again", http.StatusServiceUnavailable)
		return
	}
	m.ServeHTTP(w, r)
}

func (p *relayed) add(s watch.Sample) error {
	m := p.last.Load()
	if m == nil || p.epoch != s.Epoch {
		next, err := monitor.NewRelay(monitor.RelayConfig{Process: s.Process, Figures: s.Figures, Interval: p.interval})
		if err != nil {
			return err
		}
		p.last.Store(next)
		p.epoch = s.Epoch
		if m != nil {
			m.Close() // its viewers come back to the next
		}
		m = next
	}
	p.lost = false
	return m.Add(s.At, s.Values)
}

// gap has the charts show that there was nothing for a while.
func (p *relayed) gap() {
	m := p.last.Load()
	if m == nil || p.lost {
		return
	}
	p.lost = true
	none := make([]float64, len(m.Figures()))
	for i := range none {
		none[i] = math.NaN()
	}
	m.Add(time.Now(), none)
}

func (p *relayed) close() {
	if m := p.last.Load(); m != nil {
		m.Close()
	}
}
