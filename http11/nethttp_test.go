package http11

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// likeNetHTTP checks that look sees the same of h with Adapt as with net/http. wrap, if
// not nil, wraps the listener of both.
func likeNetHTTP(t *testing.T, h http.HandlerFunc, wrap func(net.Listener) net.Listener, look func(t *testing.T, addr string) string) {
	t.Helper()
	if wrap == nil {
		wrap = func(l net.Listener) net.Listener { return l }
	}
	reference := httptest.NewUnstartedServer(h)
	addr := reference.Listener.Addr().String()
	reference.Listener = wrap(reference.Listener)
	reference.Start()
	want := look(t, addr)
	reference.Close()
	eachEngine(t, func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, &Server{Handler: Adapt(h), MaxBodyBytes: 1 << 30}, wrap(l))
		if got := look(t, l.Addr().String()); got != want {
			t.Errorf("%s\nnet/http: %s", got, want)
		}
	})
}

// A bareListener accepts connections that have only the methods of net.Conn, like
// those of netutil.LimitListener.
type bareListener struct{ net.Listener }

func (l bareListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{nc}, nil
}

// A client whose upload is refused sees the response, also where the server cannot
// close only its side of the connection.
func TestAdaptRefusedUpload(t *testing.T) {
	config, trusting := secure()
	upload := make([]byte, 8<<20)
	for name, h := range map[string]http.HandlerFunc{
		"by the handler": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"by its limit": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20)); err != nil {
				http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			}
		},
	} {
		for kind, wrap := range map[string]func(net.Listener) net.Listener{
			"tcp": nil, "bare": func(l net.Listener) net.Listener { return bareListener{l} },
			"tls over bare": func(l net.Listener) net.Listener { return tls.NewListener(bareListener{l}, config) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				likeNetHTTP(t, h, wrap, func(t *testing.T, addr string) string {
					client, scheme := http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}, "http://"
					if strings.HasPrefix(kind, "tls") {
						scheme = "https://"
					}
					defer client.CloseIdleConnections()
					const rounds = 10
					seen := 0
					for range rounds {
						resp, err := client.Post(scheme+addr, "a/b", bytes.NewReader(upload))
						if err != nil {
							t.Log(err)
							continue
						}
						io.Copy(io.Discard, resp.Body) // the status matters
						resp.Body.Close()
						if resp.StatusCode > 400 {
							seen++
						}
					}
					if seen > rounds/2 { // the machine may hold up a client
						return "seen"
					}
					return "reset"
				})
			})
		}
	}
}
