package http11

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// Status returns the response status, 200 if none was set.
func (c *Context) Status() int {
	x := c.must(c.enter(), "Status")
	defer x.exit()
	return x.status
}

// SetStatus sets the status. It returns ErrHeadWritten once content was
// written. It panics unless code is a final status, 200 to 999.
func (c *Context) SetStatus(code int) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SetStatus")
	}
	defer x.exit()
	return x.setStatus(code)
}

// SetHeader sets a response field and replaces fields of that name. It returns
// ErrHeadWritten once content was written. It panics if the name is not a
// token, if the value contains a control character, and for Transfer-Encoding,
// which the server decides. Content-Length declares how many bytes will be
// written; Connection: close closes the connection after the response.
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

// do calls f with the response, in methods that few requests need; those of every
// request do it by themselves.
func (c *Context) do(op string, f func(*exchange) error) error {
	x := c.respond()
	if x == nil {
		return c.r.late(op)
	}
	defer x.exit()
	return f(x)
}

// misused panics for a field that is not allowed, if the head could still be
// changed.
func (c *Context) misused(op, wrong string) error {
	return c.do(op, func(x *exchange) error {
		if x.state > stateHead {
			return ErrHeadWritten
		}
		panic("http11: " + op + ": " + wrong)
	})
}

// RemoveHeader removes the fields of that name; for Content-Length it also
// withdraws the declared length. It returns ErrHeadWritten once content was
// written.
func (c *Context) RemoveHeader(name string) error {
	return c.do("RemoveHeader", func(x *exchange) error { return x.withdrawHeader(name) })
}

// ResponseHeader returns the value of the first field of that name as it was
// set, and whether it exists. Once the head was sent it finds none. It is meant
// for middleware.
func (c *Context) ResponseHeader(name string) (value string, ok bool) {
	x := c.must(c.respond(), "ResponseHeader")
	defer x.exit()
	return x.header(name)
}

// SetContentLength declares how many bytes of content will be written. It
// returns ErrHeadWritten once content was written.
func (c *Context) SetContentLength(n int64) error {
	x := c.respond()
	if x == nil {
		return c.r.late("SetContentLength")
	}
	defer x.exit()
	return x.setContentLength(n)
}

// SetTrailer adds a trailer field. It is sent only with a chunked response: to
// an HTTP/1.1 client, after Flush or beyond 64 KB, without Content-Length. It
// panics as SetHeader does, and for fields that would change the framing of the
// response.
func (c *Context) SetTrailer(name, value string) error {
	return c.do("SetTrailer", func(x *exchange) error { return x.setTrailer(name, value) })
}

// Inform immediately sends an informational response, such as 103 (Early
// Hints), with fields given as a list of names and values. It sends nothing to
// an HTTP/1.0 client. It panics if status is not 1xx, and for 101: use Hijack
// instead. After 100 (Continue), reading the body sends no other.
func (c *Context) Inform(status int, fields ...string) error {
	return c.do("Inform", func(x *exchange) error { return x.inform(status, fields) })
}

// Reset discards the unsent part of the response and reports whether nothing
// was sent.
func (c *Context) Reset() bool {
	x := c.must(c.respond(), "Reset")
	defer x.exit()
	return x.reset()
}

// Write adds content. The server sends the response when the handler returns,
// or streams it; in a stream an error means that the client is gone. A response
// to HEAD is built the same way and sent without its content.
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

// writeGuarded is writeContent for cases that may call foreign functions or
// read unmapped memory: it ends the turn even on a panic.
func writeGuarded[T string | []byte](x *exchange, p T) (int, error) {
	defer x.exit()
	return writeContent(x, p)
}

// Written returns how many bytes of content the handler has written so far. It
// is meant for middleware.
func (c *Context) Written() int64 {
	x := c.must(c.respond(), "Written")
	defer x.exit()
	return x.written
}

// Flush sends pending content. The response is streamed from now on.
func (c *Context) Flush() error {
	x := c.respond()
	if x == nil {
		return c.r.late("Flush")
	}
	defer x.exit()
	return x.flush()
}

// Error replaces pending content with a status and a text. It returns an error
// if part of the response was already sent.
func (c *Context) Error(status int, text string) error {
	return c.do("Error", func(x *exchange) error { return x.error(status, text) })
}

// SendFile answers with the named file, or with 404 if it does not exist or is
// not regular. See SendOpen.
func (c *Context) SendFile(name string) error {
	f, err := os.OpenFile(name, openFlags, 0)
	if err != nil {
		if info, statErr := os.Stat(name); statErr == nil && !info.Mode().IsRegular() { // such as a socket
			err = fs.ErrNotExist
		}
	}
	return c.sendOpened(f, err)
}

func (c *Context) sendOpened(f *os.File, err error) error {
	if f != nil {
		defer f.Close()
	}
	return c.do("SendFile", func(x *exchange) error { return x.sendOpened(f, err) })
}

// sendStat is SendOpen with the file's info already at hand.
func (c *Context) sendStat(f *os.File, info fs.FileInfo) error {
	return c.do("SendOpen", func(x *exchange) error { return x.sendStat(f, info) })
}

// SendOpen answers with the content of an open file, from its beginning. The
// type follows the name's extension unless Content-Type is set; the entity tag
// combines size and modification time. Conditional requests get 304 or 412,
// ranges 206 or 416 (RFC 9110, sections 13 and 14). A request for several
// ranges gets the whole file, as section 14.2 allows. Methods other than GET
// and HEAD get 405. Over TCP the kernel copies the file.
func (c *Context) SendOpen(f *os.File) error {
	return c.do("SendOpen", func(x *exchange) error { return x.sendOpen(f) })
}

// Recall takes back the content written so far and any declared length, and
// reports whether it could: it cannot once part of the response was sent. Then
// the caller can change status and fields and write the same or other content.
// It is meant for middleware that compresses or computes an entity tag. content
// is valid until the handler returns. For HEAD, content beyond 64 KB is not
// kept, and such a response cannot be recalled.
func (c *Context) Recall() (content View, ok bool) {
	x := c.must(c.respond(), "Recall")
	defer x.exit()
	return x.recall()
}

// OnStream registers f, to be called when the response is about to be streamed,
// before its head is sent. f may read and set status and fields. It returns the
// writer for all content, starting with what was collected, or nil to change
// nothing. The returned writer sends by writing to w, only during calls of its
// methods; the bytes are dropped if the response has no content: to HEAD, 204,
// 304. The server closes the writer when the handler has returned;
// Context.Flush calls its method Flush() error, if any. The writer must not use
// the Context.
//
// If several handlers wrap each other, the last to call OnStream is the
// innermost: its f is called first, and its writer writes to that of the
// previous caller. OnStream returns an error if the response is already
// streamed.
func (c *Context) OnStream(f func(w io.Writer) io.WriteCloser) error {
	return c.do("OnStream", func(x *exchange) error {
		if x.state >= stateStreamed || x.calling {
			return errors.New("http11: OnStream: the response is streamed already; call it before the first Write")
		}
		x.onStream = append(x.onStream, f)
		return nil
	})
}
