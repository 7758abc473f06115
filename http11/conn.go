package http11

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// A phase is what a connection is waiting for.
type phase uint8

const (
	phaseIdle  phase = iota // the first byte of a request
	phaseHead               // the rest of a head
	phaseBody               // the rest of a body
	phaseWrite              // room for a response
	phases
)

const (
	// readRoom is the least room for a read.
	readRoom = 512
	// flushBytes is how much of responses to pipelined requests is collected.
	flushBytes = 32 << 10
	// slabIdle is how long a connection keeps its slab block.
	slabIdle = time.Second
	// graceful is how long a connection without any request may take to send
	// one once the server is closing.
	graceful = 500 * time.Millisecond
)

// A conn is one connection, with the engine Readiness a changing one. Its fields
// belong to whoever has the turn of cx, which is its goroutine while no handler
// runs; Shutdown sets read deadlines of nc and Close closes it.
type conn struct {
	srv  *Server
	nc   net.Conn
	sock looped          // nc with the engine Readiness, else nil
	raw  syscall.RawConn // nil when nc is read and written by its methods

	// The callbacks of raw, made once, and what they work on: dst is where to
	// read to, nil for the read buffer; n and errno are the result.
	tryRead, tryWrite   func(fd uintptr) bool
	dst, rest           []byte
	n                   int
	readErrno           syscall.Errno
	writeErrno          syscall.Errno
	readAway, writeAway bool // waiting without the turn; owned by who waits

	sent   int64 // bytes that the kernel took
	queued int   // of them not yet acknowledged when the write time-out was set

	phase    phase
	waiting  bool          // armed for this phase
	armed    time.Duration // read deadline by the server's clock, 0 for none
	stalled  time.Duration // write deadline, 0 for none
	kept     bool          // an idle connection keeps its memory for now
	requests int
	hijacked bool
	broken   bool     // nothing more can be written
	drained  bool     // the last read left nothing behind
	later    bool     // a request is incomplete, and the loop waits for the rest
	debt     *debt    // nil until requests were pipelined
	patient  *patient // what is below nc with TLS, else nil
	first    [1]byte

	cx exchange // its region is nil while there is no request
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc}
	c.cx.srv, c.cx.conn = s, c
	if !rawIO {
		return c
	}
	switch nc := nc.(type) {
	case *net.TCPConn:
		c.raw, _ = nc.SyscallConn()
	case *net.UnixConn:
		c.raw, _ = nc.SyscallConn()
	}
	c.tryRead, c.tryWrite = c.readFD, c.writeFD
	return c
}

// serve answers the requests of a connection. It ends with the connection, or
// when it is hijacked.
func (c *conn) serve() {
	defer c.end()
	if !c.handshake() {
		return
	}
	for c.await() && c.batch() {
	}
}

// end is deferred, so that it is reached by runtime.Goexit too.
func (c *conn) end() {
	if c.cx.r != nil {
		c.cx.drop()
	}
	if !c.hijacked {
		c.nc.Close() // nothing is owed to the client
		c.srv.forget(c)
	}
}

func (c *conn) handshake() bool {
	t, ok := c.nc.(*tls.Conn)
	if !ok {
		return true
	}
	if limit := c.srv.timeouts[phaseHead]; limit > 0 {
		t.SetDeadline(time.Now().Add(limit)) // an error shows in the handshake
	}
	err := t.HandshakeContext(context.Background())
	t.SetDeadline(time.Time{})
	if err == nil {
		return true
	}
	c.srv.stats.handshakeErrors.Add(1)
	c.srv.connError(c.nc.RemoteAddr(), fmt.Errorf("http11: TLS handshake: %w", err))
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && looksLikeHTTP(record.RecordHeader) {
		answerPlain(record.Conn)
	}
	return false
}

// answerPlain answers a client that speaks plain HTTP on a port for TLS, and reads
// on for a while, because closing with bytes unread would reset the connection
// before the client sees the answer.
func answerPlain(nc net.Conn) {
	if _, err := io.WriteString(nc, plainOnTLS); err != nil {
		return // the connection ends in any case
	}
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || nc.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return
	}
	io.CopyN(io.Discard, nc, skipBytes)
}

const plainOnTLS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"the port is for HTTPS, and the request is plain HTTP\n"

