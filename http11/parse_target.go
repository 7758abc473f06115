package http11

import "math/bits"

// parseTarget parses the request target at buf[i:] and the space after it, and
// returns the next index, or 0 if it is incomplete.
func (h *head) parseTarget(buf []byte, i int, lim *limits) (int, error) {
	start := i
	long := false // buf holds more than a target may have
	if len(buf)-start > lim.targetBytes+1 {
		buf, long = buf[:start+lim.targetBytes+1], true
	}
	end, err := h.scanTarget(buf, start, lim)
	if err != nil {
		return 0, err
	}
	if end == 0 {
		if long || len(buf)-start > lim.targetBytes {
			return 0, errTargetLong
		}
		return 0, nil
	}
	h.target = span{uint32(start), uint32(end - start)}
	return end + 1, nil
}

// scanTarget returns the index of the space that ends the target at buf[i:], or
// 0 if it is incomplete.
func (h *head) scanTarget(buf []byte, i int, lim *limits) (int, error) {
	if i == len(buf) {
		return 0, nil
	}
	method := h.method.of(buf)
	switch {
	case buf[i] == '/': // also of CONNECT, as net/rpc sends it
		return h.originForm(buf, i, lim)
	case string(method) == "CONNECT":
		return h.authorityForm(buf, i)
	case buf[i] == '*':
		if string(method) != "OPTIONS" {
			return 0, errTargetForm
		}
		h.path = span{uint32(i), 1}
		switch {
		case i+1 == len(buf):
			return 0, nil
		case buf[i+1] != ' ':
			return 0, errTargetForm
		}
		return i + 1, nil
	default:
		return h.absoluteForm(buf, i, lim)
	}
}

// originForm scans an absolute path and a query. Both may contain any bytes
// except controls, space, DEL and "#": clients send most of them unchanged,
// including UTF-8 and a lone percent sign; docs/http11.md lists which client
// sends what. Nothing is decoded. Strict targets allow only what RFC 3986 does.
func (h *head) originForm(buf []byte, i int, lim *limits) (int, error) {
	start := i
	i, err := lim.scanPart(buf, i)
	if i == 0 || err != nil {
		return 0, err
	}
	h.path = span{uint32(start), uint32(i - start)}
	return h.targetQuery(buf, i, lim)
}

// targetQuery scans a query, if buf[i:] begins with one, and the space that
// ends the target.
func (h *head) targetQuery(buf []byte, i int, lim *limits) (int, error) {
	if start := i + 1; buf[i] == '?' {
		for buf[i] == '?' { // later ones belong to the query
			var err error
			if i, err = lim.scanPart(buf, i+1); i == 0 || err != nil {
				return 0, err
			}
		}
		h.query = span{uint32(start), uint32(i - start)}
	}
	switch {
	case buf[i] == ' ':
		return i, nil
	case classOf[buf[i]]&isTarget != 0:
		return 0, errTargetStrict
	}
	return 0, errTarget
}

// scanPart returns the index of the first byte at or after i that neither a
// path nor, except for "?", a query may contain, or 0 if the input is
// incomplete.
func (l *limits) scanPart(buf []byte, i int) (int, error) {
	if !l.strictTargets {
		if i = targetEnd(buf, i); i == len(buf) {
			return 0, nil
		}
		return i, nil
	}
	for {
		for i < len(buf) && classOf[buf[i]]&isPchar != 0 {
			i++
		}
		if i == len(buf) {
			return 0, nil
		}
		if buf[i] != '%' {
			return i, nil
		}
		for range 2 {
			if i++; i == len(buf) {
				return 0, nil
			}
			if classOf[buf[i]]&isHex == 0 {
				return 0, errTargetStrict
			}
		}
		i++
	}
}

