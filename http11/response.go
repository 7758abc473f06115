package http11

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A respState is the progress of a response.
type respState uint8

const (
	stateNone     respState = iota // out is still empty
	stateHead                      // status line and fields, still changeable
	stateBody                      // the head is complete, nothing is sent
	stateStreamed                  // the head was sent, or is about to be
	stateDone
)

// collectBytes is how much content is collected before the response is
// streamed.
const collectBytes = 64 << 10

// A response is the response part of an exchange. out holds responses to
// earlier requests up to mark, then this one.
type response struct {
	out []byte // memory of the region
	progress
	filter   *filter                          // nil unless content goes through one
	onStream []func(io.Writer) io.WriteCloser // see Context.OnStream
	trailer  []byte
}

// A progress is how far a response has come. Positions are relative to mark.
type progress struct {
	mark      int
	statusEnd int // end of the status line
	framing   int // start of the fields that the server adds last
	digits    int // start of the Content-Length value
	content   int // start of the content
	chunk     int // start of the open chunk, if chunkBytes > 0

	chunkBytes int // data of the open chunk, whose end is not in out yet

	state     respState
	touched   bool // the handler has set a status
	head      bool // the request is HEAD: content is not sent
	connect   bool // the request is CONNECT
	chunked   bool
	lines     bool // a field was added
	untyped   bool // guess the Content-Type once there is enough content
	excess    bool // a write beyond the declared length was refused: what follows it would be misplaced
	unsized   bool // to HEAD, by a handler of net/http: it may have left the content out
	keeps     bool // the handler has set Connection: keep-alive
	status    int
	declared  int64 // Content-Length as the handler set it, or -1
	written   int64 // bytes of content
	announced int64 // Content-Length as written in out
}

func (c *exchange) beginResponse() {
	clear(c.onStream)
	c.trailer, c.onStream, c.filter = c.trailer[:0], c.onStream[:0], nil
	c.progress = progress{} // in place: a literal with values would be built elsewhere and copied
	c.mark, c.status, c.declared = len(c.out), 200, -1
	switch m := c.r.head.method; m.len {
	case 4:
		c.head = string(m.of(c.r.base[baseHead])) == "HEAD"
	case 7:
		c.connect = string(m.of(c.r.base[baseHead])) == "CONNECT"
	}
}

// tunnels reports whether everything after the response head belongs to a
// tunnel or another protocol and so is not content (RFC 9110, sections 9.3.6 and
// 7.8).
func (c *exchange) tunnels() bool { return c.connect && c.status/100 == 2 || c.status == 101 }

// mayHaveContent reports whether a response with this status to this request
// may have content, and so fields that frame it.
func (c *exchange) mayHaveContent() bool { return hasBody(c.status) && !c.tunnels() }

// reserve makes room for n more bytes.
func (c *exchange) reserve(n int) {
	if cap(c.out)-len(c.out) < n {
		c.out = c.r.room(c.out, n)
	}
}

func (c *exchange) setStatus(code int) error {
	if code < 200 || code > 999 {
		panic(fmt.Sprintf("http11: SetStatus: %d is not a final status; use 200 to 999, or Inform for 1xx", code))
	}
	return c.replaceStatus(code)
}

func (c *exchange) replaceStatus(code int) error {
	if c.state > stateHead {
		return ErrHeadWritten
	}
	c.touched = true
	if c.state == stateHead {
		var line [128]byte
		line2 := appendStatusLine(line[:0], code)
		c.splice(0, c.statusEnd, line2)
		c.statusEnd = len(line2)
	}
	c.status = code
	return nil
}

func (c *exchange) reset() bool {
	if c.state >= stateStreamed {
		return false
	}
	f := c.onStream
	c.onStream = nil
	c.out = c.out[:c.mark]
	c.beginResponse()
	c.onStream = f
	return true
}

// beginHead appends the status line and the fields common to all responses.
func (c *exchange) beginHead() {
	c.reserve(256 + len(c.srv.Name))
	c.state = stateHead
	if c.status != 200 || c.conn == nil {
		c.beginOther()
		return
	}
	c.out = append(c.out, *c.srv.clock.begin.Load()...)
	c.statusEnd = len(okLine)
}

// beginOther is beginHead for another status than 200, or for net/http, which
// adds a date.
func (c *exchange) beginOther() {
	c.out = appendStatusLine(c.out, c.status)
	c.statusEnd = len(c.out) - c.mark
	if c.conn == nil {
		c.out = c.srv.appendName(c.out)
	} else {
		c.out = append(c.out, (*c.srv.clock.begin.Load())[len(okLine):]...)
	}
}

// appendName appends the field Server, if there is one.
func (s *Server) appendName(dst []byte) []byte {
	if s.Name == "" {
		return dst
	}
	return appendField(dst, "Server", s.Name)
}

