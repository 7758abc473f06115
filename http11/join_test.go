package http11

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// handlers are used to compare Adapt with net/http's server.
var handlers = map[string]http.HandlerFunc{
	"/empty": func(w http.ResponseWriter, r *http.Request) {},
	"/echo": func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Header.Del("User-Agent")
		fmt.Fprintf(w, "%s %s %s %s %d %v %q %v %v %v", r.Method, r.URL, r.RequestURI, r.Host, r.ContentLength, r.TransferEncoding, body, err, r.Header, r.Trailer)
	},
	"/status": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(418)
		w.WriteHeader(200)
		io.WriteString(w, "tea")
	},
	"/redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	"/none": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(204)
		if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
			panic(err)
		}
	},
	"/fields": func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-List"] = []string{"1", "2"}
		w.Header().Set("X-Bad", "a\r\nb: c")
		w.Header().Set("Content-Type", "x/y")
		io.WriteString(w, "<html>")
		w.Header().Set("X-Late", "1")
	},
	"/bare": func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		io.WriteString(w, "<html>")
	},
	"/sniff": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
	"/pieces": func(w http.ResponseWriter, r *http.Request) { // as html/template writes
		io.WriteString(w, "\n")
		io.WriteString(w, "<!DOCTYPE html><html>")
	},
	"/pieces/long": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "\n")
		w.Write(bytes.Repeat([]byte("<p>"), 30_000))
	},
	"/pieces/flushed": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "\n")
		io.WriteString(w, "<html>")
		w.(http.Flusher).Flush()
		io.WriteString(w, "<p>")
	},
	"/pieces/encoded": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "test")
		io.WriteString(w, "<html>")
	},
	"/stream": func(w http.ResponseWriter, r *http.Request) {
		for i := range 10 {
			fmt.Fprintf(w, "%d", i)
			w.(http.Flusher).Flush()
		}
	},
	"/long": func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("long "), 50_000)) },
	"/trailer": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "content")
		w.Header().Set("X-Sum", "7")
		w.Header().Set(http.TrailerPrefix+"X-More", "8")
	},
	"/trailer/prefixed": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(http.TrailerPrefix+"X-Early", "1")
		io.WriteString(w, "<p>content")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	},
	"/trailer/late": func(w http.ResponseWriter, r *http.Request) {
		for range 3000 {
			io.WriteString(w, "content")
		}
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	},
	"/length/none": func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "HEAD" { // net/http sends it, and the client refuses the response
			w.Header().Set("Content-Length", "many")
		}
		io.WriteString(w, "abc")
	},
	"/length": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		io.WriteString(w, "abc")
		if _, err := io.WriteString(w, "d"); err != http.ErrContentLength {
			panic(err)
		}
	},
	"/content": func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.txt", time.Unix(1e9, 0), strings.NewReader(strings.Repeat("0123456789", 100)))
	},
	"/switch": func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Upgrade", "test")
		w.Header().Set("Connection", "Upgrade")
		w.Header()["Date"] = nil // http11 adds none
		w.WriteHeader(101)
		nc, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		rw.WriteString("raw")
		rw.Flush()
		nc.Close()
	},
	"/abort": func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
}

