package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/isobar-go/isobar/http11"
)

// engines are those of this platform.
func engines() []http11.Engine {
	if runtime.GOOS == "linux" {
		return []http11.Engine{http11.Goroutines, http11.Readiness}
	}
	return []http11.Engine{http11.Goroutines}
}

// serve serves until the test ends and returns the address.
func serve(t testing.TB, server *http11.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-end; !errors.Is(err, http11.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// text is content that gets smaller.
func text(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d of what is sent\n", i*i)
	}
	return b.String()[:n]
}

// pages are what the tests ask for, and what they are of.
type page struct {
	path, kind string
	size       int
	header     []string // names and values
	status     int      // 0 is 200
	stream     bool     // written in parts, with a flush
	coded      bool     // compressed for whoever accepts it
	tagged     bool     // has an entity tag
}

var pages = []page{
	{path: "/json", kind: "application/json", size: 20_000, coded: true, tagged: true},
	{path: "/most", kind: "text/plain; charset=utf-8", size: 64 << 10, coded: true, tagged: true},
	{path: "/small", kind: "text/plain", size: 100, tagged: true},
	{path: "/empty", kind: "text/plain"},
	{path: "/image", kind: "image/png", size: 20_000, tagged: true},
	{path: "/untyped", size: 20_000, tagged: true},
	{path: "/encoded", kind: "text/plain", size: 20_000, header: []string{"Content-Encoding", "x-mine"}, tagged: true},
	{path: "/whole", kind: "text/plain", size: 20_000, header: []string{"Cache-Control", "no-transform"}, tagged: true},
	{path: "/secret", kind: "text/plain", size: 20_000, header: []string{"Cache-Control", "no-store"}, coded: true},
	{path: "/own", kind: "text/plain", size: 20_000, header: []string{"ETag", `"own"`, "Vary", "Cookie"},
		coded: true, tagged: true},
	{path: "/weak", kind: "text/plain", size: 20_000, header: []string{"ETag", `W/"weak, own"`},
		coded: true, tagged: true},
	{path: "/none", kind: "text/plain", size: 20_000, status: 404, coded: true},
	{path: "/nothing", kind: "text/plain", status: 204},
	{path: "/stream", kind: "text/plain", size: 200_000, stream: true, coded: true},
	{path: "/length", kind: "text/plain", size: 200_000, header: []string{"Content-Length", "200000"}, coded: true},
	{path: "/image/stream", kind: "image/png", size: 200_000, stream: true},
	{path: "/own/stream", kind: "text/plain", size: 200_000, header: []string{"ETag", `"own"`},
		stream: true, coded: true, tagged: true},
}

// handler serves pages, and files at /file/.
func handler(dir string) http11.Handler {
	return compress(etag(http11.HandlerFunc(func(c *http11.Context) {
		path := c.Path().String()
		if name, ok := strings.CutPrefix(path, "/file/"); ok {
			c.SendFile(filepath.Join(dir, name)) // an error shows in the response
			return
		}
		for _, p := range pages {
			if p.path == path {
				p.answer(c)
			}
		}
	})))
}

func (p *page) answer(c *http11.Context) {
	if p.status != 0 {
		c.SetStatus(p.status)
	}
	if p.kind != "" {
		c.SetHeader("Content-Type", p.kind)
	}
	for i := 0; i < len(p.header); i += 2 {
		c.SetHeader(p.header[i], p.header[i+1])
	}
	content := text(p.size)
	if p.stream {
		c.WriteString(content[:10])
		if c.Flush() != nil {
			return
		}
		content = content[10:]
	}
	c.WriteString(content) // an error shows in the response
}

// plain is a client that adds and takes away nothing.
var plain = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// reply is a response as the client has it, decoded.
type reply struct {
	status int
	header http.Header
	body   string
	length int64
}

func request(t *testing.T, client *http.Client, method, url string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if method != "HEAD" && resp.ContentLength >= 0 && int64(len(raw)) != resp.ContentLength {
		t.Errorf("%s %s: %d bytes, Content-Length %d", method, url, len(raw), resp.ContentLength)
	}
	resp.Header.Del("Date")
	return reply{resp.StatusCode, resp.Header, decode(t, resp.Header.Get("Content-Encoding"), raw), resp.ContentLength}
}

func decode(t *testing.T, coding string, raw []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(raw)
	var err error
	switch {
	case len(raw) == 0:
	case coding == "gzip":
		r, err = gzip.NewReader(r)
	case coding == "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", coding, err)
	}
	return string(body)
}

