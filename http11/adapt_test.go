package http11

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// adapt serves h through Adapt.
func adapt(t *testing.T, h http.HandlerFunc) string {
	return serve(t, &Server{Handler: Adapt(h), OnPanic: func(_ Request, v any, _ []byte) { t.Errorf("panic: %v", v) }})
}

// A response whose backend breaks off must not look complete to the client:
// ReverseProxy aborts it only if the request's context says that it is served.
func TestAdaptBrokenProxy(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("half"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer backend.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	eachEngine(t, func(t *testing.T) {
		resp, err := http.Get("http://" + adapt(t, proxy.ServeHTTP))
		if err != nil {
			return // nothing was sent yet
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("the client took %q for the whole response", body)
		}
	})
}

// http.Flusher returns no error: once the client is gone, Write does.
func TestAdaptWriteAfterFailedFlush(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		failed := make(chan error, 1)
		addr := adapt(t, func(w http.ResponseWriter, _ *http.Request) {
			event := bytes.Repeat([]byte("x"), 100)
			for range 1 << 20 {
				if _, err := w.Write(event); err != nil {
					failed <- err
					return
				}
				w.(http.Flusher).Flush()
			}
			failed <- nil
		})
		nc, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if <-failed == nil {
			t.Error("no write failed after the client had gone")
		}
	})
}