// setHeader sets a field that checkField accepted; id is the number it
// returned.
func (c *exchange) setHeader(id uint8, name, value string) error {
	if c.state > stateHead {
		return ErrHeadWritten
	}
	if !c.special(id, value) {
		c.removeHeader(name)
		c.addLine(name, value)
	}
	return nil
}

// addHeader is setHeader without replacing.
func (c *exchange) addHeader(id uint8, name, value string) error {
	if c.state > stateHead {
		return ErrHeadWritten
	}
	if !c.special(id, value) {
		c.addLine(name, value)
	}
	return nil
}

// set is setHeader for fields set by the server.
func (c *exchange) set(name, value string) error {
	id, wrong := checkField(name, value)
	if wrong != "" {
		return errors.New("http11: " + wrong)
	}
	return c.setHeader(id, name, value)
}

func (c *exchange) setContentLength(n int64) error {
	if n < 0 {
		panic("http11: SetContentLength: negative; declare what will be written")
	}
	if c.state > stateHead {
		return ErrHeadWritten
	}
	c.declared = n
	return nil
}

func (c *exchange) setTrailer(name, value string) error {
	if !trailing(knownID(name)) {
		panic("http11: SetTrailer: " + name + " must not be a trailer field; use SetHeader")
	}
	if _, wrong := checkField(name, value); wrong != "" {
		panic("http11: SetTrailer: " + wrong)
	}
	c.trailer = appendField(c.trailer, name, value)
	return nil
}

// header returns the value of a field that was set.
func (c *exchange) header(name string) (string, bool) {
	if c.state == stateNone {
		return "", false
	}
	if c.declared >= 0 && knownID(name) == idContentLength {
		return strconv.FormatInt(c.declared, 10), true
	}
	end := len(c.out) - c.mark
	if c.state > stateHead {
		end = c.framing
	}
	if c.state >= stateStreamed || end < c.statusEnd { // the head was sent
		return "", false
	}
	for line := range bytes.Lines(c.out[c.mark+c.statusEnd : c.mark+end]) {
		if len(line) > len(name)+3 && line[len(name)] == ':' && sameName(line[:len(name)], name) {
			return string(line[len(name)+2 : len(line)-2]), true
		}
	}
	return "", false
}

// recall takes the content back; see Context.Recall.
func (c *exchange) recall() (View, bool) {
	if c.state >= stateStreamed {
		return View{}, false
	}
	if c.state != stateBody {
		return View{}, true
	}
	collected := c.out[c.mark+c.content:]
	n := len(collected)
	if int64(n) < c.written { // HEAD
		return View{}, false
	}
	c.out = c.out[:c.mark+c.framing]
	kept := c.take(n)
	copy(kept, collected) // the two may overlap
	c.r.refer(baseContent, kept)
	c.state, c.written, c.declared, c.announced, c.excess = stateHead, 0, -1, 0, false
	return c.r.part(c.epoch, baseContent, span{0, uint32(n)}), true
}

// inform sends an informational response.
func (c *exchange) inform(status int, fields []string) error {
	switch {
	case status < 100 || status > 199 || status == 101:
		panic(fmt.Sprintf("http11: Inform: %d is not an informational status; use 100 to 199 except 101", status))
	case len(fields)%2 != 0:
		panic("http11: Inform: a name without a value; pass names and values in turn")
	}
	message := appendStatusLine(nil, status)
	for i := 0; i < len(fields); i += 2 {
		if _, wrong := checkField(fields[i], fields[i+1]); wrong != "" {
			panic("http11: Inform: " + wrong)
		}
		message = appendField(message, fields[i], fields[i+1])
	}
	message = append(message, "\r\n"...)
	switch {
	case c.conn != nil && c.conn.hijacked:
		return ErrHijacked
	case c.state >= stateStreamed:
		return ErrHeadWritten
	case c.conn == nil:
		return c.mount.inform(status, fields)
	case c.r.head.minor == 0:
		return nil
	}
	if err := c.sendEarlier(); err != nil {
		return err
	}
	c.continued = c.continued || status == 100
	return c.conn.write(message)
}

// special handles the fields that frame the response.
func (c *exchange) special(id uint8, value string) (taken bool) {
	if c.state == stateNone {
		c.beginHead()
	}
	switch id {
	case idContentLength:
		n, err := strconv.ParseUint(value, 10, 63)
		if err == nil { // checkField has checked it
			c.declared = int64(n)
		}
		return true
	case idConnection:
		if equalFold(value, "close") {
			c.close, c.mount.last = true, true
			return true
		}
		c.keeps = equalFold(value, "keep-alive")
		return c.keeps
	}
	return false
}

func (c *exchange) addLine(name, value string) {
	c.lines = true
	c.reserve(len(name) + len(value) + 4)
	c.out = appendField(c.out, name, value)
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), "\r\n"...)
}

