package latency

import (
	"math/bits"
	"time"
)

// Max is the longest duration that is distinguished from longer ones.
const Max = time.Hour

// The buckets are those of an HdrHistogram from 1 ns to Max with three
// significant digits. Values below 2*subBuckets have a bucket each; from
// there on, each power of two is split into subBuckets of equal width.
const (
	subBucketBits = 10
	subBuckets    = 1 << subBucketBits
	maxValue      = uint64(Max)
	maxShift      = 42 - (subBucketBits + 1) // Max has 42 bits
	numBuckets    = maxShift<<subBucketBits + int(maxValue>>maxShift) + 1
)

// clamp returns d limited to the values that have a bucket.
func clamp(d time.Duration) uint64 {
	return uint64(min(max(d, 0), Max))
}

// bucketOf returns the index of the bucket for v, which must not exceed
// maxValue.
func bucketOf(v uint64) int {
	shift := bits.Len64(v|(2*subBuckets-1)) - (subBucketBits + 1)
	return shift<<subBucketBits + int(v>>shift)
}

// bucketBounds returns the smallest and largest value of bucket i.
func bucketBounds(i int) (lower, upper uint64) {
	if i < 2*subBuckets {
		return uint64(i), uint64(i)
	}
	shift := i>>subBucketBits - 1
	lower = uint64(i-shift<<subBucketBits) << shift
	return lower, min(lower+1<<shift-1, maxValue)
}

// bucketMiddle returns the value that represents bucket i.
func bucketMiddle(i int) uint64 { return middle(bucketBounds(i)) }

func middle(lower, upper uint64) uint64 { return lower + (upper-lower+1)/2 }
