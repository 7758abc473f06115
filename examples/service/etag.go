package main

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"

	"github.com/isobar-go/isobar/http11"
)

// etag gives whole responses to GET and HEAD that have no entity tag a strong one,
// the hash of their content, and answers If-None-Match with 304 (RFC 9110, section
// 13.1.2). Of a streamed response it knows only a tag that the handler has set.
// What changes the content, such as compress, goes around it.
func etag(next http11.Handler) http11.Handler {
	return http11.HandlerFunc(func(c *http11.Context) {
		head := c.Method().Equal("HEAD")
		if !head && !c.Method().Equal("GET") {
			next.ServeHTTP11(c)
			return
		}
		streamed := false
		c.OnStream(func(io.Writer) io.WriteCloser { // nothing was written before: no error
			streamed = true
			if tag, set := c.ResponseHeader("ETag"); set && c.Status() == 200 && noneMatch(c, tag) {
				notModified(c)
			}
			return nil
		})
		next.ServeHTTP11(c)
		if streamed || c.Status() != 200 {
			return
		}
		if tag, set := c.ResponseHeader("ETag"); set {
			if noneMatch(c, tag) {
				c.Recall()
				notModified(c)
			}
			return
		}
		if cache, _ := c.ResponseHeader("Cache-Control"); c.Written() == 0 || strings.Contains(cache, "no-store") {
			return
		}
		content, ok := c.Recall()
		if !ok {
			return
		}
		sum := sha256.Sum256(content.UnsafeBytes()) // it keeps none of the bytes
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
		c.SetHeader("ETag", tag)
		if noneMatch(c, tag) {
			notModified(c)
			return
		}
		content.WriteTo(c)
	})
}

// notModified answers 304, without what describes content that is not sent.
func notModified(c *http11.Context) {
	c.SetStatus(304)
	c.RemoveHeader("Content-Type")
	c.RemoveHeader("Content-Length")
}

// noneMatch reports whether If-None-Match has that tag, by weak comparison.
func noneMatch(c *http11.Context, tag string) bool {
	for list := range c.HeaderValues("If-None-Match") {
		if listed(list.String(), tag) {
			return true
		}
	}
	return false
}

// listed looks for a tag in a list of them, whether it is weak here or there. What
// follows something malformed does not count.
func listed(list, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	if strings.Trim(list, " \t") == "*" {
		return true
	}
	for {
		list = strings.TrimLeft(list, ", \t")
		list = strings.TrimPrefix(list, "W/")
		if !strings.HasPrefix(list, `"`) {
			return false
		}
		end := strings.IndexByte(list[1:], '"')
		if end < 0 {
			return false
		}
		if list[:end+2] == tag {
			return true
		}
		list = list[end+2:]
	}
}
