// Command peer has the parts of test/http/run.sh that are written in Go: the
// server of net/http that the example service is compared with, a reverse
// proxy in front of a server, on net/http or on http11, and Go's own client.
//
//	peer serve -max-body BYTES
//	peer proxy -upstream URL [-http11 [-engine readiness] [-memory MODE]]
//	peer client -tries N URL
//
// The servers print "listening on ADDRESS" and run until a signal. The client
// prints a line NAME, tab, RESULT for each of its checks; a result that begins
// with ! is one that it did not want.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/http11"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: peer serve|proxy|client")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	maxBody := flags.Int64("max-body", 4<<20, "serve: longest request body in bytes")
	upstream := flags.String("upstream", "", "proxy: URL of the server behind it")
	native := flags.Bool("http11", false, "proxy: on http11 instead of net/http")
	engine := flags.String("engine", "goroutines", "proxy: engine of http11")
	memory := flags.String("memory", "pooled", "proxy: memory mode of http11")
	tries := flags.Int("tries", 20, "client: how often to send a body that is too long")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "serve":
		return serve(reference(*maxBody))
	case "proxy":
		to, err := url.Parse(*upstream)
		if err != nil {
			return err
		}
		handler := reverseProxy(to)
		if !*native {
			return serve(handler)
		}
		server, err := http11Server(*engine, *memory)
		if err != nil {
			return err
		}
		server.Handler = http11.Adapt(handler)
		return serve(server)
	case "client":
		return client(flags.Arg(0), *tries)
	}
	return fmt.Errorf("no command %q", args[0])
}

// reverseProxy logs nothing: what goes wrong has to show at the client. Its
// transport is the one that it has without being told, which waits for 100
// (Continue).
func reverseProxy(to *url.URL) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}

func http11Server(engine, memory string) (*http11.Server, error) {
	mode, err := http11.ParseMemoryMode(memory)
	if err != nil {
		return nil, err
	}
	s := &http11.Server{Memory: http11.Memory{Mode: mode}, MaxBodyBytes: 1 << 30} // the limit is the upstream's
	for _, s.Engine = range []http11.Engine{http11.Goroutines, http11.Readiness} {
		if s.Engine.String() == engine {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no engine %q", engine)
}

// serve runs a server, or a handler on net/http's, until a signal.
func serve(what any) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	server, ok := what.(interface {
		Serve(net.Listener) error
		Shutdown(context.Context) error
	})
	if !ok {
		server = &http.Server{Handler: what.(http.Handler), ConnState: count, ErrorLog: log.New(io.Discard, "", 0)}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	end := make(chan error, 1)
	go func() { end <- server.Serve(l) }()
	select {
	case err := <-end:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return server.Shutdown(patience)
}
