package http11

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// frame is a filter that writes its name around all content and after each flush.
type frame struct {
	w    io.Writer
	name string
	open bool
}

func (f *frame) Write(p []byte) (int, error) {
	if !f.open {
		f.open = true
		io.WriteString(f.w, "<"+f.name+">")
	}
	return f.w.Write(p)
}

func (f *frame) Flush() error { _, err := io.WriteString(f.w, "|"+f.name+"|"); return err }
func (f *frame) Close() error { _, err := io.WriteString(f.w, "</"+f.name+">"); return err }

// framed wraps a handler in a frame and reports in a field what it saw.
func framed(name string, next HandlerFunc) HandlerFunc {
	return func(c *Context) {
		c.OnStream(func(w io.Writer) io.WriteCloser {
			seen, _ := c.ResponseHeader("X-Seen")
			c.SetHeader("X-Seen", fmt.Sprintf("%s%s:%d ", seen, name, c.Status()))
			if strings.HasPrefix(c.Path().String(), "/plain") {
				return nil
			}
			return &frame{w: w, name: name}
		})
		next(c)
	}
}

// Filters nest like the handlers.
func TestFiltersNest(t *testing.T) {
	long := strings.Repeat("x", 3*collectBytes)
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: framed("a", framed("b", func(c *Context) {
			c.SetStatus(201)
			c.WriteString("1")
			switch c.Path().String() {
			case "/flush", "/plain":
				c.Flush()
				c.WriteString("2")
			case "/long":
				c.WriteString(long)
			}
		}))})
		for _, tc := range []struct{ path, seen, body string }{
			{"/", "", "1"},
			{"/plain", "b:201 a:201", "12"},
			{"/flush", "b:201 a:201", "<a><b>1|b||a|2</b></a>"},
			{"/long", "b:201 a:201", "<a><b>1" + long + "</b></a>"},
		} {
			_, r := dial(t, addr, "GET "+tc.path+" HTTP/1.1\r\nHost: h\r\n\r\n")
			resp, body := answer(t, r)
			if seen := resp.Header.Get("X-Seen"); resp.StatusCode != 201 || seen != tc.seen || body != tc.body {
				t.Errorf("%s: status %d, seen %q, %d bytes: %.60q", tc.path, resp.StatusCode, seen, len(body), body)
			}
		}
	})
}

