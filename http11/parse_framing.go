package http11

import "math"

// framing records a field that determines the message's length or the
// connection's fate.
func (h *head) framing(buf []byte, f *field) error {
	value := f.value.of(buf)
	switch f.id {
	case idHost:
		if h.hosts++; h.hosts > 1 {
			return errHostTwice
		}
		if !validHost(value, true) {
			return errHost
		}
		h.host = f.value
	case idContentLength:
		if h.lengths++; h.lengths > 1 {
			return errLengthTwice
		}
		return h.contentLength(value)
	case idTransferEncoding:
		return h.transferCodings(value)
	case idConnection:
		return h.connection(value)
	case idExpect:
		for more := true; more; {
			var expectation []byte
			expectation, value, more = nextElement(value)
			switch {
			case len(expectation) == 0:
			case h.minor > 0 && !equalFold(expectation, "100-continue"):
				return errExpect
			default:
				h.expect = true
			}
		}
	case idTrailer:
		return announced(value)
	}
	return nil
}

// announced checks the value of Trailer: a list of names allowed in a trailer
// section.
func announced(value []byte) error {
	for more := true; more; {
		var name []byte
		name, value, more = nextElement(value)
		for _, c := range name {
			if classOf[c]&isToken == 0 {
				return errTrailerList
			}
		}
		if !trailing(knownID(string(name))) {
			return errTrailerFraming
		}
	}
	return nil
}

// trailing reports whether the field of that number may be in a trailer
// section. Fields that frame or route a message, or control the connection, may
// not (RFC 9110, section 6.5.1). Others are kept apart from the header fields.
func trailing(id uint8) bool { return id == idNone || id > idTE }

func (h *head) contentLength(value []byte) error {
	if len(value) == 0 {
		return errLength
	}
	n := int64(0)
	for _, c := range value {
		switch {
		case classOf[c]&isDigit == 0:
			return errLength
		case n > (math.MaxInt64-9)/10:
			n = math.MaxInt64 // beyond any limit, and stays there
		default:
			n = n*10 + int64(c-'0')
		}
	}
	h.length = n
	return nil
}

// transferCodings reads a list of codings, which may continue across fields.
func (h *head) transferCodings(value []byte) error {
	for more := true; more; {
		var coding []byte
		coding, value, more = nextElement(value)
		if h.chunked {
			return errCodingNotFinal
		}
		if h.codings++; equalFold(coding, "chunked") {
			h.chunked = true
			continue
		}
		// A coding may have parameters; check only its name, since the request is
		// refused anyway.
		if len(coding) == 0 || classOf[coding[0]]&isToken == 0 || equalFold(coding[:min(len(coding), 7)], "chunked") {
			return errCoding
		}
	}
	return nil
}

func (h *head) connection(value []byte) error {
	for more := true; more; {
		var option []byte
		option, value, more = nextElement(value)
		for _, c := range option {
			if classOf[c]&isToken == 0 {
				return errConnection
			}
		}
		switch {
		case equalFold(option, "close"):
			h.close = true
		case equalFold(option, "keep-alive"):
			h.keepAlive = true
		case equalFold(option, "upgrade"):
			h.option = true
		}
	}
	return nil
}

// nextElement cuts the first element, without surrounding white space, off a
// comma-separated list.
func nextElement(list []byte) (element, rest []byte, more bool) {
	i := 0
	for i < len(list) && list[i] != ',' {
		i++
	}
	element = list[:i]
	if i < len(list) {
		rest, more = list[i+1:], true
	}
	for len(element) > 0 && (element[0] == ' ' || element[0] == '\t') {
		element = element[1:]
	}
	for n := len(element); n > 0 && (element[n-1] == ' ' || element[n-1] == '\t'); n = len(element) {
		element = element[:n-1]
	}
	return element, rest, more
}

// finish checks the fields in combination.
func (h *head) finish(lim *limits) error {
	if h.hosts == 0 && h.minor > 0 {
		return errHostMissing
	}
	if h.codings > 0 {
		switch {
		case h.minor == 0:
			return errCodingVersion
		case h.lengths > 0:
			return errLengthAndTE
		case !h.chunked:
			return errCodingNotFinal
		case h.codings > 1:
			return errCodingUnknown
		}
		h.length = -1
	}
	if h.minor == 0 {
		h.close = h.close || !h.keepAlive
		h.expect = false // RFC 9110, section 10.1.1
	} else {
		h.expect = h.expect && h.length != 0
		h.upgrade = h.option && h.seen&(1<<idUpgrade) != 0
	}
	if h.length > lim.bodyBytes {
		return errBodyLong
	}
	return nil
}
