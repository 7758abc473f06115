package http11

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// adapt serves h through Adapt.
func adapt(t *testing.T, h http.HandlerFunc) string {
	return serve(t, &Server{Handler: Adapt(h), MaxBodyBytes: 1 << 30, OnPanic: func(_ Request, v any, _ []byte) { t.Errorf("panic: %v", v) }})
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

// Copying a file takes no buffer for each copy, as http.ServeContent does it and as io.Copy does, and copies all.
func TestAdaptCopiesFiles(t *testing.T) {
	if invariant.Race {
		t.Skip("in race builds a sync.Pool drops a part of what it is given")
	}
	const size, rounds = 100_000, 20
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte("0123456789"), size/10), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ways := map[string]func(io.Writer) (int64, error){
		"CopyN": func(w io.Writer) (int64, error) { return io.CopyN(w, f, size) },
		"Copy":  func(w io.Writer) (int64, error) { return io.Copy(w, f) },
	}
	for way, copies := range ways {
		var before, after runtime.MemStats
		addr := adapt(t, func(w http.ResponseWriter, _ *http.Request) {
			runtime.ReadMemStats(&before)
			for range rounds {
				f.Seek(0, io.SeekStart) // a failure shows in what is copied
				if n, err := copies(w); n != size || err != nil {
					t.Errorf("%s: %d bytes, error %v", way, n, err)
				}
			}
			runtime.ReadMemStats(&after)
		})
		resp, err := http.Get("http://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); n != size*rounds || err != nil {
			t.Errorf("%s: the client has %d bytes, error %v", way, n, err)
		}
		if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 16<<10 {
			t.Errorf("%s: %d bytes are allocated for each copy", way, each)
		}
	}
}

// keeper keeps the buffer that it is given to read into.
type keeper struct {
	*os.File
	kept []byte
}

func (k *keeper) Read(p []byte) (int, error) {
	k.kept = p
	return k.File.Read(p)
}

// What a handler's Reader keeps is nobody else's.
func TestAdaptKeptBuffer(t *testing.T) {
	f, err := os.Open("adapt_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := &keeper{File: f}
	addr := adapt(t, func(w http.ResponseWriter, _ *http.Request) { io.CopyN(w, k, 1000) })
	if _, err := http.Get("http://" + addr); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if buf := copyBuffers.Get().(*[32 << 10]byte); k.kept == nil || &buf[0] == &k.kept[0] {
			t.Fatal("the buffer is shared")
		}
	}
}

// keepingWriter keeps what it is given to write.
type keepingWriter struct {
	io.Writer
	kept [][]byte
}

func (k *keepingWriter) Write(p []byte) (int, error) {
	k.kept = append(k.kept, p)
	return k.Writer.Write(p)
}

func (k *keepingWriter) Close() error { return nil }

// What a middleware's writer keeps of a file is nobody else's.
func TestAdaptKeptByAFilter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keepingWriter{}
	inner := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, name) }))
	addr := serve(t, &Server{Handler: HandlerFunc(func(c *Context) {
		c.OnStream(func(to io.Writer) io.WriteCloser { k.Writer = to; return k })
		inner.ServeHTTP11(c)
	})})
	resp, err := http.Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 200_000 || err != nil || len(k.kept) == 0 {
		t.Fatalf("%d bytes, error %v, %d writes", n, err, len(k.kept))
	}
	for range 100 {
		buf := copyBuffers.Get().(*[32 << 10]byte)
		for _, p := range k.kept {
			if &buf[0] == &p[0] {
				t.Fatal("the buffer is shared")
			}
		}
	}
}

// http.Flusher returns no error: once the client is gone, Write does.
func TestAdaptWriteAfterFailedFlush(t *testing.T) {
	failed := make(chan error, 1)
	h := Adapt(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		event := bytes.Repeat([]byte("x"), 100)
		for range 1 << 20 {
			if _, err := w.Write(event); err != nil {
				failed <- err
				return
			}
			w.(http.Flusher).Flush()
		}
		failed <- nil
	}))
	leave := func(t *testing.T, addr string) {
		nc, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if <-failed == nil {
			t.Error("no write failed after the client had gone")
		}
	}
	eachEngine(t, func(t *testing.T) { leave(t, serve(t, &Server{Handler: h})) })
	mounted := httptest.NewServer(&Server{Handler: h})
	defer mounted.Close()
	leave(t, mounted.Listener.Addr().String())
}

