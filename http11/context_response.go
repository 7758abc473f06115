package http11

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// Status returns the status of the response, 200 if none was set.
func (c *Context) Status() int {
	x := c.must(c.enter(), "Status")
	defer x.exit()
	return x.status
}

// SetStatus sets the status. The error is ErrHeadWritten once content was
// written. It panics unless code is a final status, 200 to 999.
func (c *Context) SetStatus(code int) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SetStatus")
	}
	defer x.exit()
	return x.setStatus(code)
}

// SetHeader sets a field of the response, in place of those of that name. The
// error is ErrHeadWritten once content was written. It panics when the name is
// not a token, when the value has a control character, and for
// Transfer-Encoding, which the server decides. Content-Length declares how much
// will be written; Connection: close ends the connection after the response.
func (c *Context) SetHeader(name, value string) error {
	id, wrong := checkField(name, value)
	if wrong != "" {
		return c.misused("SetHeader", wrong)
	}
	x := c.respond()
	if x == nil {
		return c.r.late("SetHeader")
	}
	if invariant.Enabled {
		defer x.exit()
	}
	err := x.setHeader(id, name, value)
	x.done()
	return err
}

// AddHeader is SetHeader without replacing fields of that name.
func (c *Context) AddHeader(name, value string) error {
	id, wrong := checkField(name, value)
	if wrong != "" {
		return c.misused("AddHeader", wrong)
	}
	x := c.respond()
	if x == nil {
		return c.r.late("AddHeader")
	}
	if invariant.Enabled {
		defer x.exit()
	}
	err := x.addHeader(id, name, value)
	x.done()
	return err
}

// misused panics for a field that must not be set, if one could be.
func (c *Context) misused(op, wrong string) error {
	x := c.respond()
	if x == nil {
		return c.r.late(op)
	}
	defer x.exit()
	if x.state > stateHead {
		return ErrHeadWritten
	}
	panic("http11: " + op + ": " + wrong)
}

// RemoveHeader removes the fields of that name, and for Content-Length takes back
// what was declared. The error is ErrHeadWritten once content was written.
func (c *Context) RemoveHeader(name string) error {
	x := c.respond()
	if x == nil {
		return c.r.late("RemoveHeader")
	}
	defer x.exit()
	return x.withdrawHeader(name)
}

// ResponseHeader returns the value of the first field of that name as it was
// set, and whether there is one; none once the head was sent. It is for what
// wraps handlers.
func (c *Context) ResponseHeader(name string) (value string, ok bool) {
	x := c.must(c.respond(), "ResponseHeader")
	defer x.exit()
	return x.header(name)
}

// SetContentLength declares how many bytes of content will be written. The error
// is ErrHeadWritten once content was written.
func (c *Context) SetContentLength(n int64) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SetContentLength")
	}
	defer x.exit()
	return x.setContentLength(n)
}

// SetTrailer adds a field after the content. It is sent if the response is
// sent in chunks: to an HTTP/1.1 client, by Flush or beyond 64 KB, without
// Content-Length. It panics as SetHeader does, and for fields that would change
// how the response is framed.
func (c *Context) SetTrailer(name, value string) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SetTrailer")
	}
	defer x.exit()
	x.setTrailer(name, value)
	return nil
}

// Inform sends an informational response at once, 103 (Early Hints) say, with the
// fields of a list of names and values. It sends nothing to a client of HTTP/1.0.
// It panics for another status than 1xx, and for 101, which Hijack is for.
func (c *Context) Inform(status int, fields ...string) error {
	x := c.respond()
	if x == nil {
		return c.r.late("Inform")
	}
	defer x.exit()
	return x.inform(status, fields)
}

// Reset discards the response as far as it was not sent, and reports whether
// nothing was.
func (c *Context) Reset() bool {
	x := c.must(c.respond(), "Reset")
	defer x.exit()
	return x.reset()
}

// Write adds content. The response is sent when the handler has returned, or
// is streamed; then an error says that the client is gone. A response to HEAD
// is made in the same way, and sent without its content.
func (c *Context) Write(p []byte) (int, error) {
	x := c.respond()
	if x == nil {
		return 0, c.r.late("Write")
	}
	if invariant.Enabled || !x.collects(len(p)) {
		return writeGuarded(x, p)
	}
	n, err := writeContent(x, p)
	x.exit()
	return n, err
}

