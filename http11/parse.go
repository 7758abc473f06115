package http11

// Character classes, bits of classOf.
const (
	isToken     uint8 = 1 << iota // RFC 9110, section 5.6.2
	isTarget                      // sent by clients in a path or query, except "?": see originForm
	isPchar                       // pchar and slash, RFC 3986, section 3.3, except percent
	isHost                        // unreserved and sub-delims, RFC 3986, section 3.2.2
	isHex                         // RFC 5234, appendix B.1
	isDigit                       //
	isIPLiteral                   // between the brackets of an IP literal
)

var classOf = func() (t [256]uint8) {
	set := func(class uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= class
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		set(isToken|isPchar|isHost, string([]byte{c, c - 0x20}))
	}
	set(isToken|isPchar|isHost|isDigit|isHex|isIPLiteral, "0123456789")
	set(isHex|isIPLiteral, "abcdefABCDEF")
	set(isIPLiteral, ":.")
	set(isToken, "!#$%&'*+-.^_`|~")
	set(isHost|isPchar, "-._~!$&'()*+,;=")
	set(isPchar, ":@/")
	for c := range t {
		if c > ' ' && c != 0x7f && c != '#' && c != '?' {
			t[c] |= isTarget
		}
	}
	return t
}()

// maxMethodBytes exceeds the longest registered method.
const maxMethodBytes = 32

// parseHead parses a request head at the start of buf. With n > 0 the head is
// complete and took n bytes. With n == 0 and no error it is incomplete: call
// again with the same h and a buffer that begins with the same bytes, at any
// address. The error is a *protocolError and depends on the bytes alone, not on
// how they were split. lim.headBytes must be below 2^31.
func parseHead(h *head, buf []byte, lim *limits) (n int, err error) {
	return parseNext(h, nil, buf, lim)
}

// parseNext is parseHead after last, the head that h was parsed from. A header
// section that is equal byte by byte says the same, and is not parsed again:
// clients that pipeline requests seldom change it.
func parseNext(h *head, last, buf []byte, lim *limits) (n int, err error) {
	if len(buf) > lim.headBytes {
		buf = buf[:lim.headBytes]
	}
	if n, err = h.parse(last, buf, lim); n == 0 && err == nil {
		return 0, nil
	}
	h.scanned = 0
	if !h.absolute {
		h.authority = h.host
	}
	return n, err
}

// parse resumes at h.scanned.
func (h *head) parse(last, buf []byte, lim *limits) (n int, err error) {
	if h.scanned == 0 {
		h.startLine = startLine{}
		if n, err = h.requestLine(buf, lim); n == 0 || err != nil {
			h.section.reset()
			if err == nil && len(buf) == lim.headBytes {
				err = errTargetLong
			}
			return 0, err
		}
		if h.bare {
			h.section.reset()
			return n, h.finish(lim)
		}
		if last != nil {
			if end := h.repeat(last, buf, n); end > 0 {
				return end, nil
			}
		}
		h.section.reset()
		h.readAs, h.start, h.scanned = h.minor, uint32(n), n
	}
	if n, err = h.fieldLines(buf, lim); n == 0 || err != nil {
		if err == nil && len(buf) == lim.headBytes {
			err = errHeadLong
		}
		return 0, err
	}
	return n, h.finish(lim)
}

// requestLine parses the request line including CR LF and returns the next
// index, or 0 if the line is incomplete.
func (h *head) requestLine(buf []byte, lim *limits) (int, error) {
	i := 0
	for i < 4 && i < len(buf) && buf[i] == '\r' { // skip two empty lines, like net/http after POST; RFC 9112, section 2.2
		switch {
		case i+1 == len(buf):
			return 0, nil
		case buf[i+1] != '\n':
			return 0, errMethod
		}
		i += 2
	}
	start := i
	if len(buf)-i >= 8 && uint32(loadWord(buf, i)) == getWord {
		i += 3
	}
	for i < len(buf) && classOf[buf[i]]&isToken != 0 {
		if i++; i-start > maxMethodBytes {
			return 0, errMethodLong
		}
	}
	if i == len(buf) {
		return 0, nil
	}
	if i == start || buf[i] != ' ' {
		return 0, errMethod
	}
	h.method = span{uint32(start), uint32(i - start)}
	i++
	i, err := h.parseTarget(buf, i, lim)
	if i == 0 || err != nil {
		return 0, err
	}
	return h.version(buf, i)
}

// version parses the version and its CR LF.
func (h *head) version(buf []byte, i int) (int, error) {
	if len(buf) >= i+10 && loadWord(buf, i) == httpOneOne && buf[i+8] == '\r' && buf[i+9] == '\n' {
		h.minor = 1
		return i + 10, nil
	}
	const form = "HTTP/1.x\r\n"
	for j := range len(form) {
		if i+j == len(buf) {
			return 0, nil
		}
		switch c := buf[i+j]; {
		case j == 7:
			if classOf[c]&isDigit == 0 {
				return 0, errVersion
			}
			if c != '0' {
				h.minor = 1 // serve a higher minor version as 1.1, RFC 9110, section 2.5
			}
		case c == form[j]:
		case j == 8 && c == '\n' && h.minor == 0:
			return h.bareEnd(buf, i+j+1)
		case j == 5 && classOf[c]&isDigit != 0:
			return 0, errVersionMajor
		case j >= 8:
			return 0, errLineEnd
		default:
			return 0, errVersion
		}
	}
	return i + len(form), nil
}

// bareEnd parses the second LF of a head that is only an HTTP/1.0 request line and
// two LF, which net/rpc and clients written by hand send (RFC 9112, section 2.2,
// allows it). The request has no body, and the connection closes after it, so it
// cannot hide another one.
func (h *head) bareEnd(buf []byte, i int) (int, error) {
	if i == len(buf) {
		return 0, nil
	}
	if buf[i] != '\n' {
		return 0, errLineEnd
	}
	h.bare = true
	return i + 1, nil
}

// The most frequent methods and versions, as little-endian words.
const (
	getWord    = 'G' | 'E'<<8 | 'T'<<16 | ' '<<24
	httpOneOne = 'H' | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48 | '1'<<56
)