// exchange sends a request and returns the parts of the response that do not
// vary between servers.
func ask(t *testing.T, base, method, path string, header http.Header, body string, chunked bool) answered {
	t.Helper()
	req, err := http.NewRequest(method, base+path, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	if req.ContentLength = int64(len(body)); chunked {
		req.ContentLength = -1
		req.Trailer = http.Header{"X-Check": {"5"}}
	} else if body == "" {
		req.Body = nil
	}
	req.Host = "example"
	for k, v := range header {
		req.Header[k] = v
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return answered{}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	if resp.Header.Get("Date") != "" {
		resp.Header.Set("Date", "some")
	}
	resp.Header.Del("Content-Length") // net/http streams earlier
	return answered{resp.StatusCode, string(got), resp.Header, resp.Trailer}
}

// An adapted handler answers as behind net/http.
func TestAdapt(t *testing.T) {
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	std := httptest.NewUnstartedServer(mux)
	std.Config.ErrorLog = log.New(io.Discard, "", 0)
	std.Start()
	defer std.Close()
	each(t, func(t *testing.T, m Memory) {
		ours := "http://" + serve(t, &Server{Memory: m, Handler: Adapt(mux)})
		for path := range handlers {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				for _, body := range []string{"", "body", strings.Repeat("body", 20_000)} {
					for _, chunked := range []bool{false, true} {
						if method != "POST" && (body != "" || chunked) {
							continue
						}
						header := http.Header{"X-A": {"1", "2"}, "Range": {"bytes=5-9"}}
						want := ask(t, std.URL, method, path+"?q=%20a", header, body, chunked)
						got := ask(t, ours, method, path+"?q=%20a", header, body, chunked)
						if !reflect.DeepEqual(got, want) {
							t.Errorf("%s %s, %d bytes, chunked %v:\n%s\n, want\n%s", method, path, len(body), chunked, got, want)
						}
					}
				}
			}
		}
	})
}

// A mounted server answers as it does standalone.
func TestMount(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		handler := HandlerFunc(func(c *Context) {
			switch c.Path().String() {
			case "/stream":
				c.SetHeader("Trailer", "X-T")
				c.WriteString("abc")
				c.Flush()
				c.WriteString("def")
				c.SetTrailer("X-T", "1")
			case "/none":
				c.SetStatus(204)
			case "/long":
				c.Write(make([]byte, 200_000))
			case "/error":
				c.Error(503, "later")
			case "/hijack":
				_, _, err := c.Hijack()
				fmt.Fprint(c, err != nil)
			default:
				body, err := c.Body()
				if err != nil {
					return
				}
				fmt.Fprintf(c, "%s %s %s %s %s %s", c.Method(), c.Path(), c.Query(), c.Host(), c.Header("x-a"), body)
				for name, value := range c.Trailers() {
					fmt.Fprintf(c, " %s: %s", name, value)
				}
			}
		})
		s := &Server{Memory: m, Handler: handler, MaxBodyBytes: 100_000}
		std := httptest.NewServer(s)
		defer std.Close()
		ours := "http://" + serve(t, &Server{Memory: m, Handler: handler, MaxBodyBytes: 100_000})
		for _, path := range []string{"/echo", "/stream", "/none", "/long", "/error"} {
			for _, body := range []string{"", "body", strings.Repeat("body", 20_000), strings.Repeat("body", 30_000)} {
				for _, chunked := range []bool{false, true} {
					header := http.Header{"X-A": {"1", "2"}}
					want := ask(t, ours, "POST", path+"?q", header, body, chunked)
					got := ask(t, std.URL, "POST", path+"?q", header, body, chunked)
					for _, a := range []*answered{&got, &want} {
						a.header.Del("Connection")
						if a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
							a.header.Del("Content-Type") // net/http guesses
						} else if a.status == 200 {
							a.header.Del("Content-Type")
						}
						a.header.Del("Trailer")
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %d bytes, chunked %v:\n%s\n, want\n%s", path, len(body), chunked, got, want)
					}
				}
			}
		}
		if got := ask(t, std.URL, "GET", "/hijack", nil, "", false); got.body != "true" {
			t.Errorf("Hijack of a mounted request: %q, want an error", got.body)
		}
		waitFor(t, "memory to come back", func() bool { st := s.Stats().Memory; return st.Requests == 0 && st.InUse == 0 })
		if st := s.Stats(); st.Memory.Hits+st.Memory.Misses == 0 {
			t.Errorf("statistics %+v: want blocks that were handed out", st)
		}
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	content := map[string]string{"small.txt": "0123456789", "empty.html": "", "large.bin": strings.Repeat("0123456789", 300_000), "d/index.html": "<p>", "a b.txt": "space"}
	changed := time.Unix(1.5e9, 0)
	for name, data := range content {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	date := func(d time.Duration) string { return changed.Add(d).UTC().Format(http.TimeFormat) }
	each(t, func(t *testing.T, m Memory) {
		base := "http://" + serve(t, &Server{Memory: m, Handler: Files(root, "/files/")})
		tag := ask(t, base, "GET", "/files/large.bin", nil, "", false).header.Get("Etag")
		large := content["large.bin"]
		for _, tc := range []struct {
			method, path, header, value string
			status                      int
			body, part                  string
		}{
			{"GET", "small.txt", "", "", 200, content["small.txt"], ""},
			{"GET", "large.bin", "", "", 200, large, ""},
			{"GET", "empty.html", "", "", 200, "", ""},
			{"GET", "d/", "", "", 200, "<p>", ""},
			{"GET", "a%20b.txt", "", "", 200, "space", ""},
			{"GET", "d", "", "", 301, "", ""},
			{"GET", "none", "", "", 404, "not found\n", ""},
			{"GET", "../../../etc/passwd", "", "", 404, "not found\n", ""},
			{"GET", "%2e%2e/%2e%2e/etc/passwd", "", "", 404, "not found\n", ""},
			{"GET", "out", "", "", 404, "not found\n", ""},
			{"GET", "small.txt%00", "", "", 404, "not found\n", ""},
			{"POST", "small.txt", "", "", 405, "the method is not allowed\n", ""},
			{"HEAD", "large.bin", "", "", 200, "", ""},
			{"GET", "small.txt", "Range", "bytes=2-4", 206, "234", "bytes 2-4/10"},
			{"GET", "small.txt", "Range", "bytes=7-", 206, "789", "bytes 7-9/10"},
			{"GET", "small.txt", "Range", "bytes=-3", 206, "789", "bytes 7-9/10"},
			{"GET", "small.txt", "Range", "bytes=-30", 206, "0123456789", "bytes 0-9/10"},
			{"GET", "small.txt", "Range", "bytes=9-99999999999999999999999", 206, "9", "bytes 9-9/10"},
			{"GET", "small.txt", "Range", "bytes=10-", 416, "", "bytes */10"},
			{"GET", "small.txt", "Range", "bytes=-0", 416, "", "bytes */10"},
			{"GET", "empty.html", "Range", "bytes=0-", 200, "", ""},
			{"GET", "empty.html", "Range", "bytes=-5", 200, "", ""},
			{"GET", "small.txt", "Range", "bytes= ,2-4,", 206, "234", "bytes 2-4/10"},
			{"GET", "small.txt", "Range", "bytes=4-2", 200, content["small.txt"], ""},
			{"GET", "small.txt", "Range", "bytes=0-1,3-4", 200, content["small.txt"], ""},
			{"GET", "small.txt", "Range", "lines=0-1", 200, content["small.txt"], ""},
			{"GET", "small.txt", "Range", "bytes=+1-2", 200, content["small.txt"], ""},
			{"GET", "large.bin", "Range", "bytes=1000000-2999999", 206, large[1000000:], "bytes 1000000-2999999/3000000"},
			{"HEAD", "large.bin", "Range", "bytes=1-2", 200, "", ""},
			{"GET", "large.bin", "If-None-Match", tag, 304, "", ""},
			{"GET", "large.bin", "If-None-Match", `"x", W/` + tag, 304, "", ""},
			{"GET", "large.bin", "If-None-Match", `*`, 304, "", ""},
			{"GET", "large.bin", "If-None-Match", ", " + tag, 304, "", ""},
			{"GET", "small.txt", "If-None-Match", tag, 200, content["small.txt"], ""},
			{"GET", "large.bin", "If-Match", `"x"`, 412, "", ""},
			{"GET", "large.bin", "If-Match", "W/" + tag, 412, "", ""},
			{"HEAD", "large.bin", "If-Match", tag, 200, "", ""},
			{"GET", "small.txt", "If-Modified-Since", date(0), 304, "", ""},
			{"GET", "small.txt", "If-Modified-Since", date(-time.Hour), 200, content["small.txt"], ""},
			{"GET", "small.txt", "If-Unmodified-Since", date(-time.Hour), 412, "", ""},
			{"GET", "small.txt", "If-Unmodified-Since", date(0), 200, content["small.txt"], ""},
		} {
			header := http.Header{}
			if tc.header != "" {
				header.Set(tc.header, tc.value)
			}
			got := ask(t, base, tc.method, "/files/"+tc.path, header, "", false)
			if got.status != tc.status || got.body != tc.body || got.header.Get("Content-Range") != tc.part {
				t.Errorf("%s %s %s: %s: status %d, %d bytes, range %q; want %d, %d, %q",
					tc.method, tc.path, tc.header, tc.value, got.status, len(got.body), got.header.Get("Content-Range"), tc.status, len(tc.body), tc.part)
			}
		}
		for condition, status := range map[string]int{tag: 206, `"x"`: 200, date(0): 206, date(-time.Hour): 200} {
			got := ask(t, base, "GET", "/files/large.bin", http.Header{"Range": {"bytes=1-2"}, "If-Range": {condition}}, "", false)
			if got.status != status {
				t.Errorf("If-Range: %s: status %d, want %d", condition, got.status, status)
			}
		}
	})
}

// TestAdaptTargets checks that an adapted handler sees targets as with
// net/http's server, and that targets net/url cannot parse get 400.
func TestAdaptTargets(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q %q", r.URL.Path, r.URL.RawQuery)
	})
	std := httptest.NewServer(h)
	defer std.Close()
	addr := serve(t, &Server{Handler: Adapt(h)})
	for target, status := range map[string]string{
		`/a[1]|{}^?q="<é>"&%zz`: "200 OK", `/é\`: "200 OK", `//é?%`: "200 OK",
		`/%zz`: "400 Bad Request", `http://h/%`: "400 Bad Request",
	} {
		request := "GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
		var bodies [2]string
		for i, addr := range []string{addr, std.Listener.Addr().String()} {
			got := talk(t, addr, request, false)
			if _, bodies[i], _ = strings.Cut(got, "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+status) {
				t.Errorf("%s: answered with %q, want %s", target, got, status)
			}
		}
		if status == "200 OK" && bodies[0] != bodies[1] {
			t.Errorf("%s: answered with %q, net/http with %q", target, bodies[0], bodies[1])
		}
	}
}

// A mux would refuse OPTIONS *; net/http's server answers without asking it.
func TestAdaptOptions(t *testing.T) {
	h := http.NewServeMux()
	std := httptest.NewServer(h)
	defer std.Close()
	for _, addr := range []string{std.Listener.Addr().String(), serve(t, &Server{Handler: Adapt(h)})} {
		got := talk(t, addr, "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("answered with %q", got)
		}
	}
}
