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

	"github.com/isobar-go/isobar/internal/base/loopback"
	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/monitor"
)

// watchWeb serves the page of package monitor with another process's samples.
func (a *app) watchWeb(ctx context.Context, feed live.Feed, o *watchOptions) error {
	if _, _, err := net.SplitHostPort(o.address); err != nil || !loopback.Is(o.address) {
		return usage(fmt.Errorf("--address %q: want a loopback address of this machine, such as 127.0.0.1:8090: the page "+
			"asks for no password; use ssh -L to reach it from elsewhere", o.address))
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("watch: %w; choose another --address", err)
	}
	return a.relay(ctx, listener, feed, o)
}

// relay serves a feed's page until ctx ends or the server fails.
func (a *app) relay(ctx context.Context, listener net.Listener, feed live.Feed, o *watchOptions) error {
	ctx, fail := context.WithCancelCause(ctx)
	p := &relayed{interval: o.interval}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 5 * time.Second}
	go func() { fail(fmt.Errorf("watch: %w", server.Serve(listener))) }()
	defer p.close()
	defer server.Close()
	err := eachSample(ctx, feed, o, func(text string) {
		fmt.Fprintf(a.Err, "isobar: %s\n", text)
		p.gap(text)
	}, func(s live.Sample) bool {
		if p.last.Load() == nil {
			for _, n := range feed.Notes() {
				fmt.Fprintf(a.Err, "isobar: %s\n", n)
			}
			defer fmt.Fprintf(a.Out, "http://%s/\n", listener.Addr())
		}
		if err := p.add(s); err != nil {
			fail(fmt.Errorf("watch: %w", err))
		}
		return ctx.Err() == nil
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintln(a.Err, "isobar: the process has ended; its page stays until you interrupt this command")
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// relayed is the page of the currently watched process. A process that restarts
// gets its own page, and browsers switch to it by themselves.
type relayed struct {
	interval time.Duration
	last     atomic.Pointer[monitor.Monitor] // publishes the page of the newest epoch
	trouble  atomic.Pointer[string]          // publishes why there is no sample now

	epoch int // owned by the goroutine that adds
	lost  bool
}

// watchFor follows a process for the pages of isobar ui until ctx ends, even
// while there is no process.
func watchFor(ctx context.Context, target string, interval time.Duration) (*relayed, error) {
	if target == "-" {
		return nil, usage(errors.New("--watch -: standard input has no page: name a URL, a process number or a file"))
	}
	p := &relayed{interval: interval}
	o := &watchOptions{interval: interval}
	open := func() (live.Feed, error) { return live.Open(target, live.Config{Interval: interval}) }
	feed, err := open()
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			if err == nil {
				err = eachSample(ctx, feed, o, p.gap, func(s live.Sample) bool { return p.add(s) == nil })
				feed.Close()
			}
			if ctx.Err() != nil {
				p.close()
				return
			}
			if err != nil {
				p.gap(err.Error() + "; trying again")
			} else {
				p.gap("the process has ended; waiting for the next one")
			}
			select {
			case <-time.After(2 * interval):
			case <-ctx.Done():
			}
			feed, err = open()
			p.epoch = -1 // the feed restarts its count of processes
		}
	}()
	return p, nil
}

// page is the process's page, nil while there is no sample.
func (p *relayed) page() http.Handler {
	if m := p.last.Load(); m != nil {
		return m
	}
	return nil
}

// state says what is wrong, "" if nothing is.
func (p *relayed) state() string {
	if t := p.trouble.Load(); t != nil {
		return *t
	}
	return ""
}

func (p *relayed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := p.last.Load()
	if m == nil {
		http.Error(w, "isobar: no sample yet; try again", http.StatusServiceUnavailable)
		return
	}
	m.ServeHTTP(w, r)
}

func (p *relayed) add(s live.Sample) error {
	m := p.last.Load()
	if m == nil || p.epoch != s.Epoch {
		next, err := monitor.NewRelay(monitor.RelayConfig{Process: s.Process, Figures: s.Figures, Interval: p.interval})
		if err != nil {
			return err
		}
		p.last.Store(next)
		p.epoch = s.Epoch
		if m != nil {
			m.Close() // its viewers switch to the next
		}
		m = next
	}
	p.lost = false
	p.trouble.Store(nil)
	return m.Add(s.At, s.Values)
}

// gap makes the charts show a gap, and keeps the reason.
func (p *relayed) gap(why string) {
	p.trouble.Store(&why)
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
