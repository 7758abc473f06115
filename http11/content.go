package http11

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
)

// smallBytes is the usual size of a handler's write. A larger source may fault,
// such as a mapped file that was truncated.
const smallBytes = 1 << 10

// collects reports whether n more bytes of content are only collected.
func (c *exchange) collects(n int) bool {
	return n <= smallBytes && c.state <= stateBody && c.filter == nil && c.written+int64(n) <= collectBytes
}

func writeContent[T string | []byte](c *exchange, p T) (int, error) {
	if c.state < stateBody {
		if len(p) == 0 {
			return 0, nil
		}
		c.freeze(len(p), false)
	}
	if err := c.mayWrite(len(p)); err != nil {
		return 0, err
	}
	c.written += int64(len(p))
	if c.state == stateBody {
		if c.written <= collectBytes {
			c.reserve(len(p))
			c.out = append(c.out, p...)
			return len(p), nil
		}
		guessType(c, p)
		if c.head && len(c.onStream) == 0 { // only its length is sent
			return len(p), nil
		}
		c.written -= int64(len(p))
		if err := c.stream(); err != nil {
			return 0, err
		}
		if err := c.mayWrite(len(p)); err != nil { // the status may have changed
			return 0, err
		}
		c.written += int64(len(p))
	}
	switch {
	case c.head:
		return len(p), nil
	case c.filter != nil:
		return filterContent(c.filter, p)
	}
	return streamContent(c, p)
}

func (c *exchange) mayWrite(n int) error {
	switch {
	case c.conn != nil && c.conn.hijacked:
		return ErrHijacked
	case c.conn != nil && c.conn.broken, c.mount.gone: // http.Flusher could not say so
		return c.clientGone()
	case c.filter != nil: // the filter decides what is sent
	case !c.mayHaveContent() && n > 0:
		return ErrBodyNotAllowed
	case c.declared >= 0 && (c.excess || c.written+int64(n) > c.declared):
		c.excess = true
		return ErrContentLength
	}
	return nil
}

// guessType adds the Content-Type that net/http would guess from the content
// collected so far and p, if Adapt wants it.
func guessType[T string | []byte](c *exchange, p T) {
	const most = 512 // DetectContentType looks at no more
	if !c.untyped || c.state != stateBody {
		return
	}
	start := c.out[c.mark+c.content:]
	if len(start) < most {
		start = append(slices.Clip(start), p[:min(len(p), most)]...)
	}
	if len(start) == 0 || !c.mayHaveContent() {
		return
	}
	c.untyped, c.lines = false, true
	line := appendField(nil, "Content-Type", http.DetectContentType(start))
	c.splice(c.framing, c.framing, line)
	c.framing, c.digits, c.content = c.framing+len(line), c.digits+len(line), c.content+len(line)
}

// stream switches from collecting to sending. The error is ErrEnded or a
// filter's.
func (c *exchange) stream() error {
	guessType(c, "")
	if len(c.onStream) > 0 && c.state < stateStreamed {
		return c.streamFiltered()
	}
	c.dropHeads()
	switch {
	case c.state < stateBody:
		c.freeze(0, true)
	case c.state == stateBody && (c.declared >= 0 || c.announced < 0):
	case c.state == stateBody:
		collected := len(c.out) - c.mark - c.content
		// Build the new fields behind the content, then move them into place.
		end := len(c.out) - c.mark
		old := c.content
		c.reserve(128)
		c.appendFraming(0, true)
		if c.chunked && collected > 0 {
			c.out = appendChunkSize(c.out, collected)
		}
		var fields [128]byte
		n := copy(fields[:], c.out[c.mark+end:])
		c.out = c.out[:c.mark+end]
		c.splice(c.framing, old, fields[:n])
		c.content = c.framing + n
		if c.chunked && collected > 0 {
			c.reserve(2)
			c.out = append(c.out, "\r\n"...)
		}
	}
	c.state = stateStreamed
	return nil
}

// dropHeads drops content collected for a response to HEAD.
func (c *exchange) dropHeads() {
	if c.head && c.state == stateBody {
		c.out = c.out[:c.mark+c.content]
	}
}

func appendChunkSize(out []byte, n int) []byte {
	return append(strconv.AppendUint(out, uint64(n), 16), "\r\n"...)
}

// streamContent sends p, or collects it until there is enough to send.
func streamContent[T string | []byte](c *exchange, p T) (int, error) {
	sent := 0
	for sent < len(p) {
		if len(c.out) >= flushBytes {
			if err := c.send(); err != nil {
				return sent, err
			}
		}
		part := p[sent:min(len(p), sent+flushBytes)]
		c.reserve(len(part) + 16)
		if c.chunked {
			appendChunk(c, part)
		} else {
			c.out = append(c.out, part...)
		}
		sent += len(part)
	}
	if len(c.out) >= flushBytes {
		return sent, c.send()
	}
	return sent, nil
}

