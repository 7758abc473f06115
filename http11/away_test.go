package http11

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A connection must not miss the rest of a head that arrives while a goroutine
// with a handler that may block still has it from the previous request. The
// window is microseconds wide, so there are many tries.
func TestRestOfHead(t *testing.T) { eachEngine(t, testRestOfHead) }

func testRestOfHead(t *testing.T) {
	addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
		c.MayBlock()
		runtime.Gosched()
		c.WriteString("done")
	})})
	rounds := 1000
	if testing.Short() {
		rounds = 250
	}
	if invariant.Race {
		rounds = 50
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			r := bufio.NewReader(nc)
			for range rounds {
				nc.SetDeadline(time.Now().Add(20 * time.Second))
				io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHo")
				if n := rng.IntN(300); n < 200 {
					time.Sleep(time.Duration(n) * time.Microsecond) // to hit the moment
				} else {
					r.Peek(1) // the read below shows an error
				}
				io.WriteString(nc, "st: h\r\n\r\n")
				for range 2 {
					resp, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
				}
			}
		})
	}
	wg.Wait()
}
