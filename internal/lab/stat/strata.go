package stat

import (
	"slices"
	"sort"
)

// A pair is the values of two configurations in one block on one machine.
type pair struct {
	a, b    float64
	machine *Machine // nil if there is only one
}

func (p pair) ratio() float64 { return ratio(p.a, p.b) }

// stratifiedMedian returns an interval of the median of all ratios under a
// bootstrap that draws within each machine, with replacement, as many as it
// has: machines are fixed, repetitions are chance. As in bootstrapMedian the
// distribution is exact, not simulated: the number of a machine's draws that
// are at most x is binomial, and the total over machines is a sum of such
// numbers. With an even number of ratios, whose median lies between the two
// middle ones, the interval reaches from a quantile of the lower to one of the
// upper: never narrower than that of the median.
func stratifiedMedian(strata [][]float64) (lo, hi float64) {
	all := slices.Concat(strata...)
	slices.Sort(all)
	n := len(all)
	// reach returns the smallest ratio such that, with probability p, at least
	// rank draws do not exceed it.
	reach := func(rank int, p float64) float64 {
		i := sort.Search(n-1, func(i int) bool { return atLeast(strata, all[i], rank) >= p })
		return all[i]
	}
	const tail = (1 - confidence) / 2
	return reach((n+1)/2, tail), reach(n/2+1, 1-tail)
}

// atLeast is the probability that at least rank draws are at most x.
func atLeast(strata [][]float64, x float64, rank int) float64 {
	counts := []float64{1} // probability of k draws so far
	for _, s := range strata {
		n, below := len(s), 0
		for _, v := range s {
			if v <= x {
				below++
			}
		}
		p := float64(below) / float64(n)
		for range n {
			counts = append(counts, 0)
			for k := len(counts) - 1; k > 0; k-- {
				counts[k] = counts[k]*(1-p) + counts[k-1]*p
			}
			counts[0] *= 1 - p
		}
	}
	sum := 0.0
	for _, c := range counts[min(rank, len(counts)):] {
		sum += c
	}
	return sum
}
