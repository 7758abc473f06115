package latency

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// The HdrHistogram V2 format, as the Java reference implementation writes it
// (encodeIntoCompressedByteBuffer): a cookie, a length, and a zlib stream of
// hdrHeader followed by the counts. A count is a ZigZag LEB128 number of at
// most nine bytes; a negative one stands for that many zeros.
const (
	hdrCookie           = 0x1c849303 | 0x10
	hdrCompressedCookie = 0x1c849304 | 0x10
	hdrCookieMask       = ^uint32(0xf0) // bits that differ between writers
	hdrDigits           = 3
)

type hdrHeader struct {
	Cookie        uint32
	PayloadBytes  int32
	IndexOffset   int32
	Digits        int32
	Lowest        int64
	Highest       int64
	ToDoubleRatio float64
}

// EncodeHDR returns h in the HdrHistogram V2 compressed format: values in
// nanoseconds, from 1 to [Max], three significant digits. This is the binary
// form; HdrHistogram logs and hdrhistogram-go's Decode expect it in base64. The
// format holds bucket counts only: use MarshalBinary to keep everything.
// EncodeHDR fails on more than 2^63-1 values, which the format cannot hold.
func (h *Histogram) EncodeHDR() ([]byte, error) {
	if h.count > math.MaxInt64 {
		return nil, fmt.Errorf("latency: EncodeHDR: %d values: the format holds up to %d: use MarshalBinary", h.count,
			int64(math.MaxInt64))
	}
	var buckets Histogram
	buckets.spill()
	buckets.Merge(h)
	counts := appendCounts(nil, buckets.counts[:bucketOf(h.max)+1])

	var packed bytes.Buffer
	binary.Write(&packed, binary.BigEndian, [2]uint32{hdrCompressedCookie})
	z := zlib.NewWriter(&packed) // writes to memory do not fail
	binary.Write(z, binary.BigEndian, hdrHeader{
		Cookie:        hdrCookie,
		PayloadBytes:  int32(len(counts)),
		Digits:        hdrDigits,
		Lowest:        1,
		Highest:       int64(maxValue),
		ToDoubleRatio: 1,
	})
	z.Write(counts)
	z.Close()
	binary.BigEndian.PutUint32(packed.Bytes()[4:], uint32(packed.Len()-8))
	return packed.Bytes(), nil
}

// appendCounts appends counts, with runs of zeros folded.
func appendCounts(b []byte, counts []uint64) []byte {
	for i := 0; i < len(counts); {
		start := i
		for i < len(counts) && counts[i] == 0 {
			i++
		}
		switch zeros := i - start; zeros {
		case 0:
			b = appendZigZag(b, int64(counts[i]))
			i++
		case 1:
			b = appendZigZag(b, 0)
		default:
			b = appendZigZag(b, int64(-zeros))
		}
	}
	return b
}

// DecodeHDR reads the HdrHistogram V2 compressed format, written by EncodeHDR
// or by another implementation with any precision and range. It takes values as
// nanoseconds. Minimum, maximum and mean are as accurate as the buckets.
func DecodeHDR(data []byte) (*Histogram, error) {
	h, err := decodeHDR(data)
	if err != nil {
		return nil, fmt.Errorf("latency: DecodeHDR: %w", err)
	}
	return h, nil
}

func decodeHDR(data []byte) (*Histogram, error) {
	if len(data) < 8 || binary.BigEndian.Uint32(data)&hdrCookieMask != hdrCompressedCookie&hdrCookieMask {
		return nil, errors.New("not an HdrHistogram V2 compressed encoding (if it is text, decode its base64 first)")
	}
	if n := binary.BigEndian.Uint32(data[4:]); uint64(n) != uint64(len(data)-8) {
		return nil, fmt.Errorf("%d bytes follow the header, which says %d: want exactly the whole encoding", len(data)-8, n)
	}
	z, err := zlib.NewReader(bytes.NewReader(data[8:]))
	if err != nil {
		return nil, err
	}
	var header hdrHeader
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return nil, fmt.Errorf("header: %w", unexpected(err))
	}
	layout, err := header.layout()
	if err != nil {
		return nil, err
	}
	// Read the stream piece by piece, so that a false length or a zip bomb cannot
	// take memory.
	payload := bufio.NewReader(io.LimitReader(z, int64(header.PayloadBytes)))
	h := &Histogram{counts: new([numBuckets]uint64)}
	if err := h.readCounts(payload, layout); err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(z, 1)); n > 0 || err != nil {
		return nil, fmt.Errorf("more counts than the header says, or a damaged end (%v)", err)
	}
	for i, n := range h.counts {
		h.sum = h.sum.add(mul128(bucketMiddle(i), n))
	}
	h.max = maxValue
	h.settle()
	return h, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// hdrLayout says which values the counts of an encoding represent.