// looksLikeHTTP tells the begin of a request from a TLS record.
func looksLikeHTTP(begin [5]byte) bool {
	switch string(begin[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE":
		return true
	}
	return false
}

// await waits for the first byte of a request. Meanwhile the connection holds
// no request memory, except a slab's block for a while.
func (c *conn) await() bool {
	c.phase, c.waiting = phaseIdle, false
	c.kept = c.requests > 0 && c.raw != nil && c.srv.keepsIdle
	for {
		if c.srv.closing.Load() {
			return c.lastChance()
		}
		err := c.read()
		if err == nil {
			return true
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		if c.srv.closing.Load() {
			continue
		}
		if !c.kept { // the idle time-out
			return false
		}
		c.kept = false
		c.waiting = false
	}
}

// lastChance serves a request that has arrived when the server closes, or the
// first one of a connection if it arrives soon.
func (c *conn) lastChance() bool {
	wait := time.Millisecond
	if c.requests == 0 {
		wait = graceful
	}
	c.waiting = true // the deadline stays as it is set here
	c.armed = c.srv.clock.now(0) + wait
	if c.nc.SetReadDeadline(time.Now().Add(wait)) != nil {
		return false
	}
	return c.read() == nil
}

// nudge wakes a connection that waits for a request, so that it sees that the
// server is closing.
func (c *conn) nudge() {
	c.nc.SetReadDeadline(time.Unix(1, 0)) // a connection that has ended needs no waking
}

// read reads once, into dst or the read buffer. It is nil after at least one
// byte.
func (c *conn) read() error {
	for {
		err := c.readOnce()
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.phase == phaseIdle && c.srv.closing.Load() {
			return err
		}
		// The deadline may be of an earlier phase, or Shutdown's nudge, which is
		// meant for idle connections.
		if c.waiting && c.armed != 0 && c.srv.clock.now(0) >= c.armed {
			return err
		}
		c.waiting, c.armed = false, 0
		if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
}

func (c *conn) readOnce() error {
	if c.raw == nil {
		return c.readConn()
	}
	c.readErrno = 0
	err := c.raw.Read(c.tryRead)
	if x := &c.cx; x.reading { // it has waited
		if c.readAway {
			c.readAway = false
			x.resume()
		}
		x.settled(&x.reading)
		if !x.served {
			return ErrEnded
		}
	}
	switch {
	case err != nil:
		return err
	case c.readErrno != 0:
		return c.readErrno
	case c.n == 0:
		return io.EOF
	}
	if c.dst == nil {
		c.cx.got(c.n)
	}
	return nil
}

// readFD tries to read; it is called when the descriptor may be readable.
func (c *conn) readFD(fd uintptr) bool {
	if c.readAway {
		c.readAway = false
		if !c.cx.resume() {
			return true
		}
	}
	dst := c.dst
	if dst == nil {
		dst = c.cx.space()
	}
	for {
		c.n, c.readErrno = readFD(fd, dst)
		if c.readErrno != syscall.EINTR {
			break
		}
	}
	c.drained = c.readErrno != 0 || c.n < len(dst)
	if !again(c.readErrno) {
		return true
	}
	c.readErrno = 0
	c.park()
	c.readAway = c.cx.pause(&c.cx.reading)
	return false
}

// readConn is readOnce by the methods of nc, which do not tell that they are
// about to wait. An idle connection waits with a buffer of one byte.
func (c *conn) readConn() error {
	c.park()
	x := &c.cx
	dst := c.dst
	switch {
	case c.phase == phaseIdle && x.r == nil:
		dst = c.first[:]
	case dst == nil:
		dst = x.space()
	}
	away := x.pause(&x.reading)
	n, err := c.nc.Read(dst)
	if away {
		x.resume()
		x.settled(&x.reading)
	}
	if c.n = n; n > 0 && c.dst == nil { // what has been read is not lost, even if the request has ended
		if x.r == nil {
			copy(x.space(), c.first[:])
		}
		x.got(n)
	}
	switch {
	case away && !x.served:
		return ErrEnded
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// park is called before the connection waits for bytes.
func (c *conn) park() {
	t := c.srv.timeouts[c.phase]
	if c.phase != phaseIdle {
		if !c.waiting {
			c.waiting = true
			if by := c.cx.readBy; c.phase == phaseBody && by.set {
				c.armed = by.at
				c.nc.SetReadDeadline(c.srv.clock.when(by.at)) // an error shows in the read
				return
			}
			c.arm(t)
		}
		return
	}
	if c.kept {
		t = slabIdle
	} else if c.cx.r != nil {
		c.cx.drop()
	}
	if !c.waiting {
		c.waiting = true
		c.arm(t)
	}
}

// newReadBy has the body read until the deadline that the handler has set, also by
// somebody who waits for it.
func (c *conn) newReadBy() {
	if !c.cx.reading || c.phase != phaseBody {
		c.waiting = false // the next wait sets it
		return
	}
	c.waiting, c.armed = true, c.cx.readBy.at
	c.nc.SetReadDeadline(c.srv.clock.when(c.armed)) // an error shows in the read
	if c.sock != nil {
		c.sock.look()
	}
}

// newWriteBy is newReadBy for the response.
func (c *conn) newWriteBy() {
	if c.patient != nil {
		c.patient.fixed.Store(true)
	}
	if !c.cx.writing {
		return // the next wait sets it
	}
	c.armWrite(0)
	if c.sock != nil {
		c.sock.look()
	}
}

// arm makes sure that a read fails between t and t·9/8 from now; 0 is never.
// A deadline that does so already is left alone, because setting one costs
// more than a small request.
func (c *conn) arm(t time.Duration) {
	if t <= 0 {
		if c.armed != 0 {
			c.armed = 0
			c.nc.SetReadDeadline(time.Time{}) // an error shows in the read
		}
		return
	}
	now := c.srv.clock.now(t)
	if left := c.armed - now; c.armed != 0 && left >= t && left <= t+t/8 {
		return
	}
	c.armed = now + t + t/8
	c.nc.SetReadDeadline(c.srv.clock.start.Add(c.armed))
	if c.phase == phaseIdle && c.srv.closing.Load() {
		c.nudge() // Shutdown's was overwritten
	}
}

// interrupt has those who wait for the client in a method of the request wait no
// longer.
func (c *conn) interrupt(reading, writing bool) {
	if c.sock != nil {
		c.sock.interrupt(reading, writing)
		return
	}
	if reading {
		c.nc.SetReadDeadline(longAgo) // an error says that the connection has ended
	}
	if writing {
		c.nc.SetWriteDeadline(longAgo)
	}
}

// interrupted follows interrupt when nobody waits any more.
func (c *conn) interrupted() {
	c.waiting, c.armed, c.stalled = false, 0, 0
	if c.sock != nil {
		c.sock.interrupted()
		return
	}
	c.nc.SetDeadline(noDeadline) // an error shows in the next read or write
}

var longAgo = time.Unix(1, 0)
