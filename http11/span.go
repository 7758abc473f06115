package http11

// A span is a part of a buffer. Requests refer to their memory with spans, so
// that it holds no pointers.
type span struct{ off, len uint32 }

// of returns the part of b that s selects.
func (s span) of(b []byte) []byte { return b[s.off : s.off+s.len : s.off+s.len] }

// A field is one header or trailer field.
type field struct {
	name, value span
	id          uint8 // number of a known name, or 0
}

// Numbers of the field names that the server itself, or many handlers, look
// for.
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

// knownNames holds the lower-case names by number.
var knownNames = [idMax]string{
	"", "host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "trailer", "te",
	"content-type", "content-encoding", "content-range", "user-agent", "accept", "accept-encoding",
	"accept-language", "authorization", "cookie", "range", "if-range", "if-match", "if-none-match",
	"if-modified-since", "if-unmodified-since", "cache-control", "origin", "referer",
}

// nameHash hashes a name of at least one byte, ignoring case.
func nameHash(n int, first, last byte) uint8 {
	return uint8(n+int(first|0x20)*2+int(last|0x20)*20) & 63
}

// A knownName is what nameID compares a name with: the first eight and the last
// eight bytes, which may overlap, and of names longer than 16 those from the
// eighth on; or two halves that may overlap; or up to three bytes. A knownName
// takes half a cache line.
type knownName struct {
	id, size uint8
	word     [3]uint64
}

// differs returns 0 if w is the i-th word of k in upper or lower case. fold has the bit
// 0x20 of each letter, which makes an upper-case letter lower-case: a letter of k has the
// bit 0x40, a hyphen does not.
func (k *knownName) differs(i int, w uint64) uint64 {
	fold := k.word[i] & (ones * 0x40) >> 1
	return (w | fold) ^ k.word[i]
}

// knownSlots holds the known names by nameHash; no two share a slot.
var knownSlots = func() (slots [64]knownName) {
	for id := idHost; id < idMax; id++ {
		name := []byte(knownNames[id])
		n := len(name)
		slot := &slots[nameHash(n, name[0], name[n-1])]
		if slot.id != idNone {
			panic("http11: known names " + knownNames[id] + " and " + knownNames[slot.id] +
				" share a slot; choose other factors in nameHash")
		}
		slot.id, slot.size = id, uint8(n)
		switch {
		case n > 24:
			panic("http11: the known name " + knownNames[id] + " is too long; compare another word in nameID")
		case n > 16:
			slot.word = [3]uint64{loadWord(name, 0), loadWord(name, n-8), loadWord(name, 8)}
		case n >= 8:
			slot.word = [3]uint64{loadWord(name, 0), loadWord(name, n-8)}
		case n >= 4:
			slot.word[0] = halves(name)
		default:
			slot.word[0] = threeBytes(name)
		}
	}
	return slots
}()

func halves(name []byte) uint64 {
	return uint64(loadHalf(name, 0)) | uint64(loadHalf(name, len(name)-4))<<32
}

func threeBytes(name []byte) uint64 {
	return uint64(name[0]) | uint64(name[len(name)/2])<<8 | uint64(name[len(name)-1])<<16
}

// nameID returns the number of a field name, or idNone. The name must not be
// empty.
func nameID(name []byte) uint8 {
	n := len(name)
	known := &knownSlots[nameHash(n, name[0], name[n-1])]
	if n != int(known.size) {
		return idNone
	}
	var differ uint64
	switch {
	case n >= 8:
		differ = known.differs(0, loadWord(name, 0)) | known.differs(1, loadWord(name, n-8))
		if n > 16 {
			differ |= known.differs(2, loadWord(name, 8))
		}
	case n >= 4:
		differ = known.differs(0, halves(name))
	default:
		differ = known.differs(0, threeBytes(name))
	}
	if differ != 0 {
		return idNone
	}
	return known.id
}

// knownID is nameID for any string.
func knownID(name string) uint8 {
	if len(name) == 0 {
		return idNone
	}
	id := knownSlots[nameHash(len(name), name[0], name[len(name)-1])].id
	if id != idNone && equalFold(name, knownNames[id]) {
		return id
	}
	return idNone
}

// equalFold compares a with lower, which is lower case, ignoring ASCII case.
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
