package http11

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Handler answers requests. Many goroutines may call ServeHTTP11 at once,
// each with its own Context.
type Handler interface{ ServeHTTP11(*Context) }

// HandlerFunc adapts a function to a Handler.
type HandlerFunc func(*Context)

// ServeHTTP11 calls f.
func (f HandlerFunc) ServeHTTP11(c *Context) { f(c) }

// ErrServerClosed is what Serve and ListenAndServe return as soon as Shutdown or
// Close is called, before those are done.
var ErrServerClosed = errors.New("http11: Serve: the server is closed; make a new one")

// Default time-outs and limits, used for zero.
const (
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultReadBodyTimeout   = time.Minute
	DefaultWriteTimeout      = time.Minute
	DefaultIdleTimeout       = 2 * time.Minute
)

// A Server answers HTTP/1.0 and HTTP/1.1 requests. Its fields must not change
// once it serves, and it must not be copied. A server cannot be reused after
// Shutdown or Close.
type Server struct {
	Handler Handler // must be set

	// Memory selects where request memory comes from. The zero value is Pooled.
	Memory Memory

	// Engine selects what runs handlers. The zero value is Goroutines.
	Engine Engine

	// TLS, if set, is the TLS configuration for all connections. NextProtos, if
	// empty, counts as http/1.1; not so in what GetConfigForClient returns.
	TLS *tls.Config

	// Name is sent as the field Server; empty sends none.
	Name string

	// Time-outs: 0 is the default of that name, negative is none. They may fire up
	// to 12.5 % late. ReadHeaderTimeout runs from the first byte of an incomplete
	// request, ReadBodyTimeout from the first wait for the body, WriteTimeout from
	// the last byte the client took, IdleTimeout from the end of the last
	// response.
	ReadHeaderTimeout time.Duration
	ReadBodyTimeout   time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration

	// Limits on a request; 0 is the default.
	MaxTargetBytes int   // request target; 8 KB. More is answered by 414
	MaxHeaderBytes int   // request line and header fields; 64 KB. More is answered by 431
	MaxHeaders     int   // number of header fields; 128. More is answered by 431
	MaxBodyBytes   int64 // 4 MB. More is answered by 413

	// StrictTargets refuses path or query bytes that RFC 3986 does not allow.
	// Otherwise both may contain any bytes except controls, space, DEL and "#",
	// because clients in wide use send them. Nothing is decoded.
	StrictTargets bool

	// MaxBody, if set, returns the maximum body size in bytes for a request with a
	// body, overriding MaxBodyBytes. It is called once the head has been read, and
	// may read the request during the call.
	MaxBody func(Request) int64

	// Limits on connections; 0 is none. At MaxConns open connections the server
	// stops accepting; new ones wait in the listener's queue. The response to
	// request number MaxRequests of a connection closes it.
	MaxConns    int
	MaxRequests int

	// Access is called once at the end of each request that has begun, on the
	// goroutine of its connection. Each response is then sent separately.
	Access func(*Access)

	// OnPanic receives the value a handler panicked with and the stack. It may
	// read the request during the call. Nil logs an error to slog.Default.
	// http.ErrAbortHandler is not reported.
	OnPanic func(request Request, value any, stack []byte)

	// ConnContext, if set, is called for each connection that is accepted. It
	// returns the parent of the contexts of the connection's requests. nc is as the
	// listener returned it, and for use during the call.
	ConnContext func(nc net.Conn) context.Context

	// ConnState, if set, is called as that of a http.Server is: with StateNew,
	// StateActive when bytes of a request have arrived, StateIdle once all that have
	// arrived are answered, and StateHijacked or StateClosed. It must not wait. nc is
	// the same value at each call; with Readiness it has only the addresses, during a
	// call, and Close.
	ConnState func(nc net.Conn, state http.ConnState)

	// OnConnError is called when a TLS handshake or an accept fails; remote is nil
	// for accept. Stats counts these errors too.
	OnConnError func(remote net.Addr, err error)

	// Idle is called once whenever no request has been in progress for 2 ms.
	// expect is 0: the time until the next request is unknown. Its result is
	// ignored. It fits the method Idle of a gcctl.Controller.
	Idle func(expect time.Duration) bool

	// Set once by configure, constant since.
	once      sync.Once
	initErr   error
	lim       limits
	timeouts  [phases]time.Duration
	memory    *memory
	exchanges sync.Pool // of *exchange, for ServeHTTP
	slots     chan struct{}
	keepsIdle bool // connections may keep memory for keepIdle
	tls       *tls.Config

	// configured publishes the results of configure to Stats.
	configured atomic.Bool
	// unwatched is set by a benchmark that measures what the watch costs.
	unwatched atomic.Bool
	// closing is set by Shutdown and Close. Connections check it before they wait
	// for a request and when they answer one.
	closing atomic.Bool
	idle    idleness
	stats   serverStats
	// lingering counts goroutines running linger; it publishes nothing.
	lingering atomic.Int64
	// broken is set by Close, before it closes connections.
	broken atomic.Bool

	mu        sync.Mutex
	listeners []net.Listener     // guarded by mu
	conns     map[*conn]struct{} // guarded by mu
	loops     *loops             // guarded by mu until the first connection; set once
	sockets   int                // connections of loops; guarded by mu
	looping   int                // running loops; guarded by mu
	clock     *clock             // guarded by mu until the first connection; set once
	done      chan struct{}      // closed by Shutdown or Close; guarded by mu
	drained   chan struct{}      // closed when closing is set and the last connection has ended

	debts debts // changes often: away from what is constant
}

