package http11

// A span is a part of a buffer. Requests refer to their memory by spans, so
// that no pointer lies in it.
type span struct{ off, len uint32 }

// of returns the part of b that s names.
func (s span) of(b []byte) []byte { return b[s.off : s.off+s.len : s.off+s.len] }

// A field is one header or trailer field.
type field struct {
	name, value span
	id          uint8 // number of a known name, or 0
}

// Numbers of the field names that the server itself looks for, or that
// handlers often do.
const (
	idNone uint8 = iota
	idHost
	idContentLength
	idTransferEncoding
	idConnection
	idExpect
	idUpgrade
	idTrailer
	idTE
	idContentType
	idContentEncoding
	idContentRange
	idUserAgent
	idAccept
	idAcceptEncoding
	idAcceptLanguage
	idAuthorization
	idCookie
	idRange
	idIfRange
	idIfMatch
	idIfNoneMatch
	idIfModifiedSince
	idIfUnmodifiedSince
	idCacheControl
	idOrigin
	idReferer
	idMax
)

// knownNames holds the names in lower case, by number.
var knownNames = [idMax]string{
	"", "host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "trailer", "te",
	"content-type", "content-encoding", "content-range", "user-agent", "accept", "accept-encoding",
	"accept-language", "authorization", "cookie", "range", "if-range", "if-match", "if-none-match",
	"if-modified-since", "if-unmodified-since", "cache-control", "origin", "referer",
}

// knownSlots maps nameHash to numbers; no two known names share a slot.
var knownSlots = func() (slots [64]uint8) {
	for id := idHost; id < idMax; id++ {
		name := knownNames[id]
		h := nameHash(len(name), name[0], name[len(name)-1])
		if slots[h] != 0 {
			panic("http11: known names " + name + " and " + knownNames[slots[h]] + " share a slot; choose other factors in nameHash")
		}
		slots[h] = id
	}
	return slots
}()

// nameHash is for names of one byte or more; it does not tell upper from lower
// case.
func nameHash(n int, first, last byte) uint8 {
	return uint8(n+int(first|0x20)*2+int(last|0x20)*20) & 63
}

// knownID returns the number of a field name, or idNone.
func knownID[T string | []byte](name T) uint8 {
	if len(name) == 0 {
		return idNone
	}
	id := knownSlots[nameHash(len(name), name[0], name[len(name)-1])]
	if id != idNone && equalFold(name, knownNames[id]) {
		return id
	}
	return idNone
}

// equalFold compares a with lower, which is in lower case, ASCII letters of
// either case being equal.
func equalFold[T string | []byte](a T, lower string) bool {
	if len(a) != len(lower) {
		return false
	}
	for i := range len(a) {
		if c := a[i]; c != lower[i] && (c|0x20 != lower[i] || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// sameName compares two field names.
func sameName[A, B string | []byte](a A, b B) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if c, d := a[i], b[i]; c != d && lowerOf[c] != lowerOf[d] {
			return false
		}
	}
	return true
}

// lowerOf maps ASCII letters to lower case and everything else to itself.
var lowerOf = func() (t [256]byte) {
	for c := range t {
		t[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			t[c] = byte(c) | 0x20
		}
	}
	return t
}()
