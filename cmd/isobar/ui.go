package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/lab/host"
	"github.com/isobar-go/isobar/internal/live"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
	"github.com/isobar-go/isobar/internal/web"
)

// uiOptions are the flags of 'isobar ui'.
type uiOptions struct {
	addr       string
	open, json bool
	connect    fleet.Options
	watch      []string
	heaps      []string
}

func (a *app) uiCommand() *cobra.Command {
	var o uiOptions
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Browse the store",
		Long:  help("ui"),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.ui(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to listen on; port 0 for any free port")
	f.BoolVar(&o.open, "open", false, "open the page in the default browser")
	f.BoolVar(&o.json, "json", false, "print the address as JSON")
	f.StringVar(&o.connect.URL, "fleet", "", "show what the fleet at `URL` is doing")
	connectFlags(cmd, &o.connect, "fleet-")
	f.StringArrayVar(&o.watch, "watch", nil, "show the live page of a process, like 'isobar watch --web': "+
		"`URL|PID|FILE`; may be repeated")
	f.StringArrayVar(&o.heaps, "heap", nil, "show a `FILE` that 'isobar heap --save' wrote; may be repeated")
	return cmd
}

func (a *app) ui(ctx context.Context, o *uiOptions) error {
	path, err := a.StorePath()
	if err != nil {
		return err
	}
	claims, err := claim.Select(nil, nil)
	if err != nil {
		return err
	}
	config := web.Config{Store: path, Version: host.Version(),
		Ledger: func() (*text.Ledger, error) { return a.Ledger(claims) }, Heaps: o.heaps}
	if o.connect.URL != "" {
		ask, leave := askFleet(a.connection(o.connect, o.connect.URL, "isobar ui"))
		defer leave()
		config.Fleet = ask
	}
	for _, name := range o.heaps {
		if _, err := heap.Load(name); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, target := range o.watch {
		if target == "-" {
			return usage(errors.New("--watch -: standard input has no page: name a URL, a process number or a file"))
		}
		p, err := live.Follow(ctx, target, time.Second)
		if err != nil {
			return err
		}
		config.Watched = append(config.Watched, web.Watched{Name: text.WithoutPasswords(target), Relay: p})
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return usage(fmt.Errorf("ui: %w: --addr takes HOST:PORT, as in 127.0.0.1:8080, with port 0 for any free port", err))
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		config.Token = rand.Text()
	}
	address := uiAddress(o.addr, listener.Addr().(*net.TCPAddr), config.Token)
	if o.json {
		err = writeJSON(a.Out, map[string]string{"url": address, "store": path})
	} else {
		_, err = fmt.Fprintln(a.Out, address)
	}
	if err != nil {
		listener.Close()
		return err
	}
	fmt.Fprintln(a.Err, "Ctrl-C to stop.")
	if o.open {
		if err := openBrowser(address); err != nil {
			fmt.Fprintf(a.Err, "ui: cannot open a browser: %v: open the address yourself\n", err)
		}
	}
	return serveUI(ctx, listener, config)
}

// uiAddress returns the address to open, with the requested host or the bound one.
func uiAddress(asked string, bound *net.TCPAddr, token string) string {
	name, _, _ := net.SplitHostPort(asked) // it is valid: listening succeeded
	if bound.IP.IsUnspecified() {
		name = "localhost"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(name, fmt.Sprint(bound.Port)), Path: "/"}
	if token != "" {
		u.RawQuery = url.Values{"token": {token}}.Encode()
	}
	return u.String()
}

// serveUI serves until the context ends. That is the normal end, not a failure.
func serveUI(ctx context.Context, listener net.Listener, config web.Config) error {
	pages := web.New(config)
	defer pages.Close()
	server := &http.Server{
		Handler: pages, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("ui: serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close() // do not wait for slow pages
	}
	return nil
}

// openBrowser shows an address in the default browser.
func openBrowser(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // ignore its status
	return nil
}
