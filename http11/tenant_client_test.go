package http11_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A client acts as several in turn, each on its own connection, and checks that
// every byte it receives is its own.
type client struct {
	w     *world
	place *place
	rng   *rand.Rand
}

// An exchange is a request and its acceptable responses.
type exchange struct {
	*sent
	raw      []byte
	answers  []reply
	mayClose bool // the server may end the connection after it
}

type reply struct {
	status  int
	content string
}

func (c *client) found(kind, text string) { c.w.found(kind, "client", text) }

// foundOf reports a finding about an exchange.
func (c *client) foundOf(kind string, x *exchange, format string, args ...any) {
	who := fmt.Sprintf("%s %s%s (body %d, racy %v; %s)", x.method, x.route, x.token, x.body, x.racy, c.place.name)
	c.found(kind, who+": "+fmt.Sprintf(format, args...))
}

// wanted describes responses.
func wanted(answers []reply) string {
	var all []string
	for _, a := range answers {
		all = append(all, fmt.Sprintf("%d %.200q (%d bytes)", a.status, a.content, len(a.content)))
	}
	return strings.Join(all, " or ")
}

// A line is a client's connection.
type line struct {
	net.Conn
	r     *bufio.Reader
	watch *watch
	last  *sent // the latest request
	local string
	// wasReset is set when a call has returned the reset: the kernel tells it
	// once, and other calls see a mere end.
	wasReset atomic.Bool
}

// dial connects; it returns nil on failure, which is a finding.
func (c *client) dial() *line {
	nc, err := net.DialTimeout("tcp", c.place.addr, patience)
	if err == nil && c.place.tls {
		t := tls.Client(nc, c.w.trusting)
		t.SetDeadline(time.Now().Add(patience))
		if err = t.Handshake(); err != nil {
			nc.Close()
		}
		t.SetDeadline(time.Time{})
		nc = t
	}
	if err != nil {
		c.w.found("unanswered", "client", "connect: "+err.Error())
		return nil
	}
	c.w.conns.Add(1)
	l := &line{Conn: nc, local: nc.LocalAddr().String()}
	l.watch = &watch{Reader: nc, own: map[string]*sent{}, found: c.found}
	l.r = bufio.NewReader(l.watch)
	return l
}

// noteReset reports whether err, or an earlier error, is a reset.
func (l *line) noteReset(err error) bool {
	if isReset(err) {
		l.wasReset.Store(true)
	}
	return l.wasReset.Load()
}

// reset makes closing reset the connection.
func (l *line) reset() {
	if t, ok := l.Conn.(*tls.Conn); ok {
		t.NetConn().(*net.TCPConn).SetLinger(0)
		return
	}
	l.Conn.(*net.TCPConn).SetLinger(0)
}

func (c *client) one(routes ...string) string { return routes[c.rng.IntN(len(routes))] }

// any returns a route for a well-behaved client.
func (c *client) any() string {
	if c.place.mounted || c.rng.IntN(2) == 0 {
		if c.rng.IntN(12) == 0 && !c.place.mounted {
			return "/n/panic/"
		}
		if c.rng.IntN(10) == 0 {
			return "/n/leave/"
		}
		return c.one("/n/echo/", "/n/echo/", "/n/read/", "/n/stream/", "/n/long/", "/n/file/", "/n/retain/",
			"/n/hand/", "/n/error/")
	}
	if c.rng.IntN(12) == 0 {
		return "/a/panic/"
	}
	return c.one("/a/echo/", "/a/echo/", "/a/stream/", "/a/files/", "/a/max/", "/a/fast/", "/a/timeout/", "/a/copy/",
		"/a/proxy/", "/a/refused/", "/a/leave/")
}

