package http11

import "math/bits"

// fieldLines parses header fields from h.scanned through the empty line, and
// returns the next index, or 0 if they are incomplete.
func (h *head) fieldLines(buf []byte, lim *limits) (int, error) {
	i := h.scanned
	for i < len(buf) {
		if buf[i] == '\r' {
			switch {
			case i+1 == len(buf):
				return 0, nil
			case buf[i+1] != '\n':
				return 0, errLineEnd
			}
			return i + 2, nil
		}
		k := len(h.fields)
		if k == lim.fields {
			return 0, errFieldsMany
		}
		if k == cap(h.fields) {
			h.fields = append(h.fields, field{})[:k]
		}
		f := &h.fields[:k+1][k]
		next, err := parseField(f, buf, i)
		if next == 0 || err != nil {
			return 0, err
		}
		h.fields = h.fields[:k+1]
		if f.id != idNone {
			h.seen |= 1 << f.id
			if f.id <= idTrailer {
				if err := h.framing(buf, f); err != nil {
					return 0, err
				}
			}
		}
		i = next
		h.scanned = i
	}
	return 0, nil
}

// parseField parses the non-empty field line at buf[i:] into f, and returns the
// next index, or 0 if the line is incomplete.
func parseField(f *field, buf []byte, i int) (next int, err error) {
	colon := colonIndex(buf, i)
	f.id = idNone
	if i < colon && colon < len(buf) {
		f.id = nameID(buf[i:colon])
	}
	if f.id == idNone { // otherwise the name is a token
		if colon = nameEnd(buf, i); colon == len(buf) {
			return 0, nil
		}
		if c := buf[colon]; c != ':' || colon == i {
			if colon == i && (c == ' ' || c == '\t') {
				return 0, errFieldFold
			}
			return 0, errFieldName
		}
	}
	f.name = span{uint32(i), uint32(colon - i)}
	start := colon + 1
	for start < len(buf) && (buf[start] == ' ' || buf[start] == '\t') {
		start++
	}
	end := valueEnd(buf, start)
	if end+1 >= len(buf) {
		if end == len(buf) || buf[end] == '\r' {
			return 0, nil
		}
		return 0, valueError(buf[end])
	}
	if buf[end] != '\r' {
		return 0, valueError(buf[end])
	}
	if buf[end+1] != '\n' {
		return 0, errLineEnd
	}
	next = end + 2
	for end > start && (buf[end-1] == ' ' || buf[end-1] == '\t') {
		end--
	}
	f.value = span{uint32(start), uint32(end - start)}
	return next, nil
}

// valueError returns the error for c, which ended a value.
func valueError(c byte) error {
	if c == '\n' {
		return errLineEnd
	}
	return errFieldValue
}

// colonIndex returns the index of the first colon at or after i, or len(buf).
func colonIndex(buf []byte, i int) int {
	for ; i+8 <= len(buf); i += 8 {
		w := loadWord(buf, i) ^ ones*':'
		if m := (w - ones) &^ w & highs; m != 0 { // its lowest bit is right
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(buf) && buf[i] != ':' {
		i++
	}
	return i
}

// nameEnd returns the index of the first non-token byte at or after i, or
// len(buf).
func nameEnd(buf []byte, i int) int {
	for i+8 <= len(buf) {
		m := notName(loadWord(buf, i))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) / 8
		if classOf[buf[i]]&isToken == 0 {
			return i
		}
		i++ // a less common token character
	}
	for i < len(buf) && classOf[buf[i]]&isToken != 0 {
		i++
	}
	return i
}

// valueEnd returns the index of the first byte at or after i that a field value
// must not contain, or len(buf).
func valueEnd(buf []byte, i int) int {
	for i+8 <= len(buf) {
		m := controls(loadWord(buf, i))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) / 8
		if buf[i] != '\t' {
			return i
		}
		i++
	}
	for i < len(buf) && (buf[i] >= ' ' && buf[i] != 0x7f || buf[i] == '\t') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// controls returns a word whose lowest set bit is in the first byte of w that
// is below 0x20 or is 0x7f, or 0 if there is none. Borrows reach only bytes
// above such a byte.
func controls(w uint64) uint64 {
	del := w ^ ones*0x7f
	return ((w-ones*0x20)&^w | (del-ones)&^del) & highs
}

// notName returns a word with the highest bit set in each byte whose
// counterpart in w is not a letter, digit or hyphen. No sum carries into
// another byte: each byte's summands are below 0x80 and their sum is below
// 0x100.
func notName(w uint64) uint64 {
	c := w &^ highs
	lower := c | ones*0x20
	letter := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x7f-'z'))
	digit := (c + ones*(0x80-'0')) &^ (c + ones*(0x7f-'9'))
	notHyphen := c ^ ones*'-' + ones*0x7f
	return (notHyphen&^(letter|digit) | w) & highs
}
