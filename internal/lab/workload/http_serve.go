package workload

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/http11"
)

// http11 returns this module's server; both servers do the same work per request.
func (t *httpServer) http11() func(net.Listener) error {
	srv := &http11.Server{
		Memory:       httpMemory(t.params.String("server")),
		MaxBodyBytes: 1 << 30,
		Handler:      t.http11Handler(),
	}
	if t.params.String("engine") == "readiness" {
		srv.Engine = http11.Readiness
	}
	if t.ctl != nil {
		srv.Idle = t.ctl.Idle
	}
	t.stop, t.stats = srv.Shutdown, srv.Stats
	return srv.Serve
}

func (t *httpServer) http11Handler() http11.HandlerFunc {
	reply, alloc, wait := t.params.Bytes("reply"), t.params.Bytes("alloc"), t.params.Duration("wait")
	scratch := func(c *http11.Context) []byte { return c.UnsafeAlloc(alloc) }
	if t.params.String("from") == "heap" {
		scratch = func(*http11.Context) []byte { return make([]byte, alloc) }
	}
	switch t.params.String("answer") {
	case "file":
		return func(c *http11.Context) { c.SendFile(t.file) } // the client notices an error
	case "upgrade":
		size := t.params.Bytes("body")
		return func(c *http11.Context) {
			if nc, early, err := c.Hijack(); err == nil {
				go upgraded(nc, early, size)
			}
		}
	}
	return func(c *http11.Context) {
		if _, err := c.Body(); err != nil {
			return // the server answers
		}
		b := scratch(c)
		fill(b)
		if wait > 0 {
			c.MayBlock()
			time.Sleep(wait)
		}
		c.SetHeader("Content-Type", "text/plain")
		writeReply(c, b, reply)
	}
}

func (t *httpServer) netHTTP() func(net.Listener) error {
	srv := &http.Server{Handler: t.netHTTPHandler()}
	t.stop, t.stats = srv.Shutdown, nil
	return srv.Serve
}

func (t *httpServer) netHTTPHandler() http.HandlerFunc {
	reply, alloc, wait := t.params.Bytes("reply"), t.params.Bytes("alloc"), t.params.Duration("wait")
	switch t.params.String("answer") {
	case "file":
		return func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, t.file) }
	case "upgrade":
		size := t.params.Bytes("body")
		return func(w http.ResponseWriter, r *http.Request) {
			nc, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			early, _ := rw.Reader.Peek(rw.Reader.Buffered())
			go upgraded(nc, bytes.Clone(early), size)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b := make([]byte, alloc)
		fill(b)
		if wait > 0 {
			time.Sleep(wait)
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(reply)) // http11 does this itself
		writeReply(w, b, reply)
	}
}

// upgraded switches a connection to the protocol echo, which returns messages of one size until
// the client closes it. early is input that has already arrived.
func upgraded(nc net.Conn, early []byte, size int) {
	defer nc.Close()
	if _, err := io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"+
		"\r\n"); err != nil {
		return
	}
	message := make([]byte, size)
	in := io.MultiReader(bytes.NewReader(early), nc)
	for {
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		if _, err := nc.Write(message); err != nil {
			return
		}
	}
}

// replyFile makes a file of n bytes in a new directory.
func replyFile(n int) (string, error) {
	dir, err := os.MkdirTemp("", "isobar-http-")
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	fill(b)
	name := filepath.Join(dir, "reply.txt")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return name, nil
}

// text is the content of replies.
var text = bytes.Repeat([]byte("abcdefghijklmnop"), 256)

// fill writes all of b, as rendering a page would.
func fill(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, text):]
	}
}

// writeReply writes n bytes, beginning with b. The client notices missing bytes.
func writeReply(w io.Writer, b []byte, n int) {
	for part := b; n > 0; part = text {
		m := min(n, len(part))
		w.Write(part[:m])
		n -= m
	}
}