// The files of a multipart form end with the request.
func TestAdaptFormFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	eachEngine(t, func(t *testing.T) {
		addr := adapt(t, func(w http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(0); err != nil {
				t.Error(err)
				return
			}
			file, err := r.MultipartForm.File["f"][0].Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			io.WriteString(w, file.(*os.File).Name())
		})
		var form bytes.Buffer
		fields := multipart.NewWriter(&form)
		field, err := fields.CreateFormFile("f", "f")
		if err != nil {
			t.Fatal(err)
		}
		field.Write(make([]byte, 11<<20)) // more than ParseMultipartForm always keeps in memory
		fields.Close()
		resp, err := http.Post("http://"+addr, fields.FormDataContentType(), &form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		name, err := io.ReadAll(resp.Body)
		if err != nil || len(name) == 0 {
			t.Fatalf("the handler used %q, %v", name, err)
		}
		waitFor(t, "the file to be removed", func() bool {
			_, err := os.Stat(string(name))
			return os.IsNotExist(err)
		})
	})
}

// What handlers of net/http may do with the head.
func TestAdaptHeads(t *testing.T) {
	const date = "Date: then\r\n"
	for _, c := range []struct {
		name, want string
		handler    http.HandlerFunc
	}{
		{"101 without Hijack",
			"HTTP/1.1 101 Switching Protocols\r\n" + date + "Connection: Upgrade\r\nUpgrade: x\r\n\r\n",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "x")
				w.WriteHeader(101)
				if _, err := w.Write([]byte("content")); err != http.ErrBodyNotAllowed {
					t.Errorf("Write returned %v", err)
				}
			}},
		{"103 announces no content",
			"HTTP/1.1 103 Early Hints\r\nLink: l\r\n\r\n" +
				"HTTP/1.1 200 OK\r\n" + date + "Content-Type: a/b\r\nLink: l\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "l")
				w.Header().Set("Content-Length", "2")
				w.WriteHeader(103)
				w.Header().Set("Content-Type", "a/b")
				w.Write([]byte("ab"))
			}},
		{"an empty Content-Encoding",
			"HTTP/1.1 200 OK\r\n" + date + "Content-Encoding: \r\nContent-Type: text/html; charset=utf-8\r\n" +
				"Connection: close\r\nContent-Length: 6\r\n\r\n<html>",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "")
				w.Write([]byte("<html>"))
			}},
		{"a status that is none", "HTTP/1.1 200 OK\r\n" + date + "Connection: close\r\nContent-Length: 0\r\n\r\n",
			func(w http.ResponseWriter, _ *http.Request) {
				for _, status := range []int{0, 99, 1000, -200} {
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("WriteHeader(%d) did not panic", status)
							}
						}()
						w.WriteHeader(status)
					}()
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T) {
				_, r := dial(t, adapt(t, c.handler), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				got, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				got = regexp.MustCompile(`Date: [^\r]+`).ReplaceAll(got, []byte("Date: then"))
				if string(got) != c.want {
					t.Errorf("%q\nwant %q", got, c.want)
				}
			})
		})
	}
}

// The head of a tunnel or of another protocol may be sent before Hijack.
func TestAdaptHijackAfterFlush(t *testing.T) {
	for request, want := range map[string]string{
		"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n":                              "HTTP/1.1 200 OK",
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n": "HTTP/1.1 101 Switching Protocols",
	} {
		eachEngine(t, func(t *testing.T) {
			addr := adapt(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("Connection", "Upgrade")
					w.Header().Set("Upgrade", "x")
					w.WriteHeader(101)
				}
				w.(http.Flusher).Flush()
				nc, buffered, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				io.CopyN(nc, buffered, 4)
			})
			_, r := dial(t, addr, request+"echo")
			resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodHead}) // without content
			if err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(r)
			if got := resp.Proto + " " + resp.Status; got != want || string(rest) != "echo" || err != nil {
				t.Errorf("%q and %q, %v", got, rest, err)
			}
		})
	}
}

