package server

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkBeside: how long a client waits that asks every 2 ms, beside a
// generator that keeps all other connections busy. An operation is one of its requests.
func BenchmarkBeside(b *testing.B) {
	for _, name := range names {
		b.Run("impl="+name, func(b *testing.B) {
			server := start(b, name)
			g, err := newGenerator(server.addr, getRequest, 1, connections)
			if err != nil {
				b.Fatal(err)
			}
			defer g.close()
			one, err := newGenerator(server.addr, getRequest, 1, 1)
			if err != nil {
				b.Fatal(err)
			}
			defer one.close()
			stop, stopped := make(chan struct{}), make(chan error, 1)
			go func() {
				for {
					select {
					case <-stop:
						stopped <- nil
						return
					default:
					}
					if err := g.run(connections * 16); err != nil {
						stopped <- err
						return
					}
				}
			}()
			var took []time.Duration
			for b.Loop() {
				time.Sleep(2 * time.Millisecond)
				begin := time.Now()
				if err := one.run(1); err != nil {
					b.Fatal(name, err)
				}
				took = append(took, time.Since(begin))
			}
			close(stop)
			if err := <-stopped; err != nil {
				b.Fatal(name, err)
			}
			slices.Sort(took)
			for _, percent := range []int{50, 95, 99} {
				b.ReportMetric(float64(took[len(took)*percent/100].Microseconds()), fmt.Sprintf("p%d-µs", percent))
			}
		})
	}
}

// BenchmarkOpen: requests at times of their own, whether earlier ones are answered
// or not: what servers take that are not busy. An operation is one request; it is
// meant for -benchtime 10000x and more.
func BenchmarkOpen(b *testing.B) {
	for _, rate := range []int{2_000, 20_000, 60_000} {
		for _, name := range names {
			b.Run(fmt.Sprintf("rate=%d/impl=%s", rate, name), func(b *testing.B) {
				server := start(b, name)
				g, err := newGenerator(server.addr, getRequest, 1, connections)
				if err != nil {
					b.Fatal(err)
				}
				defer g.close()
				if err := g.run(connections * 16); err != nil { // pools fill, stacks grow
					b.Fatal(name, err)
				}
				before, client, begin := server.usage(b, "usage"), used(b), time.Now()
				if err := g.pace(rate, b.N); err != nil {
					b.Fatal(name, err)
				}
				client, elapsed := used(b)-client, time.Since(begin)
				report(b, float64(b.N), elapsed, before, server.usage(b, "usage"), client)
			})
		}
	}
}

// pace sends that many requests at a rate, over all connections in turn. One that
// still waits for an answer is waited for.
func (g *generator) pace(rate, requests int) error {
	begin, sent, busy := time.Now(), 0, map[*client]bool{}
	for answered := 0; answered < requests; {
		c := g.clients[sent%len(g.clients)]
		due := time.Until(begin.Add(time.Duration(sent) * time.Second / time.Duration(rate)))
		wait := 0
		switch {
		case sent == requests:
			wait = 10_000
		case due > 0:
			time.Sleep(min(due, 100*time.Microsecond))
		case !busy[c]:
			if err := c.send(); err != nil {
				return err
			}
			busy[c] = true
			sent++
			continue
		}
		n, err := unix.EpollWait(g.set, g.events[:], wait)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, e := range g.events[:max(n, 0)] {
			c := g.clients[e.Fd]
			done, err := c.receive()
			if err != nil {
				return err
			}
			if done {
				busy[c] = false
				answered++
			}
		}
	}
	return nil
}
