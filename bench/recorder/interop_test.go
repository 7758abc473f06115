package recorder

import (
	"encoding/base64"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/isobar-go/isobar/latency"
)

func TestPeerReadsOurEncoding(t *testing.T) {
	for _, n := range []int{0, 1, 100, len(durations)} {
		var ours latency.Histogram
		peer := hdr.New(1, int64(latency.Max), 3)
		for _, d := range durations[:n] {
			ours.Record(d)
			if err := peer.RecordValue(int64(d)); err != nil {
				t.Fatal(err)
			}
		}
		data, err := ours.EncodeHDR()
		if err != nil {
			t.Fatal(err)
		}
		got, err := hdr.Decode([]byte(base64.StdEncoding.EncodeToString(data)))
		if err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		if !got.Equals(peer) {
			t.Errorf("%d values: the peer reads %d values from %d to %d, want its own %d from %d to %d",
				n, got.TotalCount(), got.Min(), got.Max(), peer.TotalCount(), peer.Min(), peer.Max())
		}
	}
}

// Whatever range and precision the peer's histogram has, its values arrive
// within the wider of the two precisions.
func TestWeReadPeersEncoding(t *testing.T) {
	for _, lowest := range []int64{1, 10, 1000, 1024} {
		for digits := 1; digits <= 5; digits++ {
			for _, highest := range []int64{10_000_000, int64(latency.Max), int64(24 * time.Hour)} {
				peer := hdr.New(lowest, highest, digits)
				for _, d := range durations {
					if err := peer.RecordValue(int64(d)); err != nil {
						t.Fatal(err)
					}
				}
				text, err := peer.Encode(hdr.V2CompressedEncodingCookieBase)
				if err != nil {
					t.Fatal(err)
				}
				data, err := base64.StdEncoding.DecodeString(string(text))
				if err != nil {
					t.Fatal(err)
				}
				h, err := latency.DecodeHDR(data)
				if err != nil {
					t.Fatalf("lowest %d, highest %d, %d digits: %v", lowest, highest, digits, err)
				}
				if h.Count() != uint64(peer.TotalCount()) {
					t.Errorf("%d values, want %d", h.Count(), peer.TotalCount())
				}
				precision := max(0.001, 1/pow10(digits))
				for _, q := range []float64{0, 25, 50, 90, 99, 99.9, 100} {
					want, got := float64(peer.ValueAtQuantile(q)), float64(h.Quantile(q/100))
					if slack := want*precision*2 + float64(2*lowest); got < want-slack || got > want+slack {
						t.Errorf("lowest %d, highest %d, %d digits: quantile %v is %v, want %v", lowest, highest, digits, q/100, got, want)
					}
				}
			}
		}
	}
}

func pow10(n int) float64 {
	p := 1.0
	for range n {
		p *= 10
	}
	return p
}
