package latency

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// model is the reference for a Histogram: every value, in ascending order.
type model []time.Duration

func (m model) quantile(q float64) float64 {
	position := q * float64(len(m)-1)
	i := int(position)
	v := float64(m[i])
	if i+1 < len(m) {
		v += (position - float64(i)) * float64(m[i+1]-m[i])
	}
	return v
}

func (m model) mean() float64 {
	var sum float64
	for _, d := range m {
		sum += float64(d)
	}
	return sum / float64(len(m))
}

func (m model) stdDev() float64 {
	mean, squares := m.mean(), 0.0
	for _, d := range m {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	return math.Sqrt(squares / float64(len(m)))
}

var distributions = map[string]func(*rand.Rand) time.Duration{
	"uniform":     func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(time.Second))) },
	"exponential": func(r *rand.Rand) time.Duration { return time.Duration(50_000 * r.ExpFloat64()) },
	"log-normal":  func(r *rand.Rand) time.Duration { return time.Duration(math.Exp(12 + 2*r.NormFloat64())) },
	"bimodal": func(r *rand.Rand) time.Duration {
		if r.IntN(100) == 0 {
			return 20*time.Millisecond + time.Duration(r.Int64N(int64(time.Millisecond)))
		}
		return 3*time.Microsecond + time.Duration(r.Int64N(500))
	},
}

func draw(name string, n int) model {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	m := make(model, n)
	for i := range m {
		m[i] = min(distributions[name](random), Max)
	}
	return m
}

var quantiles = []float64{0, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1}

// check compares h with the recorded values. tolerance is relative; values are
// whole nanoseconds, so half a nanosecond is always allowed.
func check(t *testing.T, h *Histogram, m model, tolerance float64) {
	t.Helper()
	m = slices.Clone(m)
	slices.Sort(m)
	if h.Count() != uint64(len(m)) || h.Min() != m[0] || h.Max() != m[len(m)-1] {
		t.Fatalf("count %d, min %d, max %d; want %d, %d, %d", h.Count(), h.Min(), h.Max(), len(m), m[0], m[len(m)-1])
	}
	near := func(what string, got time.Duration, want, slack float64) {
		t.Helper()
		if math.Abs(float64(got)-want) > slack {
			t.Errorf("%s = %d, want %.1f (tolerance %v)", what, got, want, tolerance)
		}
	}
	for _, q := range quantiles {
		want := m.quantile(q)
		near(fmt.Sprint("quantile ", q), h.Quantile(q), want, want*tolerance+0.501)
	}
	near("mean", h.Mean(), m.mean(), 1.001)
	near("standard deviation", h.StdDev(), m.stdDev(), m.stdDev()*tolerance+0.501)
	checkBuckets(t, h, m)
}

// checkBuckets expects the buckets to hold the values of m, which is sorted.
func checkBuckets(t *testing.T, h *Histogram, m model) {
	t.Helper()
	i, last := 0, time.Duration(-1)
	for b := range h.Buckets() {
		if b.Count == 0 || b.Lower <= last || b.Upper < b.Lower || h.Exact() && b.Upper != b.Lower {
			t.Fatalf("bucket %+v after %d", b, last)
		}
		last = b.Upper
		for range b.Count {
			if i == len(m) || m[i] < b.Lower || m[i] > b.Upper {
				t.Fatalf("bucket %+v does not hold value number %d", b, i)
			}
			i++
		}
	}
	if i != len(m) {
		t.Fatalf("buckets hold %d values, want %d", i, len(m))
	}
}

func TestHistogramAgainstModel(t *testing.T) {
	for name := range distributions {
		for _, n := range []int{1, 2, 3, 100, exactLimit, exactLimit + 1, 50_000, 1_000_000} {
			if n > 50_000 && (testing.Short() || invariant.Race) {
				continue
			}
			t.Run(fmt.Sprintf("%s/n=%d", name, n), func(t *testing.T) {
				m := draw(name, n)
				var h Histogram
				r := NewRecorder()
				for _, d := range m {
					h.Record(d)
					r.Record(d)
				}
				tolerance := 0.001
				if n <= exactLimit {
					tolerance = 0
				}
				if h.Exact() != (n <= exactLimit) {
					t.Errorf("Exact() = %t of %d values", h.Exact(), n)
				}
				check(t, &h, m, tolerance)
				check(t, r.Snapshot(), m, tolerance)
			})
		}
	}
}