type hdrLayout struct {
	halfBits int // a power of two is split into 1<<halfBits sub-buckets
	unitBits int // values are multiples of 1<<unitBits
}

func (e *hdrHeader) layout() (hdrLayout, error) {
	switch {
	case e.Cookie&hdrCookieMask != hdrCookie&hdrCookieMask:
		return hdrLayout{}, fmt.Errorf("inner cookie %#x: want the V2 encoding", e.Cookie)
	case e.PayloadBytes < 0:
		return hdrLayout{}, fmt.Errorf("payload of %d bytes: the encoding is damaged", e.PayloadBytes)
	case e.Digits < 0 || e.Digits > 5:
		return hdrLayout{}, fmt.Errorf("%d significant digits: want 0 to 5", e.Digits)
	case e.Lowest < 1 || e.Highest < 2 || e.Lowest > e.Highest/2:
		return hdrLayout{}, fmt.Errorf("values from %d to %d: want at least 1, and twice that", e.Lowest, e.Highest)
	case e.IndexOffset != 0 || e.ToDoubleRatio != 1:
		return hdrLayout{}, fmt.Errorf("normalizing offset %d, ratio %v: want 0 and 1, an unshifted histogram of integers",
			e.IndexOffset, e.ToDoubleRatio)
	}
	resolved := 2 * uint64(math.Pow10(int(e.Digits)))
	return hdrLayout{
		halfBits: max(bits.Len64(resolved-1), 1) - 1,
		unitBits: bits.Len64(uint64(e.Lowest)) - 1,
	}, nil
}

// middle returns the value that represents the counts at index i; ok is false
// if it is beyond Max.
func (l hdrLayout) middle(i uint64) (v uint64, ok bool) {
	half := uint64(1) << l.halfBits
	shift := 0
	if i >= 2*half {
		shift = int(i>>l.halfBits) - 1
		i -= uint64(shift) << l.halfBits
	}
	shift += l.unitBits
	if shift > 63 || bits.Len64(i)+shift > 63 {
		return 0, false
	}
	lower := i << shift
	if lower > maxValue {
		return 0, false
	}
	return min(lower+uint64(1)<<shift/2, maxValue), true
}

func (h *Histogram) readCounts(r *bufio.Reader, layout hdrLayout) error {
	const maxIndex = 1 << 30 // above the indexes of any layout, and far from overflow
	var index, total uint64
	for {
		n, err := readZigZag(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("count at index %d: %w", index, err)
		}
		if n < 0 {
			if n < -maxIndex {
				return fmt.Errorf("%d zeros at index %d: the encoding is damaged", n, index)
			}
			index += uint64(-n)
		} else if n > 0 {
			v, ok := layout.middle(index)
			if !ok {
				return fmt.Errorf("values at index %d are beyond %v: want nanoseconds up to that", index, Max)
			}
			if total += uint64(n); total > math.MaxInt64 {
				return errors.New("counts add up to more than 2^63-1: the encoding is damaged")
			}
			h.counts[bucketOf(v)] += uint64(n)
		}
		if n >= 0 {
			index++
		}
		if index > maxIndex {
			return fmt.Errorf("count at index %d: beyond every range: the encoding is damaged", index)
		}
	}
}

// appendZigZag appends n with its sign in the lowest bit, seven bits a byte,
// lowest first; a ninth byte holds the last eight bits.
func appendZigZag(b []byte, n int64) []byte {
	u := uint64(n)<<1 ^ uint64(n>>63)
	for range 8 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// readZigZag reads the encoding of appendZigZag. The error is io.EOF at the end
// of the input.
func readZigZag(r *bufio.Reader) (int64, error) {
	var u uint64
	for i := range 9 {
		c, err := r.ReadByte()
		if err != nil {
			if i > 0 {
				err = unexpected(err)
			}
			return 0, err
		}
		if i == 8 {
			u |= uint64(c) << 56
			break
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			break
		}
	}
	return int64(u>>1) ^ -int64(u&1), nil
}
