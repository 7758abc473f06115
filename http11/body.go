package http11

import (
	"io"
	"time"
)

var noDeadline time.Time

// bodyState says how much of the request body has been read.
type bodyState uint8

const (
	bodyNone    bodyState = iota // nothing
	bodyPartly                   // something
	bodyDone                     // everything, or there is no body
	bodyWrecked                  // as much as is readable
)

// skipBytes is how much unread body the server reads after the handler. If more
// is left, it closes the connection. What is left of a chunked body is unknown
// when the response says that the connection stays, which then holds for up to
// lingerBytes.
const skipBytes = 256 << 10

// shareBytes is how much of a body the leader of a loop reads.
const shareBytes = 256 << 10

// firstBodyBytes bounds the allocation for a body before its bytes arrive.
const firstBodyBytes = 64 << 10

//go:noinline // so that begin is short
func (c *exchange) beginBody() {
	if c.r.head.chunked {
		c.chunks.start(c.r, &c.srv.lim)
	} else {
		c.bodyLeft = c.r.head.length
	}
}

// limitBody bounds a body that is still unread.
func (c *exchange) limitBody(n int64) {
	n = max(n, 0)
	c.maxBody, c.chunks.max = n, n
}

// bodyTooLong reports whether an unread body announces more than its limit.
func (c *exchange) bodyTooLong() bool { return c.bodyState == bodyNone && c.r.head.length > c.maxBody }

// askBody starts reading the body.
func (c *exchange) askBody() error {
	if !c.bodyAsked && c.bodyTooLong() {
		c.wreck(errBodyLong)
	}
	c.bodyAsked = true
	return c.bodyErr
}

// askMaxBody asks the server for the body limit, and refuses a body that
// announces more.
func (c *exchange) askMaxBody() (err error) {
	c.lend(func(q Request) {
		n := c.srv.MaxBody(q)
		if c.r.head.length > n {
			err = errBodyLong
		}
		c.maxBody, c.chunks.max = n, n
	})
	return err
}

func (c *exchange) wholeBody() (View, error) {
	switch {
	case c.bodyErr != nil:
		return View{}, c.bodyErr
	case c.bodyState == bodyDone:
		return c.bodyView(), nil
	}
	if err := c.askBody(); err != nil {
		return View{}, err
	}
	var body []byte
	var err error
	if c.r.head.length < 0 {
		body, err = c.wholeChunked()
	} else {
		body, err = c.whole()
	}
	if err != nil {
		return View{}, err
	}
	c.r.refer(baseBody, body)
	return c.bodyView(), nil
}

// bodyView returns the body that was read as a whole, if it was.
func (c *exchange) bodyView() View {
	body := c.r.base[baseBody]
	if body == nil {
		return View{}
	}
	return c.r.part(c.epoch, baseBody, span{0, uint32(len(body))})
}

// arrived reports whether the whole body is in the read buffer, needs no
// decoding, and nobody needs to know when it was read.
func (c *exchange) arrived() bool {
	return c.bodyState == bodyNone && c.bodyLeft > 0 && c.bodyLeft <= int64(len(c.buf)-c.next) && c.ctx == nil
}

