package http11

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A dialogue is a client's input and the expected output.
type dialogue struct {
	name   string
	server Server // its Handler is echo unless set
	send   string
	want   []string // what every response must contain, in order
	never  string   // what must not be sent
}

func (c *Context) say(s string) { c.WriteString(s) }

var dialogues = []dialogue{
	{name: "HTTP/1.0 closes", send: "GET / HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", want: []string{"Connection: close\r\n"}, never: "/2"},
	{name: "HTTP/1.0 keep-alive", send: "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
		want: []string{"Connection: keep-alive\r\n", "Connection: close\r\n"}},
	{name: "HEAD", send: "HEAD /1 HTTP/1.1\r\nHost: h\r\n\r\n", want: []string{"Content-Length: 25\r\n\r\n"}, never: "HEAD /1?"},
	{name: "HEAD, no content", send: "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: HandlerFunc(func(c *Context) {})}, want: []string{"Content-Length: 0\r\n"}},
	{name: "HEAD of net/http, content left out", send: "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: Adapt(http.RedirectHandler("/", http.StatusFound))}, want: []string{"302 Found"}, never: "Content-Length"},
	{name: "100-continue", send: "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n<wait>abc",
		want: []string{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", "\n\nabc"}},
	{name: "100-continue with the body at hand", send: "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", never: "100 Continue", want: []string{"\n\nabc"}},
	{name: "100-continue after a pipelined request", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n<wait>3\r\nabc\r\n0\r\n\r\n",
		want: []string{"/1?", "100 Continue\r\n\r\n", "/2?", "abc"}},
	{name: "expectation not met", send: "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n<wait>",
		server: Server{Handler: HandlerFunc(func(c *Context) { c.SetStatus(403) })}, want: []string{"403 Forbidden", "Connection: close"}, never: "100 Continue"},
	{name: "body not read", send: "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: HandlerFunc(func(c *Context) { c.say(c.Path().String()) })}, want: []string{"\r\n\r\n/1", "\r\n\r\n/2"}},
	{name: "chunked body not read", send: "POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: HandlerFunc(func(c *Context) { c.say(c.Path().String()) })}, want: []string{"\r\n\r\n/1", "\r\n\r\n/2"}},
	{name: "body too large to be skipped", send: "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("x", 300000) + "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: HandlerFunc(func(c *Context) { c.say(c.Path().String()) })}, want: []string{"\r\n\r\n/1"}, never: "/2"},
	{name: "large body", send: "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("x", 300000) + "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{Handler: HandlerFunc(func(c *Context) { b, _ := c.Body(); fmt.Fprintf(c, "%d bytes", b.Len()) })}, want: []string{"300000 bytes", "0 bytes"}},
	{name: "body beyond the limit", send: "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901", server: Server{MaxBodyBytes: 10}, want: []string{"413 "}},
	{name: "chunked body beyond the limit", send: "POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n6\r\n678901\r\n0\r\n\r\n", server: Server{MaxBodyBytes: 10}, want: []string{"413 "}},
	{name: "target beyond the limit", send: "GET /12345678901 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{MaxTargetBytes: 10}, want: []string{"414 "}},
	{name: "target as clients send it",
		send: "GET /a[1]|%?q=\"é\" HTTP/1.1\r\nHost: h\r\n\r\n",
		want: []string{"200 OK", "/a[1]|%?q=\"é\""}},
	{name: "strict target", send: "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /a[1] HTTP/1.1\r\nHost: h\r\n\r\n",
		server: Server{StrictTargets: true}, want: []string{"200 OK", "400 Bad Request", errTargetStrict.Reason}},
	{name: "head beyond the limit", send: "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 300) + "\r\n\r\n", server: Server{MaxHeaderBytes: 256}, want: []string{"431 "}},
	{name: "fields beyond the limit", send: "GET / HTTP/1.1\r\nHost: h\r\nX: 1\r\nX: 2\r\n\r\n", server: Server{MaxHeaders: 2}, want: []string{"431 "}},
	{name: "requests beyond the limit", send: strings.Repeat("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", 3), server: Server{MaxRequests: 2}, want: []string{"/1?", "Connection: close", "/1?"}},
	{name: "server name", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Name: "test/1"}, want: []string{"\r\nServer: test/1\r\n"}},
	{name: "fields", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.SetHeader("X-A", "1")
		c.AddHeader("x-a", "2")
		c.SetHeader("X-B", "")
		c.SetHeader("Date", "never")
		c.SetStatus(404)
		c.SetHeader("X-a", "3")
		c.AddHeader("X-A", "4")
		c.SetStatus(599)
	})}, want: []string{"HTTP/1.1 599 \r\nX-B: \r\nDate: never\r\nX-a: 3\r\nX-A: 4\r\nContent-Length: 0\r\n\r\n"}},
	{name: "several writes", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		for i := range 200 {
			fmt.Fprintf(c, "%d,", i)
		}
	})}, want: []string{"Content-Length: 690\r\n\r\n0,1,2,", "198,199,HTTP/1.1 200 OK", "Content-Length: 690\r\n\r\n0,1,2,"}},
	{name: "streamed in chunks", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.say("abc")
		c.Flush()
		c.say("0123456789abcdef")
		c.SetTrailer("X-T", "1")
	})}, want: []string{"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nX-T: 1\r\n\r\nHTTP/1.1 200", "\r\nX-T: 1\r\n\r\n"}, never: "Content-Length"},
	{name: "streamed with a length", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.SetHeader("content-length", "6")
		c.Flush()
		c.say("abcdef")
		if _, err := c.WriteString("g"); err != ErrContentLength {
			panic(fmt.Sprint("Write beyond the length returned ", err))
		}
	})}, want: []string{"Content-Length: 6\r\n\r\nabcdefHTTP/1.1 200", "abcdef"}, never: "chunked"},
	{name: "streamed to HTTP/1.0", send: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.Flush()
		c.say("abc")
	})}, want: []string{"Connection: close\r\n\r\nabc"}, never: "chunked"},
	{name: "content where there is none", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.SetStatus(204)
		if _, err := c.WriteString("g"); err != ErrBodyNotAllowed {
			panic(fmt.Sprint("Write with status 204 returned ", err))
		}
	})}, want: []string{"204 No Content", "204 No Content"}, never: "Content-Length"},
	{name: "less than declared", send: "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.SetContentLength(10)
		c.say("abc")
	})}, want: []string{"Content-Length: 10\r\n\r\nabc"}, never: "abcHTTP"},
	{name: "handler closes", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) { c.SetHeader("Connection", "close") })},
		want: []string{"Connection: close\r\n"}, never: "\r\n\r\nHTTP"},
	{name: "error in place of content", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) { c.say("abc"); c.Error(502, "sorry") })},
		want: []string{"502 Bad Gateway", "\r\n\r\nsorry\n"}, never: "abc"},
	{name: "panic", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{OnPanic: func(Request, any, []byte) {}, Handler: HandlerFunc(func(c *Context) { c.say("abc"); panic("x") })},
		want: []string{"500 Internal Server Error", "Connection: close"}, never: "abc"},
	{name: "panic while streaming", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{OnPanic: func(Request, any, []byte) {}, Handler: HandlerFunc(func(c *Context) { c.say("abc"); c.Flush(); panic("x") })},
		want: []string{"3\r\nabc\r\n"}, never: "0\r\n\r\n"},
	{name: "http.ErrAbortHandler", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) { c.say("abc"); panic(http.ErrAbortHandler) })}, never: "H"},
	{name: "Goexit", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) { c.say("abc"); runtime.Goexit() })}, never: "H"},
	{name: "line end in a value", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{OnPanic: func(Request, any, []byte) {}, Handler: HandlerFunc(func(c *Context) { c.SetHeader("X", "a\r\nY: b") })},
		want: []string{"500 Internal"}, never: "Y: b"},
	{name: "space in a name", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{OnPanic: func(Request, any, []byte) {}, Handler: HandlerFunc(func(c *Context) { c.SetHeader("X Y", "a") })},
		want: []string{"500 Internal"}, never: "X Y"},
	{name: "a field after content", send: "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", server: Server{Handler: HandlerFunc(func(c *Context) {
		c.say("a")
		if c.SetHeader("X", "a") == ErrHeadWritten && c.SetStatus(400) == ErrHeadWritten && c.SetContentLength(9) == ErrHeadWritten {
			c.say("b")
		}
	})}, want: []string{"200 OK", "\r\n\r\nab"}, never: "X:"},
}

