package http11

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// copiedBytes is the largest file size sent together with its head.
	copiedBytes = 16 << 10
	// filePiece is how much of a file is sent under one write time-out.
	filePiece = 1 << 20
)

func (c *exchange) sendOpened(f *os.File, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.error(404, "not found")
	case errors.Is(err, fs.ErrPermission):
		return c.error(403, "forbidden")
	case err != nil:
		return fmt.Errorf("http11: SendFile: %w; answer with Error", err)
	}
	return c.sendOpen(f)
}

func (c *exchange) sendOpen(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("http11: SendFile: %w; answer with Error", err)
	}
	return c.sendStat(f, info)
}

// reads reports whether the method is GET or HEAD.
func (c *exchange) reads() bool { return c.head || c.request().Method().Equal("GET") }

// sendStat is SendOpen with the file's info already at hand.
func (c *exchange) sendStat(f *os.File, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return c.error(404, "not found")
	}
	if !c.reads() {
		return c.error(405, "the method is not allowed", "Allow", "GET, HEAD")
	}
	if c.state > stateHead {
		return ErrHeadWritten
	}
	size, changed := info.Size(), info.ModTime()
	tag := `"` + strconv.FormatInt(changed.UnixNano(), 36) + "-" + strconv.FormatInt(size, 36) + `"`
	c.set("ETag", tag)
	c.set("Last-Modified", changed.UTC().Format(dateFormat))
	c.set("Accept-Ranges", "bytes")
	if status := c.precondition(tag, changed); status != 0 {
		c.setStatus(status)
		return nil
	}
	if _, set := c.header("Content-Type"); !set {
		kind := mime.TypeByExtension(path.Ext(info.Name()))
		if kind == "" {
			kind = "application/octet-stream"
		}
		c.set("Content-Type", kind)
	}
	from, n := int64(0), size
	if !c.head && c.rangeApplies(tag, changed) {
		var ok, satisfiable bool
		from, n, ok, satisfiable = parseRange(c.request().Header("Range").String(), size)
		switch {
		case !ok:
			from, n = 0, size
		case !satisfiable:
			c.setStatus(416)
			c.set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			return nil
		default:
			c.setStatus(206)
			c.set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size))
		}
	}
	c.setContentLength(n)
	if c.head {
		return nil
	}
	return c.sendPart(f, from, n)
}

// precondition evaluates the request's conditions in the order of RFC 9110,
// section 13.2.2, and returns the status to answer with, or 0.
func (c *exchange) precondition(tag string, changed time.Time) int {
	changed = changed.Truncate(time.Second)
	if match := c.request().Header("If-Match"); match.Len() > 0 {
		if !hasTag(c.joined("If-Match"), tag, true) {
			return 412
		}
	} else if t, ok := parseDate(c.request().Header("If-Unmodified-Since")); ok && changed.After(t) {
		return 412
	}
	if none := c.request().Header("If-None-Match"); none.Len() > 0 {
		if hasTag(c.joined("If-None-Match"), tag, false) {
			return 304
		}
	} else if t, ok := parseDate(c.request().Header("If-Modified-Since")); ok && !changed.After(t) {
		return 304
	}
	return 0
}

// joined returns the values of all fields of that name as one list.
func (c *exchange) joined(name string) string {
	var values []string
	for v := range c.request().HeaderValues(name) {
		values = append(values, v.String())
	}
	return strings.Join(values, ",")
}

// hasTag looks for a strong entity tag in a list. Weak tags in the list match
// too, unless strong is set.
func hasTag(list, tag string, strong bool) bool {
	for list = strings.Trim(list, ", \t"); list != ""; {
		if list == "*" {
			return true
		}
		weak := strings.HasPrefix(list, "W/")
		entry := strings.TrimPrefix(list, "W/")
		if !strings.HasPrefix(entry, `"`) {
			return false
		}
		end := strings.IndexByte(entry[1:], '"')
		if end < 0 {
			return false
		}
		if entry[:end+2] == tag && !(weak && strong) {
			return true
		}
		list = strings.TrimLeft(entry[end+2:], ", \t")
	}
	return false
}

// parseDate parses an HTTP date in any of its three forms.
func parseDate(v View) (time.Time, bool) {
	if v.Len() == 0 {
		return time.Time{}, false
	}
	t, err := http.ParseTime(v.String())
	return t, err == nil
}

// rangeApplies reports whether there is a Range to evaluate (RFC 9110, section
// 13.1.5).
func (c *exchange) rangeApplies(tag string, changed time.Time) bool {
	if c.request().Header("Range").Len() == 0 {
		return false
	}
	condition := c.request().Header("If-Range")
	if condition.Len() == 0 || condition.Equal(tag) {
		return true
	}
	t, ok := parseDate(condition)
	return ok && changed.Truncate(time.Second).Equal(t)
}

