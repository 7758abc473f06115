package http11

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// A response over the collection limit is sent in chunks, complete.
func TestLongResponse(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		for _, piece := range []int{1, 1000, 40_000, 70_000, 1 << 20} {
			const total = 1 << 20
			addr := serve(t, &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
				p := []byte(strings.Repeat("x", piece))
				for n := 0; n < total; n += len(p) {
					p = p[:min(len(p), total-n)]
					if _, err := c.Write(p); err != nil {
						t.Error(err)
					}
				}
			})})
			if piece == 1 && (testing.Short() || invariant.Race) {
				continue
			}
			for _, a := range responses(t, talk(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.0\r\n\r\n", true)) {
				if len(a.body) != total || strings.Trim(a.body, "x") != "" {
					t.Errorf("pieces of %d: %d bytes of content, want %d", piece, len(a.body), total)
				}
			}
		}
	})
}

// A streamed body arrives complete, in pieces of any size.
func TestStreamedBody(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		addr := serve(t, &Server{Memory: m, MaxBodyBytes: 1 << 30, Handler: HandlerFunc(func(c *Context) {
			sum, n := 0, 0
			buf := make([]byte, 1+len(c.Query().String())*1000)
			for {
				k, err := c.BodyReader().Read(buf)
				for _, b := range buf[:k] {
					sum += int(b)
				}
				if n += k; err == io.EOF {
					break
				} else if err != nil {
					t.Error(err)
					return
				}
			}
			fmt.Fprintf(c, "%d %d", n, sum)
		})})
		for _, query := range []string{"", "1", "123456789012345678901234567890"} {
			tens := 200_000
			if query == "" {
				tens /= 10 // a byte at a time
			}
			body := strings.Repeat("0123456789", tens)
			want := fmt.Sprintf("%d %d", len(body), tens*(10*'0'+45))
			for _, length := range []int64{int64(len(body)), -1} {
				req, _ := http.NewRequest("POST", "http://"+addr+"/?"+query, io.MultiReader(strings.NewReader(body)))
				req.ContentLength = length
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(got) != want {
					t.Errorf("query %q, length %d: %q, want %q", query, length, got, want)
				}
			}
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// Neither requests nor the client allocate.
func TestNoAllocations(t *testing.T) {
	if raceOrDebug {
		t.Skip("checks allocate")
	}
	each(t, func(t *testing.T, m Memory) {
		addr := serve(t, &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			body, err := c.Body()
			if err != nil || body.Len() != 512 || c.Header("X-Request-Id").Len() == 0 {
				c.SetStatus(400)
				return
			}
			copy(c.UnsafeAlloc(100), "request memory")
			c.SetHeader("Content-Type", "text/plain")
			c.WriteString("Hello, World!")
		})})
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		request := []byte("POST /a?b HTTP/1.1\r\nHost: h\r\nX-Request-Id: 1\r\nContent-Length: 512\r\n\r\n" + strings.Repeat("x", 512))
		in := make([]byte, 4096)
		round := func() {
			if _, err := nc.Write(request); err != nil {
				t.Fatal(err)
			}
			n, err := nc.Read(in)
			if err != nil || string(in[:15]) != "HTTP/1.1 200 OK" {
				t.Fatalf("%v %q", err, in[:n])
			}
		}
		round()
		if allocs := testing.AllocsPerRun(2000, round); allocs != 0 {
			t.Errorf("%v allocations a request, want none", allocs)
		}
	})
}

// Using a view after its request panics, unless the request is retained.
func TestViewsEnd(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		var view, kept View
		var retained *Retained
		var panicked atomic.Value
		addr := serve(t, &Server{Memory: m, OnPanic: func(_ Request, v any, _ []byte) { panicked.Store(fmt.Sprint(v)) }, Handler: HandlerFunc(func(c *Context) {
			switch c.Path().String() {
			case "/first":
				view = c.Query()
			case "/retain":
				kept, retained = c.Query(), c.Retain()
			case "/second":
				c.WriteString(view.String())
			}
		})})
		get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }
		all := responses(t, talk(t, addr, get("/retain?abc")+get("/first?1")+get("/second?2"), true))
		if len(all) != 3 || all[0].status != 200 || all[1].status != 200 || all[2].status != 500 {
			t.Errorf("answered with %v, want 200, 200, 500", all)
		}
		if s, _ := panicked.Load().(string); !strings.Contains(s, "View.String") || !strings.Contains(s, "Retain") {
			t.Errorf("panicked with %q, want the operation and the remedy", s)
		}
		if kept.String() != "abc" {
			t.Errorf("the retained view is %q, want abc", kept)
		}
		retained.Release()
	})
}