// eachEngine serves the pages and calls f with the base URL.
func eachEngine(t *testing.T, f func(t *testing.T, base string)) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small.txt": 5_000, "large.txt": 300_000, "large.bin": 300_000} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text(size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, engine := range engines() {
		t.Run(engine.String(), func(t *testing.T) {
			f(t, "http://"+serve(t, &http11.Server{Engine: engine, Handler: handler(dir)}))
		})
	}
}

// Every page has its content in the coding that was asked for, and says what it
// depends on; HEAD has the fields of GET.
func TestCompress(t *testing.T) {
	eachEngine(t, func(t *testing.T, base string) {
		for _, p := range pages {
			for accept, coding := range map[string]string{"": "", "gzip": "gzip", "gzip, zstd": "zstd", "br": ""} {
				got := request(t, plain, "GET", base+p.path, "Accept-Encoding", accept)
				if !p.coded {
					coding = ""
				}
				name := p.path + " as " + accept
				want := text(p.size)
				if status := max(p.status, 200); p.status != 0 && got.status != status || got.body != want {
					t.Errorf("%s: status %d, %d bytes, want %d", name, got.status, len(got.body), len(want))
				}
				if kept := got.header.Get("Content-Encoding"); kept != coding && kept != "x-mine" {
					t.Errorf("%s: coding %q, want %q", name, kept, coding)
				}
				if varies := strings.Contains(strings.Join(got.header["Vary"], ","), "Accept-Encoding"); varies != p.coded {
					t.Errorf("%s: Vary %q", name, got.header["Vary"])
				}
				if p.path == "/own" && got.header["Vary"][0] != "Cookie" {
					t.Errorf("%s: Vary %q has lost a field", name, got.header["Vary"])
				}
				tag := got.header.Get("ETag")
				if (tag != "") != p.tagged || tag != "" && p.path != "/weak" && strings.HasPrefix(tag, "W/") != (coding != "") {
					t.Errorf("%s: tag %q", name, tag)
				}
				if coding != "" && !p.stream && p.path != "/length" && (got.length < 0 || got.length > int64(p.size)/2) {
					t.Errorf("%s: Content-Length %d", name, got.length)
				}
				head := request(t, plain, "HEAD", base+p.path, "Accept-Encoding", accept)
				sameLength := head.length == got.length || got.status == 204 // for which the client makes up one
				if head.status != got.status || !reflect.DeepEqual(head.header, got.header) || !sameLength {
					t.Errorf("%s: HEAD %v, GET %v", name, head, got.header)
				}
			}
		}
	})
}

func TestConditional(t *testing.T) {
	eachEngine(t, func(t *testing.T, base string) {
		for _, p := range pages {
			if !p.tagged {
				continue
			}
			for _, accept := range []string{"", "gzip"} {
				full := request(t, plain, "GET", base+p.path, "Accept-Encoding", accept)
				tag := full.header.Get("ETag")
				opaque := strings.TrimPrefix(tag, "W/")
				for list, status := range map[string]int{
					tag: 304, opaque: 304, "W/" + opaque: 304, `"x", W/"y,` + "\t" + `", ` + opaque: 304, "*": 304,
					`"x"`: 200, strings.Trim(opaque, `"`): 200, `"x` + opaque: 200, `W/` + opaque[:len(opaque)-1]: 200,
				} {
					for _, method := range []string{"GET", "HEAD"} {
						got := request(t, plain, method, base+p.path, "Accept-Encoding", accept, "If-None-Match", list)
						name := fmt.Sprintf("%s %s as %q if none matches %s", method, p.path, accept, list)
						again := got.header.Get("ETag")
						if !p.coded { // a 304 cannot tell that it would not be encoded
							again = strings.TrimPrefix(again, "W/")
						}
						if got.status != status || again != tag {
							t.Errorf("%s: status %d, tag %s, want %d, %s", name, got.status, again, status, tag)
						}
						if status == 304 && (got.body != "" || got.length > 0 ||
							p.coded && !reflect.DeepEqual(got.header["Vary"], full.header["Vary"])) {
							t.Errorf("%s: %v, GET without condition %v", name, got, full.header)
						}
					}
				}
				if got := request(t, plain, "POST", base+p.path, "If-None-Match", "*"); got.status != 200 {
					t.Errorf("POST %s: status %d", p.path, got.status)
				}
			}
		}
	})
}

