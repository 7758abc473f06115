package workload

import (
	"math"
	"math/bits"

	"github.com/isobar-go/isobar/internal/lab/tick"
)

// symbolStats are the running statistics of one symbol. The zero value is
// empty.
//
// The volume-weighted average price is the sum of price times volume divided by
// the sum of volume. Seed document 000 (step 4) updates the average itself and
// rounds it at every tick, so errors accumulate. Here both sums are kept with
// more precision than their terms, and divided on request:
//
//   - Volume is a 128-bit integer: exact.
//   - Notional is a double-double, the unevaluated sum of two float64 (Dekker,
//     1971). The product's own rounding error is recovered by a fused
//     multiply-add, the sum's by TwoSum (Knuth, TAOCP 4.2.2), and both go into
//     the low part (Ogita, Rump and Oishi, "Accurate sum and dot product",
//     2005, whose Dot2 this is, with the low part renormalized at each step).
//
// A step errs by a few u² of the sum, u = 2^-53, so n ticks of one sign err by
// a few n·u²: for n = 10^9 about 10^-22, far below the last bit of a float64.
// What remains is the rounding of volume, quotient and notional to float64:
// the result is within 2 units in the last place. Prices of both signs can
// cancel, and then the bound holds relative to the sum of magnitudes.
// TestVWAP compares with math/big.
type symbolStats struct {
	count              int64
	high, low          float64
	volumeHi, volumeLo uint64  // volume = volumeHi·2^64 + volumeLo
	notional, rest     float64 // notional + rest, |rest| at most half an ulp of notional
	updatedNs          int64
}

// add adds a tick. The bounds of a tick (package tick) keep all sums finite.
func (s *symbolStats) add(t *tick.Tick) {
	if s.count == 0 {
		s.high, s.low = t.Price, t.Price
	}
	s.count++
	s.high = max(s.high, t.Price)
	s.low = min(s.low, t.Price)
	s.updatedNs = t.TimeNs

	var carry uint64
	s.volumeLo, carry = bits.Add64(s.volumeLo, uint64(t.Volume), 0)
	s.volumeHi += carry

	// The conversion prevents the compiler from fusing the product with the sum.
	volume := float64(t.Volume)
	product := float64(t.Price * volume)
	productErr := math.FMA(t.Price, volume, -product)
	sum := s.notional + product
	part := sum - s.notional
	sumErr := (s.notional - (sum - part)) + (product - part)
	low := s.rest + (sumErr + productErr)
	s.notional = sum + low
	s.rest = low - (s.notional - sum)
}

// vwap returns the volume-weighted average price, 0 before there is volume.
func (s *symbolStats) vwap() float64 {
	volume := float64(float64(s.volumeHi)*0x1p64) + float64(s.volumeLo)
	if volume == 0 {
		return 0
	}
	return s.notional / volume
}
