package http11_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

const (
	timedOutText = "timed out"
	// limitedBytes is the limit of MaxBytesHandler.
	limitedBytes = 600
)

// adaptedRoutes are our handlers, with net/http's own over them.
func (w *world) adaptedRoutes() map[string]http.Handler {
	backend, err := url.Parse(w.backend.URL)
	if err != nil {
		panic(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of clients that go away
	files := http.FileServer(http.Dir(w.file[:strings.LastIndexByte(w.file, '/')]))
	echo := http.HandlerFunc(w.adaptedEcho)
	return map[string]http.Handler{
		"/a/echo/":   echo,
		"/a/stream/": http.HandlerFunc(w.adaptedStream),
		"/a/hijack/": http.HandlerFunc(w.adaptedHijack),
		"/a/panic/": http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			io.WriteString(rw, "never seen")
			panic(errDeliberate)
		}),
		"/a/leave/": http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { // the body
			io.WriteString(rw, r.Header.Get("X-Token"))
		}),
		"/a/files/": http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			file := r.Clone(r.Context())
			file.URL.Path = "/file.txt"
			files.ServeHTTP(rw, file)
		}),
		"/a/max/":     http.MaxBytesHandler(echo, limitedBytes),
		"/a/fast/":    http.TimeoutHandler(echo, 2*patience, timedOutText),
		"/a/timeout/": w.counted(http.TimeoutHandler(http.HandlerFunc(w.readLate), 20*time.Millisecond, timedOutText)),
		"/a/copy/":    w.counted(http.TimeoutHandler(http.HandlerFunc(w.copyBody), 10*time.Millisecond, timedOutText)),
		"/a/proxy/":   proxy,
		"/a/refused/": proxy, // the backend answers 401 before it reads the body
	}
}

// counted wraps a handler whose inner handler may continue after it has
// returned, and then ends w.busy.
func (w *world) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.busy.Add(1)
		h.ServeHTTP(rw, r)
	})
}

// adapted is the handler of adapted routes. It keeps what Adapt passed it.
func (w *world) adapted() http.Handler {
	routes := w.adaptedRoutes()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		route, s, rng := w.whose(r.URL.Path)
		k := &kept{s: s, w: rw, r: r, body: r.Body, header: rw.Header()}
		defer func() { // also when it panics
			s.kept.Store(k)
			if s.racy || s.cut || route == "/a/hijack/" {
				w.publish(s)
			}
		}()
		w.misuse(s, rng)
		if rng.IntN(8) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
			w.misuse(s, rng)
		}
		rw.Header().Set("X-Token", r.Header.Get("X-Token"))
		routes[route].ServeHTTP(rw, r)
		if !s.racy {
			w.misuse(s, rng)
		}
		w.atReturn(k, rng)
	})
}

// request finds what w.adapted found.
func (w *world) request(r *http.Request) (*sent, *rand.Rand) {
	_, s, rng := w.whose(r.URL.Path)
	return s, rng
}

// readAll reads a body in small parts.
func (w *world) readAll(s *sent, r io.Reader, rng *rand.Rand) (string, error) {
	var body strings.Builder
	buf := make([]byte, 1+rng.IntN(3000))
	for {
		n, err := r.Read(buf)
		w.own(s, "body", buf[:n])
		body.Write(buf[:n])
		if err == io.EOF {
			return body.String(), nil
		}
		if err != nil {
			return body.String(), err
		}
		if rng.IntN(8) == 0 {
			w.misuse(s, rng)
		}
	}
}

// adaptedEcho answers with every part of the request.
func (w *world) adaptedEcho(rw http.ResponseWriter, r *http.Request) {
	s, rng := w.request(r)
	body, err := w.readAll(s, r.Body, rng)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		http.Error(rw, s.token, http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		if !s.cut {
			w.found("handler", "server", fmt.Sprintf("%s%s: %v", s.route, s.token, err))
		}
		return
	}
	w.misuse(s, rng)
	io.WriteString(rw, adaptedContent(r, body)) // an error shows at the client
}

