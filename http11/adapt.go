package http11

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// Adapt returns a Handler that has h answer, so that a route of net/http can
// stay as it is. Requests and header maps are made anew for each request, as
// net/http does. The context of the request ends when h returns; it does not
// end when the client goes away. http.ResponseController can flush and hijack.
// Of the informational responses only 100 (Continue) is sent, when the body is
// first read.
func Adapt(h http.Handler) Handler { return adapted{h} }

type adapted struct{ h http.Handler }

func (a adapted) ServeHTTP11(c *Context) {
	c.MayBlock() // as handlers of net/http may
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := c.httpRequest(ctx)
	if err != nil {
		c.Error(400, "the request target is not a URL") // nothing was sent before
		return
	}
	w := &adaptedWriter{c: c, header: http.Header{}, request: r}
	a.h.ServeHTTP(w, r)
	if w.hijacked || c.bodyErr != nil && w.status == 0 && !w.wrote {
		return
	}
	w.writeHead(nil)
	w.trailers()
}

// httpRequest makes the request that net/http's server would.
func (c *Context) httpRequest(ctx context.Context) (*http.Request, error) {
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
	if r.Method == http.MethodConnect {
		uri = "http://" + uri
	}
	var err error
	if r.URL, err = url.ParseRequestURI(uri); err != nil {
		return nil, err
	}
	if r.Method == http.MethodConnect {
		r.URL.Scheme = ""
	}
	for name, value := range c.Headers() {
		key := textproto.CanonicalMIMEHeaderKey(name.String())
		switch knownID(key) {
		case idHost:
		case idTransferEncoding:
			r.TransferEncoding = []string{"chunked"}
		case idTrailer:
			for announced := range strings.SplitSeq(value.String(), ",") {
				if r.Trailer == nil {
					r.Trailer = http.Header{}
				}
				r.Trailer[textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(announced))] = nil
			}
		default:
			r.Header[key] = append(r.Header[key], value.String())
		}
	}
	if h.length != 0 {
		r.Body = &adaptedBody{c: c, r: r}
	}
	if addr := c.RemoteAddr(); addr != nil {
		r.RemoteAddr = addr.String()
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.conn.nc.LocalAddr())
		if t, ok := c.conn.nc.(*tls.Conn); ok {
			state := t.ConnectionState()
			r.TLS = &state
		}
	}
	return r.WithContext(ctx), nil
}

// adaptedBody reads the body for net/http.
type adaptedBody struct {
	c      *Context
	r      *http.Request
	closed bool
}

func (b *adaptedBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.c.BodyReader().Read(p)
	if err == io.EOF {
		for name, value := range b.c.Trailers() {
			key := textproto.CanonicalMIMEHeaderKey(name.String())
			if _, announced := b.r.Trailer[key]; announced {
				b.r.Trailer[key] = append(b.r.Trailer[key], value.String())
			}
		}
	}
	return n, err
}

func (b *adaptedBody) Close() error {
	b.closed = true
	return nil
}

// adaptedWriter is the http.ResponseWriter of an adapted handler.
type adaptedWriter struct {
	c        *Context
	request  *http.Request
	header   http.Header
	status   int         // as of WriteHeader; 0 before
	frozen   http.Header // header as it was then
	wrote    bool        // the head went to c
	hijacked bool
	announce []string // trailer fields, by the field Trailer
}

func (w *adaptedWriter) Header() http.Header { return w.header }

func (w *adaptedWriter) WriteHeader(status int) {
	if w.status != 0 || w.hijacked || status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	w.status, w.frozen = status, w.header.Clone()
}

