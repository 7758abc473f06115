// Service is a small HTTP service on package http11: a JSON API, file downloads
// and a WebSocket that echoes. Two middlewares go around it: etag.go gives whole
// responses entity tags and answers 304, compress.go sends zstd or gzip.
//
//	GET    /api/notes        all notes
//	POST   /api/notes        makes a note of {"text": "…"}
//	GET    /api/notes/ID     one note
//	DELETE /api/notes/ID     removes it
//	GET    /files/NAME       a file under -files, with ranges
//	POST   /upload           counts and hashes a body
//	GET    /echo…            the request target as it came
//	GET    /stats            what the server and its memory have done
//	GET    /ws               WebSocket: every message comes back
//
// Usage: go run ./service [-listen ADDRESS] [-engine goroutines|readiness] [-memory MODE] [-max-body BYTES]
// [-files DIR] [-quiet]
//
// On SIGINT or SIGTERM it answers what has begun, and ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/http11"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "service: %v\n", err)
		os.Exit(1)
	}
}

// modes lists the memory modes.
func modes() string {
	var names []string
	for _, mode := range http11.MemoryModes() {
		names = append(names, mode.String())
	}
	return strings.Join(names, ", ")
}

func run(args []string) error {
	flags := flag.NewFlagSet("service", flag.ExitOnError)
	listen := flags.String("listen", "127.0.0.1:8080", "address")
	memory := flags.String("memory", http11.Pooled.String(), "request memory: "+modes())
	engine := flags.String("engine", "goroutines", "goroutines, or readiness (Linux)")
	maxBody := flags.Int64("max-body", 1<<30, "longest request body in bytes; more is answered by 413")
	files := flags.String("files", ".", "directory with the files to serve")
	quiet := flags.Bool("quiet", false, "write no access log")
	if err := flags.Parse(args); err != nil {
		return err
	}
	mode, err := http11.ParseMemoryMode(*memory)
	if err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	engines := map[string]http11.Engine{"goroutines": http11.Goroutines, "readiness": http11.Readiness}
	chosen, ok := engines[*engine]
	if !ok {
		return fmt.Errorf("-engine %s: choose goroutines or readiness", *engine)
	}
	root, err := os.OpenRoot(*files)
	if err != nil {
		return err
	}
	defer root.Close()
	gc, err := gcctl.Start(gcctl.Config{Mode: gcctl.Idle})
	if err != nil {
		return err
	}
	defer gc.Close()

	server := &http11.Server{
		Engine: chosen, Memory: http11.Memory{Mode: mode}, Name: "service", MaxBodyBytes: *maxBody, Idle: gc.Idle,
	}
	server.Handler = newService(root, server.Stats)
	if !*quiet {
		server.Access = http11.LogTo(slog.Default())
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())

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
	if err := server.Shutdown(patience); err != nil {
		return err
	}
	if err := <-end; !errors.Is(err, http11.ErrServerClosed) {
		return err
	}
	return nil
}