func TestMergeIsRecordingAll(t *testing.T) {
	for _, sizes := range [][]int{{0, 1}, {1, 0}, {3, 997}, {500, 501}, {1, 5000}, {5000, 1}, {2000, 3000}} {
		a, b := draw("log-normal", sizes[0]), draw("bimodal", sizes[1])
		var ha, hb, all Histogram
		for _, d := range a {
			ha.Record(d)
			all.Record(d)
		}
		for _, d := range b {
			hb.Record(d)
			all.Record(d)
		}
		ab, ba := clone(t, &ha), clone(t, &hb)
		ab.Merge(&hb)
		ba.Merge(&ha)
		if !same(ab, &all) || !same(ba, &all) {
			t.Errorf("merging %v values differs from recording them all", sizes)
		}
	}
}

func TestMergeWithItself(t *testing.T) {
	for _, n := range []int{0, 400, 600, 3000} {
		m := draw("uniform", n)
		var h, twice Histogram
		for _, d := range m {
			h.Record(d)
			twice.Record(d)
			twice.Record(d)
		}
		if h.Merge(&h); !same(&h, &twice) {
			t.Errorf("a histogram of %d values merged with itself does not hold them twice", n)
		}
	}
}

// same reports whether a and b hold the same values in the same representation.
func same(a, b *Histogram) bool {
	return a.count == b.count && a.min == b.min && a.max == b.max && a.sum == b.sum &&
		slices.Equal(a.exact, b.exact) &&
		(a.counts == nil) == (b.counts == nil) && (a.counts == nil || *a.counts == *b.counts)
}

func clone(t *testing.T, h *Histogram) *Histogram {
	t.Helper()
	b, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := new(Histogram)
	if err := c.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEmptyHistogram(t *testing.T) {
	for _, h := range []*Histogram{{}, NewRecorder().Snapshot()} {
		if h.Count() != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.StdDev() != 0 || h.Quantile(0.5) != 0 || !h.Exact() {
			t.Errorf("empty histogram: %+v", h)
		}
		for b := range h.Buckets() {
			t.Errorf("bucket %+v", b)
		}
	}
}

func TestValuesBeyondTheRange(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		math.MinInt64: 0, -1: 0, 0: 0, 1: 1, Max - 1: Max - 1, Max: Max, Max + 1: Max, math.MaxInt64: Max,
	} {
		r := NewRecorder()
		var h Histogram
		for range 2 * exactLimit {
			r.Record(d)
			h.Record(d)
		}
		for _, h := range []*Histogram{&h, r.Snapshot()} {
			if h.Min() != want || h.Max() != want || h.Mean() != want || h.Quantile(0.5) != want {
				t.Errorf("recorded %d: min %d, max %d, mean %d, median %d; want %d", d, h.Min(), h.Max(), h.Mean(), h.Quantile(0.5), want)
			}
		}
	}
}

func TestQuantileRefuses(t *testing.T) {
	for _, q := range []float64{-0.1, 1.1, 99, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Quantile(%v) did not panic", q)
				}
			}()
			new(Histogram).Quantile(q)
		}()
	}
}

// The sum passes 64 bits after 5 million hours.
func TestMeanOfMoreThan584Years(t *testing.T) {
	var h Histogram
	for range 2000 {
		h.Record(Max)
		h.Record(Max - 2)
	}
	for range 20 {
		h.Merge(&h)
	}
	if h.sum.hi == 0 || h.Mean() != Max-1 {
		t.Errorf("mean %d of %d values, want %d", h.Mean(), h.Count(), Max-1)
	}
}

func TestBuckets(t *testing.T) {
	next := uint64(0)
	for i := range numBuckets {
		lower, upper := bucketBounds(i)
		if lower != next || upper < lower || bucketOf(lower) != i || bucketOf(upper) != i {
			t.Fatalf("bucket %d: %d to %d (%d, %d), want it from %d", i, lower, upper, bucketOf(lower), bucketOf(upper), next)
		}
		if middle := bucketMiddle(i); float64(upper-middle) > float64(lower)/2048 || float64(middle-lower) > float64(lower)/2048 {
			t.Fatalf("bucket %d: %d to %d: %d is not within 1 in 2,048", i, lower, upper, middle)
		}
		next = upper + 1
	}
	if next != maxValue+1 {
		t.Errorf("buckets end at %d, want %d", next-1, maxValue)
	}
}
