package latency

import "math/bits"

// uint128 is a sum of nanoseconds. 64 bits hold 584 years, which a service with
// many waiting requests accumulates in days.
type uint128 struct{ hi, lo uint64 }

func mul128(a, b uint64) uint128 {
	hi, lo := bits.Mul64(a, b)
	return uint128{hi, lo}
}

func (a uint128) add(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return uint128{hi, lo}
}

func (a uint128) less(b uint128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// between returns a limited to the range from least to most.
func (a uint128) between(least, most uint128) uint128 {
	switch {
	case a.less(least):
		return least
	case most.less(a):
		return most
	}
	return a
}

// div returns a/n rounded down. The quotient must fit 64 bits, as the mean of
// n 64-bit values does.
func (a uint128) div(n uint64) uint64 {
	q, _ := bits.Div64(a.hi, a.lo, n)
	return q
}

// len returns the number of significant bits in a.
func (a uint128) len() int {
	if a.hi > 0 {
		return 64 + bits.Len64(a.hi)
	}
	return bits.Len64(a.lo)
}

// shl returns a shifted left by n bits; overflow is lost.
func (a uint128) shl(n int) uint128 {
	if n >= 64 {
		return uint128{a.lo << (n - 64), 0}
	}
	return uint128{a.hi<<n | a.lo>>(64-n), a.lo << n}
}
