package latency

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The lossless format: a version byte, a kind byte, then either
//
//	kindExact    the differences of the ascending values
//	kindBuckets  min, max, sum (high and low 64 bits), then EncodeHDR's bytes
//
// with all numbers as unsigned varints.
const (
	formatVersion = 1
	kindExact     = 0
	kindBuckets   = 1
)

// MarshalBinary returns h in a compact, lossless form for UnmarshalBinary.
func (h *Histogram) MarshalBinary() ([]byte, error) {
	if h.counts == nil {
		b := []byte{formatVersion, kindExact}
		var last uint64
		for _, v := range h.exact {
			b = binary.AppendUvarint(b, v-last)
			last = v
		}
		return b, nil
	}
	hdr, err := h.EncodeHDR()
	if err != nil {
		return nil, err
	}
	b := []byte{formatVersion, kindBuckets}
	for _, n := range []uint64{h.min, h.max, h.sum.hi, h.sum.lo} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, hdr...), nil
}

// UnmarshalBinary replaces h with a histogram written by MarshalBinary. On
// error h is unchanged.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	read, err := unmarshal(data)
	if err != nil {
		return fmt.Errorf("latency: UnmarshalBinary: %w", err)
	}
	*h = *read
	return nil
}

func unmarshal(data []byte) (*Histogram, error) {
	if len(data) < 2 {
		return nil, fmt.Errorf("%d bytes: want at least a version and a kind", len(data))
	}
	if data[0] != formatVersion {
		return nil, fmt.Errorf("format version %d: this program reads version %d; use the release that wrote it, or a "+
			"later one", data[0], formatVersion)
	}
	switch rest := data[2:]; data[1] {
	case kindExact:
		return unmarshalExact(rest)
	case kindBuckets:
		return unmarshalBuckets(rest)
	}
	return nil, fmt.Errorf("kind %d: want %d or %d: the data are damaged", data[1], kindExact, kindBuckets)
}

func unmarshalExact(data []byte) (*Histogram, error) {
	h := new(Histogram)
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		if n <= 0 || step > maxValue-h.max {
			return nil, errors.New("a value is cut off or too large: the data are damaged")
		}
		if len(h.exact) == exactLimit {
			return nil, fmt.Errorf("more than %d values: the data are damaged", exactLimit)
		}
		v := h.max + step
		h.exact = append(h.exact, v)
		h.note(v, v, 1, uint128{lo: v})
		data = data[n:]
	}
	return h, nil
}

func unmarshalBuckets(data []byte) (*Histogram, error) {
	var fields [4]uint64
	for i := range fields {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errors.New("minimum, maximum or sum is cut off: the data are damaged")
		}
		fields[i], data = v, data[n:]
	}
	h, err := decodeHDR(data)
	if err != nil {
		return nil, err
	}
	if h.count == 0 {
		return nil, errors.New("no values in the buckets: the data are damaged")
	}
	h.min, h.max, h.sum = fields[0], fields[1], uint128{fields[2], fields[3]}
	given := *h
	if h.settle(); h.min != given.min || h.max != given.max || h.sum != given.sum {
		return nil, errors.New("minimum, maximum or sum does not fit the counts: the data are damaged")
	}
	return h, nil
}