// round is one connection.
func (c *client) round() {
	l := c.dial()
	if l == nil {
		return
	}
	defer l.Close()
	switch c.rng.IntN(12) {
	case 0: // a request that is cut off, at any byte
		x := c.exchange(l, c.any(), false, true)
		l.Write(x.raw[:c.rng.IntN(len(x.raw))]) // an error is the server's good right
		time.Sleep(time.Duration(c.rng.IntN(5000)) * time.Microsecond)
		if c.rng.IntN(2) == 0 {
			l.reset()
		}
	case 1: // a client that does not wait
		for range 1 + c.rng.IntN(3) {
			l.Write(c.exchange(l, c.any(), false, true).raw)
		}
		if c.rng.IntN(2) == 0 {
			l.reset()
		}
	case 2:
		if !c.place.mounted {
			c.leaveAtTimeout(l)
		}
	case 3:
		if !c.place.mounted {
			c.upgrade(l)
		}
	case 4:
		if !c.place.mounted {
			c.racyNative(l)
		}
	case 5, 6, 7: // pipelined
		c.converse(l, 2+c.rng.IntN(15), true)
	default:
		c.converse(l, 1+c.rng.IntN(6), false)
	}
}

// converse sends n requests, each after the previous response, or all at once.
func (c *client) converse(l *line, n int, pipelined bool) {
	var xs []*exchange
	for i := range n {
		route := c.any()
		racy := strings.HasPrefix(route, "/a/") && c.rng.IntN(4) == 0
		last := i == n-1 || strings.HasSuffix(route, "/panic/")
		xs = append(xs, c.exchange(l, route, last && c.rng.IntN(3) == 0, false, racy))
		if last {
			break
		}
	}
	turn := make(chan struct{}, len(xs))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		rng := rand.New(rand.NewPCG(c.w.spec.Seed, uint64(len(xs[0].raw))))
		for i, x := range xs {
			if i > 0 && !pipelined {
				if _, ok := <-turn; !ok {
					return
				}
			}
			if err := l.sendInParts(x.raw, rng); err != nil {
				l.noteReset(err)
				return // the answers tell why
			}
		}
	}()
	// A closing server reads on only for a while. Then the client may lose what it
	// has not read yet, including earlier responses.
	mayReset := slices.ContainsFunc(xs, func(x *exchange) bool { return x.mayClose })
	whole := true
	for i, x := range xs {
		if whole = c.receive(l, x, i > 0 && xs[i-1].mayClose, mayReset); !whole {
			break
		}
		for _, earlier := range xs[:i] {
			earlier.over.Store(true) // as the next request is answered
		}
		turn <- struct{}{}
	}
	close(turn)
	if whole {
		<-sent
		c.finish(l, xs)
		return
	}
	l.Close()
	<-sent
}

// sendInParts sends at once, or slowly.
func (l *line) sendInParts(raw []byte, rng *rand.Rand) error {
	l.SetWriteDeadline(time.Now().Add(2 * patience))
	slow := rng.IntN(3) == 0
	for slow && len(raw) > 1 && rng.IntN(8) > 0 {
		n := 1 + rng.IntN(len(raw)-1)
		if _, err := l.Write(raw[:n]); err != nil {
			return err
		}
		raw = raw[n:]
		time.Sleep(time.Duration(rng.IntN(6000)) * time.Microsecond)
	}
	_, err := l.Write(raw)
	return err
}