// ListenAndServe listens on an address of a net.Listen network, such as "tcp"
// or "unix", and serves.
func (s *Server) ListenAndServe(network, address string) error {
	if err := s.configure(); err != nil {
		return err
	}
	if s.closing.Load() {
		return ErrServerClosed
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("http11: ListenAndServe: %w; use another address", err)
	}
	return s.Serve(l)
}

// configure checks the fields and builds what they specify, once.
func (s *Server) configure() error {
	s.once.Do(func() { s.initErr = s.check() })
	return s.initErr
}

func (s *Server) check() error {
	fail := func(cause string) error { return errors.New("http11: Serve: " + cause) }
	switch {
	case s.Engine > Readiness:
		return fail("Engine is " + s.Engine.String() + "; choose Goroutines or Readiness")
	case s.Handler == nil:
		return fail("the server has no Handler; set one")
	case s.MaxTargetBytes < 0, s.MaxHeaderBytes < 0, s.MaxHeaders < 0, s.MaxBodyBytes < 0, s.MaxConns < 0,
		s.MaxRequests < 0:
		return fail("a limit is negative; use 0 for the default")
	case s.MaxHeaderBytes > 1<<30:
		return fail("MaxHeaderBytes is above 1 GB; choose less")
	}
	if valueEnd([]byte(s.Name), 0) != len(s.Name) {
		return fail("Name has a control character; remove it")
	}
	s.lim = limits{s.MaxTargetBytes, s.MaxHeaderBytes, s.MaxHeaders, s.MaxBodyBytes, s.StrictTargets}.withDefaults()
	set := func(p phase, t, otherwise time.Duration) {
		switch {
		case t == 0:
			t = otherwise
		case t < 0:
			t = 0
		}
		s.timeouts[p] = t
	}
	set(phaseIdle, s.IdleTimeout, DefaultIdleTimeout)
	set(phaseHead, s.ReadHeaderTimeout, DefaultReadHeaderTimeout)
	set(phaseBody, s.ReadBodyTimeout, DefaultReadBodyTimeout)
	set(phaseWrite, s.WriteTimeout, DefaultWriteTimeout)
	if s.tls = s.TLS; s.tls != nil && len(s.tls.NextProtos) == 0 {
		s.tls = s.tls.Clone() // once: the clone has the keys of its session tickets
		s.tls.NextProtos = []string{"http/1.1"}
	}
	if s.MaxConns > 0 {
		s.slots = make(chan struct{}, s.MaxConns)
	}
	if s.MaxBody != nil {
		s.lim.bodyBytes = math.MaxInt64 - 1 // MaxBody decides; MaxInt64 means beyond any limit
	}
	var err error
	s.memory, err = newMemory(s.Memory)
	if err != nil {
		return err
	}
	idle := s.timeouts[phaseIdle]
	s.keepsIdle = idle == 0 || idle >= fine // and so IdleTimeout fires at most 12.5 % late
	s.exchanges.New = func() any { return &exchange{srv: s} }
	s.mu.Lock() // Stats may run concurrently
	s.conns = map[*conn]struct{}{}
	s.mu.Unlock()
	s.done = make(chan struct{})
	s.drained = make(chan struct{})
	if s.Idle != nil {
		s.initIdle()
	}
	s.configured.Store(true)
	return nil
}