// A response without content gets none from a filter, and the next response on
// the connection is in its place.
func TestFilterWithoutContent(t *testing.T) {
	next := func(c *Context) {
		switch c.Path().String() {
		case "/204":
			c.SetStatus(204)
		case "/304", "/plain304":
			c.OnStream(func(io.Writer) io.WriteCloser { // the outer filter writes content anyway
				c.SetStatus(304)
				return nil
			})
		}
		if !c.Path().Equal("/204") {
			c.WriteString("collected")
			_, err := c.WriteString(strings.Repeat("content", 20_000))
			if want := c.Path().Equal("/plain304"); (err == ErrBodyNotAllowed) != want {
				t.Errorf("%s: %v", c.Path(), err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
	}
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: framed("a", func(c *Context) {
			if c.Path().Equal("/last") {
				c.WriteString("last")
				return
			}
			next(c)
		})})
		for _, tc := range []struct {
			request string
			status  int
		}{{"HEAD /", 200}, {"GET /204", 204}, {"GET /304", 304}, {"HEAD /304", 304}, {"GET /plain304", 304}} {
			_, r := dial(t, addr, tc.request+" HTTP/1.1\r\nHost: h\r\n\r\nGET /last HTTP/1.1\r\nHost: h\r\n\r\n")
			method, _, _ := strings.Cut(tc.request, " ")
			first, err := http.ReadResponse(r, &http.Request{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if seen := first.Header.Get("X-Seen"); first.StatusCode != tc.status || seen == "" {
				t.Errorf("%s: status %d, seen %q", tc.request, first.StatusCode, seen)
			}
			if resp, body := answer(t, r); resp.StatusCode != 200 || body != "last" {
				t.Errorf("after %s: status %d, %q", tc.request, resp.StatusCode, body)
			}
		}
	})
}

// Middleware sees a response to HEAD like that to GET, and the client gets the
// same fields.
func TestHeadAsGet(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			n := map[string]int{"/small": 10, "/most": collectBytes, "/large": 2 * collectBytes}[c.Path().String()]
			for rest := n; rest > 0; rest -= min(rest, 1000) {
				c.Write(make([]byte, min(rest, 1000)))
			}
			if c.Written() != int64(n) {
				t.Errorf("%s: %d bytes written, want %d", c.Path(), c.Written(), n)
			}
			content, ok := c.Recall()
			if want := n <= collectBytes; ok != want {
				t.Errorf("%s %s: recalled: %v", c.Method(), c.Path(), ok)
			}
			if ok {
				c.SetHeader("X-Seen", fmt.Sprint(content.Len()))
				content.WriteTo(c)
			}
		})})
		for _, path := range []string{"/empty", "/small", "/most", "/large"} {
			get := ask(t, "http://"+addr, "GET", path, nil, "", false)
			head := ask(t, "http://"+addr, "HEAD", path, nil, "", false)
			if head.header.Get("X-Seen") != get.header.Get("X-Seen") || head.body != "" {
				t.Errorf("%s: HEAD %v, GET %v", path, head.header, get.header)
			}
		}
		// Without a filter, the length of a large response is known anyway.
		resp, err := http.Head("http://" + addr + "/large")
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.ContentLength != 2*collectBytes {
			t.Errorf("length %d", resp.ContentLength)
		}
	})
}

func TestRemoveHeader(t *testing.T) {
	addr := serve(t, &Server{Name: "n", Handler: HandlerFunc(func(c *Context) {
		c.RemoveHeader("X-None")
		c.SetHeader("X-A", "1")
		c.AddHeader("x-a", "2")
		c.SetHeader("X-Ab", "3")
		c.SetContentLength(100)
		for _, name := range []string{"X-A", "Content-Length", "Server"} {
			if err := c.RemoveHeader(name); err != nil {
				t.Error(err)
			}
		}
		c.WriteString("content")
		if err := c.RemoveHeader("X-Ab"); err != ErrHeadWritten {
			t.Errorf("after content: %v", err)
		}
	})})
	_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	resp, body := answer(t, r)
	resp.Header.Del("Date")
	if got := fmt.Sprint(resp.Header); got != "map[Content-Length:[7] X-Ab:[3]]" || body != "content" {
		t.Errorf("%s %q", got, body)
	}
}

// A handler that gives up because of the body may already have set fields.
func TestRefusedAfterFields(t *testing.T) {
	s := &Server{MaxBodyBytes: 10, Handler: HandlerFunc(func(c *Context) {
		c.SetHeader("X-A", "1")
		c.Body()
	})}
	mounted := &Server{MaxBodyBytes: 10, Handler: s.Handler}
	for name, addr := range map[string]string{
		"served": serve(t, s), "mounted": serve(t, &Server{Handler: Adapt(mounted)}),
	} {
		got := ask(t, "http://"+addr, "POST", "/", nil, strings.Repeat("x", 11), true)
		if got.status != 413 || got.header.Get("X-A") != "" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A file goes through a filter if there is one.
func TestFilteredFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: framed("a", func(c *Context) {
			if err := c.SendFile(name); err != nil {
				t.Error(err)
			}
		})})
		for path, want := range map[string]string{"/": "<a>" + string(data) + "</a>", "/plain": string(data)} {
			got := ask(t, "http://"+addr, "GET", path, nil, "", false)
			if got.status != 200 || got.body != want || got.header.Get("X-Seen") == "" {
				t.Errorf("%s: status %d, %d bytes, %v", path, got.status, len(got.body), got.header)
			}
		}
	})
}