// receive reads and judges the response to x. It reports whether the
// conversation continues.
func (c *client) receive(l *line, x *exchange, mayBeClosed, mayReset bool) bool {
	l.SetReadDeadline(time.Now().Add(patience))
	_, err := l.r.Peek(1)
	l.noteReset(err)
	if mayBeClosed && err != nil && !errors.Is(err, errTimeout) {
		return false
	}
	resp, err := http.ReadResponse(l.r, &http.Request{Method: x.method})
	var data []byte
	if err == nil {
		data, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		if l.noteReset(err) && mayReset {
			return false
		}
		if x.racy && strings.HasPrefix(x.route, "/a/panic/") && errors.Is(err, io.ErrUnexpectedEOF) {
			return false // a racing writer had it streamed before the handler panicked
		}
		c.foundOf("unanswered", x, "%v after %d bytes of content", err, len(data))
		return false
	}
	content := string(data)
	if x.racy {
		content = strings.ReplaceAll(content, lateMark+x.token, "")
	}
	if !slices.Contains(x.answers, reply{resp.StatusCode, content}) {
		c.foundOf("wrong", x, "%d %.200q (%d bytes), want %s", resp.StatusCode, content, len(content), wanted(x.answers))
	}
	switch got := resp.Header.Get("X-Token"); x.route {
	case "/n/panic/", "/a/panic/", "/n/error/": // no field outlives these
	default:
		if got != x.token {
			c.foundOf("wrong", x, "X-Token is %.100q", got)
		}
	}
	if strings.HasSuffix(x.route, "/stream/") && x.method != http.MethodHead && resp.Trailer.Get("X-Trail") != x.token {
		c.foundOf("wrong", x, "the trailer is %.100v", resp.Trailer)
	}
	c.w.publish(x.sent)
	c.w.count(x.route)
	return true
}

// finish ends a connection, on which nothing more may arrive.
func (c *client) finish(l *line, xs []*exchange) {
	l.Conn.(interface{ CloseWrite() error }).CloseWrite() // it may be closed already
	l.SetReadDeadline(time.Now().Add(patience))
	rest, err := io.ReadAll(l.r)
	if len(rest) > 0 {
		c.foundOf("surplus", xs[len(xs)-1], "%.200q after the last response", rest)
	}
	if err == nil {
		for _, x := range xs {
			x.over.Store(true) // as the connection has ended
		}
	}
}

// leaveAtTimeout sends part of a body to a handler that reads it late, and
// leaves when its time is over.
func (c *client) leaveAtTimeout(l *line) {
	x := c.exchange(l, c.one("/a/timeout/", "/a/copy/"), false, true, true)
	part := len(x.raw)
	if x.body > 0 {
		part -= c.rng.IntN(x.body)
	}
	l.Write(x.raw[:part])
	l.SetReadDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(l.r, &http.Request{Method: x.method})
	if err != nil {
		c.foundOf("unanswered", x, "%v", err)
		return
	}
	data, _ := io.ReadAll(resp.Body) // missing bytes fail the check
	content := strings.ReplaceAll(string(data), lateMark+x.token, "")
	if !slices.Contains(x.answers, reply{resp.StatusCode, content}) {
		c.foundOf("wrong", x, "%d %.100q", resp.StatusCode, data)
	}
	c.w.count(x.route)
}

// racyNative calls a handler whose Context is used while it returns: the
// response may be torn, but it is the client's own.
func (c *client) racyNative(l *line) {
	x := c.exchange(l, c.one("/n/echo/", "/n/read/", "/n/stream/", "/n/leave/", "/n/long/"), true, false, true)
	go l.sendInParts(x.raw, rand.New(rand.NewPCG(c.rng.Uint64(), 0)))
	l.SetReadDeadline(time.Now().Add(patience))
	io.Copy(io.Discard, l.r) // the watch looks at it
}

// upgrade takes part in an echo of lines.
func (c *client) upgrade(l *line) {
	x := c.exchange(l, c.one("/n/hijack/", "/a/hijack/"), false, false)
	text := repeated(x.token, 1+c.rng.IntN(5000))
	go func() {
		if l.sendInParts(append(x.raw, text...), rand.New(rand.NewPCG(1, uint64(len(text))))) == nil {
			l.Conn.(interface{ CloseWrite() error }).CloseWrite() // it may be closed already
		}
	}()
	l.SetReadDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(l.r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("X-Token") != x.token {
		c.foundOf("unanswered", x, "%+v, %v", resp, err)
		return
	}
	if got, err := io.ReadAll(l.r); err != nil || string(got) != text {
		c.foundOf("wrong", x, "%d bytes are echoed by %d, %v: %.100q", len(text), len(got), err, got)
	}
	c.w.count(x.route)
}
