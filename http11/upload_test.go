package http11

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A client that sends more than the limit sees the response.
func TestUploadBeyondTheLimit(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) { c.Body() })})
		body := bytes.Repeat([]byte("x"), 6<<20)
		for range 10 {
			resp, err := http.Post("http://"+addr, "text/plain", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 413 {
				t.Errorf("status %d", resp.StatusCode)
			}
		}
	})
}

// So does a client that sends its whole request before it looks for the
// response, even behind a proxy that closes its connection once there is one.
func TestUploadBeyondTheLimitBehindAProxy(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		to := &url.URL{Scheme: "http", Host: serve(t, &Server{Handler: HandlerFunc(func(c *Context) { c.Body() })})}
		proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
		defer proxy.Close()
		for range 10 {
			request := "Content-Length: 6291456\r\n\r\n" + strings.Repeat("x", 6<<20)
			if status, _ := sendThenRead(t, proxy.Listener.Addr().String(), request); status != 413 {
				t.Errorf("status %d", status)
			}
		}
	})
}

// A client that waits for 100 (Continue), or announces more than the server
// waits for, gets its response without a body, for which a server would wait an
// hour here.
func TestRefusedWithoutTheBody(t *testing.T) {
	defer func(d time.Duration) { lingering = d }(lingering)
	lingering = time.Hour
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) { c.Body() })})
		for _, fields := range []string{
			"Expect: 100-continue\r\nContent-Length: 6291456\r\n\r\n", "Content-Length: 99999999\r\n\r\n",
		} {
			if status, _ := sendThenRead(t, addr, fields); status != 413 {
				t.Errorf("%q: status %d", fields, status)
			}
		}
	})
}

// sendThenRead posts fields and a body, then reads the response.
func sendThenRead(t *testing.T, addr, request string) (status int, resp *http.Response) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\n"+request); err != nil {
		t.Error(err)
		return 0, nil
	}
	if resp, err = http.ReadResponse(bufio.NewReader(nc), nil); err != nil {
		t.Error(err)
		return 0, nil
	}
	return resp.StatusCode, resp
}

// A response to a request whose body will not be read says that the connection
// closes: otherwise a client sends its next request on it.
func TestAnswerBeforeTheEndOfABody(t *testing.T) {
	const (
		large   = "Content-Length: 1000000\r\n\r\n"
		chunked = "Read: 300000\r\nTransfer-Encoding: chunked\r\n\r\n7a120\r\n"
	)
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
			n, _ := strconv.ParseInt(c.Header("Read").String(), 10, 64) // 0 if there is none
			io.CopyN(io.Discard, c.BodyReader(), n)                     // the client notices missing bytes
			c.WriteString(strings.Repeat("y", 1000))
		})})
		for _, test := range []struct {
			name, request string
			closes        bool
		}{
			{"small", "Content-Length: 3\r\n\r\nabc", false},
			{"small, to come", "Content-Length: 3\r\n\r\n", false},
			{"chunked, arrived", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false},
			{"chunked, to come", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false},
			{"chunked, read in part", chunked + strings.Repeat("x", 400_000), true},
			{"large", large, true},
			{"large, begun", large + "abc", true},
			{"waiting for 100", "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n", true},
		} {
			_, resp := sendThenRead(t, addr, test.request)
			if resp == nil {
				continue
			}
			if resp.StatusCode != 200 || resp.ContentLength != 1000 || resp.Close != test.closes {
				t.Errorf("%s: %+v", test.name, resp)
			}
		}
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		io.WriteString(nc, "POST / HTTP/1.0\r\nConnection: keep-alive\r\n"+large)
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); len(body) != 1000 || !resp.Close {
			t.Errorf("HTTP/1.0: %+v, %d bytes, %v", resp, len(body), err)
		}
	})
}

// A connection that the response said stays open does stay, however much of a
// chunked body is left: a client may have sent all of it.
func TestRestOfAChunkedBody(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) { c.WriteString(c.Path().String()) })})
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(20 * time.Second))
		const size = 5 * skipBytes
		go fmt.Fprintf(nc, "POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"+
			"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n", size, strings.Repeat("x", size))
		r := bufio.NewReader(nc)
		for _, want := range []string{"/1", "/2"} {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); string(got) != want || resp.Close {
				t.Errorf("%q, %v, want %s: %+v", got, err, want, resp)
			}
		}
	})
}
