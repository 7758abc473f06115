// Package http11 compares the parser of http11 with those of net/http and
// fasthttp. Each parses the same requests from memory, one after the other; http11
// validates more than the others do (see its conformance table).
package http11

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/http11"
	"github.com/valyala/fasthttp"
)

// requests are those that the parsers are compared on.
var requests = []struct{ name, text string }{
	{"get-4-headers", "GET /api/v1/users/12345?fields=name,email HTTP/1.1\r\nHost: api.example.com\r\n" +
		"User-Agent: curl/8.5.0\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n\r\n"},
	{"post-8-headers", "POST /api/v1/orders HTTP/1.1\r\nHost: api.example.com\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
		"Accept: application/json\r\nAccept-Encoding: gzip, deflate, br\r\nContent-Type: application/json\r\n" +
		"Content-Length: 512\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\nX-Request-Id: 4bf92f3577b34da6a3ce929d0e0e4736\r\n\r\n" +
		strings.Repeat("x", 512)},
	{"get-32-headers", "GET /gateway/path?a=1&b=2 HTTP/1.1\r\nHost: gateway.example.com\r\n" + manyHeaders(31) + "\r\n"},
}

func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-Custom-Header-%02d: value number %02d of a header\r\n", i, i)
	}
	return b.String()
}

var sink int

func BenchmarkParse(b *testing.B) {
	for _, q := range requests {
		data := []byte(q.text)
		head := int64(bytes.Index(data, []byte("\r\n\r\n")) + 4) // what is parsed: none of them reads the body
		b.Run("request="+q.name+"/impl=isobar", func(b *testing.B) {
			s, err := http11.NewRequests(http11.Memory{})
			if err != nil {
				b.Fatal(err)
			}
			r := s.Begin()
			b.SetBytes(head)
			b.ReportAllocs()
			for b.Loop() {
				n, err := s.Parse(r, data)
				if n == 0 || err != nil {
					b.Fatal(n, err)
				}
				sink += n
			}
			s.End(r)
		})
		b.Run("request="+q.name+"/impl=fasthttp", func(b *testing.B) {
			var h fasthttp.RequestHeader
			src := bytes.NewReader(data)
			br := bufio.NewReaderSize(src, 4096)
			b.SetBytes(head)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(data)
				br.Reset(src)
				if err := h.Read(br); err != nil {
					b.Fatal(err)
				}
				sink += h.ContentLength()
			}
		})
		b.Run("request="+q.name+"/impl=net-http", func(b *testing.B) {
			src := bytes.NewReader(data)
			br := bufio.NewReaderSize(src, 4096)
			b.SetBytes(head)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(data)
				br.Reset(src)
				r, err := http.ReadRequest(br)
				if err != nil {
					b.Fatal(err)
				}
				sink += int(r.ContentLength)
			}
		})
	}
}

// TestTheyParseTheSame holds that the parsers of the comparison understand the
// same fields.
func TestTheyParseTheSame(t *testing.T) {
	s, err := http11.NewRequests(http11.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range requests {
		r := s.Begin()
		n, err := s.Parse(r, []byte(q.text))
		if err != nil {
			t.Fatal(err)
		}
		std, err := http.ReadRequest(bufio.NewReader(strings.NewReader(q.text)))
		if err != nil {
			t.Fatal(err)
		}
		var fast fasthttp.RequestHeader
		if err := fast.Read(bufio.NewReader(strings.NewReader(q.text))); err != nil {
			t.Fatal(err)
		}
		fields := 0
		for name, value := range r.Headers() {
			fields++
			if name.Equal("Host") {
				continue // net/http keeps it apart
			}
			if got := std.Header.Get(name.String()); !value.Equal(got) {
				t.Errorf("%s: %s is %q, of net/http %q", q.name, name, value, got)
			}
			if got := fast.Peek(name.String()); !value.Equal(string(got)) {
				t.Errorf("%s: %s is %q, of fasthttp %q", q.name, name, value, got)
			}
		}
		body, _ := io.ReadAll(std.Body)
		if fields != len(std.Header)+1 || n+len(body) != len(q.text) || r.ContentLength() != std.ContentLength {
			t.Errorf("%s: %d fields, head of %d bytes, length %d; of net/http %d, %d, %d",
				q.name, fields, n, r.ContentLength(), len(std.Header)+1, len(q.text)-len(body), std.ContentLength)
		}
		s.End(r)
	}
}