// parseRange parses a Range with one part; elements of the list may be empty. ok
// is false for anything else, and for an empty file: both must be ignored.
func parseRange(value string, size int64) (from, n int64, ok, satisfiable bool) {
	unit, spec, found := strings.Cut(value, "=")
	first, last, dash := strings.Cut(strings.Trim(spec, ", \t"), "-")
	if !found || !dash || !equalFold(unit, "bytes") || size == 0 {
		return 0, 0, false, false
	}
	number := func(s string) (int64, bool) {
		if s == "" || strings.Trim(s, "0123456789") != "" {
			return 0, false
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			n = 1<<63 - 1 // beyond the end of any file
		}
		return n, true
	}
	if first == "" {
		suffix, ok := number(last)
		if !ok {
			return 0, 0, false, false
		}
		suffix = min(suffix, size)
		return size - suffix, suffix, true, suffix > 0
	}
	from, ok = number(first)
	end := size - 1
	if last != "" {
		given, valid := number(last)
		ok = ok && valid && given >= from
		end = min(end, given)
	}
	if !ok {
		return 0, 0, false, false
	}
	return from, end - from + 1, true, from < size
}

// sendPart sends n bytes of f as the declared content.
func (c *exchange) sendPart(f *os.File, from, n int64) error {
	if n <= copiedBytes {
		part := c.take(int(n))
		if _, err := f.ReadAt(part, from); err != nil {
			return fmt.Errorf("http11: SendFile: %w; the file has changed, and the connection is closed", err)
		}
		_, err := writeContent(c, part)
		return err
	}
	if err := c.stream(); err != nil {
		return err
	}
	if c.filter != nil { // it must see the content
		_, err := io.CopyBuffer(contentOf{c}, struct{ io.Reader }{io.NewSectionReader(f, from, n)}, c.take(copiedBytes))
		return err
	}
	if err := c.send(); err != nil {
		return err
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return fmt.Errorf("http11: SendFile: %w; the connection is closed", err)
	}
	var to io.ReaderFrom
	if c.conn != nil {
		to, _ = c.conn.nc.(io.ReaderFrom)
	}
	if to == nil {
		buf := c.take(copiedBytes)
		_, err := io.CopyBuffer(contentOf{c}, struct{ io.Reader }{io.LimitReader(f, n)}, buf)
		return err
	}
	return c.conn.sendFile(to, f, n)
}

// An openFile is an os.File, or what io.Copy makes of one.
type openFile interface {
	io.ReadSeeker
	syscall.Conn
	Stat() (fs.FileInfo, error)
}

// sendRest lets the kernel copy up to n bytes of f, from its offset, as a part of the
// declared content. It sends none if it cannot, or if the content would only be
// collected: middlewares may want to see it.
func (c *exchange) sendRest(f openFile, n int64) (int64, error) {
	if c.conn == nil || c.head || c.untyped || c.declared < 0 || c.filter != nil || len(c.onStream) > 0 ||
		!c.mayHaveContent() {
		return 0, nil
	}
	to, ok := c.conn.nc.(io.ReaderFrom)
	info, err := f.Stat()
	if !ok || err != nil || !info.Mode().IsRegular() {
		return 0, nil
	}
	at, err := f.Seek(0, io.SeekCurrent)
	n = min(n, info.Size()-at, c.declared-c.written)
	if err != nil || n <= copiedBytes || c.written+n <= collectBytes {
		return 0, nil
	}
	if err := c.mayWrite(0); err != nil {
		return 0, err
	}
	if err := c.stream(); err != nil {
		return 0, err
	}
	if err := c.send(); err != nil {
		return 0, err
	}
	before := c.written
	err = c.conn.sendFile(to, f, n)
	return c.written - before, err
}

// contentOf writes content for the holder of the turn.
type contentOf struct{ c *exchange }

func (w contentOf) Write(p []byte) (int, error) { return writeContent(w.c, p) }

// sendFile lets the kernel copy n bytes of f.
func (c *conn) sendFile(to io.ReaderFrom, f io.Reader, n int64) error {
	x := &c.cx
	for n > 0 {
		if t := c.srv.timeouts[phaseWrite]; t > 0 || x.writeBy.set {
			c.armWrite(t)
			c.queued = c.unsent()
		}
		away := x.pause(&x.writing)
		sent, err := to.ReadFrom(&io.LimitedReader{R: f, N: min(n, filePiece)})
		if away {
			x.resume()
			x.settled(&x.writing)
		}
		c.sent += sent
		if away && !x.served {
			c.broken = true
			return ErrEnded
		}
		x.written += sent
		n -= sent
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !x.writeBy.set && (sent > 0 || c.progressed()):
			c.stalled = 0
			continue
		case err == nil && sent == 0:
			err = io.ErrUnexpectedEOF
		}
		if err = c.wrote(err); err != nil {
			return err
		}
	}
	return nil
}
