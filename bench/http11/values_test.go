package http11

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"testing"

	"github.com/isobar-go/isobar/http11"
	"github.com/valyala/fasthttp"
)

// valued are requests of which three values of the query are looked up, one that
// is not there among them, and a cookie.
var valued = []struct{ name, query, first, last string }{
	{"plain", "fields=name,email&page=3&limit=50&sort=created&order=desc&since=20240101", "name,email", "20240101"},
	{"encoded", "fields=caf%C3%A9+au+lait&page=3&limit=50&city=M%C3%BCnchen&order=desc&since=Na%C3%AFve+Art", "café au lait", "Naïve Art"},
}

const valuedHead = " HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; lang=en-GB; consent=1\r\n\r\n"

// BenchmarkValues parses a head from memory and looks values up in it.
func BenchmarkValues(b *testing.B) {
	for _, q := range valued {
		data := []byte("GET /api/v1/users?" + q.query + valuedHead)
		check := func(b *testing.B, ok bool) {
			if !ok {
				b.Fatal("the values are wrong")
			}
		}
		b.Run("query="+q.name+"/impl=isobar", func(b *testing.B) {
			s, err := http11.NewRequests(http11.Memory{})
			if err != nil {
				b.Fatal(err)
			}
			r := s.Begin()
			b.ReportAllocs()
			for b.Loop() {
				r = s.Next(r) // which forgets what was decoded
				if _, err := s.Parse(r, data); err != nil {
					b.Fatal(err)
				}
				values := r.QueryValues()
				first, _ := values.Get("fields")
				last, _ := values.Get("since")
				_, found := values.Get("none")
				lang, _ := r.Cookie("lang")
				check(b, first.Equal(q.first) && last.Equal(q.last) && !found && lang.Equal("en-GB"))
			}
			s.End(r)
		})
		b.Run("query="+q.name+"/impl=fasthttp", func(b *testing.B) {
			var r fasthttp.Request
			src := bytes.NewReader(data)
			br := bufio.NewReaderSize(src, 4096)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(data)
				br.Reset(src)
				if err := r.Read(br); err != nil {
					b.Fatal(err)
				}
				values := r.URI().QueryArgs()
				check(b, string(values.Peek("fields")) == q.first && string(values.Peek("since")) == q.last &&
					!values.Has("none") && string(r.Header.Cookie("lang")) == "en-GB")
			}
		})
		b.Run("query="+q.name+"/impl=net-http", func(b *testing.B) {
			src := bytes.NewReader(data)
			br := bufio.NewReaderSize(src, 4096)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(data)
				br.Reset(src)
				r, err := http.ReadRequest(br)
				if err != nil {
					b.Fatal(err)
				}
				values := r.URL.Query()
				lang, err := r.Cookie("lang")
				check(b, values.Get("fields") == q.first && values.Get("since") == q.last && !values.Has("none") &&
					err == nil && lang.Value == "en-GB")
			}
		})
	}
}

// BenchmarkQuery looks three values up in a query without parsing a head. Isobar
// decodes once in a request, so that only a query without escapes compares.
func BenchmarkQuery(b *testing.B) {
	q := valued[0]
	b.Run("impl=isobar", func(b *testing.B) {
		s, err := http11.NewRequests(http11.Memory{})
		if err != nil {
			b.Fatal(err)
		}
		r := s.Begin()
		if _, err := s.Parse(r, []byte("GET /?"+q.query+valuedHead)); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			values := r.QueryValues()
			first, _ := values.Get("fields")
			last, _ := values.Get("since")
			_, found := values.Get("none")
			if !first.Equal(q.first) || !last.Equal(q.last) || found {
				b.Fatal("the values are wrong")
			}
		}
		s.End(r)
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		var args fasthttp.Args
		b.ReportAllocs()
		for b.Loop() {
			args.Parse(q.query)
			if string(args.Peek("fields")) != q.first || string(args.Peek("since")) != q.last || args.Has("none") {
				b.Fatal("the values are wrong")
			}
		}
	})
	b.Run("impl=net-url", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			values, err := url.ParseQuery(q.query)
			if err != nil || values.Get("fields") != q.first || values.Get("since") != q.last || values.Has("none") {
				b.Fatal("the values are wrong")
			}
		}
	})
}
