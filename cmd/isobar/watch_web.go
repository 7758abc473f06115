package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/isobar-go/isobar/internal/base/loopback"
	"github.com/isobar-go/isobar/internal/live"
)

// watchWeb serves package monitor's page with the samples of another process.
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
	p := live.NewRelay(o.Interval)
	server := &http.Server{Handler: p, ReadHeaderTimeout: 5 * time.Second}
	go func() { fail(fmt.Errorf("watch: %w", server.Serve(listener))) }()
	defer p.Close()
	defer server.Close()
	shown := false
	err := live.Each(ctx, feed, o.Config, func(text string) {
		fmt.Fprintf(a.Err, "isobar: %s\n", text)
		p.Gap(text)
	}, func(s live.Sample) bool {
		if !shown {
			shown = true
			for _, n := range feed.Notes() {
				fmt.Fprintf(a.Err, "isobar: %s\n", n)
			}
			defer fmt.Fprintf(a.Out, "http://%s/\n", listener.Addr())
		}
		if err := p.Add(s); err != nil {
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
