package http11

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/isobar-go/isobar/internal/base/yield"
)

// A phase is what a connection waits for.
type phase uint8

const (
	phaseIdle  phase = iota // the first byte of a request
	phaseHead               // the rest of a head
	phaseBody               // the rest of a body
	phaseWrite              // room for a response
	phases
)

const (
	// readRoom is the minimum room for a read.
	readRoom = 512
	// flushBytes bounds the collected responses to pipelined requests.
	flushBytes = 32 << 10
	// keepIdle is how long an idle connection keeps its memory at most, if it does:
	// with Slab, or if it had hotRequests since the clock's last tick.
	keepIdle    = 2 * time.Second
	hotRequests = 8
	// yieldsAtOnce bounds how often a connection lets others run before it waits:
	// the runtime looks for other connections' requests once all wait.
	yieldsAtOnce = 4
	// graceful is how long a connection without any request may take to send one
	// once the server is closing, and before that to complete its TLS handshake.
	graceful = 500 * time.Millisecond
)

// A conn is one connection; with the engine Readiness it serves changing
// connections. Its fields belong to the holder of cx's turn, which is its
// goroutine while no handler runs. Shutdown sets read deadlines of nc, and
// Close closes it.
type conn struct {
	// What each request uses comes first, so that it touches few cache lines.
	srv       *Server
	raw       syscall.RawConn       // nil if conn uses the methods of nc
	tryRead   func(fd uintptr) bool // callback of raw, created once, as tryWrite
	n         int                   // result of tryRead
	readErrno syscall.Errno         // result of tryRead
	sent      int64                 // bytes taken by the kernel
	armed     time.Duration         // read deadline on the server's clock, 0 for none
	ticked    time.Duration         // of the clock, when before was the number of requests
	before    int
	requests  int
	debt      *debt    // nil until requests are pipelined
	patient   *patient // the connection below nc with TLS, otherwise nil

	phase     phase
	waiting   bool // armed for this phase
	kept      bool // an idle connection keeps its memory for now
	hijacked  bool
	broken    bool // writing is no longer possible
	drained   bool // the last read left nothing unread
	left      bool // responses of the last batch are for await or turn to send
	active    bool // Server.ConnState was told that a request has begun to arrive
	later     bool // a request is incomplete, and the loop waits for the rest
	readAway  bool // waiting without the turn; owned by the waiting goroutine
	writeAway bool // the same for a write
	yields    int8 // since it last waited for bytes

	sock looped   // nc with the engine Readiness, otherwise nil
	dst  []byte   // destination of tryRead, nil for the read buffer
	cx   exchange // its region is nil while there is no request

	nc         net.Conn
	parent     context.Context // from Server.ConnContext; unused if there is a sock
	tryWrite   func(fd uintptr) bool
	rest       []byte // operand of tryWrite
	writeErrno syscall.Errno
	shaking    atomic.Bool   // its TLS handshake has not ended; Shutdown reads it
	stalled    time.Duration // write deadline, 0 for none
	queued     int           // how many bytes were unacknowledged when it was set
	first      [1]byte
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc}
	c.cx.srv, c.cx.conn = s, c
	_, encrypted := nc.(*tls.Conn)
	c.shaking.Store(encrypted)
	if !rawIO {
		return c
	}
	c.raw = rawOf(nc)
	c.tryRead, c.tryWrite = c.readFD, c.writeFD
	return c
}

// rawOf returns the descriptor of a connection of package net, nil of others.
func rawOf(nc net.Conn) (raw syscall.RawConn) {
	switch nc := nc.(type) {
	case *net.TCPConn:
		raw, _ = nc.SyscallConn()
	case *net.UnixConn:
		raw, _ = nc.SyscallConn()
	}
	return raw
}

// serve answers the requests of a connection. It returns when the connection
// ends or is hijacked.
func (c *conn) serve() {
	defer c.end()
	if !c.handshake() {
		return
	}
	for c.await() && c.batch() {
	}
}

// end is deferred, so that runtime.Goexit reaches it too.
func (c *conn) end() {
	if c.cx.r != nil {
		c.cx.drop()
	}
	if !c.hijacked {
		c.nc.Close() // no pending response
		c.becomes(http.StateClosed)
		c.srv.forget(c)
	}
}