func adaptedContent(r *http.Request, body string) string {
	return echoed(r.URL.Path, r.Header.Get("X-Token"), r.URL.RawQuery, body, r.Trailer.Get("X-Trail"))
}

// adaptedStream is adaptedEcho in chunks, with a trailer.
func (w *world) adaptedStream(rw http.ResponseWriter, r *http.Request) {
	s, rng := w.request(r)
	rw.Header().Set("Trailer", "X-Trail")
	body, err := w.readAll(s, r.Body, rng)
	if err != nil {
		if !s.cut {
			w.found("handler", "server", fmt.Sprintf("%s%s: %v", s.route, s.token, err))
		}
		return
	}
	for _, part := range strings.SplitAfter(adaptedContent(r, body), "|") {
		io.WriteString(rw, part)
		if rng.IntN(2) == 0 {
			http.NewResponseController(rw).Flush() // an error shows at the client
		}
	}
	rw.Header().Set("X-Trail", s.token)
}

// adaptedHijack takes the connection and echoes lines.
func (w *world) adaptedHijack(rw http.ResponseWriter, r *http.Request) {
	s, rng := w.request(r)
	nc, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		w.found("handler", "server", fmt.Sprintf("%s%s: %v", s.route, s.token, err))
		return
	}
	echo := func() {
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(nc, switching, s.token)
		io.Copy(nc, buffered) // until the client has sent all
	}
	if rng.IntN(2) == 0 {
		w.busy.Go(echo)
		return
	}
	echo()
}

// readLate reads its body after the time-out, except in the control.
func (w *world) readLate(rw http.ResponseWriter, r *http.Request) {
	defer w.busy.Done()
	s, rng := w.request(r)
	k := &kept{s: s, r: r, body: r.Body}
	<-r.Context().Done()
	if !w.spec.Adapted {
		return
	}
	for range 1 + rng.IntN(6) {
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
		w.judge(k, false, reading("Body.Read in a TimeoutHandler", func() io.Reader { return k.body }).run(rng))
	}
	io.WriteString(rw, s.token) // to net/http, which has answered, unless it was held up
}

// copyBody reads a body to its end, across the time-out. In the control it ends
// before.
func (w *world) copyBody(rw http.ResponseWriter, r *http.Request) {
	defer w.busy.Done()
	s, _ := w.request(r)
	if !w.spec.Adapted {
		<-r.Context().Done()
		return
	}
	n, err := io.Copy(bodyOf{w, s}, r.Body)
	// Others may read a racy or cut request's body: it is published before it has ended.
	if err == nil && n != int64(s.body) && !s.racy && !s.cut {
		w.found("foreign", "handler", fmt.Sprintf("%s%s had a body of %d bytes and sent %d", s.route, s.token, n, s.body))
	}
	io.WriteString(rw, s.token)
}

// bodyOf checks a body written to it.
type bodyOf struct {
	w *world
	s *sent
}

func (b bodyOf) Write(p []byte) (int, error) {
	b.w.own(b.s, "body", p)
	return len(p), nil
}

// serveBackend is what ReverseProxy forwards to.
func (w *world) serveBackend(rw http.ResponseWriter, r *http.Request) {
	route, s, _ := w.whose(r.URL.Path)
	if s == nil {
		w.found("handler", "server", fmt.Sprintf("the backend was called for %.100q, which no client has sent", r.URL.Path))
		return
	}
	if route == "/a/refused/" && w.spec.Adapted {
		rw.WriteHeader(http.StatusUnauthorized)
		io.WriteString(rw, s.token)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	w.own(s, "body", body)
	if route == "/a/refused/" {
		rw.WriteHeader(http.StatusUnauthorized)
		io.WriteString(rw, s.token)
		return
	}
	io.WriteString(rw, adaptedContent(r, string(body)))
}