// Serve accepts connections from l until Shutdown or Close, and closes l. It
// may be called for several listeners. The error is never nil.
func (s *Server) Serve(l net.Listener) error {
	l = &onceListener{Listener: l}
	defer l.Close()
	if err := s.configure(); err != nil {
		return err
	}
	if err := s.addListener(l); err != nil {
		return err
	}
	defer s.removeListener(l)
	backoff := time.Duration(0)
	for {
		if s.slots != nil {
			select {
			case s.slots <- struct{}{}:
			case <-s.done:
				return ErrServerClosed
			}
		}
		nc, err := l.Accept()
		if err == nil {
			backoff = 0
			s.start(nc)
			continue
		}
		if s.slots != nil {
			<-s.slots
		}
		if s.closing.Load() {
			return ErrServerClosed
		}
		if !temporary(err) {
			return fmt.Errorf("http11: Serve: %w; serve a new listener", err)
		}
		// Out of descriptors or memory: connections that end free some.
		s.stats.acceptErrors.Add(1)
		s.connError(nil, fmt.Errorf("http11: Serve: accept: %w; it is tried again", err))
		backoff = min(max(2*backoff, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(backoff):
		case <-s.done:
			return ErrServerClosed
		}
	}
}

// A onceListener closes a listener once. Unlike that, it can be compared.
type onceListener struct {
	net.Listener
	once sync.Once
	err  error
}

func (l *onceListener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

func (s *Server) addListener(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return ErrServerClosed
	}
	if s.clock == nil {
		s.clock = newClock(s)
	}
	if s.loops == nil && s.Engine == Readiness {
		var err error
		if s.loops, err = newLoops(s); err != nil {
			return fmt.Errorf("http11: Serve: engine readiness: %w; use Goroutines", err)
		}
	}
	s.listeners = append(s.listeners, l)
	return nil
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(x net.Listener) bool { return x == l })
	s.drain()
}

// start serves a connection on a loop or a goroutine of its own.
func (s *Server) start(nc net.Conn) {
	s.stats.accepted.Add(1)
	var ctx context.Context
	if s.ConnContext != nil {
		ctx = s.ConnContext(nc)
	}
	if s.loops != nil && s.TLS == nil {
		s.mu.Lock()
		s.sockets++
		s.mu.Unlock()
		if s.loops.take(nc, ctx) {
			return
		}
		s.mu.Lock()
		s.sockets--
		s.mu.Unlock()
	}
	var below *patient
	if s.TLS != nil {
		below = newPatient(nc, s.timeouts[phaseWrite])
		nc = tls.Server(below, s.tls)
	}
	c := newConn(s, nc)
	c.patient, c.parent = below, ctx
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	c.becomes(http.StateNew)
	go c.serve()
}

// connError reports a connection error outside any request.
func (s *Server) connError(remote net.Addr, err error) {
	if s.OnConnError != nil {
		s.OnConnError(remote, err)
	}
}

// forget is called once for each connection, when it ends or is hijacked; c is nil for
// one of a loop.
func (s *Server) forget(c *conn) {
	if s.slots != nil {
		<-s.slots
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil {
		s.sockets--
	} else {
		delete(s.conns, c)
	}
	s.drain()
}

// loopEnded is called once by each loop.
func (s *Server) loopEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looping--
	s.drain()
}

// drain closes drained once the server is closed and nothing is left; s.mu is
// held. A listener may still deliver a connection until its Serve ends.
func (s *Server) drain() {
	if !s.closing.Load() || len(s.conns) > 0 || s.sockets > 0 || len(s.listeners) > 0 {
		return
	}
	if s.looping > 0 {
		s.loops.end()
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
		if s.clock != nil {
			close(s.clock.stop)
			s.debts.close()
		}
		s.memory.close()
	}
}

// Warm preallocates memory for n concurrent requests.
func (s *Server) Warm(n int) error {
	if err := s.configure(); err != nil {
		return err
	}
	s.memory.warm(n)
	return nil
}

// stop closes the listeners and begins closing, once.
func (s *Server) stop() error {
	if err := s.configure(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Swap(true) {
		return nil
	}
	close(s.done)
	for _, l := range s.listeners {
		l.Close() // nothing to do on an error
	}
	s.drain()
	return nil
}

// Shutdown stops accepting, answers every request that has begun to arrive,
// closes each connection after its last response, and returns when all are
// closed. If ctx ends first, it returns the error of ctx and leaves the
// connections open: call Close then. It does not wait for hijacked connections.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	s.mu.Lock()
	for c := range s.conns {
		c.nudge()
	}
	if s.loops != nil {
		s.loops.poke()
	}
	s.mu.Unlock()
	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("http11: Shutdown: %w; call Close to break off what is left", ctx.Err())
	}
}

// Close closes the listeners and all connections at once, except hijacked ones.
// It does not wait for handlers.
func (s *Server) Close() error {
	s.broken.Store(true)
	if err := s.stop(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loops != nil {
		s.loops.poke()
	}
	for c := range s.conns {
		nc := c.nc
		if t, ok := nc.(*tls.Conn); ok {
			nc = t.NetConn() // closing t would wait for the client to read
		}
		nc.Close() // ends its reads and writes even on an error
	}
	return nil
}