func (c *conn) handshake() bool {
	t, ok := c.nc.(*tls.Conn)
	if !ok {
		return true
	}
	if limit := c.srv.timeouts[phaseHead]; limit > 0 {
		t.SetDeadline(time.Now().Add(limit)) // the handshake shows an error
	}
	if c.srv.closing.Load() {
		c.nudge() // Shutdown's deadline may have been overwritten
	}
	err := t.HandshakeContext(context.Background())
	c.shaking.Store(false)
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

// answerPlain answers a client that speaks plain HTTP on a TLS port. It then
// keeps reading for a while, because closing with bytes unread would reset the
// connection before the client sees the answer.
func answerPlain(nc net.Conn) {
	if _, err := io.WriteString(nc, plainOnTLS); err != nil {
		return // the connection closes anyway
	}
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || nc.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return
	}
	io.CopyN(io.Discard, nc, skipBytes)
}

const plainOnTLS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"the port is for HTTPS, and the request is plain HTTP\n"

// looksLikeHTTP distinguishes the start of a request from a TLS record.
func looksLikeHTTP(begin [5]byte) bool {
	switch string(begin[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE":
		return true
	}
	return false
}

// await sends the responses that batch has left, and waits for the first byte
// of a request. Meanwhile the connection holds no request memory, unless it
// keeps it for a while.
func (c *conn) await() bool {
	c.phase, c.waiting, c.kept = phaseIdle, false, c.keeps()
	for {
		if c.srv.closing.Load() {
			return (!c.left || c.sendLeft()) && c.lastChance()
		}
		err := c.read()
		switch {
		case err == nil:
			return true
		case c.left: // not everything could be sent at once
			if !c.sendLeft() {
				return false
			}
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return false
		case c.srv.closing.Load():
			continue
		case !c.kept: // idle time-out
			return false
		}
		c.kept = false
		c.waiting = false
	}
}

// keeps reports whether the connection keeps its memory while it waits for a
// request: taking it again takes longer than a small request.
func (c *conn) keeps() bool {
	if c.raw == nil || !c.srv.keepsIdle {
		return false
	}
	if now := c.srv.clock.now(fine); c.ticked != now {
		c.ticked, c.before = now, c.requests
	}
	return c.requests-c.before >= hotRequests || c.requests > 0 && c.srv.Memory.Mode.Info().Keeps
}

// sendLeft sends the responses of a batch and ends its requests.
func (c *conn) sendLeft() bool {
	c.left = false
	if !c.flush() {
		return false
	}
	c.cx.renew(c.kept)
	return true
}

// sendNow is sendLeft without a call of raw, within a read or a loop's turn. It
// reports false if it sent less than everything.
func (c *conn) sendNow(fd uintptr) bool {
	x := &c.cx
	if len(x.out) > 0 {
		n, errno := writeFD(fd, x.out)
		if errno != 0 {
			return false
		}
		c.sent += int64(n)
		x.out = x.out[n:]
		if len(x.out) > 0 {
			return false
		}
	}
	c.left = false
	x.renew(c.kept)
	return true
}

// lastChance serves a request that has arrived when the server closes, or a
// connection's first one if it arrives soon.
func (c *conn) lastChance() bool {
	wait := time.Millisecond
	if c.requests == 0 {
		wait = graceful
	}
	c.kept = false
	by := c.srv.clock.now(0) + wait
	for {
		c.waiting, c.armed = true, by // keep the deadline set here
		if c.nc.SetReadDeadline(c.srv.clock.when(by)) != nil {
			return false
		}
		err := c.read()
		if !timedOut(err) || c.srv.clock.now(0) >= by && !c.arrived() { // otherwise it was Shutdown's nudge
			return err == nil
		}
	}
}

// nudge wakes a connection that waits for a request, so that it sees that the
// server is closing. A TLS handshake cannot resume, and may go on for a while.
func (c *conn) nudge() {
	at := longAgo
	if c.shaking.Load() {
		at = time.Now().Add(graceful)
	}
	c.nc.SetReadDeadline(at) // an ended connection needs no wake-up
}

// read reads once, into dst or the read buffer. It returns nil after at least
// one byte.
func (c *conn) read() error {
	for {
		err := c.readOnce()
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		// The deadline may come from an earlier phase, or from Shutdown's nudge,
		// which targets idle connections.
		if c.waiting && c.armed != 0 && c.srv.clock.now(0) >= c.armed {
			if c.arrived() {
				return c.readLate()
			}
			return err
		}
		c.waiting, c.armed = false, 0
		if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		if c.phase == phaseIdle && c.srv.closing.Load() { // looked at last: the nudge may be gone now
			return err
		}
	}
}

// arrived reports whether a part of a head is unread. The server may be late to
// read it, without a CPU, and see its deadline first.
func (c *conn) arrived() bool {
	raw := c.raw
	if c.patient != nil {
		raw = c.patient.raw
	}
	there := false
	if raw != nil && (c.phase == phaseIdle || c.phase == phaseHead) {
		raw.Control(func(fd uintptr) { there = unread(fd) }) // false if it has ended
	}
	return there
}

// readLate reads what has arrived, behind the deadline. TLS may need the rest of
// a record, which comes soon.
func (c *conn) readLate() error {
	if err := c.nc.SetReadDeadline(time.Now().Add(graceful)); err != nil {
		return err
	}
	err := c.readOnce()
	c.nc.SetReadDeadline(c.srv.clock.when(c.armed)) // the next read shows an error
	return err
}

func (c *conn) readOnce() error {
	if c.raw == nil {
		return c.readConn()
	}
	c.readErrno = 0
	err := c.raw.Read(c.tryRead)
	if x := &c.cx; x.reading { // this read has waited
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
	if c.left {
		if !c.sendNow(fd) {
			c.readErrno = syscall.EAGAIN // await sends the rest
			return true
		}
		c.letOthersRun()
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
	c.readErrno, c.yields = 0, 0
	c.park()
	c.readAway = c.cx.pause(&c.cx.reading)
	return false
}

// letOthersRun is called before the connection looks for the next request. In a busy server,
// connections then answer one after the other, and look and wait one after the other, which
// takes less time than answering and waiting in turn; and the request has often arrived by then.
func (c *conn) letOthersRun() {
	if c.kept && c.yields < yieldsAtOnce {
		c.yields++
		yield.Local()
	}
}

// readConn is readOnce with the methods of nc, which cannot tell in advance
// that they will wait. An idle connection waits with a one-byte buffer.
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
	if c.n = n; n > 0 && c.dst == nil { // keep the bytes even if the request has ended
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

// park runs before the connection waits for bytes.
func (c *conn) park() {
	t := c.srv.timeouts[c.phase]
	if c.phase != phaseIdle {
		if !c.waiting {
			c.waiting = true
			if by := c.cx.readBy; c.phase == phaseBody && by.set {
				c.armed = by.at
				c.nc.SetReadDeadline(c.srv.clock.when(by.at)) // the read shows an error
				return
			}
			c.arm(t)
		}
		return
	}
	if c.kept {
		c.armKept()
		return
	}
	if c.cx.r != nil {
		c.cx.drop()
	}
	if !c.waiting {
		c.waiting = true
		c.arm(t)
	}
}

// armKept is arm for a connection that keeps its memory. It sets a deadline once
// a second at most, from a time that is up to a second old.
func (c *conn) armKept() {
	c.waiting = true
	if by := c.srv.clock.now(fine) + keepIdle; c.armed != by {
		c.armAt(by)
	}
}

// armAt sets the read deadline; 0 for none.
func (c *conn) armAt(by time.Duration) {
	c.armed = by
	c.nc.SetReadDeadline(c.srv.clock.when(by)) // the read shows an error
	if c.phase == phaseIdle && c.srv.closing.Load() {
		c.nudge() // Shutdown's deadline was overwritten
	}
}

// newReadBy applies the handler's read deadline to the body, including reads
// that already wait.
func (c *conn) newReadBy() {
	if !c.cx.reading || c.phase != phaseBody {
		c.waiting = false // the next wait sets it
		return
	}
	c.waiting, c.armed = true, c.cx.readBy.at
	c.nc.SetReadDeadline(c.srv.clock.when(c.armed)) // the read shows an error
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

// arm ensures that a read fails between t and t·9/8 from now; 0 means never. It
// keeps an existing deadline in that range, because setting one costs more than
// a small request.
func (c *conn) arm(t time.Duration) {
	if t <= 0 {
		if c.armed != 0 {
			c.armAt(0)
		}
		return
	}
	now := c.srv.clock.now(t)
	if left := c.armed - now; c.armed != 0 && left >= t && left <= t+t/8 {
		return
	}
	c.armAt(now + t + t/8)
}

// interrupt wakes goroutines that wait for the client in a method of the
// request.
func (c *conn) interrupt(reading, writing bool) {
	if c.sock != nil {
		c.sock.interrupt(reading, writing)
		return
	}
	if reading {
		c.nc.SetReadDeadline(longAgo) // an error means that the connection has ended
	}
	if writing {
		c.nc.SetWriteDeadline(longAgo)
	}
}

// interrupted undoes interrupt once nobody waits.
func (c *conn) interrupted() {
	c.waiting, c.armed, c.stalled = false, 0, 0
	if c.sock != nil {
		c.sock.interrupted()
		return
	}
	c.nc.SetDeadline(noDeadline) // the next read or write shows an error
}

var longAgo = time.Unix(1, 0)
