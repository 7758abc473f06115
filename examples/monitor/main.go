// Command monitor is a program with a live page: it allocates, keeps some of
// it, and serves http://ADDRESS/debug/isobar/ until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/isobar-go/isobar/gcctl"
	"github.com/isobar-go/isobar/monitor"
	"github.com/isobar-go/isobar/pool"
)

func main() {
	address := flag.String("address", "127.0.0.1:8090", "listen `ADDRESS`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address); err != nil {
		fmt.Fprintln(os.Stderr, "monitor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) error {
	controller, err := gcctl.Start(gcctl.Config{})
	if err != nil {
		return err
	}
	defer controller.Close()
	buffers := pool.New(pool.Config[[4096]byte]{})
	m, err := monitor.New(monitor.Config{
		Sources: []monitor.Source{monitor.Of("", controller.Stats), monitor.Of("buffers", buffers.Stats)},
		Alarms:  []monitor.Alarm{{Key: "/sched/latency/p99:seconds", Above: 1}},
	})
	if err != nil {
		return err
	}
	defer m.Close()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/isobar/", m)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go work(ctx, buffers)
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	fmt.Printf("http://%s/debug/isobar/\n", listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// work allocates 20 MB a second and keeps the last 50 MB.
func work(ctx context.Context, buffers *pool.Pool[[4096]byte]) {
	kept := make([][]*[1024]byte, 500)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		batch := make([]*[1024]byte, 100)
		for k := range batch {
			batch[k] = new([1024]byte)
		}
		kept[i%len(kept)] = batch
		b := buffers.Get()
		b[i%len(b)]++
		buffers.Put(b)
	}
}
