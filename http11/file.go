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
	"time"
)

const (
	// copiedBytes is the size up to which a file is sent in one piece with its
	// head.
	copiedBytes = 16 << 10
	// filePiece is how much of a file is sent under one write time-out.
	filePiece = 1 << 20
)

// SendFile answers with the file of that name; with 404 if there is none or it
// is not a regular one. See SendOpen.
func (c *Context) SendFile(name string) error {
	f, err := os.Open(name)
	return c.sendOpened(f, err)
}

func (c *Context) sendOpened(f *os.File, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.Error(404, "not found")
	case errors.Is(err, fs.ErrPermission):
		return c.Error(403, "forbidden")
	case err != nil:
		return fmt.Errorf("http11: SendFile: %w; answer with Error", err)
	}
	defer f.Close()
	return c.SendOpen(f)
}

// SendOpen answers with the content of an open file, from its beginning. The
// type is that of the name's extension unless Content-Type is set; the entity
// tag is made of size and modification time. Conditional requests are answered
// by 304 or 412, and a range by 206 or 416 (RFC 9110, sections 13 and 14). A
// request for several ranges gets the whole file, which section 14.2 allows.
// Only GET and HEAD are answered so, others by 405. Over TCP the kernel copies
// the file.
func (c *Context) SendOpen(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("http11: SendFile: %w; answer with Error", err)
	}
	return c.sendStat(f, info)
}

// reads reports whether the method is GET or HEAD.
func (c *Context) reads() bool { return c.head || c.Method().Equal("GET") }

// sendStat is SendOpen for a file whose information is at hand.
func (c *Context) sendStat(f *os.File, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return c.Error(404, "not found")
	}
	if !c.reads() {
		return c.Error(405, "the method is not allowed")
	}
	c.early("SendFile")
	size, changed := info.Size(), info.ModTime()
	tag := `"` + strconv.FormatInt(changed.UnixNano(), 36) + "-" + strconv.FormatInt(size, 36) + `"`
	c.SetHeader("ETag", tag)
	c.SetHeader("Last-Modified", changed.UTC().Format(dateFormat))
	c.SetHeader("Accept-Ranges", "bytes")
	if status := c.precondition(tag, changed); status != 0 {
		c.SetStatus(status)
		return nil
	}
	if !c.hasHeader("Content-Type") {
		kind := mime.TypeByExtension(path.Ext(info.Name()))
		if kind == "" {
			kind = "application/octet-stream"
		}
		c.SetHeader("Content-Type", kind)
	}
	from, n := int64(0), size
	if !c.head && c.rangeApplies(tag, changed) {
		var ok, satisfiable bool
		from, n, ok, satisfiable = parseRange(c.Request.Header("Range").String(), size)
		switch {
		case !ok:
			from, n = 0, size
		case !satisfiable:
			c.SetStatus(416)
			c.SetHeader("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			return nil
		default:
			c.SetStatus(206)
			c.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size))
		}
	}
	c.SetContentLength(n)
	if c.head {
		return nil
	}
	return c.sendPart(f, from, n)
}

// hasHeader reports whether a field of the response was set.
func (c *Context) hasHeader(name string) bool {
	if c.state != stateHead {
		return false
	}
	for line := range strings.Lines(string(c.out[c.mark+c.statusEnd:])) {
		if field, _, _ := strings.Cut(line, ":"); sameName(field, name) {
			return true
		}
	}
	return false
}

// precondition evaluates the conditions of the request in the order of RFC
// 9110, section 13.2.2, and returns the status to answer with, or 0.
func (c *Context) precondition(tag string, changed time.Time) int {
	changed = changed.Truncate(time.Second)
	if match := c.Request.Header("If-Match"); match.Len() > 0 {
		if !hasTag(c.joined("If-Match"), tag, true) {
			return 412
		}
	} else if t, ok := parseDate(c.Request.Header("If-Unmodified-Since")); ok && changed.After(t) {
		return 412
	}
	if none := c.Request.Header("If-None-Match"); none.Len() > 0 {
		if hasTag(c.joined("If-None-Match"), tag, false) {
			return 304
		}
	} else if t, ok := parseDate(c.Request.Header("If-Modified-Since")); ok && !changed.After(t) {
		return 304
	}
	return 0
}

// joined returns the values of all fields of that name as one list.
func (c *Context) joined(name string) string {
	var values []string
	for v := range c.HeaderValues(name) {
		values = append(values, v.String())
	}
	return strings.Join(values, ",")
}

// hasTag looks for a strong entity tag in a list; a weak one in the list counts
// unless strong.
func hasTag(list, tag string, strong bool) bool {
	for list = strings.TrimSpace(list); list != ""; {
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

// rangeApplies reports whether there is a Range to be looked at (RFC 9110,
// section 13.1.5).
func (c *Context) rangeApplies(tag string, changed time.Time) bool {
	if c.Request.Header("Range").Len() == 0 {
		return false
	}
	condition := c.Request.Header("If-Range")
	if condition.Len() == 0 || condition.Equal(tag) {
		return true
	}
	t, ok := parseDate(condition)
	return ok && changed.Truncate(time.Second).Equal(t)
}

// parseRange parses a Range of one part. ok is false for everything else, which
// is to be ignored.
func parseRange(value string, size int64) (from, n int64, ok, satisfiable bool) {
	unit, spec, found := strings.Cut(value, "=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !found || !dash || !equalFold(unit, "bytes") {
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
func (c *Context) sendPart(f *os.File, from, n int64) error {
	if n <= copiedBytes {
		part := c.take(int(n))
		if _, err := f.ReadAt(part, from); err != nil {
			return fmt.Errorf("http11: SendFile: %w; the file has changed, and the connection is closed", err)
		}
		_, err := c.Write(part)
		return err
	}
	c.stream()
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
		_, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{io.LimitReader(f, n)}, buf)
		return err
	}
	return c.conn.sendFile(to, f, n)
}

// sendFile has the kernel copy n bytes of f.
func (c *conn) sendFile(to io.ReaderFrom, f *os.File, n int64) error {
	for n > 0 {
		if t := c.srv.timeouts[phaseWrite]; t > 0 {
			c.armWrite(t)
		}
		sent, err := to.ReadFrom(&io.LimitedReader{R: f, N: min(n, filePiece)})
		c.cx.written += sent
		n -= sent
		if err == nil && sent == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err = c.wrote(err); err != nil {
			return err
		}
	}
	return nil
}
