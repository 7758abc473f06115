package http11

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Adapt returns a Handler that calls h, so that a net/http route can stay as it
// is. Like net/http, it allocates a new request and header maps per request.
// Two goroutines may use the body and the writer concurrently. After h has
// returned, the body fails with http.ErrBodyReadAfterClose and the writer with
// an error that wraps ErrEnded, and calls that still wait in them return. The
// request's context is that of Context.Context; its http.ServerContextKey is an
// http.Server that only has h. http.ResponseController can flush, hijack and set
// deadlines. OPTIONS * gets 200 without a call of h. A response that is still held
// back waits up to 5 s for the body that h left, unless over 256 KB are left. With
// 413 (Content Too Large) it does not wait, and the connection closes.
//
// Unlike net/http, the server answers HTTP/1.0 as HTTP/1.1, sends 500 after a
// panic if nothing was sent, ends the connection after a 2xx to CONNECT, which
// Hijack turns into a tunnel, decides about Transfer-Encoding and when the connection
// closes, and logs no superfluous calls of WriteHeader. Hijack fails once a part of
// another response was sent. Content that is not flushed is held back up to 64 KB or
// until h returns (net/http: about 4 KB). A connection whose http.MaxBytesReader has
// tripped without 413 stays open if little of the body is left. A goroutine that
// changes the header map after h has returned races with the server, also where
// net/http reads it no more.
func Adapt(h http.Handler) Handler { return adapted{h, &http.Server{Handler: h}} }

type adapted struct {
	h      http.Handler
	server *http.Server // httputil.ReverseProxy aborts a response only if there is one
}

func (a adapted) ServeHTTP11(c *Context) {
	c.MayBlock() // handlers of net/http may block
	r, err := c.httpRequest(a.server)
	if err != nil {
		c.Error(400, "the request target is not a URL") // nothing was sent yet
		return
	}
	if r.Method == http.MethodOptions && r.RequestURI == "*" { // it concerns the server: see http.Server
		return
	}
	w := &adaptedWriter{bridge: c.bridge(), header: http.Header{}}
	defer func() {
		if r.MultipartForm != nil {
			r.MultipartForm.RemoveAll() // on an error, files are left behind as with net/http
		}
	}()
	a.h.ServeHTTP(w, r)
	w.finish()
}

// A bridge connects what net/http handlers receive to the request.
type bridge struct {
	own  Context
	from *exchange // for a fault set by tests
}

func (c *Context) bridge() bridge {
	b := bridge{own: Context{c.Request}}
	if faults.keepAdapted {
		b.from = c.must(c.enter(), "Adapt")
		b.from.exit()
	}
	return b
}

// c returns the Context of the request.
func (b *bridge) c() *Context {
	if b.from != nil && b.from.r != nil {
		return &Context{b.from.request()}
	}
	return &b.own
}

// httpRequest builds the request as net/http's server would.
func (c *Context) httpRequest(server *http.Server) (*http.Request, error) {
	h := &c.r.head
	r := &http.Request{
		Method: c.Method().String(), RequestURI: c.Target().String(), Host: c.Host().String(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: int(h.minor),
		Header: make(http.Header, len(h.fields)), ContentLength: h.length, Close: h.close, Body: http.NoBody,
	}
	if h.minor == 0 {
		r.Proto = "HTTP/1.0"
	}
	uri := r.RequestURI
	authority := r.Method == http.MethodConnect && uri[0] != '/'
	if authority {
		uri = "http://" + uri
	}
	var err error
	if r.URL, err = url.ParseRequestURI(uri); err != nil {
		return nil, err
	}
	if authority {
		r.URL.Scheme = ""
	}
	for name, value := range c.Headers() {
		key := textproto.CanonicalMIMEHeaderKey(name.String())
		switch id := knownID(key); {
		case id == idHost:
		case id == idTransferEncoding:
			r.TransferEncoding = []string{"chunked"}
		case id == idTrailer && h.chunked:
			for announced := range strings.SplitSeq(value.String(), ",") {
				if announced = strings.TrimSpace(announced); announced == "" {
					continue
				}
				if r.Trailer == nil {
					r.Trailer = http.Header{}
				}
				r.Trailer[textproto.CanonicalMIMEHeaderKey(announced)] = nil
			}
		default:
			r.Header[key] = append(r.Header[key], value.String())
		}
	}
	if p := r.Header["Pragma"]; len(p) > 0 && p[0] == "no-cache" && r.Header["Cache-Control"] == nil {
		r.Header["Cache-Control"] = []string{"no-cache"} // caches ask for one of the two
	}
	r = r.WithContext(c.describe(r, server))
	if h.length != 0 {
		r.Body = &adaptedBody{bridge: c.bridge(), request: r}
	}
	return r, nil
}

// describe fills in the connection's part of r and returns the context.
func (c *Context) describe(r *http.Request, server *http.Server) context.Context {
	x := c.must(c.enter(), "Adapt")
	defer x.exit()
	ctx := context.Context(x.context(c))
	if x.conn == nil { // ctx has the values of net/http
		from := x.mount.r
		r.RemoteAddr, r.TLS = from.RemoteAddr, from.TLS
		r.Proto, r.ProtoMajor, r.ProtoMinor = from.Proto, from.ProtoMajor, from.ProtoMinor
		return ctx
	}
	if addr := x.remoteAddr(); addr != nil {
		r.RemoteAddr = addr.String()
	}
	ctx = context.WithValue(ctx, http.ServerContextKey, server)
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, x.conn.nc.LocalAddr())
	if t, ok := x.conn.nc.(connectionStater); ok {
		state := t.ConnectionState()
		r.TLS = &state
	}
	return ctx
}