// A client that breaks off its body is gone: the request's context ends.
func TestContextEndsWithABrokenBody(t *testing.T) {
	for name, after := range map[string]bool{"asked before": false, "asked after": true} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T) {
				ended := make(chan bool, 1)
				reading := make(chan struct{})
				addr := adapt(t, func(_ http.ResponseWriter, r *http.Request) {
					if !after {
						r.Context().Done()
					}
					close(reading)
					if _, err := io.ReadAll(r.Body); err == nil {
						t.Error("the body is complete")
					}
					select {
					case <-r.Context().Done():
						ended <- true
					case <-time.After(10 * time.Second):
						ended <- false
					}
				})
				nc, _ := dial(t, addr, halfABody)
				<-reading
				nc.(*net.TCPConn).SetLinger(0)
				nc.Close()
				if !<-ended {
					t.Error("the context did not end")
				}
			})
		})
	}
}

// A client of net/http has closed the body that it sends when the response arrives, even if the handler ignored it.
func TestAdaptIgnoredBody(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		url := "http://" + adapt(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "done") })
		for range 100 {
			body := &sentBody{Reader: strings.NewReader("content")}
			resp, err := http.Post(url, "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			early := !body.closed.Load()
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if early || string(got) != "done" || err != nil || resp.Close {
				t.Fatalf("answered early: %v, %q, %v, closes: %v", early, got, err, resp.Close)
			}
		}
	})
}

// The deadline that a handler has set for its body ends the wait for what it ignored.
func TestAdaptIgnoredBodyDeadline(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		addr := adapt(t, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			io.WriteString(w, "done")
		})
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(lingering / 2))
		io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n") // a failure shows below
		if got, err := io.ReadAll(nc); !strings.HasSuffix(string(got), "done") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// An adapted handler sees what one of net/http sees: trailers that were not
// announced, and the error of http.MaxBytesReader where the server's limit is less.
func TestAdaptBodyEnds(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 300))
		var long *http.MaxBytesError
		fmt.Fprint(w, n <= 300, errors.As(err, &long), r.Trailer, r.Header["Trailer"])
	})
	const chunked = "Transfer-Encoding: chunked\r\n\r\n"
	content := func(addr, request string) string { // of the answer, whose connection closes
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		io.WriteString(nc, request) // a failure shows below
		answer, err := io.ReadAll(nc)
		_, content, whole := strings.Cut(string(answer), "\r\n\r\n")
		if err != nil || !whole {
			t.Errorf("%.200q: %q, error %v", request, answer, err)
		}
		return content
	}
	reference := httptest.NewServer(h)
	defer reference.Close()
	eachEngine(t, func(t *testing.T) {
		addr := serve(t, &Server{Handler: Adapt(h), MaxBodyBytes: 200})
		for _, body := range []string{
			"Content-Length: 1\r\n\r\nx",
			chunked + "1\r\nx\r\n0\r\nA: b\r\nC: d\r\nC: e\r\n\r\n",
			chunked + "1\r\nx\r\n0\r\n\r\n",
			chunked + strings.Repeat("80\r\n"+strings.Repeat("x", 128)+"\r\n", 4) + "0\r\n\r\n",
		} {
			for _, announced := range []string{"", "Trailer: A, B\r\n"} {
				request := "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + announced + body
				if got, want := content(addr, request), content(reference.Listener.Addr().String(), request); got != want {
					t.Errorf("%.200q: %q, net/http: %q", request, got, want)
				}
			}
		}
	})
}

// A sentBody knows whether the client is done with it.
type sentBody struct {
	io.Reader
	closed atomic.Bool
}

func (b *sentBody) Close() error {
	b.closed.Store(true)
	return nil
}
