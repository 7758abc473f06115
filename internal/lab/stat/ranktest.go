package stat

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// minPairs is the smallest number of pairs for a verdict: with 3 against 3
// values no rank test can reach a p below 0.1.
const minPairs = 4

// minSignedPairs is the smallest number of pairs for the signed-rank test: with
// 5 it cannot reach a p below 0.0625.
const minSignedPairs = 6

// rankTest returns the two-sided p of paired values. From 6 pairs it is
// Wilcoxon's signed-rank test on the logarithms of the ratios, which is immune
// to changes between blocks. With fewer, that test cannot get below 2/2^5 =
// 0.0625 whatever the data, so it is benchmath's Mann-Whitney U test, which
// ignores pairing and reaches 0.029 with 4 and 0.008 with 5.
func rankTest(a, b, ratios []float64) float64 {
	if len(ratios) < minSignedPairs {
		return benchmath.AssumeNothing.Compare(
			benchmath.NewSample(slices.Clone(a), &benchmath.DefaultThresholds),
			benchmath.NewSample(slices.Clone(b), &benchmath.DefaultThresholds)).P
	}
	differences := make([]float64, len(ratios))
	for i, r := range ratios {
		differences[i] = math.Log(r)
	}
	return signedRank(differences)
}

// signedRank is Wilcoxon's signed-rank test (1945): zero differences are
// dropped, equal ones share their ranks. The distribution is exact up to 50
// differences, normal above.
func signedRank(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(x float64) bool { return x == 0 })
	n := len(d)
	if n == 0 {
		return 1
	}
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	ranks := make([]int, n) // doubled, so that shared ranks are whole
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
		}
		i = j
	}
	total, positive := 0, 0
	for i, r := range ranks {
		total += r
		if d[i] > 0 {
			positive += r
		}
	}
	smaller := min(positive, total-positive)
	if n > 50 {
		variance := 0.0
		for _, r := range ranks {
			variance += float64(r) * float64(r) / 4
		}
		z := (float64(smaller) - float64(total)/2 + 1) / math.Sqrt(variance) // 1: half a doubled rank
		return min(1, math.Erfc(-z/math.Sqrt2))
	}
	// ways[s] is the share of the 2^n sign choices whose positive ranks sum to s,
	// for the sums that matter here.
	ways := make([]float64, smaller+1)
	ways[0] = 1
	for _, r := range ranks {
		for s := smaller; s >= 0; s-- {
			ways[s] /= 2
			if s >= r {
				ways[s] += ways[s-r] / 2
			}
		}
	}
	p := 0.0
	for s := 0; s <= smaller; s++ {
		p += ways[s]
	}
	return min(1, 2*p)
}
