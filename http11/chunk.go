package http11

import "bytes"

// chunkState is what the next byte of a chunked body can be.
type chunkState uint8

const (
	chunkSize       chunkState = iota // a digit of the size, or the byte after it
	chunkExt                          // white space or an extension name, after ";"
	chunkExtName                      // more of a name, or the byte after it
	chunkExtNameWS                    // ";" or "=", after white space following a name
	chunkExtEqual                     // white space or a value, after "="
	chunkExtToken                     // more of a value, or the byte after it
	chunkExtQuoted                    // inside a quoted value
	chunkExtEscaped                   // the byte after a backslash
	chunkExtValue                     // the byte after a quoted value
	chunkExtValueWS                   // ";", after white space following a value
	chunkSizeLF                       // the LF after size and extensions
	chunkData                         // data
	chunkDataCR                       // the CR after data
	chunkDataLF                       // the LF after data
	chunkTrailer                      // trailer fields, or the last empty line
	chunkFinished                     // none
)

// maxExtensionBytes bounds all chunk extensions of a body together. They are
// checked and skipped.
const maxExtensionBytes = 4 << 10

// A chunkedBody decodes the chunked transfer coding (RFC 9112, section 7.1)
// incrementally. Call start first. The zero value has no limits and must not be
// used.
type chunkedBody struct {
	raw    []byte // the trailer section, in memory of mem
	mem    *region
	lim    *limits
	left   uint64 // of the chunk: its size so far, then data still to come
	body   int64  // data before this chunk
	max    int64  // of data
	ext    int    // bytes of extensions so far
	line   int    // start of the current trailer line in raw
	digits uint8
	state  chunkState
}

// start prepares c for a body. mem receives the trailers.
func (c *chunkedBody) start(mem *region, lim *limits) {
	*c = chunkedBody{mem: mem, lim: lim, max: lim.bodyBytes}
	mem.trailers = mem.trailers[:0]
}

// decode decodes as much of src into dst as possible. It wrote nd bytes and
// consumed ns; once done is true the body is complete and the rest of src is
// another message. dst may overlap consumed bytes of src. The error is a
// *protocolError, depends on the bytes alone, and is final.
func (c *chunkedBody) decode(dst, src []byte) (nd, ns int, done bool, err error) {
	for ns < len(src) && c.state != chunkFinished {
		switch c.state {
		case chunkData:
			if nd == len(dst) {
				return nd, ns, false, nil
			}
			n := copy(dst[nd:], src[ns:min(uint64(len(src)), uint64(ns)+c.left)])
			nd, ns, c.left = nd+n, ns+n, c.left-uint64(n)
			if c.left == 0 {
				c.state = chunkDataCR
			}
		case chunkTrailer:
			n, err := c.trailer(src[ns:])
			if ns += n; err != nil {
				return nd, ns, false, err
			}
		default:
			if err := c.step(src[ns]); err != nil {
				return nd, ns, false, err
			}
			ns++
		}
	}
	return nd, ns, c.state == chunkFinished, nil
}

// step consumes one framing byte.
func (c *chunkedBody) step(b byte) error {
	switch c.state {
	case chunkSize:
		return c.size(b)
	case chunkSizeLF:
		if b != '\n' {
			return errLineEnd
		}
		return c.begin()
	case chunkDataCR:
		if b != '\r' {
			return errChunkEnd
		}
		c.state = chunkDataLF
	case chunkDataLF:
		if b != '\n' {
			return errChunkEnd
		}
		c.state, c.digits = chunkSize, 0
	default:
		return c.extension(b)
	}
	return nil
}

// size consumes a byte of a chunk's size, or the one after it. It refuses white
// space there: RFC 9112, section 7.1.1, allows it before an extension, but
// parsers disagree about it.
func (c *chunkedBody) size(b byte) error {
	if classOf[b]&isHex != 0 {
		if c.digits == 16 {
			return errChunkSize
		}
		c.digits++
		c.left = c.left<<4 | uint64(hexValue(b))
		return nil
	}
	if c.digits == 0 {
		return errChunkSize
	}
	switch b {
	case '\r':
		c.state = chunkSizeLF
	case ';':
		c.state = chunkExt
	default:
		return errChunkSize
	}
	return nil
}

// hexValue is the value of a hexadecimal digit.
func hexValue(c byte) byte { return c&15 + c>>6*9 }

