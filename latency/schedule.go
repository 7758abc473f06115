package latency

import (
	"fmt"
	"math"
	"time"
)

// A Schedule says when operations are due. One goroutine uses it.
type Schedule interface {
	// Next returns when the next operation is due, counted from the start; due
	// times must not decrease. ok is false if there are none left. Pacer.Run calls
	// Next right before it waits for and runs that operation, never ahead, so Next
	// may prepare it.
	Next() (due time.Duration, ok bool)
}

// Every returns the schedule of count operations at a constant rate per second:
// operation i is due at i/rate, rounded down to a nanosecond, for i from 0.
// Each due time is computed from i, so rounding errors do not accumulate. Every
// panics unless 0 < rate <= 1e9 and count >= 0.
func Every(rate float64, count int64) Schedule {
	if !(rate > 0 && rate <= 1e9) || count < 0 {
		panic(fmt.Sprintf("latency: Every: rate %v, count %d; want a rate above 0 and up to 1e9 per second, and a count "+
			"of 0 or more", rate, count))
	}
	// rate is numerator/2^shift, exactly: a float64 has 53 bits.
	numerator, shift := rate, 0
	for numerator != math.Trunc(numerator) {
		numerator *= 2
		shift++
	}
	return &every{rate: uint64(numerator), shift: shift, count: uint64(count)}
}

// every is the schedule of rate/2^shift operations per second.
type every struct {
	rate     uint64
	shift    int
	i, count uint64
}

func (e *every) Next() (due time.Duration, ok bool) {
	if e.i == e.count {
		return 0, false
	}
	due = e.due()
	e.i++
	return due, true
}

// due returns i*1e9*2^shift/rate, at most the longest Duration.
func (e *every) due() time.Duration {
	ns := mul128(e.i, uint64(time.Second))
	if ns.len()+e.shift > 128 && ns != (uint128{}) {
		return math.MaxInt64 // rate has 53 bits, so the quotient exceeds 64
	}
	ns = ns.shl(e.shift)
	if ns.hi >= e.rate {
		return math.MaxInt64
	}
	return time.Duration(min(ns.div(e.rate), math.MaxInt64))
}
