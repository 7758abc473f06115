package http11

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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

// A response that is streamed before a large body was read says that the
// connection closes: a client would lose its next request there.
func TestAdaptStreamedBeforeTheBody(t *testing.T) {
	for name, content := range map[string]int{"flushed": 1, "beyond what is held back": 100_000} {
		t.Run(name, func(t *testing.T) {
			likeNetHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Write(make([]byte, content)) // an error shows at the client
				w.(http.Flusher).Flush()
			}, nil, func(t *testing.T, addr string) string {
				var all string
				for _, length := range []int{1000, 1 << 20} {
					_, r := dial(t, addr, fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%01000d", length, 0))
					resp, err := http.ReadResponse(r, nil)
					if err != nil {
						return err.Error()
					}
					all += fmt.Sprintf("%d %v %v; ", length, resp.Close, resp.TransferEncoding)
				}
				return all
			})
		})
	}
}

// Handlers recognize the errors of body and writer by what net/http's are.
func TestAdaptErrors(t *testing.T) {
	type control = *http.ResponseController
	const half = "Content-Length: 100\r\n\r\n[1, 2"
	reset := func(nc net.Conn) {
		nc.(*net.TCPConn).SetLinger(0)
		nc.Close()
	}
	end := func(nc net.Conn) { nc.(*net.TCPConn).CloseWrite() } // a failure shows in the error
	writes := func(w http.ResponseWriter) error {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
		}
	}
	for _, test := range []struct {
		name, request string
		then          func(net.Conn)
		fail          func(w http.ResponseWriter, r *http.Request, c control) error
	}{
		{"cut off", half, end, func(_ http.ResponseWriter, r *http.Request, _ control) error {
			return json.NewDecoder(r.Body).Decode(new([]int))
		}},
		{"chunks cut off", "Transfer-Encoding: chunked\r\n\r\n5\r\n[1, 2", end,
			func(_ http.ResponseWriter, r *http.Request, _ control) error {
				_, err := io.ReadAll(r.Body)
				return err
			}},
		{"reset", half, reset, func(_ http.ResponseWriter, r *http.Request, _ control) error {
			_, err := io.ReadAll(r.Body)
			return err
		}},
		{"late body", half, func(net.Conn) {}, func(_ http.ResponseWriter, r *http.Request, c control) error {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := io.ReadAll(r.Body)
			return err
		}},
		{"late response", "\r\n", func(net.Conn) {}, func(w http.ResponseWriter, _ *http.Request, c control) error {
			c.SetWriteDeadline(time.Now().Add(-time.Second))
			return writes(w)
		}},
		{"slow reader", "\r\n", func(net.Conn) {}, func(w http.ResponseWriter, _ *http.Request, c control) error {
			c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			return writes(w)
		}},
		{"gone", "\r\n", reset, func(w http.ResponseWriter, _ *http.Request, _ control) error { return writes(w) }},
		{"gone before", "\r\n", reset, func(w http.ResponseWriter, _ *http.Request, _ control) error {
			writes(w) // its error is the case before
			return writes(w)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			saw := make(chan string, 1)
			likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				err := test.fail(w, r, http.NewResponseController(w))
				var op *net.OpError
				var call *os.SyscallError
				timeout, ok := err.(net.Error)
				saw <- fmt.Sprint(err == io.ErrUnexpectedEOF, ok && timeout.Timeout(), os.IsTimeout(err),
					errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &call), errors.As(err, &op) || os.IsTimeout(err))
			}, nil, func(t *testing.T, addr string) string {
				nc, _ := dial(t, addr, "POST / HTTP/1.1\r\nHost: h\r\n"+test.request)
				defer nc.Close()
				test.then(nc)
				return <-saw
			})
		})
	}
}

// CloseNotify tells of a client that goes away, not of the end of a request.
func TestAdaptCloseNotify(t *testing.T) {
	for name, leaves := range map[string]bool{"stays": false, "leaves": true} {
		t.Run(name, func(t *testing.T) {
			told := make(chan (<-chan bool), 1)
			likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					told <- w.(interface{ CloseNotify() <-chan bool }).CloseNotify()
				}
				if leaves {
					<-r.Context().Done()
				}
			}, nil, func(t *testing.T, addr string) string {
				nc, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				defer nc.Close()
				gone := <-told
				if leaves {
					nc.Close()
					return fmt.Sprint(<-gone)
				}
				answer(t, r)
				for range 10 { // let a goroutine run that would tell
					io.WriteString(nc, "GET /again HTTP/1.1\r\nHost: h\r\n\r\n")
					answer(t, r)
				}
				select {
				case <-gone:
					return "told"
				default:
					return "not told"
				}
			})
		})
	}
}

// A handler sees the fields that it sees with net/http.
func TestAdaptRequestFields(t *testing.T) {
	for _, fields := range []string{
		"Transfer-Encoding: chunked\r\nTrailer: , X,\r\n\r\n0\r\n",
		"Pragma: no-cache\r\n", "Pragma: no-cache\r\nCache-Control: max-age=0\r\n", "Pragma: other\r\n",
		"Pragma: other\r\nPragma: no-cache\r\n", "Cache-Control:\r\nPragma: no-cache\r\n",
	} {
		likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header, r.Trailer) }, nil,
			func(t *testing.T, addr string) string {
				_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n"+fields+"\r\n")
				_, seen := answer(t, r)
				return seen
			})
	}
}