// adaptedBody reads the body for net/http.
type adaptedBody struct {
	bridge
	request  *http.Request
	closed   atomic.Bool // publishes nothing
	trailers sync.Once
}

func (b *adaptedBody) Read(p []byte) (int, error) {
	if b.closed.Load() && !faults.keepAdapted {
		return 0, http.ErrBodyReadAfterClose
	}
	c := b.c()
	n, err := c.BodyReader().Read(p)
	switch {
	case errors.Is(err, ErrEnded):
		return 0, http.ErrBodyReadAfterClose
	case errors.Is(err, io.ErrUnexpectedEOF): // handlers compare it
		err = io.ErrUnexpectedEOF
	case errors.Is(err, errBodyLong): // handlers of net/http, and frameworks, know it by this type
		c.change(func(x *exchange) { err = &http.MaxBytesError{Limit: x.maxBody} })
	case err == io.EOF && b.request.ContentLength < 0:
		b.trailers.Do(func() { b.takeTrailers(c) })
	}
	return n, err
}

// takeTrailers gives the request its trailers, like net/http also those that
// were not announced.
func (b *adaptedBody) takeTrailers(c *Context) {
	defer func() { recover() }() // the request has ended meanwhile: nobody will read trailers
	for name, value := range c.Trailers() {
		if b.request.Trailer == nil {
			b.request.Trailer = http.Header{}
		}
		b.request.Trailer.Add(name.String(), value.String())
	}
}

func (b *adaptedBody) Close() error {
	b.closed.Store(true)
	return nil
}

// adaptedWriter is the http.ResponseWriter of an adapted handler.
type adaptedWriter struct {
	bridge
	header http.Header // the handler's

	mu       sync.Mutex
	ended    bool        // the handler has returned; mu guards it and the fields below
	status   int         // set by WriteHeader; 0 before
	frozen   http.Header // header at that time
	wrote    bool        // the head was passed to the Context
	hijacked bool
	announce []string // trailer names from the field Trailer
}

func (w *adaptedWriter) Header() http.Header { return w.header }

// enter locks the writer, or returns why it is no longer usable.
func (w *adaptedWriter) enter(op string) error {
	w.mu.Lock()
	switch {
	case faults.keepAdapted:
		return nil
	case w.ended:
		w.mu.Unlock()
		return w.own.r.late(op)
	case w.hijacked:
		w.mu.Unlock()
		return http.ErrHijacked
	}
	return nil
}

func (w *adaptedWriter) WriteHeader(status int) {
	if w.enter("WriteHeader") != nil {
		return
	}
	defer w.mu.Unlock()
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		w.inform(status)
		return
	}
	w.writeHeader(status)
}

func (w *adaptedWriter) Write(p []byte) (int, error) { return adaptedWrite(w, p) }

func (w *adaptedWriter) WriteString(s string) (int, error) { return adaptedWrite(w, s) }

func adaptedWrite[T string | []byte](w *adaptedWriter, p T) (n int, err error) {
	if err := w.enter("Write"); err != nil {
		return 0, err
	}
	defer w.mu.Unlock()
	w.writeHead()
	switch p := any(p).(type) {
	case string:
		n, err = w.c().WriteString(p)
	case []byte:
		n, err = w.c().Write(p)
	}
	switch err {
	case ErrBodyNotAllowed:
		err = http.ErrBodyNotAllowed
	case ErrContentLength:
		err = http.ErrContentLength
	}
	return n, err
}