// extension consumes a byte of the extensions, after the first ";", or the CR
// that ends them.
func (c *chunkedBody) extension(b byte) error {
	if c.ext++; c.ext > maxExtensionBytes+1 { // the CR does not count
		return errChunkExtension
	}
	c.state = afterExtension[c.state][extensionClass(b)]
	switch c.state {
	case chunkSize:
		return errChunkExtension
	case chunkSizeLF:
		c.ext--
	}
	return nil
}

// Byte classes in the grammar of chunk extensions.
const (
	extControl = iota // and others that are never allowed
	extToken
	extBlank
	extSemicolon
	extEqual
	extQuote
	extBackslash
	extCR
	extText // others allowed in quotes
	extClasses
)

func extensionClass(b byte) int {
	switch {
	case classOf[b]&isToken != 0:
		return extToken
	case b == ' ' || b == '\t':
		return extBlank
	case b == ';':
		return extSemicolon
	case b == '=':
		return extEqual
	case b == '"':
		return extQuote
	case b == '\\':
		return extBackslash
	case b == '\r':
		return extCR
	case b < ' ' || b == 0x7f:
		return extControl
	}
	return extText
}

// afterExtension is the grammar of RFC 9112, section 7.1.1, except for white
// space directly after the size:
//
//	chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
//
// Missing entries are chunkSize, which no byte of an extension leads to.
var afterExtension = [chunkSizeLF][extClasses]chunkState{
	chunkExt: {extBlank: chunkExt, extToken: chunkExtName},
	chunkExtName: {extToken: chunkExtName, extBlank: chunkExtNameWS, extEqual: chunkExtEqual,
		extSemicolon: chunkExt, extCR: chunkSizeLF},
	chunkExtNameWS: {extBlank: chunkExtNameWS, extEqual: chunkExtEqual, extSemicolon: chunkExt},
	chunkExtEqual:  {extBlank: chunkExtEqual, extToken: chunkExtToken, extQuote: chunkExtQuoted},
	chunkExtToken:  {extToken: chunkExtToken, extBlank: chunkExtValueWS, extSemicolon: chunkExt, extCR: chunkSizeLF},
	chunkExtQuoted: {extToken: chunkExtQuoted, extBlank: chunkExtQuoted, extSemicolon: chunkExtQuoted,
		extEqual: chunkExtQuoted, extText: chunkExtQuoted, extBackslash: chunkExtEscaped, extQuote: chunkExtValue},
	chunkExtEscaped: {extToken: chunkExtQuoted, extBlank: chunkExtQuoted, extSemicolon: chunkExtQuoted,
		extEqual: chunkExtQuoted, extText: chunkExtQuoted, extBackslash: chunkExtQuoted, extQuote: chunkExtQuoted},
	chunkExtValue:   {extBlank: chunkExtValueWS, extSemicolon: chunkExt, extCR: chunkSizeLF},
	chunkExtValueWS: {extBlank: chunkExtValueWS, extSemicolon: chunkExt},
}

// begin handles the end of the size line.
func (c *chunkedBody) begin() error {
	if c.left == 0 {
		c.state = chunkTrailer
		return nil
	}
	if room := c.max - c.body; c.left > uint64(room) {
		return errBodyLong
	}
	c.body += int64(c.left)
	c.state = chunkData
	return nil
}

// trailer consumes one line of the trailer section, or the available part of
// it, and returns its length.
func (c *chunkedBody) trailer(src []byte) (int, error) {
	if len(c.raw) == 0 && len(src) >= 2 && src[0] == '\r' && src[1] == '\n' {
		c.state = chunkFinished
		return 2, nil
	}
	n := len(src)
	lf := bytes.IndexByte(src, '\n')
	if lf >= 0 {
		n = lf + 1
	}
	if n > c.lim.headBytes-len(c.raw) {
		return 0, errTrailerLong
	}
	c.raw = append(c.mem.room(c.raw, n), src[:n]...)
	c.raw = c.mem.trim(c.raw)
	if lf < 0 {
		return n, nil
	}
	if line := c.raw[c.line:]; len(line) == 2 && line[0] == '\r' {
		c.state = chunkFinished
		c.mem.refer(baseTrailer, c.raw)
		return n, nil
	}
	if len(c.mem.trailers) == c.lim.fields {
		return n, errFieldsMany
	}
	var f field
	next, err := parseField(&f, c.raw, c.line)
	switch {
	case err != nil:
		return n, err
	case next != len(c.raw): // unreachable: a field ends at the first LF
		return n, errLineEnd
	case !trailing(f.id):
		return n, errTrailerFraming
	}
	c.mem.trailers = append(c.mem.trailers, f)
	c.line = next
	return n, nil
}
