package http11

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
)

// mounted is a request that arrived through net/http.
type mounted struct {
	w    http.ResponseWriter
	r    *http.Request
	sent bool // the head was sent
	last bool // the handler wants the connection to close
	gone bool // sending failed

	// Middleware of net/http may keep what passes. So it sees this memory of the
	// collector, which no other request uses, and never request memory.
	read, written []byte
}

// mountedRead is how much of a body is read at a time.
const mountedRead = 8 << 10

// ServeHTTP makes a Server an http.Handler: its Handler can be mounted under a
// net/http mux, one route at a time. The request gets the same checks and
// memory as one from a connection. Hijack is unavailable, the http.Server
// handles time-outs and panics, and Access is not called. Before net/http sends
// HTTP/1 heads it reads the body, unless the caller enables full duplex. It panics
// if the fields of s are invalid.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.configure(); err != nil {
		panic(err)
	}
	c := s.exchanges.Get().(*exchange)
	c.mount = mounted{w: w, r: r}
	c.r = s.memory.acquire()
	defer func() { // even if the handler panics
		c.drop()
		c.mount, c.source = mounted{}, nil
		s.exchanges.Put(c)
	}()
	c.buf = appendHead(c.r.room(nil, readRoom), r)
	c.r.head.scanned = 0
	n, err := parseHead(&c.r.head, c.buf, &s.lim)
	if err == nil && n < len(c.buf) { // line break in a method or target
		err = errTarget
	}
	c.begin(n)
	if err == nil && r.ContentLength != 0 && r.Body != nil {
		c.source, c.bodyState = r.Body, bodyNone
		c.r.head.length, c.bodyLeft = r.ContentLength, max(r.ContentLength, 0)
		if s.MaxBody != nil {
			err = c.askMaxBody()
		} else if r.ContentLength > c.maxBody {
			err = errBodyLong
		}
	}
	if err != nil {
		c.refuseMounted(err)
		return
	}
	c.callMounted()
	if c.bodyErr != nil && c.state < stateBody && !c.touched {
		c.refuseMounted(c.bodyErr)
		return
	}
	whole := c.finish()
	if err := c.send(); err != nil || !whole {
		c.mount.control().Flush()   // of what there is; the client notices an error
		panic(http.ErrAbortHandler) // so that the client notices the failure
	}
}

// callMounted calls the handler. net/http handles its panics.
func (c *exchange) callMounted() {
	h := c.open()
	defer c.end()
	c.srv.Handler.ServeHTTP11(h)
}

// refuseMounted answers a malformed request or one over a limit.
func (c *exchange) refuseMounted(err error) {
	c.srv.stats.refused.Add(1)
	refusal := &protocolError{Status: 400, Reason: "the request is malformed"}
	errors.As(err, &refusal)
	c.fail(refusal.Status, refusal.Reason)
	c.finish()
	c.send() // nothing to do if the client is gone
}

// appendHead appends r as the head of an HTTP/1.1 request without a body.
func appendHead(dst []byte, r *http.Request) []byte {
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	switch {
	case r.Method == http.MethodConnect && r.URL.Path == "":
		dst = append(dst, r.Host...)
	case r.URL.Scheme != "" && r.URL.Host != "" && r.URL.Opaque == "": // as clients of a proxy send it
		dst = append(dst, r.URL.Scheme+"://"+r.Host...)
		fallthrough
	default:
		dst = append(dst, r.URL.RequestURI()...)
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, r.Host...)
	dst = append(dst, "\r\n"...)
	if n := r.ContentLength; n > 0 && r.Body != nil || n == 0 && r.Header["Content-Length"] != nil {
		dst = appendField(dst, "Content-Length", strconv.FormatInt(n, 10))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch knownID(name) {
		case idHost, idTransferEncoding, idContentLength, idExpect:
			continue // net/http took them out, or the fields of r say more
		}
		for _, value := range r.Header[name] {
			dst = appendField(dst, name, value)
		}
	}
	return append(dst, "\r\n"...)
}

// readSource reads from net/http's body.
func (c *exchange) readSource(p []byte) (int, error) {
	most := min(len(p), mountedRead)
	if len(c.mount.read) < most {
		c.mount.read = make([]byte, most)
	}
	in := c.mount.read[:most]
	away := c.pause(&c.reading)
	n, err := c.source.Read(in)
	if away {
		c.r.reclaim()
		c.settled(&c.reading)
		if !c.served {
			return 0, ErrEnded
		}
	}
	copy(p, in[:n])
	c.taken += int64(n)
	if c.bodyLeft > 0 {
		c.bodyLeft -= int64(n)
	}
	switch {
	case c.taken > c.maxBody:
		return 0, c.wreck(errBodyLong)
	case err == io.EOF:
		c.bodyState = bodyDone
		c.takeTrailers()
	case err != nil:
		return n, c.wreck(err)
	}
	return n, err
}