// checkField returns the number of a field name, and why a handler may not set
// the field; wrong is empty if it may.
func checkField(name, value string) (id uint8, wrong string) {
	if name != "" {
		id = nameID(bytesOf(name))
	}
	switch {
	case id == idNone && (name == "" || nameEnd(bytesOf(name), 0) != len(name)):
		return 0, fmt.Sprintf("the name of %q is not a token; use letters, digits and hyphens", name+": "+value)
	case valueEnd(bytesOf(value), 0) != len(value):
		return 0, fmt.Sprintf("the value of %q has a control character; remove or encode it", name+": "+value)
	}
	switch id {
	case idContentLength:
		if _, err := strconv.ParseUint(value, 10, 63); err != nil {
			return 0, "Content-Length is not a decimal number; use SetContentLength"
		}
	case idTransferEncoding:
		return 0, "Transfer-Encoding is for the server to decide; leave it out"
	}
	return id, ""
}

// withdrawHeader removes the fields of that name and the framing they declared.
func (c *exchange) withdrawHeader(name string) error {
	switch {
	case c.state > stateHead:
		return ErrHeadWritten
	case knownID(name) == idContentLength:
		c.declared = -1
	default:
		if c.state == stateNone {
			c.beginHead() // Date may be the one to remove
		}
		c.removeHeader(name)
	}
	return nil
}

// removeHeader removes the fields of that name.
func (c *exchange) removeHeader(name string) {
	if !c.lines && len(name) != len("Date") && len(name) != len("Server") {
		return // there are no others
	}
	at := c.statusEnd
	for {
		lines := c.out[c.mark+at:]
		end := bytes.IndexByte(lines, '\n') + 1
		if end == 0 {
			return
		}
		if end > len(name) && lines[len(name)] == ':' && sameName(lines[:len(name)], name) {
			c.splice(at, at+end, nil)
			continue
		}
		at += end
	}
}

// splice replaces the bytes from position from to position to.
func (c *exchange) splice(from, to int, with []byte) {
	from, to = c.mark+from, c.mark+to
	old := len(c.out)
	if grow := len(with) - (to - from); grow > 0 {
		c.reserve(grow)
		c.out = c.out[:old+grow]
		copy(c.out[to+grow:], c.out[to:old])
	} else {
		copy(c.out[to+grow:], c.out[to:])
		c.out = c.out[:old+grow]
	}
	copy(c.out[from:], with)
}

// freeze completes the head. When streaming, the length is known only if the
// handler declared it. Otherwise it is n, which finish corrects.
func (c *exchange) freeze(n int, streaming bool) {
	if c.state == stateNone {
		c.beginHead()
	}
	if c.conn != nil && (c.srv.closing.Load() || c.unanswered() || c.bodyTooLong()) {
		c.close = true
	}
	c.framing = len(c.out) - c.mark
	c.reserve(96)
	c.appendFraming(int64(n), streaming)
	c.state = stateBody
	if streaming {
		c.state = stateStreamed
	}
}

// appendFraming appends the fields that say where the response ends and whether
// the connection closes.
func (c *exchange) appendFraming(n int64, streaming bool) {
	if streaming && c.conn != nil && !c.skips() {
		c.close = true // the handler may read the rest of the body, but has not
	}
	if c.declared >= 0 {
		n, streaming = c.declared, false
	}
	c.announced = -1
	c.close = c.close || c.tunnels() // only a hijacker can go on
	switch {
	case !c.mayHaveContent():
	case c.unsized && n == 0 && c.declared < 0:
	case !streaming:
		c.announced = n
	case c.conn == nil: // net/http frames it
	case c.r.head.minor > 0:
		c.chunked = true
	default:
		c.close = true
	}
	out := c.out
	switch {
	case c.status == 101: // Connection has Upgrade, which Go's client does not see beside close
	case c.close:
		out = append(out, closeLine...)
	case c.r.head.minor == 0 || c.keeps:
		out = append(out, keepAliveLine...)
	}
	if c.announced >= 0 {
		out = append(out, "Content-Length: "...)
		c.digits = len(out) - c.mark
		out = append(strconv.AppendInt(out, c.announced, 10), "\r\n"...)
	} else if c.chunked {
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	c.out = append(out, "\r\n"...)
	c.content = len(c.out) - c.mark
}

// The fields that say whether the connection closes.
const (
	closeLine     = "Connection: close\r\n"
	keepAliveLine = "Connection: keep-alive\r\n"
)

// announceClose adds to a complete head that the connection closes.
func (c *exchange) announceClose() {
	var old string
	switch fields := c.out[c.mark+c.framing:]; {
	case bytes.HasPrefix(fields, []byte(closeLine)):
		return
	case bytes.HasPrefix(fields, []byte(keepAliveLine)):
		old = keepAliveLine
	}
	c.splice(c.framing, c.framing+len(old), []byte(closeLine))
	c.digits += len(closeLine) - len(old)
	c.content += len(closeLine) - len(old)
}
