package http11

import (
	"fmt"
	"os"
)

// A head is the parsed head of one request. Its spans refer to the parsed
// buffer. It is reused for the next request.
type head struct {
	startLine
	section
	scanned int // bytes of an incomplete head that need no second look
}

// A startLine is the parsed request line.
type startLine struct {
	method, target span
	// path and query are parts of the target; both are empty for CONNECT to an
	// authority and for OPTIONS with an absolute target without path.
	path, query span
	// authority is the host and port of the target if present, otherwise the value
	// of Host (RFC 9112, section 3.3).
	authority span
	absolute  bool  // the target names the authority
	bare      bool  // the head ends with the line, by two LF
	minor     uint8 // HTTP/1.minor: 0 or 1
}

// A section is the parsed header section: what its bytes and the minor version
// say.
type section struct {
	fields  []field // header fields in order; values without surrounding white space
	host    span    // value of Host
	length  int64   // Content-Length; 0 if absent, -1 with chunked
	chunked bool
	close   bool // the connection closes after this request
	expect  bool // the client waits for 100 (Continue)
	upgrade bool // the client asks to switch protocols

	keepAlive bool   // Connection: keep-alive
	option    bool   // Connection: upgrade
	readAs    uint8  // minor version of the request
	start     uint32 // where the section begins; 0 if none was parsed
	hosts     int    // Host fields so far
	lengths   int    // Content-Length fields so far
	codings   int    // transfer codings so far, all but the last not chunked
	seen      uint64
}

// reset prepares s for the next request and keeps the memory of fields.
func (s *section) reset() {
	fields := s.fields[:0]
	*s = section{} // in place: a literal with a field would be built elsewhere and copied
	s.fields = fields
}

// repeat returns the index behind the section at buf[start:] if it equals that
// of last, and lets h refer to it. Otherwise it returns 0.
func (h *head) repeat(last, buf []byte, start int) int {
	old := last[h.start:]
	end := start + len(old)
	if h.start == 0 || h.readAs != h.minor || end > len(buf) || string(buf[start:end]) != string(old) {
		return 0
	}
	if moved := uint32(start) - h.start; moved != 0 {
		for i := range h.fields {
			h.fields[i].name.off += moved
			h.fields[i].value.off += moved
		}
		if h.hosts > 0 {
			h.host.off += moved
		}
		h.start += moved
	}
	return end
}

// lookup returns the index of the first field of that name at start or later.
// seen has a bit for each known name that occurs.
func lookup(fields []field, seen uint64, buf []byte, name string, start int) (int, bool) {
	if id := knownID(name); id != idNone {
		if seen&(1<<id) == 0 {
			return 0, false
		}
		for i := start; i < len(fields); i++ {
			if fields[i].id == id {
				return i, true
			}
		}
		return 0, false
	}
	for i := start; i < len(fields); i++ {
		f := &fields[i]
		if f.id == idNone && int(f.name.len) == len(name) && sameName(f.name.of(buf), name) {
			return i, true
		}
	}
	return 0, false
}

// limits bound what a client may send. The parser expects all of them to be
// set.
type limits struct {
	targetBytes int   // request target: 414 (URI Too Long) beyond
	headBytes   int   // request line and header fields together: 431 beyond
	fields      int   // header fields, and trailer fields: 431 beyond
	bodyBytes   int64 // body without its framing: 413 (Content Too Large) beyond

	strictTargets bool // paths and queries as RFC 3986 has them
}

const (
	defaultTargetBytes = 8 << 10
	defaultHeadBytes   = 64 << 10
	defaultFields      = 128
	defaultBodyBytes   = 4 << 20
)

// withDefaults replaces zeros by defaults.
func (l limits) withDefaults() limits {
	if l.targetBytes == 0 {
		l.targetBytes = defaultTargetBytes
	}
	if l.headBytes == 0 {
		l.headBytes = defaultHeadBytes
	}
	if l.fields == 0 {
		l.fields = defaultFields
	}
	if l.bodyBytes == 0 {
		l.bodyBytes = defaultBodyBytes
	}
	return l
}