// Files are compressed as a whole, and not in ranges.
func TestFilesInCodings(t *testing.T) {
	eachEngine(t, func(t *testing.T, base string) {
		for _, name := range []string{"small.txt", "large.txt", "large.bin"} {
			url := base + "/file/" + name
			for _, method := range []string{"GET", "HEAD"} {
				got := request(t, plain, method, url, "Accept-Encoding", "gzip")
				coded := got.header.Get("Content-Encoding") == "gzip"
				if coded == strings.HasSuffix(name, ".bin") || coded == (got.header.Get("Accept-Ranges") != "") {
					t.Errorf("%s %s: %v", method, name, got.header)
				}
				if method == "GET" && !strings.HasPrefix(got.body, text(5000)) {
					t.Errorf("%s: other content", name)
				}
				tag := got.header.Get("ETag")
				again := request(t, plain, method, url, "Accept-Encoding", "gzip", "If-None-Match", tag)
				if again.status != 304 || strings.TrimPrefix(again.header.Get("ETag"), "W/") != strings.TrimPrefix(tag, "W/") {
					t.Errorf("%s %s again: %v", method, name, again)
				}
			}
			part := request(t, plain, "GET", url, "Accept-Encoding", "gzip", "Range", "bytes=1000-3999")
			if part.status != 206 || part.header.Get("Content-Encoding") != "" || part.body != text(4000)[1000:] {
				t.Errorf("%s in part: %v", name, part.header)
			}
		}
	})
}

// Go's client asks for gzip and decodes it by itself.
func TestTransparentClient(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	eachEngine(t, func(t *testing.T, base string) {
		for _, p := range pages {
			resp, err := client.Get(base + p.path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != text(p.size) || resp.Uncompressed != p.coded {
				t.Errorf("%s: %d bytes, was compressed %v, %v", p.path, len(body), resp.Uncompressed, err)
			}
		}
	})
}

func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	curl := func(t *testing.T, args ...string) string {
		out, err := exec.Command("curl", append([]string{"-sS", "--noproxy", "*", "--max-time", "20"}, args...)...).Output()
		if err != nil {
			t.Fatalf("curl %q: %v", args, err)
		}
		return string(out)
	}
	eachEngine(t, func(t *testing.T, base string) {
		for _, p := range pages {
			if p.path == "/encoded" { // a coding that curl does not know
				continue
			}
			if got := curl(t, "--compressed", base+p.path); got != text(p.size) {
				t.Errorf("%s: %d bytes", p.path, len(got))
			}
		}
		// Several on one connection, of each kind.
		got := curl(t, "--compressed", "-w", "[%{http_code} %{num_connects}]", base+"/json", base+"/stream", base+"/nothing")
		if want := text(20_000) + "[200 1]" + text(200_000) + "[200 0][204 0]"; got != want {
			t.Errorf("three pages: %d bytes, want %d", len(got), len(want))
		}
		if got := curl(t, "--compressed", "-I", base+"/json"); !strings.Contains(got, "ETag: W/") {
			t.Errorf("HEAD: %q", got)
		}
	})
}

// Responses to pipelined requests are where they belong.
func TestPipelined(t *testing.T) {
	asked := []struct{ method, path string }{
		{"GET", "/json"}, {"GET", "/stream"}, {"HEAD", "/stream"}, {"HEAD", "/json"}, {"GET", "/own"}, {"GET", "/small"},
	}
	eachEngine(t, func(t *testing.T, base string) {
		nc, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(20 * time.Second))
		for _, a := range asked {
			const fields = "Host: h\r\nAccept-Encoding: gzip\r\nIf-None-Match: \"own\"\r\n\r\n"
			fmt.Fprintf(nc, "%s %s HTTP/1.1\r\n%s", a.method, a.path, fields)
		}
		r := bufio.NewReader(nc)
		for _, a := range asked {
			resp, err := http.ReadResponse(r, &http.Request{Method: a.method})
			if err != nil {
				t.Fatalf("%v: %v", a, err)
			}
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatalf("%v: %v", a, err)
			}
			body := decode(t, resp.Header.Get("Content-Encoding"), raw)
			if a.path == "/own" && resp.StatusCode != 304 || a.path != "/own" && resp.StatusCode != 200 ||
				a.method == "HEAD" && body != "" || a.path == "/stream" && a.method == "GET" && body != text(200_000) {
				t.Errorf("%v: status %d, %d bytes", a, resp.StatusCode, len(body))
			}
		}
	})
}