// talkSlowly is talk with pauses at "<wait>", until something arrives or a
// while has passed.
func talkSlowly(t *testing.T, addr, send string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	var got strings.Builder
	parts := strings.Split(send, "<wait>")
	for i, part := range parts {
		if _, err := io.WriteString(nc, part); err != nil && i == 0 {
			t.Error(err)
		}
		if i < len(parts)-1 {
			var buf [4096]byte
			for !strings.HasSuffix(got.String(), "\r\n\r\n") {
				n, err := nc.Read(buf[:])
				if got.Write(buf[:n]); err != nil {
					break
				}
			}
		}
	}
	nc.(*net.TCPConn).CloseWrite() // it may be closed already
	rest, err := io.ReadAll(nc)
	if err != nil {
		t.Error(err)
	}
	got.Write(rest)
	return got.String()
}

// TestDialogues expects the same responses in every mode.
func TestDialogues(t *testing.T) {
	first := map[string]string{}
	each(t, func(t *testing.T, m Memory) {
		for i := range dialogues {
			d := &dialogues[i]
			t.Run(d.name, func(t *testing.T) {
				s := &Server{Handler: d.server.Handler, Memory: m, Name: d.server.Name, MaxTargetBytes: d.server.MaxTargetBytes, MaxHeaderBytes: d.server.MaxHeaderBytes,
					StrictTargets: d.server.StrictTargets,
					MaxHeaders:    d.server.MaxHeaders, MaxBodyBytes: d.server.MaxBodyBytes, MaxRequests: d.server.MaxRequests, OnPanic: d.server.OnPanic}
				if s.Handler == nil {
					s.Handler = HandlerFunc(echo)
				}
				got := talkSlowly(t, serve(t, s), d.send)
				rest := got
				for _, want := range d.want {
					_, after, ok := strings.Cut(rest, want)
					if !ok {
						t.Fatalf("no %q in the rest of the answer %q", want, got)
					}
					rest = after
				}
				if d.never != "" && strings.Contains(got, d.never) {
					t.Errorf("%q in the answer %q", d.never, got)
				}
				masked := dateField.ReplaceAllString(got, "Date: then")
				if f, ok := first[d.name]; ok && f != masked {
					t.Errorf("%q, in the first mode %q", masked, f)
				}
				first[d.name] = masked
			})
		}
	})
}
