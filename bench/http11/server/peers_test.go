package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/network/netpoll"
	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/fasthttp"

	"github.com/isobar-go/isobar/http11"
)

// names lists the servers in the order in which they are run. One that begins with
// "bound-" does less than a server must: it shows what is possible and is no peer.
var names = []string{"isobar", "isobar-readiness", "fasthttp", "hertz", "net-http", "loop", "gnet"}

var servers = map[string]func(net.Listener) error{
	"isobar":              isobar(http11.Goroutines, http11.Memory{}),
	"isobar-slab-offheap": isobar(http11.Goroutines, http11.Memory{Mode: http11.Slab, OffHeap: true}),
	"isobar-readiness":    isobar(http11.Readiness, http11.Memory{}),
	"fasthttp":            serveFasthttp,
	"hertz":               serveHertz,
	"net-http":            serveNetHTTP,
	"loop":                serveLoop,
	"gnet":                serveGnet,
}

// init adds a server for each further memory mode, behind the first.
func init() {
	for i, mode := range http11.MemoryModes()[1:] {
		name := "isobar-" + mode.String()
		names = slices.Insert(names, 1+i, name)
		servers[name] = isobar(http11.Goroutines, http11.Memory{Mode: mode})
	}
}

func isobar(engine http11.Engine, memory http11.Memory) func(net.Listener) error {
	return func(l net.Listener) error {
		s := &http11.Server{
			Engine: engine,
			Memory: memory,
			Handler: http11.HandlerFunc(func(c *http11.Context) {
				if c.Method().Equal("POST") {
					body, err := c.Body()
					if err != nil || body.Len() != len(postBody) {
						c.SetStatus(400)
						return
					}
				}
				c.SetHeader("Content-Type", "text/plain; charset=utf-8")
				c.WriteString(answer)
			}),
		}
		return s.Serve(l)
	}
}

func serveFasthttp(l net.Listener) error {
	s := &fasthttp.Server{
		NoDefaultServerHeader: true,
		Handler: func(c *fasthttp.RequestCtx) {
			if c.IsPost() && len(c.PostBody()) != len(postBody) {
				c.SetStatusCode(400)
				return
			}
			c.SetContentType("text/plain; charset=utf-8")
			c.WriteString(answer)
		},
	}
	return s.Serve(l)
}

// serveHertz is hertz on netpoll's event loop. Its router knows the two requests
// that there are; hertz has no way around it.
func serveHertz(l net.Listener) error {
	hlog.SetOutput(io.Discard)
	h := hertz.New(
		hertz.WithListener(l),
		hertz.WithTransport(netpoll.NewTransporter),
		hertz.WithDisablePrintRoute(true),
		config.Option{F: func(o *config.Options) { o.NoDefaultServerHeader = true }},
	)
	handler := func(_ context.Context, c *app.RequestContext) {
		if c.IsPost() && len(c.Request.Body()) != len(postBody) {
			c.SetStatusCode(400)
			return
		}
		c.SetContentType("text/plain; charset=utf-8")
		c.WriteString(answer)
	}
	h.GET("/plaintext", handler)
	h.POST("/api/orders", handler)
	return h.Run()
}

func serveNetHTTP(l net.Listener) error {
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			body, err := io.ReadAll(r.Body)
			if err != nil || len(body) != len(postBody) {
				w.WriteHeader(400)
				return
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, answer)
	}))
}

// prebuilt is what the servers without HTTP send.
var prebuilt = []byte("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\n\r\n" + answer)

// whole returns how many bytes of complete requests data begins with and how
// many requests these are. It knows the two requests that there are by their
// first byte and their size.
func whole(data []byte) (bytes, requests int) {
	for bytes < len(data) {
		size := len(getRequest)
		if data[bytes] == 'P' {
			size = len(postRequest)
		}
		if len(data)-bytes < size {
			break
		}
		bytes += size
		requests++
	}
	return bytes, requests
}

// serveLoop is the least that a goroutine per connection can do: read, count,
// write.
func serveLoop(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			buf := make([]byte, 4096)
			var out []byte
			n := 0
			for {
				m, err := conn.Read(buf[n:])
				if err != nil {
					return
				}
				n += m
				used, requests := whole(buf[:n])
				if requests == 0 {
					continue
				}
				n = copy(buf, buf[used:n])
				out = out[:0]
				for range requests {
					out = append(out, prebuilt...)
				}
				if _, err := conn.Write(out); err != nil {
					return
				}
			}
		}()
	}
}

// gnetEcho is the same on gnet's event loops.
type gnetEcho struct{ gnet.BuiltinEventEngine }

// booted is closed when gnet listens.
var booted = make(chan struct{})

func (*gnetEcho) OnBoot(gnet.Engine) gnet.Action {
	close(booted)
	return gnet.None
}

func (*gnetEcho) OnTraffic(c gnet.Conn) gnet.Action {
	data, err := c.Peek(-1)
	if err != nil {
		return gnet.Close
	}
	used, requests := whole(data)
	if requests == 0 {
		return gnet.None
	}
	if _, err := c.Discard(used); err != nil {
		return gnet.Close
	}
	if requests == 1 {
		_, err = c.Write(prebuilt)
	} else {
		_, err = c.Write(bytes.Repeat(prebuilt, requests))
	}
	if err != nil {
		return gnet.Close
	}
	return gnet.None
}

// serveGnet listens by itself, on the address of a listener that it closes.
func serveGnet(l net.Listener) error {
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	return gnet.Run(&gnetEcho{}, "tcp://"+addr, gnet.WithMulticore(true), gnet.WithLogger(silent{}))
}

// silent is a logger for gnet, which announces itself on standard output.
type silent struct{}

func (silent) Debugf(string, ...any) {}
func (silent) Infof(string, ...any)  {}
func (silent) Warnf(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}