// appendChunk appends content to the open chunk in out, or begins one: small writes
// that are sent together share a chunk.
func appendChunk[T string | []byte](c *exchange, p T) {
	if c.chunkBytes == 0 {
		c.chunk, c.out = len(c.out)-c.mark, append(appendChunkSize(c.out, len(p)), p...)
		c.chunkBytes = len(p)
		return
	}
	c.out = append(c.out, p...) // first: reading p may fault
	var before, now [16]byte
	old := strconv.AppendUint(before[:0], uint64(c.chunkBytes), 16)
	c.chunkBytes += len(p)
	size := strconv.AppendUint(now[:0], uint64(c.chunkBytes), 16)
	if len(size) == len(old) {
		copy(c.out[c.mark+c.chunk:], size)
		return
	}
	c.splice(c.chunk, c.chunk+len(old), size)
}

// endChunk ends the open chunk, if there is one.
func (c *exchange) endChunk() {
	if c.chunkBytes > 0 {
		c.chunkBytes = 0
		c.reserve(len("\r\n"))
		c.out = append(c.out, "\r\n"...)
	}
}

// send sends out; positions in it are then invalid.
func (c *exchange) send() error {
	c.endChunk()
	out := c.out
	c.out, c.mark = out[:0], 0
	if c.conn == nil {
		return c.mount.send(c, out)
	}
	return c.conn.write(out)
}

// sendEarlier sends the responses to earlier requests.
func (c *exchange) sendEarlier() error {
	if c.mark == 0 || c.conn == nil {
		return nil
	}
	if err := c.conn.write(c.out[:c.mark]); err != nil {
		return err
	}
	c.out = c.out[:copy(c.out, c.out[c.mark:])]
	c.mark = 0
	return nil
}

func (c *exchange) flush() error {
	if c.conn != nil && c.conn.hijacked {
		return ErrHijacked
	}
	if err := c.stream(); err != nil {
		return err
	}
	if c.filter != nil {
		if err := c.filter.flush(); err != nil {
			return err
		}
	}
	return c.send()
}

// finish completes the response, which stays in out, and reports whether it is
// complete. If not, the connection must close.
func (c *exchange) finish() bool {
	if c.filter != nil && !c.filter.close() {
		return false
	}
	if c.state < stateBody {
		c.freeze(0, false)
	}
	guessType(c, "")
	c.dropHeads()
	if c.close && c.state == stateBody && c.status != 101 {
		c.announceClose()
	}
	whole := c.head || c.declared < 0 || c.written == c.declared || !c.mayHaveContent()
	switch {
	case c.state == stateBody && c.announced >= 0 && c.declared < 0 && c.announced != c.written:
		c.correctLength()
	case c.state == stateStreamed && c.chunked && !c.head:
		c.endChunks()
	}
	c.state = stateDone
	return whole
}

// correctLength replaces the announced length by what was written.
func (c *exchange) correctLength() {
	var digits [20]byte
	old := len(strconv.AppendInt(digits[:0], c.announced, 10))
	now := strconv.AppendInt(digits[:0], c.written, 10)
	c.splice(c.digits, c.digits+old, now)
	c.content += len(now) - old
	c.announced = c.written
}

// endChunks appends the last chunk and the trailer section.
func (c *exchange) endChunks() {
	c.endChunk()
	c.reserve(8 + len(c.trailer))
	c.out = append(c.out, "0\r\n"...)
	c.out = append(c.out, c.trailer...)
	c.out = append(c.out, "\r\n"...)
}

// fail replaces the response by an error, if none of it was sent, and closes
// the connection afterwards.
func (c *exchange) fail(status int, reason string) {
	if c.state != stateDone && !c.reset() {
		return
	}
	c.status, c.close = status, true
	c.set("Content-Type", "text/plain; charset=utf-8")
	writeContent(c, reason)
	writeContent(c, "\n")
}

// error is Context.Error with fields, a list of names and values.
func (c *exchange) error(status int, text string, fields ...string) error {
	if !c.reset() {
		return errors.New("http11: Error: a part of the response was sent; end the handler")
	}
	c.setStatus(status)
	c.set("Content-Type", "text/plain; charset=utf-8")
	for i := 0; i < len(fields); i += 2 {
		c.set(fields[i], fields[i+1])
	}
	writeContent(c, text)
	_, err := writeContent(c, "\n")
	return err
}