// targetEnd returns the index of the first byte at or after i that is no target
// byte, or len(buf).
func targetEnd(buf []byte, i int) int {
	for ; i+8 <= len(buf); i += 8 {
		if m := notTarget(loadWord(buf, i)); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(buf) && classOf[buf[i]]&isTarget != 0 {
		i++
	}
	return i
}

// notTarget returns a word whose lowest set bit is in the first byte of w that
// is no target byte, or 0 if there is none.
func notTarget(w uint64) uint64 {
	hash, question, del := w^ones*'#', w^ones*'?', w^ones*0x7f
	return ((w-ones*0x21)&^w | (hash-ones)&^hash | (question-ones)&^question | (del-ones)&^del) & highs
}

// absoluteForm scans an http or https URI.
func (h *head) absoluteForm(buf []byte, i int, lim *limits) (int, error) {
	for _, c := range []byte("http") {
		if i == len(buf) {
			return 0, nil
		}
		if lowerOf[buf[i]] != c {
			if buf[i] == ' ' {
				return 0, errTarget
			}
			return 0, errTargetForm
		}
		i++
	}
	if i < len(buf) && lowerOf[buf[i]] == 's' {
		i++
	}
	for _, c := range []byte("://") {
		if i == len(buf) {
			return 0, nil
		}
		if buf[i] != c {
			return 0, errTargetForm
		}
		i++
	}
	start := i
	for i < len(buf) && hostChar(buf[i]) {
		i++
	}
	if i == len(buf) {
		return 0, nil
	}
	if !validHost(buf[start:i], false) || i == start || buf[start] == ':' {
		return 0, errTargetHost
	}
	h.authority = span{uint32(start), uint32(i - start)}
	h.absolute = true
	switch {
	case buf[i] == '/':
		return h.originForm(buf, i, lim)
	case classOf[buf[i]]&isTarget != 0: // for example "@" after a user name
		return 0, errTargetHost
	}
	if string(h.method.of(buf)) != "OPTIONS" {
		h.path = span{uint32(start - 1), 1} // the path is "/" if the target has none
	}
	return h.targetQuery(buf, i, lim)
}

// authorityForm scans a host and port.
func (h *head) authorityForm(buf []byte, i int) (int, error) {
	start := i
	for i < len(buf) && hostChar(buf[i]) {
		i++
	}
	if i == len(buf) {
		return 0, nil
	}
	if buf[i] != ' ' {
		return 0, errTargetForm
	}
	host := buf[start:i]
	if len(host) == 0 {
		return 0, errTarget
	}
	if !validHost(host, false) || host[0] == ':' || !hasPort(host) {
		return 0, errTargetHost
	}
	h.authority = span{uint32(start), uint32(i - start)}
	h.absolute = true
	return i, nil
}

func hostChar(c byte) bool {
	return classOf[c]&isHost != 0 || c == ':' || c == '[' || c == ']' || c == '%'
}

// hasPort reports whether a valid host ends with a port of at least one digit.
func hasPort(host []byte) bool {
	i := len(host)
	for i > 0 && classOf[host[i-1]]&isDigit != 0 {
		i--
	}
	return i < len(host) && i > 0 && host[i-1] == ':'
}

// validHost reports whether s is uri-host [ ":" port ], RFC 9110, section 7.2.
// The host may be empty, and so may the port (RFC 3986, section 3.2.3). With
// zoned, an IPv6 address may have a zone: clients in wide use send it in Host.
func validHost(s []byte, zoned bool) bool {
	i := 0
	if len(s) > 0 && s[0] == '[' {
		if i = ipLiteral(s, zoned); i == 0 {
			return false
		}
	} else {
		for ; i < len(s); i++ {
			if classOf[s[i]]&isHost != 0 {
				continue
			}
			if s[i] != '%' || i+2 >= len(s) || classOf[s[i+1]]&classOf[s[i+2]]&isHex == 0 {
				break
			}
			i += 2
		}
	}
	if i < len(s) && s[i] == ':' {
		for i++; i < len(s) && classOf[s[i]]&isDigit != 0; i++ {
		}
	}
	return i == len(s)
}

// ipLiteral returns the length of the address in brackets that s begins with,
// or 0.
func ipLiteral(s []byte, zoned bool) int {
	i := 1
	for ; i < len(s) && classOf[s[i]]&isIPLiteral != 0; i++ {
	}
	if i < 3 {
		return 0
	}
	if zoned && i < len(s) && s[i] == '%' {
		for i++; i < len(s) && (s[i] == '%' || classOf[s[i]]&isHost != 0); i++ {
		}
	}
	if i == len(s) || s[i] != ']' {
		return 0
	}
	return i + 1
}