// whole reads the rest of a body with Content-Length. It stays in the read
// buffer if it fits.
func (c *exchange) whole() ([]byte, error) {
	left := c.bodyLeft
	if left <= int64(len(c.buf)-c.next) {
		body := c.buf[c.next : c.next+int(left) : c.next+int(left)]
		c.next += int(left)
		c.bodyLeft, c.bodyState = 0, bodyDone
		return body, nil
	}
	body := c.take(int(min(left, firstBodyBytes)))[:0]
	for {
		n, err := c.readBody(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
		if len(body) == cap(body) && c.bodyLeft > 0 {
			more := min(c.bodyLeft, int64(len(body)))
			body = append(c.take(len(body) + int(more))[:0], body...)
		}
	}
}

// wholeChunked reads the rest of a chunked body.
func (c *exchange) wholeChunked() ([]byte, error) {
	body := c.take(max(512, len(c.buf)-c.next))[:0]
	for {
		n, err := c.readBody(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
		if len(body) == cap(body) {
			body = append(c.take(2 * len(body))[:0], body...)
		}
	}
}

// readBody reads some of the body; io.EOF means that it has been read to its
// end, perhaps by this call.
func (c *exchange) readBody(p []byte) (int, error) {
	switch {
	case c.bodyErr != nil:
		return 0, c.bodyErr
	case c.bodyState == bodyDone:
		return 0, io.EOF
	}
	if err := c.askBody(); err != nil {
		return 0, err
	}
	if c.source != nil {
		return c.readSource(p)
	}
	for {
		n, err := c.decode(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		if err := c.fill(p); err != nil {
			return 0, err
		}
		if c.conn.dst != nil { // it was read directly into its destination
			n := c.conn.n
			c.conn.dst = nil
			c.bodyLeft -= int64(n)
			if c.bodyLeft == 0 {
				c.bodyState = bodyDone
				return n, io.EOF
			}
			return n, nil
		}
	}
}

// decode takes body bytes from the read buffer.
func (c *exchange) decode(p []byte) (int, error) {
	src := c.buf[c.next:]
	if !c.r.head.chunked {
		if int64(len(src)) > c.bodyLeft {
			src = src[:c.bodyLeft]
		}
		n := copy(p, src)
		c.next += n
		c.bodyLeft -= int64(n)
		if c.bodyLeft == 0 {
			c.bodyState = bodyDone
			return n, io.EOF
		}
		return n, nil
	}
	n, used, done, err := c.chunks.decode(p, src)
	c.next += used
	switch {
	case err != nil:
		return n, c.wreck(err)
	case done:
		c.bodyState = bodyDone
		return n, io.EOF
	}
	return n, nil
}

// fill waits for more of the body. It reads into p if nothing needs decoding
// and p is at least as large as the read buffer would be, otherwise into the
// read buffer.
func (c *exchange) fill(p []byte) error {
	cn := c.conn
	if err := c.awaitWriter(); err != nil {
		return err
	}
	if err := c.sendEarlier(); err != nil { // finished responses do not wait for this body
		return c.wreck(err)
	}
	if c.bodyState == bodyNone {
		c.bodyState = bodyPartly
		cn.phase, cn.waiting = phaseBody, false
		if err := c.goOn(); err != nil {
			return c.wreck(err)
		}
	}
	if cn.raw != nil && !c.r.head.chunked && (len(p) >= readRoom || int64(len(p)) >= c.bodyLeft) {
		cn.dst = p[:min(int64(len(p)), c.bodyLeft)]
	} else if c.next == len(c.buf) {
		// Everything read is consumed: a new buffer begins behind it.
		c.out = c.r.trim(c.out)
		c.buf, c.next = nil, 0
		if cap(c.spare) > 0 {
			c.buf = c.spare[:0]
		}
		c.space()
		c.spare = c.buf
	}
	err := cn.read()
	if err == nil {
		if c.taken += int64(cn.n); c.taken > shareBytes && cn.sock != nil {
			cn.sock.leave() // let the loop's other connections proceed
		}
		return nil
	}
	cn.dst = nil
	if err == ErrEnded {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if timedOut(err) {
		c.srv.stats.timeouts.Add(1)
		err = errBodySlow
	}
	return c.wreck(cn.opError("read", err))
}

// wreck stops reading a body whose end cannot be found.
func (c *exchange) wreck(err error) error {
	if err == ErrEnded {
		return err // the server handles the rest of the body
	}
	c.bodyState = bodyWrecked
	c.close = true
	c.bodyErr = &readError{err}
	return c.bodyErr
}

// goOn sends 100 (Continue) to a client that waits for it.
func (c *exchange) goOn() error {
	if !c.r.head.expect || c.continued || c.final || c.state >= stateStreamed {
		return nil
	}
	c.continued = true
	return c.conn.write([]byte(continueLine))
}

// skipBody reads the part of the body that the handler left, to find the next
// request, and reports whether it did. Before the response is sent, it does not
// wait long.
func (c *exchange) skipBody(answered bool) bool {
	if c.bodyState == bodyDone {
		return true
	}
	if c.bodyState == bodyWrecked || c.unanswered() || c.bodyLeft > skipBytes {
		return false
	}
	switch by := c.srv.clock.now(0) + lingering; {
	case !answered && (c.readBy.at == 0 || by < c.readBy.at): // a handler's earlier deadline stands
		c.readBy = deadline{true, by}
		c.conn.newReadBy()
	case answered && c.readBy.set && c.readBy.at == 0: // the handler may wait forever, the server may not
		c.readBy = deadline{}
		c.conn.newReadBy()
	}
	left := int64(len(c.buf) - c.next)
	if answered && (left < c.bodyLeft || c.r.head.chunked) {
		if !c.conn.flush() {
			return false
		}
	}
	most := skipBytes
	if answered && c.r.head.chunked && !c.close {
		most = lingerBytes
	}
	scratch := c.take(readRoom)
	for n := 0; n <= most; {
		m, err := c.readBody(scratch)
		n += m
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}

// skips predicts whether skipBody will succeed: a chunked body with much
// already read counts as large.
func (c *exchange) skips() bool {
	switch {
	case c.bodyState == bodyDone:
		return true
	case c.bodyState == bodyWrecked, c.unanswered():
		return false
	case c.r.head.chunked:
		return c.taken <= skipBytes
	}
	return c.bodyLeft <= skipBytes
}

// unanswered reports whether the client still waits for 100 (Continue), so that
// the body may never come.
func (c *exchange) unanswered() bool {
	return c.r.head.expect && !c.continued && c.bodyState == bodyNone && c.next == len(c.buf)
}
