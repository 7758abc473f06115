package exhibit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

func init() {
	register(&workload.Workload{
		Name:    "shockwave-trials",
		Summary: "counts for the servers of seed document 001: pools warmed up, pipelined requests answered",
		Params: []workload.Param{
			workload.Choice("trial", "warmup", "warmup (objects taken and put back one by one, as the document's WarmupPools "+
				"has it), warmup-together (all taken, then all put back), pipelined (a reader from a pool for each request) or "+
				"pipelined-connection (a reader for each connection)", "warmup", "warmup-together", "pipelined",
				"pipelined-connection"),
			workload.Int("count", "10_000", "objects to warm up, or requests to send in one go", 1, 1_000_000),
		},
		New: func(env workload.Env) (workload.Task, error) {
			return shockwaveTrial(env.Params.String("trial"), env.Params.Int("count")), nil
		},
	})
}

// shockwaveTrial counts the effect of two parts of the engine in seed document
// 001. Its WarmupPools(n) gets an object and puts it back n times, so the
// second Get returns what the first Put gave back. Its connections take a
// buffered reader from a pool for each request, and return it with whatever it
// has read ahead.
func shockwaveTrial(kind string, count int) whole {
	return func(rec *cell.Record) error {
		rec.Set("/trial/count:items", float64(count))
		if name, ok := strings.CutPrefix(kind, "warmup"); ok {
			made, later := warmPool(count, name != "")
			rec.Set("/trial/made:objects", float64(made))
			rec.Set("/trial/made-later:objects", float64(later))
			return nil
		}
		answered, err := pipelined(count, kind == "pipelined-connection")
		rec.Set("/trial/answered:requests", float64(answered))
		return err
	}
}

// warmPool returns how many objects a pool made during warm-up, and how many
// more it made when count requests then came at once.
func warmPool(count int, together bool) (made, later int) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pool
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // a P cannot take the private object of another P
	pool := sync.Pool{New: func() any { made++; return new([4096]byte) }}
	if together {
		takeAll(&pool, count)
	} else {
		for range count {
			pool.Put(pool.Get())
		}
	}
	during := made
	takeAll(&pool, count)
	return during, made - during
}

// takeAll takes count objects, then puts them back.
func takeAll(pool *sync.Pool, count int) {
	taken := make([]any, count)
	for i := range taken {
		taken[i] = pool.Get()
	}
	for _, x := range taken {
		pool.Put(x)
	}
}

// pipelined sends count requests at once. It returns how many were answered
// before the input ended or did not parse as a request.
func pipelined(count int, keepReader bool) (answered int, err error) {
	const request = "GET /orders HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	client, server := net.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := client.Write([]byte(strings.Repeat(request, count)))
		client.Close()
		sent <- err
	}()
	readers := sync.Pool{New: func() any { return bufio.NewReader(nil) }}
	var r *bufio.Reader
	for {
		if r == nil || !keepReader {
			r = readers.Get().(*bufio.Reader)
			r.Reset(server)
		}
		if !readHead(r) {
			break
		}
		answered++
		if !keepReader {
			readers.Put(r)
		}
	}
	server.Close()
	if err := <-sent; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return answered, fmt.Errorf("send: %w", err)
	}
	return answered, nil
}

// readHead reads the lines up to an empty one and reports whether the first is
// a request line.
func readHead(r *bufio.Reader) bool {
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		switch {
		case err != nil, first && !strings.HasPrefix(line, "GET "):
			return false
		case line == "\r\n":
			return true
		}
	}
}