// takeTrailers copies the trailer fields into request memory.
func (c *exchange) takeTrailers() {
	for _, name := range slices.Sorted(maps.Keys(c.mount.r.Trailer)) {
		for _, value := range c.mount.r.Trailer[name] {
			old := c.r.base[baseTrailer]
			raw := append(append(c.take(len(old) + len(name) + len(value))[:0], old...), name...)
			raw = append(raw, value...)
			at := uint32(len(old))
			c.r.refer(baseTrailer, raw)
			c.r.trailers = append(c.r.trailers, field{
				span{at, uint32(len(name))}, span{at + uint32(len(name)), uint32(len(value))}, knownID(name)})
		}
	}
}

// remoteAddr returns the client's address, which a middleware may have replaced
// by one without a port.
func (m *mounted) remoteAddr() net.Addr {
	text := m.r.RemoteAddr
	if at, err := netip.ParseAddrPort(text); err == nil {
		return net.TCPAddrFromAddrPort(at)
	}
	if at, err := netip.ParseAddr(text); err == nil {
		return &net.IPAddr{IP: at.AsSlice(), Zone: at.Zone()}
	}
	if text == "" {
		return nil
	}
	return &net.UnixAddr{Name: text, Net: "unix"}
}

func (m *mounted) control() *http.ResponseController { return http.NewResponseController(m.w) }

// interrupt wakes goroutines that wait in net/http, where possible.
func (m *mounted) interrupt(reading, writing bool) {
	if reading {
		m.control().SetReadDeadline(longAgo) // on an error, it waits for the client
	}
	if writing {
		m.control().SetWriteDeadline(longAgo)
	}
}

// interrupted undoes interrupt once nobody waits.
func (m *mounted) interrupted() {
	m.control().SetReadDeadline(noDeadline) // net/http reports an error
	m.control().SetWriteDeadline(noDeadline)
}

// inform sends an informational response through net/http, which would send it
// to HTTP/1.0 clients, too.
func (m *mounted) inform(status int, fields []string) error {
	if !m.r.ProtoAtLeast(1, 1) {
		return nil
	}
	header := m.w.Header()
	before := maps.Clone(header)
	clear(header)
	for i := 0; i < len(fields); i += 2 {
		header.Add(fields[i], fields[i+1])
	}
	m.w.WriteHeader(status)
	clear(header)
	maps.Copy(header, before)
	return nil
}

// send is sendOut without the turn, if a handler called it.
func (m *mounted) send(c *exchange, out []byte) error {
	if m.gone {
		return c.clientGone()
	}
	if !c.served {
		return m.sendOut(c, out)
	}
	c.pause(&c.writing)
	err := m.sendOut(c, out)
	c.r.reclaim()
	m.gone = err != nil
	c.settled(&c.writing)
	if !c.served {
		return ErrEnded
	}
	return err
}

// sendOut passes out to net/http: the head first, which net/http frames itself.
func (m *mounted) sendOut(c *exchange, out []byte) error {
	if c.state == stateDone {
		for line := range bytes.Lines(c.trailer) {
			name, value, _ := bytes.Cut(line, []byte(": "))
			m.w.Header().Add(http.TrailerPrefix+string(name), string(bytes.TrimSuffix(value, []byte("\r\n"))))
		}
	}
	if !m.sent {
		m.sent = true
		header := m.w.Header()
		for line := range bytes.Lines(out[c.statusEnd:c.framing]) {
			name, value, _ := bytes.Cut(line, []byte(": "))
			header.Add(string(name), string(bytes.TrimSuffix(value, []byte("\r\n"))))
		}
		if m.last {
			header.Set("Connection", "close")
		}
		if c.announced >= 0 {
			header.Set("Content-Length", strconv.FormatInt(c.announced, 10))
		}
		m.w.WriteHeader(c.status)
		out = out[c.content:]
	}
	if len(out) > 0 && !c.head {
		m.written = append(m.written[:0], out...)
		if _, err := m.w.Write(m.written); err != nil {
			return &writeError{err}
		}
	}
	if c.state != stateDone {
		if err := http.NewResponseController(m.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return &writeError{err}
		}
	}
	return nil
}
