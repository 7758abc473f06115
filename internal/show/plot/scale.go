package plot

import (
	"math"
	"strings"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A scale maps values to positions on an axis. Linear scales start at 0, except
// those of time.
type scale struct {
	metric   string // gives ticks their unit
	lo, hi   float64
	from, to float64
	log      bool
}

// The limits of an axis; values beyond are drawn at its ends. Closer to the
// limits of float64, steps would underflow to 0 or overflow.
const (
	axisMin = 1e-15
	axisMax = 1e300
)

// linearScale starts at 0, so that lengths on it can be compared.
func linearScale(metric string, hi, from, to float64) scale {
	if !(hi >= axisMin) {
		hi = 1
	}
	hi = min(hi, axisMax)
	s := scale{metric: metric, hi: hi, from: from, to: to}
	if ticks := s.ticks(4); len(ticks) > 1 {
		s.hi = ticks[0] + math.Ceil(hi/(ticks[1]-ticks[0])-1e-9)*(ticks[1]-ticks[0])
	}
	return s
}

// logScale spans at least half a decade around its values.
func logScale(metric string, lo, hi, from, to float64) scale {
	if !(lo > 0) || !(hi >= lo) {
		lo, hi = 1, 10
	}
	lo, hi = min(max(lo, axisMin), axisMax/10), min(max(hi, axisMin), axisMax)
	if hi/lo < 3 {
		lo, hi = lo/math.Sqrt(3), hi*math.Sqrt(3)
	}
	return scale{metric: metric, lo: lo, hi: hi, from: from, to: to, log: true}
}

// at returns the position of v, clamped to the axis.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.lo), s.hi)
	share := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		share = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	if math.IsNaN(share) {
		share = 0
	}
	return s.from + share*(s.to-s.from)
}

// ticks returns round values on the scale, about n of them or fewer.
func (s scale) ticks(n int) []float64 {
	var out []float64
	if !s.log {
		step := roundStep(s.metric, (s.hi-s.lo)/float64(n))
		for i := math.Ceil(s.lo/step-1e-9) + 0; i*step <= s.hi*(1+1e-9); i++ {
			out = append(out, i*step)
		}
		return out
	}
	if u := text.UnitOf(s.metric); u == "bytes" {
		return s.binaryTicks(n)
	}
	// A logarithmic axis marks powers of ten, and values between them if there is
	// room.
	decades := math.Log10(s.hi / s.lo)
	every, marks := math.Ceil(decades/float64(n)), []float64{1}
	switch {
	case decades*3 <= float64(n)+1:
		marks = []float64{1, 2, 5}
	case decades*2 <= float64(n)+1:
		marks = []float64{1, 3}
	}
	for exponent := math.Floor(math.Log10(s.lo)); exponent <= math.Log10(s.hi); exponent++ {
		if math.Mod(math.Abs(exponent), every) != 0 {
			continue
		}
		for _, m := range marks {
			if v := m * math.Pow(10, exponent); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	return out
}

// binaryTicks are powers of two, for a logarithmic axis of bytes.
func (s scale) binaryTicks(n int) (out []float64) {
	first, last := math.Ceil(math.Log2(s.lo)-1e-9), math.Floor(math.Log2(s.hi)+1e-9)
	every := math.Ceil((last - first + 1) / float64(n))
	for exponent := first; exponent <= last; exponent++ {
		if math.Mod(exponent-last, every) == 0 {
			out = append(out, math.Exp2(exponent))
		}
	}
	return out
}

// roundStep returns the round number at or above raw: 1, 2 or 5 times a power
// of ten; for bytes, in the binary unit below, and from 100 of these a power of two,
// so that the steps meet the next unit.
func roundStep(metric string, raw float64) float64 {
	unit := 1.0
	if u := text.UnitOf(metric); u == "bytes" || u == "B" || u == "B/op" {
		for unit*1024 <= raw {
			unit *= 1024
		}
		if raw > 100*unit {
			return math.Exp2(math.Ceil(math.Log2(raw) - 1e-9))
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(raw/unit)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power*unit >= raw*(1-1e-9) {
			return m * power * unit
		}
	}
	return raw
}

// tickText formats a tick without needless zeros.
func tickText(metric string, v float64) string {
	number, unit, hasUnit := strings.Cut(text.Format(metric, v), " ")
	if strings.Contains(number, ".") && !strings.Contains(number, "e") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if hasUnit {
		return number + " " + unit
	}
	return number
}