// A retained request allocates from its own memory when its server is gone, and
// when the exchange serves another request.
func TestRetainedRequestsAllocate(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		kept := make(chan *Retained, 1)
		s := &Server{Memory: m}
		s.Handler = HandlerFunc(func(c *Context) {
			if c.Path().Equal("/retain") {
				kept <- c.Retain()
				return
			}
			r := <-kept
			b := r.Request().UnsafeAlloc(100)
			for _, other := range c.r.blocks {
				if at := offset(other.mem, b); at >= 0 && at < len(other.mem) {
					t.Error("memory of another request was allocated")
				}
			}
			if value, _ := r.Request().QueryValues().Get("a"); !value.Equal("A") {
				t.Errorf("the value is %q, want A", value)
			}
			kept <- r
		})
		addr := serve(t, s)
		const head = " HTTP/1.1\r\nHost: h\r\n\r\n"
		talk(t, addr, "GET /retain?a=%41"+head, true)
		waitFor(t, "the connection to end", func() bool { return s.Stats().Conns == 0 })
		talk(t, addr, "GET /"+head, true)
		(<-kept).Release()
		for _, path := range []string{"/retain?a=%41", "/"} { // usually both by the same exchange
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}
		(<-kept).Release()
	})
}

// While one request of a connection is retained, later ones get other memory.
func TestRetain(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		kept := make(chan *Retained, 100)
		addr := serve(t, &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			if _, err := c.Body(); err == nil {
				kept <- c.Retain()
			}
		})})
		var in strings.Builder
		for i := range cap(kept) {
			fmt.Fprintf(&in, "POST /%d HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n%03d", i, i)
		}
		if all := responses(t, talk(t, addr, in.String(), true)); len(all) != cap(kept) {
			t.Errorf("%d responses, want %d", len(all), cap(kept))
		}
		var wg sync.WaitGroup
		for i := range cap(kept) {
			r := <-kept
			if got := r.Request().Path().String(); got != fmt.Sprintf("/%d", i) {
				t.Errorf("request %d has the path %q", i, got)
			}
			wg.Go(r.Release)
		}
		wg.Wait()
	})
}

// Small writes share chunks, up to the next Flush, with either handler.
func TestSmallWritesShareChunks(t *testing.T) {
	write := func(w io.Writer, flush func()) {
		flush()
		for _, size := range []int{1, 15, 16, 255, 256, 4095, 4096, 1, 40_000, 100_000, 3} {
			for range 3 {
				io.WriteString(w, strings.Repeat("x", size)) // an error shows at the client
			}
		}
		flush()
		for range 10_000 {
			io.WriteString(w, "abcdefg")
		}
	}
	for name, h := range map[string]Handler{
		"native": HandlerFunc(func(c *Context) {
			c.SetTrailer("X-End", "1")
			write(c, func() { c.Flush() }) // as above
		}),
		"adapted": Adapt(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-End")
			write(w, w.(http.Flusher).Flush)
			w.Header().Set("X-End", "1")
		})),
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T) {
				addr := serve(t, &Server{Handler: h})
				all := talk(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
				resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				want := strings.Repeat("x", 3*(1+15+16+255+256+4095+4096+1+40_000+100_000+3)) + strings.Repeat("abcdefg", 10_000)
				if string(body) != want || err != nil || resp.Trailer.Get("X-End") != "1" {
					t.Errorf("%d bytes of content, want %d; %v, trailer %v", len(body), len(want), err, resp.Trailer)
				}
				if more := len(all) - len(body); more > 1000 {
					t.Errorf("the head and the framing take %d bytes", more)
				}
			})
		})
	}
}

// A write beyond the declared length is refused, and so is what follows it: the client
// would see it in the wrong place. After Recall, content can be declared again.
func TestNothingFollowsRefusedContent(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		for _, declared := range []int{4, 1 << 20} {
			prefix := strings.Repeat("x", declared-2)
			addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
				c.SetContentLength(int64(declared))
				for _, p := range []string{prefix, "long", "ab"} {
					if _, err := c.WriteString(p); (err == ErrContentLength) != (p != prefix) {
						t.Errorf("%.10q: %v", p, err)
					}
				}
				if c.Path().Equal("/again") {
					c.Recall()
					c.SetContentLength(2)
					if _, err := c.WriteString("ok"); err != nil && declared == 4 {
						t.Error(err)
					}
				}
			})})
			for path, want := range map[string]string{"/": prefix, "/again": "ok"} {
				all := talk(t, addr, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
				if _, content, _ := strings.Cut(all, "\r\n\r\n"); content != want && (declared == 4 || path == "/") {
					t.Errorf("%s, %d bytes declared: %.20q arrives, want %.20q", path, declared, content, want)
				}
			}
		}
	})
}
