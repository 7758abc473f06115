// Package hint holds what only a profile can judge: slices that a caller is done with
// outside a loop.
package hint

func squares(n int) []int {
	out := make([]int, 0, n)
	for i := range n {
		out = append(out, i*i)
	}
	return out
}

func Sum(n int) (sum int) {
	for _, x := range squares(n) { // want `squares allocates a slice that is done with soon after`
		sum += x
	}
	return sum
}