// What a handler flushes arrives before it goes on, and a large response does so in
// parts.
func TestStreamArrives(t *testing.T) {
	const parts = 64
	part := text(512 << 10)
	for _, engine := range engines() {
		for _, coding := range []string{"zstd", "gzip"} {
			t.Run(engine.String()+"/"+coding, func(t *testing.T) {
				seen := make(chan struct{})
				addr := serve(t, &http11.Server{Engine: engine, Handler: compress(etag(http11.HandlerFunc(func(c *http11.Context) {
					c.MayBlock()
					c.SetHeader("Content-Type", "text/plain")
					c.WriteString("first\n")
					c.Flush()
					<-seen
					for range parts {
						if _, err := c.WriteString(part); err != nil {
							t.Error(err)
							return
						}
					}
				})))})
				req, _ := http.NewRequest("GET", "http://"+addr, nil)
				req.Header.Set("Accept-Encoding", coding)
				resp, err := plain.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var body io.Reader
				if coding == "gzip" {
					body, err = gzip.NewReader(resp.Body)
				} else {
					body, err = zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1))
				}
				if err != nil {
					t.Fatal(err)
				}
				first := make([]byte, 6)
				if _, err := io.ReadFull(body, first); err != nil || string(first) != "first\n" {
					t.Fatalf("%q, %v", first, err)
				}
				close(seen)
				got := make([]byte, len(part))
				for i := range parts {
					if _, err := io.ReadFull(body, got); err != nil || string(got) != part {
						t.Fatalf("part %d: %v", i, err)
					}
				}
				if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
					t.Errorf("%d bytes more, %v", n, err)
				}
			})
		}
	}
}

// Many clients share the encoders.
func TestManyClients(t *testing.T) {
	eachEngine(t, func(t *testing.T, base string) {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for j := range 2 * len(pages) {
					p := pages[(i+j)%len(pages)]
					accept := []string{"", "gzip", "zstd"}[(i+j/2)%3]
					if got := request(t, plain, "GET", base+p.path, "Accept-Encoding", accept); got.body != text(p.size) {
						t.Errorf("%s as %s: %d bytes", p.path, accept, len(got.body))
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestNegotiate(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "identity": "", "br": "", "gzip": "gzip", "x-gzip": "gzip", "GZIP": "gzip", "zstd": "zstd",
		"gzip, deflate, br, zstd": "zstd", "gzip;q=1, zstd;q=0.9": "gzip", "gzip;q=0.8,zstd;q=0.80": "zstd",
		"*": "zstd", "*;q=0": "", "zstd;q=0, *": "gzip", "gzip, *;q=0": "gzip", "*;q=0.1, gzip": "gzip",
		"gzip;q=0": "", "gzip;q=0.000": "", "gzip;q=0.001": "gzip", "gzip ; q=0.5": "gzip", "gzip;Q=0.5": "gzip",
		"identity;q=1, gzip;q=0.5": "", "identity;q=0.5, gzip;q=0.5": "gzip", "identity;q=0, gzip": "gzip",
		"gzip;q=2": "", "gzip;q=1.1": "", "gzip;q=1.000": "gzip", "gzip;q=0.1234": "", "gzip;q=-1": "", "gzip;q=": "",
		"gzip;level=9": "", "gzip;q=x, zstd": "zstd", ",,gzip,": "gzip", "gzipped": "", "a gzip": "",
	} {
		got := ""
		if k := negotiate(accept); k != nil {
			got = k.name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add("gzip;q=0.5, *;q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		k := negotiate(accept)
		if lower := strings.ToLower(accept); k != nil && !strings.Contains(lower, k.name) && !strings.Contains(lower, "*") {
			t.Errorf("%q: %s is not accepted", accept, k.name)
		}
		// Whoever refuses everything after that gets nothing.
		if all := accept + ",*;q=0,gzip;q=0,zstd;q=0,x-gzip;q=0"; negotiate(all) != nil {
			t.Errorf("%q: a coding that is refused", all)
		}
	})
}

func FuzzListed(f *testing.F) {
	f.Add(`"a", W/"b"`, "b")
	f.Fuzz(func(t *testing.T, list, opaque string) {
		tag := strconv.Quote("x" + strings.ReplaceAll(opaque, `"`, ""))
		if strings.Contains(tag, `\`) {
			return // no entity tag
		}
		if !listed(tag+", "+list, tag) || !listed(" W/"+tag+","+list, "W/"+tag) {
			t.Errorf("%q is not found before %q", tag, list)
		}
		if listed(list, tag) && !strings.Contains(list, tag) && strings.Trim(list, " \t") != "*" {
			t.Errorf("%q is found in %q", tag, list)
		}
	})
}