// WriteString is Write for a string.
func (c *Context) WriteString(s string) (int, error) {
	x := c.respond()
	if x == nil {
		return 0, c.r.late("WriteString")
	}
	if invariant.Enabled || !x.collects(len(s)) {
		return writeGuarded(x, s)
	}
	n, err := writeContent(x, s)
	x.exit()
	return n, err
}

// writeGuarded is writeContent where that may call functions of others, or read
// memory that is not there: it ends the turn even if it panics.
func writeGuarded[T string | []byte](x *exchange, p T) (int, error) {
	defer x.exit()
	return writeContent(x, p)
}

// Written returns how many bytes of content the handler has written so far. It is
// for what wraps handlers.
func (c *Context) Written() int64 {
	x := c.must(c.respond(), "Written")
	defer x.exit()
	return x.written
}

// Flush sends what was written. From now on the response is streamed.
func (c *Context) Flush() error {
	x := c.respond()
	if x == nil {
		return c.r.late("Flush")
	}
	defer x.exit()
	return x.flush()
}

// Error answers with a status and a text, in place of what was written. It
// returns an error if a part of the response was sent already.
func (c *Context) Error(status int, text string) error {
	x := c.respond()
	if x == nil {
		return c.r.late("Error")
	}
	defer x.exit()
	return x.error(status, text)
}

// SendFile answers with the file of that name; with 404 if there is none or it
// is not a regular one. See SendOpen.
func (c *Context) SendFile(name string) error {
	f, err := os.OpenFile(name, openFlags, 0)
	if err != nil {
		if info, statErr := os.Stat(name); statErr == nil && !info.Mode().IsRegular() { // a socket, say
			err = fs.ErrNotExist
		}
	}
	return c.sendOpened(f, err)
}

func (c *Context) sendOpened(f *os.File, err error) error {
	if f != nil {
		defer f.Close()
	}
	x := c.respond()
	if x == nil {
		return c.r.late("SendFile")
	}
	defer x.exit()
	return x.sendOpened(f, err)
}

// sendStat is SendOpen for a file whose information is at hand.
func (c *Context) sendStat(f *os.File, info fs.FileInfo) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SendOpen")
	}
	defer x.exit()
	return x.sendStat(f, info)
}

// SendOpen answers with the content of an open file, from its beginning. The
// type is that of the name's extension unless Content-Type is set; the entity
// tag is made of size and modification time. Conditional requests are answered
// by 304 or 412, and a range by 206 or 416 (RFC 9110, sections 13 and 14). A
// request for several ranges gets the whole file, which section 14.2 allows.
// Only GET and HEAD are answered so, others by 405. Over TCP the kernel copies
// the file.
func (c *Context) SendOpen(f *os.File) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SendOpen")
	}
	defer x.exit()
	return x.sendOpen(f)
}

// Recall takes back the content that was written, and with it the length that was
// declared, if nothing of the response was sent, and reports whether it did:
// status and fields can be set again, and the content, or another, written. It is
// for what wraps handlers: to compress, or to compute an entity tag. content is
// valid until the handler returns. Of a response to HEAD, content beyond 64 KB is
// not kept; such a response cannot be recalled.
func (c *Context) Recall() (content View, ok bool) {
	x := c.must(c.respond(), "Recall")
	defer x.exit()
	return x.recall()
}

// OnStream has f called when the response is about to be streamed, before its
// head is sent. f may look at and set status and fields, and returns what the
// content is written to from then on, that which was collected first; nil for no
// change. What that writes to w, during calls of its methods only, is sent; it is
// dropped where the response has no content: to HEAD, 204, 304. When the handler
// has returned, the writer is closed; a method Flush() error is called by
// Context.Flush. The writer must not use the Context.
//
// Where several handlers wrap each other, the one that called OnStream last is the
// innermost: its f is called first, and its writer writes to that of the one
// before. OnStream returns an error when the response is streamed already.
func (c *Context) OnStream(f func(w io.Writer) io.WriteCloser) error {
	x := c.respond()
	if x == nil {
		return c.r.late("OnStream")
	}
	defer x.exit()
	if x.state >= stateStreamed || x.calling {
		return errors.New("http11: OnStream: the response is streamed already; call it before the first Write")
	}
	x.onStream = append(x.onStream, f)
	return nil
}
