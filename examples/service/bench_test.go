//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/isobar-go/isobar/http11"
)

// BenchmarkUntouched measures what the middlewares cost a response that they leave
// as it is: sixteen pipelined requests of a client that accepts gzip. CPU time is
// that of both ends.
func BenchmarkUntouched(b *testing.B) {
	image := []byte(text(8_000))
	for _, response := range []struct {
		name string
		next http11.HandlerFunc
	}{
		{"small", func(c *http11.Context) {
			c.SetHeader("Content-Type", "application/json")
			c.SetHeader("ETag", `"own"`)
			c.WriteString(`{"id":1,"text":"a"}`)
		}},
		{"image", func(c *http11.Context) {
			c.SetHeader("Content-Type", "image/png")
			c.SetHeader("ETag", `"own"`)
			c.Write(image)
		}},
	} {
		for _, around := range []struct {
			name string
			with func(http11.Handler) http11.Handler
		}{
			{"none", func(h http11.Handler) http11.Handler { return h }},
			{"etag", etag},
			{"compress", compress},
			{"both", func(h http11.Handler) http11.Handler { return compress(etag(h)) }},
		} {
			b.Run(fmt.Sprintf("response=%s/middleware=%s", response.name, around.name), func(b *testing.B) {
				b.ReportAllocs()
				pipeline(b, serve(b, &http11.Server{Handler: around.with(response.next)}))
			})
		}
	}
}

// pipeline asks 16 times at once, again and again.
func pipeline(b *testing.B, addr string) {
	const at, request = 16, "GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Minute))
	var all []byte
	for range at {
		all = append(all, request...)
	}
	r := bufio.NewReaderSize(nc, 1<<20)
	io.WriteString(nc, request)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	nc.Write(all)
	r.Peek(1)
	one := 0 // bytes of a response
	for head := true; head; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		one += len(line)
		head = len(line) > 2
	}
	one += int(n)
	rest := at*one - (one - int(n))
	began := cpu()
	for {
		if _, err := r.Discard(rest); err != nil {
			b.Fatal(err)
		}
		if !b.Loop() {
			break
		}
		nc.Write(all) // an error shows in the read
		rest = at * one
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N)/at, "cpu-ns/request")
}

// cpu is the CPU time of the process.
func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
	return u.Utime.Nano() + u.Stime.Nano()
}