// copyBuffers are of ReadFrom, by pointer to [32 << 10]byte.
var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom implements io.ReaderFrom: io.Copy of a file or a connection then
// allocates no buffer, and the kernel copies a file whose length was declared, as
// http.ServeContent does. Other Readers might keep a shared buffer, and see what
// belongs to another client.
func (w *adaptedWriter) ReadFrom(src io.Reader) (int64, error) {
	to := struct{ io.Writer }{w} // without this method
	if !ofKernel(src) {
		return io.Copy(to, src)
	}
	sent, err := w.sendFile(src)
	if err != nil {
		return sent, err
	}
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	n, err := io.CopyBuffer(to, struct{ io.Reader }{src}, buf[:])
	return sent + n, err
}

// sendFile sends what the kernel can copy of src.
func (w *adaptedWriter) sendFile(src io.Reader) (sent int64, err error) {
	n := int64(math.MaxInt64)
	part, limited := src.(*io.LimitedReader)
	if limited {
		src, n = part.R, part.N
	}
	f, ok := src.(openFile)
	if !ok {
		return 0, nil
	}
	if err := w.enter("ReadFrom"); err != nil {
		return 0, err
	}
	w.writeHead()
	w.mu.Unlock()
	err = w.c().do("ReadFrom", func(x *exchange) (err error) {
		sent, err = x.sendRest(f, n)
		return err
	})
	if limited {
		part.N -= sent
	}
	return sent, err
}

// ofKernel reports whether package os or net reads src, or what src limits.
func ofKernel(src io.Reader) bool {
	if part, ok := src.(*io.LimitedReader); ok {
		src = part.R
	}
	if _, ok := src.(syscall.Conn); !ok {
		return false
	}
	t := reflect.TypeOf(src)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == "os" || t.PkgPath() == "net"
}

// finish completes the response after the handler has returned.
func (w *adaptedWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.hijacked || w.status == 0 && !w.wrote && w.bodyFailed() {
		return
	}
	w.writeHead()
	w.c().change(func(x *exchange) {
		guessType(x, "")
		x.untyped = false // what a middleware writes is not the handler's content
		// Clients of net/http's server may rely on it: a Go client has closed the
		// body of a request when the response arrives. A body that another goroutine
		// waits for, as with http.TimeoutHandler, has not been ignored. One that is too
		// large is given up, as net/http does once an http.MaxBytesReader has tripped.
		x.hears = !x.reading
		if x.hears && x.status == http.StatusRequestEntityTooLarge && x.bodyState < bodyDone {
			x.bodyState, x.close = bodyWrecked, true
		}
	})
	w.trailers()
}

// bodyFailed reports whether reading the body failed; the server then answers.
func (w *adaptedWriter) bodyFailed() bool {
	x := w.own.must(w.own.enter(), "Adapt")
	defer x.exit()
	return x.bodyErr != nil
}

// Flush implements http.Flusher.
func (w *adaptedWriter) Flush() {
	w.FlushError() // http.Flusher returns no error
}

// FlushError is used by http.ResponseController.
func (w *adaptedWriter) FlushError() error {
	if err := w.enter("Flush"); err != nil {
		return err
	}
	defer w.mu.Unlock()
	w.writeHead()
	return w.c().Flush()
}

// SetReadDeadline is used by http.ResponseController.
func (w *adaptedWriter) SetReadDeadline(t time.Time) error { return w.c().SetReadDeadline(t) }

// SetWriteDeadline is used by http.ResponseController.
func (w *adaptedWriter) SetWriteDeadline(t time.Time) error { return w.c().SetWriteDeadline(t) }

// CloseNotify implements http.CloseNotifier, which some frameworks demand for a
// stream.
func (w *adaptedWriter) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	ctx := w.c().Context()
	context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != ErrEnded {
			gone <- true
		}
	})
	return gone
}

// EnableFullDuplex is used by http.ResponseController; full duplex is always
// on, unless net/http serves the connection.
func (w *adaptedWriter) EnableFullDuplex() (err error) {
	w.c().change(func(x *exchange) {
		if x.conn == nil {
			err = x.mount.control().EnableFullDuplex()
		}
	})
	return err
}

// Hijack implements http.Hijacker. It sends a head that was set before:
// WebSocket libraries switch protocols that way.
func (w *adaptedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if err := w.enter("Hijack"); err != nil {
		return nil, nil, err
	}
	defer w.mu.Unlock()
	nc, buffered, err := w.c().Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	if w.status != 0 && !w.wrote {
		if _, err := nc.Write(w.plainHead()); err != nil {
			nc.Close()
			return nil, nil, &writeError{err}
		}
	}
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(buffered), nc), max(4096, len(buffered)))
	if len(buffered) > 0 {
		if _, err := r.Peek(len(buffered)); err != nil { // cannot fail: the bytes are buffered
			return nil, nil, err
		}
	}
	return nc, bufio.NewReadWriter(r, bufio.NewWriter(nc)), nil
}
