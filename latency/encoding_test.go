package latency

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"
)

func filled(name string, n int) *Histogram {
	h := new(Histogram)
	for _, d := range draw(name, n) {
		h.Record(d)
	}
	return h
}

func TestBinaryRoundTrip(t *testing.T) {
	for name := range distributions {
		for _, n := range []int{0, 1, exactLimit, exactLimit + 1, 20_000} {
			h := filled(name, n)
			if got := clone(t, h); !same(got, h) {
				t.Errorf("%s: %d values: round trip lost data", name, n)
			}
		}
	}
}

// A round trip through the HDR encoding preserves the buckets.
func TestHDRRoundTrip(t *testing.T) {
	for name := range distributions {
		for _, n := range []int{0, 1, 100, 20_000} {
			h := filled(name, n)
			data, err := h.EncodeHDR()
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeHDR(data)
			if err != nil {
				t.Fatalf("%s: %d values: %v", name, n, err)
			}
			var want Histogram
			want.Merge(h)
			if n > 0 {
				want.spill()
			}
			if got.Count() != h.Count() || n > 0 && *got.counts != *want.counts {
				t.Errorf("%s: %d values: round trip changed the buckets", name, n)
			}
			for _, q := range quantiles {
				if a, b := float64(h.Quantile(q)), float64(got.Quantile(q)); math.Abs(a-b) > a*0.001+0.5 {
					t.Errorf("%s: %d values: quantile %v: %v became %v", name, n, q, a, b)
				}
			}
		}
	}
}

func bufioReader(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

func TestZigZag(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 20, -1 << 40, 1 << 55, 1 << 56, math.MaxInt64, math.MinInt64} {
		b := appendZigZag(nil, n)
		got, err := readZigZag(bufioReader(b))
		if err != nil || got != n || len(b) > 9 {
			t.Errorf("%d: %s reads as %d, %v", n, hex.EncodeToString(b), got, err)
		}
	}
}

func TestDecodersRefuse(t *testing.T) {
	h := filled("uniform", 5000)
	hdr, err := h.EncodeHDR()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := filled("bimodal", 5000).MarshalBinary()
	mixed := append(bytes.Clone(other[:bytes.Index(other, hdr[:4])]), hdr...)
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("HISTFAAAA"), "cut off": hdr[:len(hdr)/2], "no counts": hdr[:8], "longer": append(bytes.Clone(hdr), 0),
	} {
		if _, err := DecodeHDR(data); err == nil || !strings.HasPrefix(err.Error(), "latency: DecodeHDR: ") {
			t.Errorf("DecodeHDR of %s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "another version": {9, 0}, "another kind": {1, 7}, "a cut number": {1, 0, 0x80}, "too large a value": append([]byte{1, 0}, bytes.Repeat([]byte{0xff}, 8)...),
		"too many values": append([]byte{1, 0}, make([]byte, exactLimit+1)...), "cut off": whole[:len(whole)/2], "fields of another": mixed,
	} {
		kept := Histogram{}
		kept.Record(time.Second)
		err := kept.UnmarshalBinary(data)
		if err == nil || !strings.HasPrefix(err.Error(), "latency: UnmarshalBinary: ") {
			t.Errorf("UnmarshalBinary of %s: %v", name, err)
		}
		if kept.Count() != 1 {
			t.Errorf("UnmarshalBinary of %s changed the histogram", name)
		}
	}
}

func FuzzDecodeHDR(f *testing.F) {
	for _, n := range []int{0, 3, 3000} {
		data, _ := filled("log-normal", n).EncodeHDR()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := DecodeHDR(data)
		if err != nil {
			return
		}
		consistent(t, h)
		again, err := h.EncodeHDR()
		if err != nil {
			t.Fatal(err)
		}
		if h2, err := DecodeHDR(again); err != nil || !same(h, h2) {
			t.Errorf("round trip: %v", err)
		}
	})
}

// The fuzzer calls the counts decoder directly, past the checksum of the zlib
// stream.
func FuzzHDRCounts(f *testing.F) {
	f.Add(uint8(3), uint32(1), []byte{2, 0x87, 1, 4})
	f.Fuzz(func(t *testing.T, digits uint8, lowest uint32, counts []byte) {
		e := hdrHeader{Cookie: hdrCookie, Digits: int32(digits), Lowest: int64(lowest), Highest: int64(maxValue), ToDoubleRatio: 1}
		layout, err := e.layout()
		if err != nil {
			return
		}
		h := &Histogram{counts: new([numBuckets]uint64)}
		if err := h.readCounts(bufioReader(counts), layout); err == nil {
			h.settle()
			consistent(t, h)
		}
	})
}

func FuzzUnmarshalBinary(f *testing.F) {
	for _, n := range []int{0, 3, 3000} {
		data, _ := filled("log-normal", n).MarshalBinary()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := new(Histogram)
		if h.UnmarshalBinary(data) != nil {
			return
		}
		consistent(t, h)
		if got := clone(t, h); !same(got, h) {
			t.Error("round trip changed the counts")
		}
	})
}
