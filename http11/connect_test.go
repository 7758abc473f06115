package http11

import (
	"fmt"
	"net/http"
	"net/rpc"
	"testing"
)

// TestConnect answers CONNECT and similar requests in several ways and compares
// whole responses. A request that follows in the same packet must not be
// answered after a 2xx: it belongs to the tunnel.
func TestConnect(t *testing.T) {
	write := func(status int, content string) HandlerFunc {
		return func(c *Context) {
			c.SetStatus(status)
			if _, err := c.WriteString(content); err != nil {
				c.SetHeader("X-Error", "not reached: the head is complete")
			}
		}
	}
	const next = "GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
	const date = "\r\nDate: then\r\n"
	const answered = "HTTP/1.1 200 OK" + date + "Connection: close\r\nContent-Length: 4\r\n\r\nnext"
	const established = "HTTP/1.1 200 OK" + date + "Connection: close\r\n\r\n"
	cases := []struct {
		name, method string
		handler      HandlerFunc
		want         string
	}{
		{"silent", "CONNECT", func(*Context) {}, established},
		{"204", "CONNECT", write(204, ""), "HTTP/1.1 204 No Content" + date + "Connection: close\r\n\r\n"},
		{"299", "CONNECT", write(299, ""), "HTTP/1.1 299 " + date + "Connection: close\r\n\r\n"},
		{"with a length", "CONNECT", func(c *Context) { c.SetContentLength(7) }, established},
		{"flushed", "CONNECT", func(c *Context) { c.Flush() }, established},
		{"flushed with a length and a trailer", "CONNECT", func(c *Context) {
			c.SetHeader("Content-Length", "7")
			c.SetTrailer("X-T", "1")
			c.Flush()
		}, established},
		{"content", "CONNECT", func(c *Context) {
			if _, err := c.WriteString("content"); err != ErrBodyNotAllowed {
				t.Errorf("Write after CONNECT returned %v", err)
			}
		}, established},
		{"adapted", "CONNECT", Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "7")
			if _, err := w.Write([]byte("content")); err != http.ErrBodyNotAllowed {
				t.Errorf("adapted Write after CONNECT returned %v", err)
			}
		})).ServeHTTP11, established},
		{"refused", "CONNECT", write(403, "no\n"),
			"HTTP/1.1 403 Forbidden" + date + "Content-Length: 3\r\n\r\nno\n" + answered},
		{"redirected", "CONNECT", write(307, ""),
			"HTTP/1.1 307 Temporary Redirect" + date + "Content-Length: 0\r\n\r\n" + answered},
		{"an error in place of success", "CONNECT", func(c *Context) { c.WriteString("a"); c.Error(502, "bad") },
			"HTTP/1.1 502 Bad Gateway" + date + "Content-Type: text/plain; charset=utf-8\r\n" +
				"Connection: close\r\nContent-Length: 4\r\n\r\nbad\n"},
		{"HEAD", "HEAD", write(200, "content"), "HTTP/1.1 200 OK" + date + "Content-Length: 7\r\n\r\n" + answered},
		{"GET 204", "GET", write(204, ""), "HTTP/1.1 204 No Content" + date + "\r\n" + answered},
		{"GET 304", "GET", write(304, ""), "HTTP/1.1 304 Not Modified" + date + "\r\n" + answered},
		{"a method as long", "CONNECX", write(200, "content"),
			"HTTP/1.1 200 OK" + date + "Content-Length: 7\r\n\r\ncontent" + answered},
		{"hijacked", "CONNECT", func(c *Context) {
			nc, buffered, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\n\r\n%s", buffered)
		}, "HTTP/1.1 200 OK\r\n\r\n" + next},
	}
	each(t, func(t *testing.T, m Memory) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				addr := serve(t, &Server{Memory: m, Handler: HandlerFunc(func(cx *Context) {
					if cx.Path().Equal("/next") {
						cx.WriteString("next")
						return
					}
					c.handler(cx)
				})})
				target := "/"
				if c.method == "CONNECT" {
					target = "h:80"
				}
				got := talk(t, addr, c.method+" "+target+" HTTP/1.1\r\nHost: h\r\n\r\n"+next, true)
				if got = dateField.ReplaceAllString(got, "Date: then"); got != c.want {
					t.Errorf("answered with %q\nwant %q", got, c.want)
				}
			})
		}
	})
}

// A triple is a service of net/rpc.
type triple struct{}

func (triple) Of(n int, result *int) error {
	*result = 3 * n
	return nil
}

// net/rpc sends CONNECT with a path, without a Host and with LF, and hijacks.
func TestAdaptRPC(t *testing.T) {
	s := rpc.NewServer()
	if err := s.RegisterName("Triple", triple{}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(rpc.DefaultRPCPath, s)
	likeNetHTTP(t, mux.ServeHTTP, nil, func(t *testing.T, addr string) (all string) {
		c, err := rpc.DialHTTP("tcp", addr)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		for n := range 3 {
			result := 0
			err := c.Call("Triple.Of", n, &result)
			all += fmt.Sprint(result, err, "; ")
		}
		return all
	})
}
