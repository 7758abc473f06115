package main

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/isobar-go/isobar/http11"
)

// fewBytes is the length below which content is not worth compressing: it fits into
// a packet as it is.
const fewBytes = 1 << 10

// compress has what next answers sent in a coding that the client accepts. Whole
// responses keep a length, that of what is sent; streamed ones are compressed as
// they are written, and flushed when the handler flushes.
func compress(next http11.Handler) http11.Handler {
	return http11.HandlerFunc(func(c *http11.Context) {
		k := negotiate(acceptEncoding(c))
		streamed := false
		c.OnStream(func(w io.Writer) io.WriteCloser { // nothing was written before: no error
			streamed = true
			if varies(c, declared(c)) && encode(c, k) {
				return k.to(w)
			}
			return nil
		})
		next.ServeHTTP11(c)
		if streamed {
			return
		}
		n := c.Written()
		if n == 0 && c.Method().Equal("HEAD") {
			if n = max(0, declared(c)); n >= fewBytes {
				c.Flush() // a GET would be streamed: the function above is called
				return
			}
		}
		if varies(c, n) {
			compressWhole(c, k)
		}
	})
}

// compressWhole compresses content that was collected.
func compressWhole(c *http11.Context, k *coding) {
	content, ok := c.Recall()
	if !ok {
		return
	}
	if !encode(c, k) || content.Len() == 0 {
		content.WriteTo(c)
		return
	}
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	e := k.to(b)
	content.WriteTo(e) // a buffer takes all
	e.Close()
	c.Write(b.Bytes())
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// varies reports whether a response with n bytes of content, -1 if that is not
// known, depends on Accept-Encoding.
func varies(c *http11.Context, n int64) bool {
	switch status := c.Status(); {
	case status == 304: // it says what a 200 would
	case status == 204 || status == 206 || n >= 0 && n < fewBytes:
		return false
	default:
		if kind, _ := c.ResponseHeader("Content-Type"); !compressible(kind) {
			return false
		}
	}
	for _, name := range []string{"Content-Encoding", "Content-Range"} {
		if _, set := c.ResponseHeader(name); set {
			return false
		}
	}
	cache, _ := c.ResponseHeader("Cache-Control")
	return !strings.Contains(cache, "no-transform")
}

// encode sets the fields of a response that varies and is to be sent in coding k,
// nil for identity. It reports whether the content is to be encoded.
func encode(c *http11.Context, k *coding) bool {
	if vary, _ := c.ResponseHeader("Vary"); vary != "*" && !strings.Contains(strings.ToLower(vary), "accept-encoding") {
		c.AddHeader("Vary", "Accept-Encoding")
	}
	if k == nil {
		return false
	}
	// The tag is that of the content before it was encoded, and what an encoder
	// makes of it may differ from time to time. A 304 has the tag that a 200 would
	// have, or, where that would not be encoded, one that matches it.
	if tag, set := c.ResponseHeader("ETag"); set && !strings.HasPrefix(tag, "W/") {
		c.SetHeader("ETag", "W/"+tag)
	}
	if c.Status() == 304 {
		return false
	}
	c.SetHeader("Content-Encoding", k.name)
	c.RemoveHeader("Accept-Ranges") // ranges of the file are none of what is sent
	return true
}

// compressible reports whether content of that type usually gets smaller.
func compressible(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch kind {
	case "application/json", "application/javascript", "application/xml", "application/wasm", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// declared returns the length that a handler has declared, -1 for none.
func declared(c *http11.Context) int64 {
	value, _ := c.ResponseHeader("Content-Length")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// acceptEncoding returns the fields Accept-Encoding as one list.
func acceptEncoding(c *http11.Context) string {
	var list []byte
	for value := range c.HeaderValues("Accept-Encoding") {
		list = append(value.AppendTo(list), ',')
	}
	return string(list)
}