// 100 (Continue) is sent when the handler or its first read asks for it, and not
// behind a final status.
func TestAdaptContinue(t *testing.T) {
	for name, statuses := range map[string][]int{"read": nil, "100": {100}, "200": {200}, "103": {103}} {
		t.Run(name, func(t *testing.T) {
			waits, goOn := make(chan bool, 1), make(chan bool, 1)
			likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				for _, status := range statuses {
					w.WriteHeader(status)
				}
				waits <- true
				if name == "100" {
					<-goOn // it has been sent before the body is read
				}
				body, err := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s, %v", body, err)
			}, nil, func(t *testing.T, addr string) (seen string) {
				nc, r := dial(t, addr, "")
				defer nc.Close()
				rounds := 2 // the second head repeats the first
				if name == "200" {
					rounds = 1 // net/http of Go 1.27 then reads no body, and closes the connection
				}
				for range rounds {
					io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
					<-waits
					if name == "100" {
						resp, err := http.ReadResponse(r, nil)
						if err != nil {
							t.Error(err)
						} else {
							seen += resp.Status + ", "
						}
						goOn <- true
					}
					time.Sleep(10 * time.Millisecond) // so that the handler waits for the body
					io.WriteString(nc, "body")        // a failure shows below
					for {
						resp, text := answer(t, r)
						if seen += resp.Status; name != "200" {
							seen += " " + text
						}
						seen += ", "
						if resp.StatusCode >= 200 {
							break
						}
					}
				}
				return seen
			})
		})
	}
}

// A field that is announced as a trailer and set before the head is in both.
func TestAdaptAnnouncedFields(t *testing.T) {
	h := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Early, Late, Both")
		w.Header().Set("Early", "1")
		w.Header().Set("Both", "2")
		w.WriteHeader(200)
		w.Header().Del("Early")
		w.Header().Set("Late", "3")
		w.Header().Set("Both", "4")
		io.WriteString(w, "content")
	}
	for name, h := range map[string]http.Handler{
		"direct": http.HandlerFunc(h), "TimeoutHandler": http.TimeoutHandler(http.HandlerFunc(h), time.Minute, ""),
	} {
		t.Run(name, func(t *testing.T) {
			likeNetHTTP(t, h.ServeHTTP, nil, func(t *testing.T, addr string) string {
				_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				resp, text := answer(t, r)
				resp.Header.Del("Date")
				return fmt.Sprint(resp.Header, text, resp.Trailer)
			})
		})
	}
}

// A write deadline also holds for content that is held back until the handler returns.
func TestAdaptWriteDeadlineAtTheEnd(t *testing.T) {
	likeNetHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		deadline := time.Now().Add(time.Hour)
		if r.URL.Path == "/late" {
			deadline = time.Now().Add(-time.Second)
		}
		http.NewResponseController(w).SetWriteDeadline(deadline) // a failure shows in the answer
		io.WriteString(w, "content")
	}, nil, func(t *testing.T, addr string) string {
		nc, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		_, text := answer(t, r)
		io.WriteString(nc, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n") // a failure shows below
		late, err := io.ReadAll(r)
		return fmt.Sprintf("%s, then %q, %v", text, late, err)
	})
}

// The small things of a response that clients of net/http's server see.
func TestAdaptResponseDetails(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"101 and Hijack": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "x")
			w.WriteHeader(101)
			nc, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			nc.Close()
		},
		"304 with a type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Etag", "e")
			w.WriteHeader(304)
		},
		"names that differ in case": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["ETag"] = []string{"e", "f"}
			w.Header().Set("etag", "g")
		},
		"keep-alive beside close": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "keep-alive") },
		"no length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Length"] = nil
			io.WriteString(w, "<p>")
		},
		"reading nothing": func(w http.ResponseWriter, r *http.Request) {
			n, err := r.Body.Read(nil)
			io.Copy(io.Discard, r.Body) // a failure shows in the next read
			n2, err2 := r.Body.Read(nil)
			fmt.Fprint(w, n, err, n2, err2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			likeNetHTTP(t, h, nil, func(t *testing.T, addr string) string {
				_, r := dial(t, addr, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
				all, err := io.ReadAll(r)
				head, content, _ := strings.Cut(string(all), "\r\n\r\n")
				lines := strings.Split(regexp.MustCompile(`Date: [^\r]+`).ReplaceAllString(head, "Date: then"), "\r\n")
				slices.Sort(lines)
				return fmt.Sprintf("%q, %q, %v", lines, content, err)
			})
		})
	}
}

// A handler may say that the connection stays open, as streams of events do.
func TestAdaptKeepAlive(t *testing.T) {
	for name, stream := range map[string]bool{"collected": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			likeNetHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "keep-alive")
				io.WriteString(w, "data")
				if stream {
					w.(http.Flusher).Flush()
				}
			}, nil, func(t *testing.T, addr string) string {
				_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				resp, text := answer(t, r)
				return fmt.Sprint(resp.Header["Connection"], resp.Close, resp.TransferEncoding, text)
			})
		})
	}
}