// writeHead hands the head to c; content is what is written first.
func (w *adaptedWriter) writeHead(content []byte) {
	if w.wrote {
		return
	}
	w.wrote = true
	w.WriteHeader(200)
	w.c.SetStatus(w.status)
	_, typed := w.frozen["Content-Type"]
	if _, encoded := w.frozen["Content-Encoding"]; !typed && !encoded && len(content) > 0 && w.c.mayHaveContent() {
		w.c.SetHeader("Content-Type", http.DetectContentType(content))
	}
	for _, value := range w.frozen["Trailer"] {
		for key := range strings.SplitSeq(value, ",") {
			w.announce = append(w.announce, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(key)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.frozen)) {
		if strings.HasPrefix(name, http.TrailerPrefix) || knownID(name) == idTransferEncoding || !token(name) || slices.Contains(w.announce, name) {
			continue
		}
		for i, value := range w.frozen[name] {
			value = strings.TrimSpace(cleanValue.Replace(value))
			if i == 0 {
				w.c.SetHeader(name, value)
			} else {
				w.c.AddHeader(name, value)
			}
		}
	}
	if w.announce != nil && w.c.mayHaveContent() && !w.c.head {
		w.c.stream()
	}
}

// cleanValue makes a field value of whatever a handler sets, as net/http does.
var cleanValue = func() *strings.Replacer {
	var pairs []string
	for c := range byte(0x80) {
		if c < ' ' && c != '\t' || c == 0x7f {
			pairs = append(pairs, string(rune(c)), " ")
		}
	}
	return strings.NewReplacer(pairs...)
}()

func token(name string) bool {
	for i := range len(name) {
		if classOf[name[i]]&isToken == 0 {
			return false
		}
	}
	return name != ""
}

func (w *adaptedWriter) Write(p []byte) (int, error) { return adaptedWrite(w, p) }

func (w *adaptedWriter) WriteString(s string) (int, error) { return adaptedWrite(w, s) }

func adaptedWrite[T string | []byte](w *adaptedWriter, p T) (int, error) {
	if w.hijacked {
		return 0, http.ErrHijacked
	}
	if !w.wrote {
		w.writeHead([]byte(p[:min(len(p), 512)]))
	}
	n, err := writeContent(w.c, p)
	switch err {
	case ErrBodyNotAllowed:
		err = http.ErrBodyNotAllowed
	case ErrContentLength:
		err = http.ErrContentLength
	}
	return n, err
}

// trailers sends the trailer fields that the handler has set.
func (w *adaptedWriter) trailers() {
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		key, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if !prefixed && !slices.Contains(w.announce, name) || !token(key) || !trailing(knownID(key)) {
			continue
		}
		for _, value := range w.header[name] {
			w.c.SetTrailer(key, strings.TrimSpace(cleanValue.Replace(value)))
		}
	}
}

// Flush is for http.Flusher.
func (w *adaptedWriter) Flush() {
	w.FlushError() // http.Flusher has no error
}

// FlushError is for http.ResponseController.
func (w *adaptedWriter) FlushError() error {
	if w.hijacked {
		return http.ErrHijacked
	}
	w.writeHead(nil)
	return w.c.Flush()
}

// Hijack is for http.Hijacker. A head that was set before is sent: libraries for
// WebSockets change the protocol so.
func (w *adaptedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.hijacked {
		return nil, nil, http.ErrHijacked
	}
	nc, buffered, err := w.c.Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	if w.status != 0 {
		if _, err := nc.Write(w.plainHead()); err != nil {
			nc.Close()
			return nil, nil, &writeError{err}
		}
	}
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(buffered), nc), max(4096, len(buffered)))
	if len(buffered) > 0 {
		if _, err := r.Peek(len(buffered)); err != nil { // cannot fail: the bytes are there
			return nil, nil, err
		}
	}
	return nc, bufio.NewReadWriter(r, bufio.NewWriter(nc)), nil
}

// plainHead returns the head as it was set, without what frames content.
func (w *adaptedWriter) plainHead() []byte {
	head := appendStatusLine(nil, w.status)
	for _, name := range slices.Sorted(maps.Keys(w.frozen)) {
		for _, value := range w.frozen[name] {
			if token(name) {
				head = appendField(head, name, strings.TrimSpace(cleanValue.Replace(value)))
			}
		}
	}
	return append(head, "\r\n"...)
}