// A protocolError says why a request is refused. The server answers with Status
// and closes the connection.
type protocolError struct {
	Status  int
	Section string // "9112 6.1" is section 6.1 of RFC 9112
	Reason  string
}

func (e *protocolError) Error() string {
	return fmt.Sprintf("http11: read request: %s (RFC %s); answer %d and close the connection", e.Reason, e.Section,
		e.Status)
}

// Unwrap makes a late request a time-out.
func (e *protocolError) Unwrap() error {
	if e.Status == 408 {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func malformed(section, reason string) *protocolError {
	return &protocolError{Status: 400, Section: section, Reason: reason}
}

// Reasons to call a request malformed, as variables so that refusing does not
// allocate.
var (
	errMethod         = malformed("9110 9.1", "the method is not a token followed by one space")
	errMethodLong     = &protocolError{501, "9112 3", "the method is longer than any that there is"}
	errTarget         = malformed("9112 3.2", "the request target is empty or has a character that it must not have")
	errTargetStrict   = malformed("3986 2.1", "the request target has a character that must be percent-encoded")
	errTargetForm     = malformed("9112 3.2", "the request target is in none of the forms that the method allows")
	errTargetLong     = &protocolError{414, "9112 3", "the request target is too long"}
	errTargetHost     = malformed("9110 4.2", "the authority of the request target is not a host and port")
	errVersion        = malformed("9112 2.3", "the protocol version is malformed")
	errVersionMajor   = &protocolError{505, "9110 15.6.6", "the major version is not 1"}
	errLineEnd        = malformed("9112 2.2", "a line does not end with CR LF")
	errFieldName      = malformed("9112 5.1", "a field name is not a token followed by a colon")
	errFieldFold      = malformed("9112 5.2", "a field line begins with white space")
	errFieldValue     = malformed("9110 5.5", "a field value has a control character")
	errHeadLong       = &protocolError{431, "6585 5", "the header section is too large"}
	errFieldsMany     = &protocolError{431, "6585 5", "there are too many header fields"}
	errHostMissing    = malformed("9112 3.2", "an HTTP/1.1 request has no Host")
	errHostTwice      = malformed("9112 3.2", "there is more than one Host")
	errHost           = malformed("9112 3.2", "the value of Host is not a host and port")
	errLength         = malformed("9110 8.6", "the value of Content-Length is not a decimal number")
	errLengthTwice    = malformed("9112 6.3", "there is more than one Content-Length")
	errLengthAndTE    = malformed("9112 6.1", "there are Content-Length and Transfer-Encoding")
	errBodyLong       = &protocolError{413, "9110 15.5.14", "the body is too large"}
	errCoding         = malformed("9112 6.1", "the value of Transfer-Encoding is malformed")
	errCodingUnknown  = &protocolError{501, "9112 6.1", "there is a transfer coding other than chunked"}
	errCodingNotFinal = malformed("9112 6.3", "chunked is not the last transfer coding, or not applied once")
	errCodingVersion  = malformed("9112 6.1", "an HTTP/1.0 request has Transfer-Encoding")
	errConnection     = malformed("9110 7.6.1", "the value of Connection is not a list of tokens")
	errExpect         = &protocolError{417, "9110 10.1.1", "an expectation other than 100-continue"}
	errChunkSize      = malformed("9112 7.1", "a chunk size is not a hexadecimal number of at most 16 digits")
	errChunkExtension = malformed("9112 7.1.1", "a chunk extension is malformed or too long")
	errChunkEnd       = malformed("9112 7.1", "the data of a chunk do not end with CR LF")
	errTrailerFraming = malformed("9110 6.5.1", "a trailer field would change framing or routing")
	errTrailerList    = malformed("9110 6.6.2", "the value of Trailer is not a list of field names")
	errTrailerLong    = &protocolError{431, "6585 5", "the trailer section is too large"}
)
