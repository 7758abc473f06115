package latency

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// exactLimit is the largest number of values that are kept exactly.
const exactLimit = 1000

// A Histogram is a collection of durations. The zero value is empty and ready
// to use; a Histogram must not be copied once it holds values.
//
// Methods that only read may run concurrently. Record, Merge and
// UnmarshalBinary may not run concurrently with any other method.
type Histogram struct {
	count    uint64
	min, max uint64 // in nanoseconds, like all values; 0 while count is 0
	sum      uint128
	exact    []uint64            // every value in ascending order, while counts is nil
	counts   *[numBuckets]uint64 // per bucket; nil while exact holds the values
}

// A Bucket is one non-empty range of a [Histogram]: Count values v with
// Lower <= v <= Upper.
type Bucket struct {
	Lower, Upper time.Duration
	Count        uint64
}

// Record adds one duration. Below 0 it counts as 0, above [Max] as Max.
func (h *Histogram) Record(d time.Duration) {
	v := clamp(d)
	h.note(v, v, 1, uint128{lo: v})
	if h.counts == nil && len(h.exact) < exactLimit {
		i, _ := slices.BinarySearch(h.exact, v)
		h.exact = slices.Insert(h.exact, i, v)
		return
	}
	h.spill()
	h.counts[bucketOf(v)]++
}

// Merge adds everything in o and leaves o unchanged. The order of merging does
// not matter.
func (h *Histogram) Merge(o *Histogram) {
	if o.count == 0 {
		return
	}
	fits := h.counts == nil && o.counts == nil && len(h.exact)+len(o.exact) <= exactLimit
	if fits {
		h.exact = append(h.exact, o.exact...)
		slices.Sort(h.exact)
	} else {
		h.spill() // first: o may be h
		for _, v := range o.exact {
			h.counts[bucketOf(v)]++
		}
		if o.counts != nil {
			for i, n := range o.counts {
				h.counts[i] += n
			}
		}
	}
	h.note(o.min, o.max, o.count, o.sum)
}

// note accounts for n more values between lo and hi with the given sum.
func (h *Histogram) note(lo, hi, n uint64, sum uint128) {
	if h.count == 0 {
		h.min, h.max = lo, hi
	}
	h.min, h.max = min(h.min, lo), max(h.max, hi)
	h.count += n
	h.sum = h.sum.add(sum)
}

// spill moves the values into buckets, unless they are already there.
func (h *Histogram) spill() {
	if h.counts != nil {
		return
	}
	h.counts = new([numBuckets]uint64)
	for _, v := range h.exact {
		h.counts[bucketOf(v)]++
	}
	h.exact = nil
}

// settle derives count from the buckets and limits min, max and sum to the
// range that the buckets allow. It makes a collection consistent whose parts
// were read one by one or are unknown.
func (h *Histogram) settle() {
	var least, most uint128
	h.count = 0
	first, last := -1, 0
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		lower, upper := bucketBounds(i)
		least, most = least.add(mul128(lower, n)), most.add(mul128(upper, n))
		h.count += n
	}
	if first < 0 {
		*h = Histogram{}
		return
	}
	lower, upper := bucketBounds(first)
	h.min = min(max(h.min, lower), upper)
	lower, upper = bucketBounds(last)
	h.max = max(min(h.max, upper), lower, h.min)
	h.sum = h.sum.between(least, most).between(mul128(h.min, h.count), mul128(h.max, h.count))
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.count }

// Min returns the smallest value, exactly, or 0 if there is none.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max returns the largest value, exactly, or 0 if there is none.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Exact reports whether every value is kept as recorded, so that quantiles are
// exact too. An empty histogram is exact.
func (h *Histogram) Exact() bool { return h.counts == nil }

// Mean returns the arithmetic mean, exact up to rounding down to a nanosecond,
// or 0 if there are no values.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.sum.div(h.count))
}

// StdDev returns the standard deviation of the values (of the population: the
// divisor is Count), or 0 if there are none.
func (h *Histogram) StdDev() time.Duration {
	if h.count == 0 {
		return 0
	}
	n := float64(h.count)
	mean := (float64(h.sum.hi)*(1<<64) + float64(h.sum.lo)) / n
	var squares float64
	for b := range h.Buckets() {
		off := float64(h.within(middle(uint64(b.Lower), uint64(b.Upper)))) - mean
		squares += off * off * float64(b.Count)
	}
	return time.Duration(math.Round(math.Sqrt(squares / n)))
}

// Quantile returns the value below which a fraction q of the values lies; q is
// 0.99 for the 99th percentile. It is the value at position q*(n-1), counted
// from 0 in ascending order, interpolated linearly if the position is
// fractional (definition 7 of Hyndman and Fan, 1996). An empty histogram
// returns 0. Quantile panics unless 0 <= q <= 1.
func (h *Histogram) Quantile(q float64) time.Duration {
	if !(q >= 0 && q <= 1) {
		panic(fmt.Sprintf("latency: Quantile: q is %v: want 0 to 1, such as 0.99 for the 99th percentile", q))
	}
	if h.count == 0 {
		return 0
	}
	position := q * float64(h.count-1)
	rank := min(uint64(position), h.count-1)
	fraction := position - float64(rank)
	v := h.nth(rank)
	if fraction > 0 && rank+1 < h.count {
		v += uint64(math.Round(fraction * float64(h.nth(rank+1)-v)))
	}
	return time.Duration(v)
}

// nth returns the value at position rank in ascending order, counted from 0.
func (h *Histogram) nth(rank uint64) uint64 {
	switch {
	case h.counts == nil:
		return h.exact[rank]
	case rank == 0:
		return h.min
	case rank == h.count-1:
		return h.max
	}
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen > rank {
			return h.within(bucketMiddle(i))
		}
	}
	panic("latency: Quantile: buckets hold fewer values than Count says; was the histogram copied or changed by " +
		"another goroutine?")
}

// within limits a value that represents a bucket to the values that there are.
func (h *Histogram) within(v uint64) uint64 { return min(max(v, h.min), h.max) }

// Buckets yields the non-empty buckets in ascending order. An exact histogram
// has one for each distinct value.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for i := 0; i < len(h.exact); {
			v, start := h.exact[i], i
			for i < len(h.exact) && h.exact[i] == v {
				i++
			}
			if !yield(Bucket{time.Duration(v), time.Duration(v), uint64(i - start)}) {
				return
			}
		}
		if h.counts == nil {
			return
		}
		for i, n := range h.counts {
			lower, upper := bucketBounds(i)
			if n > 0 && !yield(Bucket{time.Duration(lower), time.Duration(upper), n}) {
				return
			}
		}
	}
}
